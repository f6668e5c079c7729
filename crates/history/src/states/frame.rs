//! Records as frames: a head, which can be read alone, and for states a part of their pieces, compressed with zstd.
//!
//! A state has one frame or several that follow each other with the same head; it counts when the last one is there.

use std::path::Path;

use zstd::bulk::{compress, decompress};

use super::StateHead;
use crate::error::HistoryError;

/// Bytes of a head: kind, flags, time, sweep, generation, CRC-32C of these.
pub(super) const HEAD: usize = 30;
/// Longest part of a state before compression, bytes.
pub(super) const BODY_MAX: usize = 40 << 20;
/// How hard zstd tries: the next level takes twice as long for a tenth less.
const LEVEL: i32 = 1;

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// All pieces of a state.
    Key,
    /// Those that have changed since the state before.
    Change,
    /// The state is as before.
    Mark,
}

/// What else is to be known of a record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    /// The last frame of its record.
    pub(crate) last: bool,
    /// Nothing is known of the time before it: the daemon has begun.
    pub(crate) begins: bool,
    /// The sweep has ended.
    pub(crate) sweep_ended: bool,
    /// Nothing is known of the time after it: the daemon ends.
    pub(crate) ends: bool,
}

/// What stands at the beginning of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) kind: Kind,
    pub(super) flags: Flags,
    pub(super) state: StateHead,
}

impl Head {
    pub(super) fn encode(&self) -> Vec<u8> {
        let Flags {
            last,
            begins,
            sweep_ended,
            ends,
        } = self.flags;
        let bits = [last, begins, sweep_ended, ends];
        let flags = (0..).zip(bits).map(|(bit, set)| u8::from(set) << bit).sum();
        let StateHead {
            time_ms,
            sweep,
            generation,
        } = self.state;
        let mut out = vec![self.kind as u8, flags];
        out.extend(time_ms.to_le_bytes());
        out.extend(sweep.to_le_bytes());
        out.extend(generation.to_le_bytes());
        out.extend(crc32c::crc32c(&out).to_le_bytes());
        out
    }

    /// The head of a payload; none where it is not one.
    pub(super) fn decode(payload: &[u8]) -> Option<Self> {
        let (bytes, _) = payload.split_first_chunk::<HEAD>()?;
        let (said, crc) = bytes.split_last_chunk::<4>()?;
        if crc32c::crc32c(said) != u32::from_le_bytes(*crc) {
            return None;
        }
        let [kind, flags, rest @ ..] = said else {
            return None;
        };
        let (time, rest) = rest.split_first_chunk()?;
        let (sweep, rest) = rest.split_first_chunk()?;
        let (generation, _) = rest.split_first_chunk()?;
        let bit = |bit: u8| flags >> bit & 1 == 1;
        Some(Self {
            kind: match kind {
                0 => Kind::Key,
                1 => Kind::Change,
                2 => Kind::Mark,
                _ => return None,
            },
            flags: Flags {
                last: bit(0),
                begins: bit(1),
                sweep_ended: bit(2),
                ends: bit(3),
            },
            state: StateHead {
                time_ms: i64::from_le_bytes(*time),
                sweep: u64::from_le_bytes(*sweep),
                generation: u64::from_le_bytes(*generation),
            },
        })
    }
}

/// A mark as a payload.
pub(crate) fn encode_mark(state: StateHead, flags: Flags) -> Vec<u8> {
    let flags = Flags {
        last: true,
        ..flags
    };
    let kind = Kind::Mark;
    Head { kind, flags, state }.encode()
}

/// Compresses a part of a state.
pub(super) fn squeeze(body: &[u8]) -> Result<Vec<u8>, HistoryError> {
    compress(body, LEVEL).map_err(HistoryError::io(Path::new("a state")))
}

/// A part of a state, from a payload whose checksum is right; none where it is not one.
pub(super) fn body(payload: &[u8]) -> Option<Vec<u8>> {
    let squeezed = payload.get(HEAD..)?;
    let len = zstd::zstd_safe::get_frame_content_size(squeezed).ok()??;
    let len = usize::try_from(len).ok().filter(|len| *len <= BODY_MAX)?;
    decompress(squeezed, len).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_come_back_and_flipped_bits_are_seen() {
        for kind in [Kind::Key, Kind::Change, Kind::Mark] {
            let head = Head {
                kind,
                flags: Flags {
                    last: kind == Kind::Mark,
                    begins: kind == Kind::Key,
                    sweep_ended: true,
                    ends: kind == Kind::Mark,
                },
                state: StateHead {
                    time_ms: 1_795_651_200_123,
                    sweep: 4711,
                    generation: 12,
                },
            };
            let bytes = head.encode();
            assert_eq!(Head::decode(&bytes), Some(head));
            for bit in 0..8 * HEAD {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(Head::decode(&flipped), None, "bit {bit}");
            }
        }
    }
}
