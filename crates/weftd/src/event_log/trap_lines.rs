//! Which traps have a line (`TrapLogSuppressTriggerInterval`).

use std::collections::BTreeMap;
use std::time::Duration;

/// Sources whose last trap is remembered.
const SOURCES_MAX: usize = 1024;

/// When each source sent its last trap, and how many of them had no line since.
#[derive(Debug, Default)]
pub(super) struct TrapLines {
    last: BTreeMap<u32, (u64, u64)>,
}

impl TrapLines {
    /// Whether a trap has a line: it does unless another one of its source came within the interval before. If so, how
    /// many had none since the last line.
    pub(super) fn has_line(&mut self, lid: u32, now_ns: u64, interval: Duration) -> Option<u64> {
        if self.last.len() >= SOURCES_MAX && !self.last.contains_key(&lid) {
            // Sources that are silent for long need no memory; what is left are traps at a high rate.
            let interval = nanoseconds(interval);
            self.last
                .retain(|_, (at, _)| now_ns.saturating_sub(*at) < interval);
            if self.last.len() >= SOURCES_MAX {
                return None;
            }
        }
        let (at, unsaid) = self.last.entry(lid).or_insert((0, 0));
        let follows = *at != 0 && now_ns.saturating_sub(*at) < nanoseconds(interval);
        *at = now_ns;
        *unsaid += u64::from(follows);
        (!follows).then(|| std::mem::take(unsaid))
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_trap_soon_after_another_of_its_source_has_no_line() {
        let interval = Duration::from_secs(30);
        let mut lines = TrapLines::default();
        let mut at = |lid, seconds| lines.has_line(lid, seconds * SECOND, interval);
        assert_eq!(at(7, 100), Some(0));
        assert_eq!(at(7, 110), None);
        assert_eq!(at(8, 110), Some(0), "another source");
        assert_eq!(at(7, 139), None, "each one counts from the one before");
        assert_eq!(at(7, 169), Some(2));
        let always = lines.has_line(7, 169 * SECOND, Duration::ZERO);
        assert_eq!(always, Some(0), "0 never suppresses");
    }

    #[test]
    fn sources_are_bounded() {
        let mut lines = TrapLines::default();
        let interval = Duration::from_secs(30);
        let said = (0..3 * SOURCES_MAX as u32)
            .filter(|lid| lines.has_line(*lid, SECOND, interval).is_some())
            .count();
        assert_eq!(said, SOURCES_MAX);
        assert!(lines.has_line(1 << 20, 100 * SECOND, interval).is_some());
    }
}
