//! From two readings of a port to what its device no longer has.

use weft_fabric::Vl;
use weft_wire::pm::{Counter, VlCounter};

use crate::pm::{Counters, LaneCounters, Raw, step};

/// What a device had counted and no longer has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Lost {
    pub(super) counters: Counters,
    /// Of lanes, those of which something is lost.
    pub(super) lanes: Vec<(Vl, LaneCounters)>,
    /// Readings in which somebody else than the manager had set something to zero.
    pub(super) bridges: u32,
    /// When the last of them was, seconds since 1970.
    pub(super) bridged_unix_s: u64,
}

impl Lost {
    /// What was lost of a lane, none if nothing was.
    pub(super) fn lane(&self, vl: Vl) -> Option<&LaneCounters> {
        let found = self.lanes.iter().find(|(known, _)| *known == vl);
        found.map(|(_, lane)| lane)
    }

    /// Adds what was lost before a reading, and is known by other means.
    pub(super) fn add_known(&mut self, more: &Counters) {
        add(&mut self.counters, more);
    }

    /// Notes a reading in which somebody else than the manager had set something to zero.
    pub(super) fn note(&mut self, unix_time: u64) {
        self.bridges = self.bridges.saturating_add(1);
        self.bridged_unix_s = unix_time;
    }

    /// Adds what was lost by a reading.
    pub(super) fn add(&mut self, more: Bridge, unix_time: u64) {
        add(&mut self.counters, &more.counters);
        for (vl, lane) in more.lanes {
            match self.lanes.iter_mut().find(|(known, _)| *known == vl) {
                Some((_, sums)) => add(sums, &lane),
                None => {
                    // One at a time: every port may have some.
                    self.lanes.reserve_exact(1);
                    self.lanes.push((vl, lane));
                }
            }
        }
        if more.unexpected {
            self.note(unix_time);
        }
    }
}

fn add(sums: &mut [u64], more: &[u64]) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum = sum.saturating_add(*more);
    }
}

/// What a device no longer has at a reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bridge {
    counters: Counters,
    lanes: Vec<(Vl, LaneCounters)>,
    /// Whether the manager has not done all of it.
    pub(super) unexpected: bool,
}

/// Compares two readings of a port; none where nothing is lost.
pub(super) fn bridge(before: &Raw<'_>, after: &Raw<'_>) -> Option<Bridge> {
    let lower = |before: &[u64], after: &[u64]| before.iter().zip(after).any(|(b, a)| a < b);
    let lanes_lower = before.vls == after.vls
        && (before.lanes.iter().zip(after.lanes)).any(|(before, after)| lower(before, after));
    if before.cleared == 0 && !lanes_lower && !lower(before.counters, after.counters) {
        return None;
    }
    let mut bridge = Bridge {
        counters: [0; Counter::COUNT],
        lanes: Vec::new(),
        unexpected: false,
    };
    for counter in Counter::ALL {
        let place = counter as usize;
        let cleared = before.cleared & counter.select_bit() != 0;
        let (from, to) = (before.counters[place], after.counters[place]);
        bridge.counters[place] = lost(from, to, cleared);
        bridge.unexpected |= to < from && !cleared;
    }
    for (vl, from) in before.vls.iter().zip(before.lanes) {
        let to = after.vls.iter().position(|other| other == vl);
        let Some(to) = to.and_then(|place| after.lanes.get(place)) else {
            continue;
        };
        let lane: LaneCounters = std::array::from_fn(|place| {
            let cleared = before.cleared & VlCounter::TOTALS[place].select_bit() != 0;
            lost(from[place], to[place], cleared)
        });
        if lane != [0; VlCounter::COUNT] {
            bridge.lanes.push((*vl, lane));
        }
    }
    Some(bridge)
}

/// What must be added to a counter that went from `before` to `after`, so that it goes up by what was counted.
fn lost(before: u64, after: u64, cleared: bool) -> u64 {
    let counted = step(before, after, cleared).delta;
    let total = u128::from(before) + u128::from(counted);
    u64::try_from(total.saturating_sub(u128::from(after))).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_keeps_the_sum_going_up() {
        let near_end = u64::MAX - 9;
        for (before, after, cleared, expected) in [
            (5, 8, false, 0),
            (5, 3, false, 5),
            (5, 3, true, 5),
            (5, 8, true, 5),
            (near_end, 10, false, u64::MAX),
        ] {
            assert_eq!(
                lost(before, after, cleared),
                expected,
                "from {before} to {after}, cleared {cleared}"
            );
        }
    }
}
