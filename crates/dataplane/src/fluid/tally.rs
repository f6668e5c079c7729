//! Traffic on links at constant rates, as whole counts.

use weft_fabric::{Tick, Vl};

use crate::forward::Carried;

/// Traffic of a link per nanosecond.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Pace {
    /// Flits of 8 bytes.
    pub(super) flits: f64,
    /// Packets.
    pub(super) packets: f64,
    /// Counts of XmitWait.
    pub(super) waits: f64,
}

/// A link that is counted from time to time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    pub(super) pace: Pace,
    /// The lane of what crosses it.
    pub(super) lane: Option<Vl>,
    /// Counted up to then.
    since: Tick,
    /// Parts of a flit, packet and wait that are not counted yet.
    rest: Pace,
}

impl Tally {
    /// Traffic of the link since the last call; `None` if there was none.
    pub(super) fn take(&mut self, now: Tick) -> Option<(Vl, Carried)> {
        let elapsed = now.0.saturating_sub(self.since.0) as f64;
        self.since = self.since.max(now);
        if self.pace == Pace::default() {
            return None;
        }
        let carried = Carried {
            flits: whole(&mut self.rest.flits, self.pace.flits * elapsed),
            packets: whole(&mut self.rest.packets, self.pace.packets * elapsed),
            waits: whole(&mut self.rest.waits, self.pace.waits * elapsed),
        };
        Some((self.lane.unwrap_or_default(), carried))
    }
}

/// The whole part of `rest + more`; the fraction stays in `rest`.
fn whole(rest: &mut f64, more: f64) -> u64 {
    let sum = *rest + more;
    let whole = sum.floor().max(0.0);
    *rest = sum - whole;
    whole as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_between_calls() {
        let pace = Pace {
            flits: 1.5625,
            packets: 0.001_515,
            waits: 0.3,
        };
        let mut tally = Tally {
            pace,
            ..Tally::default()
        };
        let mut sum = Carried::default();
        for now in (0..=1_000_000).step_by(7) {
            let (_, carried) = tally.take(Tick(now)).unwrap_or_default();
            sum.flits += carried.flits;
            sum.packets += carried.packets;
            sum.waits += carried.waits;
        }
        let end = 999_999.0;
        assert_eq!(sum.flits, (1.5625 * end) as u64);
        assert_eq!(sum.packets, (0.001_515 * end) as u64);
        assert_eq!(sum.waits.abs_diff((0.3 * end) as u64), 0);
        assert_eq!(Tally::default().take(Tick(5)), None);
    }
}
