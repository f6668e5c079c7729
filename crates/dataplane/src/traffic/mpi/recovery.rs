//! Packets that were dropped are sent again.
//!
//! A receiver sees that one is missing when the next one from the same rank arrives, and says so;
//! where none arrives, its sender's time-out ends. Only what was lost is sent again: a sender that
//! goes back to it would send what followed twice.

use std::collections::BTreeMap;

use crate::packets::Picos;

/// What was lost on the way from one rank to another.
#[derive(Debug, Clone, Default)]
pub(super) struct Gap {
    /// Kinds of packets, with their transfers.
    pub(super) lost: Vec<(u64, u32)>,
    pub(super) since: Picos,
    /// The receiver has seen it.
    pub(super) seen: bool,
}

/// All gaps, by the two ranks.
#[derive(Debug, Clone, Default)]
pub(super) struct Gaps(BTreeMap<u64, Gap>);

/// Bits of a rank's number in a key.
const RANK_BITS: u32 = 28;

/// The key of the way from one rank to another.
pub(super) fn key(from: u32, to: u32) -> u64 {
    u64::from(from) << RANK_BITS | u64::from(to)
}

/// The two ranks of a key.
pub(super) fn ranks(key: u64) -> (u32, u32) {
    let mask = (1 << RANK_BITS) - 1;
    ((key >> RANK_BITS & mask) as u32, (key & mask) as u32)
}

impl Gaps {
    /// A packet was lost; says whether it is the first of its gap.
    pub(super) fn lose(&mut self, way: u64, packet: (u64, u32), now: Picos) -> bool {
        let gap = self.0.entry(way).or_default();
        let first = gap.lost.is_empty();
        if first {
            gap.since = now;
        }
        gap.lost.push(packet);
        first
    }

    /// A packet has arrived; says whether it shows a gap that was not seen before.
    #[inline]
    pub(super) fn shows(&mut self, way: impl FnOnce() -> u64) -> Option<u64> {
        if self.0.is_empty() {
            return None;
        }
        let way = way();
        let gap = self.0.get_mut(&way)?;
        let new = !gap.seen;
        gap.seen = true;
        new.then_some(way)
    }

    /// Takes what is to be sent again.
    pub(super) fn take(&mut self, way: u64) -> Vec<(u64, u32)> {
        self.0.remove(&way).unwrap_or_default().lost
    }

    /// Since when there is a gap.
    pub(super) fn since(&self, way: u64) -> Option<Picos> {
        self.0.get(&way).map(|gap| gap.since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_seen_once_and_taken_whole() {
        let mut gaps = Gaps::default();
        let way = key(3, 1 << 20);
        assert_eq!(ranks(way), (3, 1 << 20));
        assert!(gaps.lose(way, (0, 7), 5));
        assert!(!gaps.lose(way, (0, 8), 9));
        assert_eq!(gaps.since(way), Some(5));
        assert_eq!(gaps.shows(|| key(1 << 20, 3)), None);
        assert_eq!(gaps.shows(|| way), Some(way));
        assert_eq!(gaps.shows(|| way), None);
        assert_eq!(gaps.take(way), [(0, 7), (0, 8)]);
        assert_eq!(gaps.since(way), None);
    }
}
