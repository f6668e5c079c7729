//! Trap floods: a source that sends many traps cannot displace other events.

use std::collections::BTreeMap;

use weft_fabric::Lid;

/// Traps of one source that are events, in one window.
const BY_SOURCE_MAX: u32 = 16;
/// Traps of all sources together that are events, in one window. A source chooses the LID that is in its
/// traps, so that a limit to each is not enough.
const ALL_MAX: u32 = 256;
/// Sources that are counted apart, in one window; the others are counted together.
const SOURCES_MAX: usize = 1024;
/// Nanoseconds of a window.
const WINDOW_NS: u64 = 60_000_000_000;

/// Counts the traps of each source, window by window.
#[derive(Debug, Default)]
pub(crate) struct TrapLimiter {
    /// When the window began, nanoseconds since 1970.
    since: u64,
    all: u32,
    /// Traps of each source: admitted and suppressed.
    sources: BTreeMap<Lid, (u32, u64)>,
    /// Suppressed ones of further sources.
    others: u64,
    /// Suppressed ones since the start.
    total: u64,
}

impl TrapLimiter {
    /// Whether a trap is to be an event; otherwise it is counted.
    pub(crate) fn admits(&mut self, lid: Lid) -> bool {
        if self.sources.len() >= SOURCES_MAX && !self.sources.contains_key(&lid) {
            self.others += 1;
            self.total += 1;
            return false;
        }
        let (admitted, suppressed) = self.sources.entry(lid).or_default();
        if *admitted < BY_SOURCE_MAX && self.all < ALL_MAX {
            *admitted += 1;
            self.all += 1;
            return true;
        }
        *suppressed += 1;
        self.total += 1;
        false
    }

    /// Counts of suppressed traps by source in the window that has ended, LID 0 for the sum of the
    /// smaller ones: only the sources with the most. Empty while the window lasts.
    pub(crate) fn ended(&mut self, now: u64) -> Vec<(Lid, u64)> {
        // A clock that was set back does not make a window longer.
        let lasts = now >= self.since && now - self.since < WINDOW_NS;
        if lasts {
            return Vec::new();
        }
        self.since = now;
        self.all = 0;
        let mut others = std::mem::take(&mut self.others);
        let sources = std::mem::take(&mut self.sources).into_iter();
        let suppressed = sources.map(|(lid, (_, suppressed))| (lid, suppressed));
        let mut told: Vec<_> = suppressed.filter(|(_, count)| *count > 0).collect();
        told.sort_by_key(|(lid, count)| (std::cmp::Reverse(*count), *lid));
        let rest = told.split_off(told.len().min(BY_SOURCE_MAX as usize));
        others += rest.iter().map(|(_, count)| count).sum::<u64>();
        told.extend((others > 0).then_some((Lid(0), others)));
        told
    }

    /// Traps that were no events, since the start.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_has_its_share_and_is_told_once_a_window() {
        let mut floods = TrapLimiter::default();
        assert!(floods.ended(WINDOW_NS).is_empty());
        let admitted = (0..1000).filter(|_| floods.admits(Lid(7))).count();
        assert_eq!(admitted, BY_SOURCE_MAX as usize);
        assert!(floods.admits(Lid(8)), "another source has its own");
        assert!(floods.ended(2 * WINDOW_NS - 1).is_empty());
        assert_eq!(floods.ended(2 * WINDOW_NS), [(Lid(7), 984)]);
        assert!(floods.admits(Lid(7)), "a new window");
        assert_eq!(floods.total(), 984);
    }

    #[test]
    fn forged_sources_are_bounded_together() {
        let mut floods = TrapLimiter::default();
        floods.ended(WINDOW_NS);
        let admitted = (1..50_000).filter(|lid| floods.admits(Lid(*lid))).count();
        assert_eq!(admitted, ALL_MAX as usize);
        let told = floods.ended(2 * WINDOW_NS);
        assert!(told.len() <= BY_SOURCE_MAX as usize + 1, "{}", told.len());
        let counted: u64 = told.iter().map(|(_, count)| count).sum();
        assert_eq!(counted, 49_999 - u64::from(ALL_MAX));
    }
}
