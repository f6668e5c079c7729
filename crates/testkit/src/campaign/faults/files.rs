//! What becomes of a manager's state on its disk, byte by byte: this knows the format from the head of
//! `crates/manager/src/sm/store.rs`, and shares no code with it but the checksum.

use crc32c::crc32c;
use rand::{Rng, RngExt};

/// Longest file of random bytes.
const GARBAGE_MAX: usize = 512;
/// Offsets of the format version, and of the numbers of LIDs and drains; the first version has no more in its head.
const VERSION: usize = 8;
const COUNTS: usize = 20;
const FIRST_HEAD: usize = 28;
/// Bytes of a LID, and of a drain.
const LID: usize = 14;
const DRAIN: usize = 9;

/// Another file in the place of a manager's state.
#[derive(Debug, Clone)]
pub(super) enum StateFile {
    /// Only so much of it is there, of 1.
    Cut(f64),
    /// A bit is another one, at so much of the file, of 1.
    Flipped(f64, u8),
    /// Something else is there.
    Garbage(Vec<u8>),
    /// It is written by the first version of weftd: LIDs and drains.
    First,
}

impl StateFile {
    /// One that is damaged.
    pub(super) fn torn(rng: &mut impl Rng) -> Self {
        match rng.random_range(0..3) {
            0 => Self::Cut(rng.random_range(0.0..1.0)),
            1 => Self::Flipped(rng.random_range(0.0..1.0), rng.random_range(0..8)),
            _ => {
                let mut bytes = vec![0; rng.random_range(0..=GARBAGE_MAX)];
                rng.fill(&mut bytes[..]);
                Self::Garbage(bytes)
            }
        }
    }

    /// What is there then; none where the state is of a version whose older form is not known here.
    pub(super) fn of(&self, state: &[u8]) -> Option<Vec<u8>> {
        let at = |share: f64| (share * state.len() as f64) as usize;
        match self {
            Self::Cut(share) => Some(state[..at(*share)].to_vec()),
            Self::Flipped(share, bit) => {
                let mut state = state.to_vec();
                let at = at(*share);
                if let Some(byte) = state.get_mut(at) {
                    *byte ^= 1 << bit;
                }
                Some(state)
            }
            Self::Garbage(bytes) => Some(bytes.clone()),
            Self::First => first(state),
        }
    }
}

/// The LIDs and drains of a state, in the first version's format.
fn first(state: &[u8]) -> Option<Vec<u8>> {
    let number = |at: usize| {
        let bytes = state.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?) as usize)
    };
    // Sizes in the head of the versions that are written today.
    let sizes = match number(VERSION)? {
        5 => 9,
        6 => 10,
        _ => return None,
    };
    let body = COUNTS + 4 * sizes;
    let len = LID * number(COUNTS)? + DRAIN * number(COUNTS + 4)?;
    let mut old = state.get(..FIRST_HEAD)?.to_vec();
    old[VERSION..VERSION + 4].copy_from_slice(&1_u32.to_be_bytes());
    old.extend_from_slice(state.get(body..body + len)?);
    let sum = crc32c(&old);
    old.extend_from_slice(&sum.to_be_bytes());
    Some(old)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_first_version_has_lids_and_drains_and_nothing_else() {
        let drain = [7; DRAIN];
        let mut state = [&b"WEFTKEPT"[..], &[0, 0, 0, 5], &[0xFE; 8]].concat();
        for size in [2_u32, 1, 0, 0, 0, 0, 0, 0, 3] {
            state.extend_from_slice(&size.to_be_bytes());
        }
        state.extend_from_slice(&[3; 2 * LID]);
        state.extend_from_slice(&drain);
        state.extend_from_slice(b"abc\0\0\0\0");
        let old = StateFile::First.of(&state).unwrap();
        state[VERSION..VERSION + 4].copy_from_slice(&7_u32.to_be_bytes());
        assert_eq!(StateFile::First.of(&state), None, "a later version");
        let head = [
            &b"WEFTKEPT"[..],
            &[0, 0, 0, 1],
            &[0xFE; 8],
            &[0, 0, 0, 2, 0, 0, 0, 1],
        ]
        .concat();
        let body = [&[3; 2 * LID][..], &drain].concat();
        let sum = crc32c(&[&head[..], &body].concat()).to_be_bytes();
        assert_eq!(old, [head, body, sum.to_vec()].concat());
    }
}
