//! Counters of ports and lanes, and changes between two readings of them.

use weft_wire::pm::{Counter, VlCounter};

use super::settings::ClearSettings;

/// Counters of a port, in order of [`Counter`].
pub type Counters = [u64; Counter::COUNT];
/// Counters of a virtual lane, in order of [`VlCounter`].
pub type LaneCounters = [u64; VlCounter::COUNT];

/// A counter's bit in a `CounterSelectMask_t`, by its place.
fn bit(place: usize) -> u32 {
    1 << (31 - place)
}

/// Counters that a link clears by itself when it goes down, so that no other client need have done it.
pub(crate) const RESET_BY_LINK_DOWN: [Counter; 4] = [
    Counter::RcvErrors,
    Counter::LinkErrorRecovery,
    Counter::LocalLinkIntegrityErrors,
    Counter::ExcessiveBufferOverruns,
];

/// Change of a counter between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// Its increase.
    pub(crate) delta: u64,
    /// Whether another client cleared it.
    pub(crate) unexpected: bool,
}

/// Increase of a counter from `before` to `after`. `cleared`: the manager cleared it
/// in between. A counter of 64 bits that was in the last eighth of its range and is in the first
/// has wrapped; any other that decreased was cleared by another client.
pub(crate) fn step(before: u64, after: u64, cleared: bool) -> Step {
    let eighth = u64::MAX / 8;
    let wrapped = before > u64::MAX - eighth && after < eighth;
    let (delta, unexpected) = match after.checked_sub(before) {
        _ if cleared => (after, false),
        Some(delta) => (delta, false),
        None if wrapped => (after.wrapping_sub(before), false),
        None => (after, true),
    };
    Step { delta, unexpected }
}

/// Counts of a port between two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PortDelta {
    /// Increase of each counter.
    pub(crate) counters: Counters,
    /// Counters that another client cleared, as a `CounterSelectMask_t`.
    pub(crate) unexpected: u32,
}

/// Counts of a port between two readings; `cleared` names the counters that the manager cleared in
/// between.
pub(crate) fn port_delta(before: &Counters, after: &Counters, cleared: u32) -> PortDelta {
    let mut delta = PortDelta {
        counters: [0; Counter::COUNT],
        unexpected: 0,
    };
    for (place, to) in delta.counters.iter_mut().enumerate() {
        let step = step(before[place], after[place], cleared & bit(place) != 0);
        *to = step.delta;
        delta.unexpected |= u32::from(step.unexpected) * bit(place);
    }
    if delta.counters[Counter::LinkDowned as usize] > 0 {
        for counter in RESET_BY_LINK_DOWN {
            delta.unexpected &= !counter.select_bit();
        }
    }
    delta
}

/// Counts of a lane between two readings; `cleared` names the counters that the manager cleared at its
/// port in between.
pub(crate) fn lane_delta(
    before: &LaneCounters,
    after: &LaneCounters,
    cleared: u32,
) -> LaneCounters {
    std::array::from_fn(|place| {
        let cleared = cleared & VlCounter::TOTALS[place].select_bit() != 0;
        step(before[place], after[place], cleared).delta
    })
}

/// Adds a port's counts to its running totals, which saturate at their largest value.
pub(crate) fn add(totals: &mut Counters, delta: &Counters) {
    for (counter, (total, delta)) in Counter::ALL.into_iter().zip(totals.iter_mut().zip(delta)) {
        *total = total.saturating_add(*delta).min(counter.most());
    }
}

/// Adds a lane's counts to its running totals.
pub(crate) fn add_lane(totals: &mut LaneCounters, delta: &LaneCounters) {
    for (total, delta) in totals.iter_mut().zip(delta) {
        *total = total.saturating_add(*delta);
    }
}

/// Clears the counters in `select`, a `CounterSelectMask_t`.
pub(crate) fn clear(counters: &mut Counters, select: u32) {
    for (place, counter) in counters.iter_mut().enumerate() {
        if select & bit(place) != 0 {
            *counter = 0;
        }
    }
}

/// Clears the counters in `select`, a `CounterSelectMask_t`, of a lane's port.
pub(crate) fn clear_lane(counters: &mut LaneCounters, select: u32) {
    for (counter, total) in counters.iter_mut().zip(VlCounter::TOTALS) {
        if select & total.select_bit() != 0 {
            *counter = 0;
        }
    }
}

/// From which value each counter of a device is set to zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClearLimits {
    /// Nothing happens up to this value.
    limits: Counters,
    /// Counters that may be cleared.
    enabled: u32,
}

impl ClearLimits {
    pub(crate) fn new(settings: &ClearSettings) -> Self {
        let mut limits = Self {
            limits: [u64::MAX; Counter::COUNT],
            enabled: 0,
        };
        for counter in Counter::ALL {
            let enabled = match counter {
                Counter::LinkErrorRecovery | Counter::LinkDowned => settings.medium,
                Counter::UncorrectableErrors => settings.narrow,
                data if data <= Counter::MulticastRcvPkts => settings.data,
                _ => settings.wide,
            };
            if enabled {
                limits.enabled |= counter.select_bit();
                limits.limits[counter as usize] =
                    counter.most() / 8 * u64::from(settings.eighths.min(7));
            }
        }
        limits
    }

    /// Counters of a port that have to be cleared, as a `CounterSelectMask_t`.
    pub(crate) fn exceeded(&self, counters: &Counters) -> u32 {
        if self.enabled == 0 {
            return 0;
        }
        let places = counters.iter().zip(&self.limits).enumerate();
        let over = places.filter(|(_, (value, limit))| value > limit);
        over.fold(0, |select, (place, _)| select | bit(place)) & self.enabled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_counter_goes_up_wraps_or_was_cleared() {
        let near_end = u64::MAX - 9;
        for (before, after, cleared, delta, unexpected) in [
            (5, 8, false, 3, false),
            (5, 5, false, 0, false),
            (5, 3, false, 3, true),
            (5, 3, true, 3, false),
            (5, 8, true, 8, false),
            (near_end, 10, false, 20, false),
            (near_end, u64::MAX / 2, false, u64::MAX / 2, true),
            (u64::MAX / 2, 10, false, 10, true),
        ] {
            assert_eq!(
                step(before, after, cleared),
                Step { delta, unexpected },
                "from {before} to {after}, cleared {cleared}"
            );
        }
    }

    #[test]
    fn a_link_that_went_down_explains_some_resets() {
        let mut before = [100; Counter::COUNT];
        let mut after = before;
        before[Counter::LinkDowned as usize] = 1;
        after[Counter::LinkDowned as usize] = 2;
        after[Counter::RcvErrors as usize] = 0;
        assert_eq!(port_delta(&before, &after, 0).unexpected, 0);
        after[Counter::XmitDiscards as usize] = 0;
        let delta = port_delta(&before, &after, 0);
        assert_eq!(delta.unexpected, Counter::XmitDiscards.select_bit());
        assert_eq!(delta.counters[Counter::LinkDowned as usize], 1);
    }

    #[test]
    fn only_what_may_be_cleared_is_and_only_above_its_limit() {
        let mut counters = [0; Counter::COUNT];
        counters[Counter::LinkDowned as usize] = u64::from(u32::MAX) / 8 * 7;
        counters[Counter::XmitData as usize] = u64::MAX;
        counters[Counter::UncorrectableErrors as usize] = 218;
        let limits = ClearLimits::new(&ClearSettings::default());
        assert_eq!(
            limits.exceeded(&counters),
            Counter::UncorrectableErrors.select_bit()
        );
        counters[Counter::LinkDowned as usize] += 1;
        let both = Counter::UncorrectableErrors.select_bit() | Counter::LinkDowned.select_bit();
        assert_eq!(limits.exceeded(&counters), both);
        let all = ClearLimits::new(&ClearSettings {
            eighths: 0,
            data: true,
            ..ClearSettings::default()
        });
        assert_eq!(
            all.exceeded(&counters),
            both | Counter::XmitData.select_bit()
        );
    }

    /// A device's counter as it is, without limits, next to its readable value.
    #[derive(Debug, Clone)]
    enum Happens {
        Counts(u64),
        ManagerClears,
        Read,
    }

    fn happens() -> impl Strategy<Value = Happens> {
        prop_oneof![
            4 => (0u64..1 << 40).prop_map(Happens::Counts),
            1 => Just(Happens::ManagerClears),
            3 => Just(Happens::Read),
        ]
    }

    proptest! {
        /// The sum of all deltas equals the device's count, whatever the manager cleared and
        /// wherever the counter began, except for counts after the last reading and before a
        /// clear, which are unknowable.
        #[test]
        fn deltas_add_up_to_what_was_counted(start: u64, script in prop::collection::vec(happens(), 1..60)) {
            let (mut device, mut before, mut cleared) = (start, start, false);
            let (mut counted, mut unread, mut summed) = (0u64, 0u64, 0u64);
            for event in script {
                match event {
                    Happens::Counts(amount) => {
                        device = device.wrapping_add(amount);
                        unread += amount;
                    }
                    Happens::ManagerClears => {
                        device = 0;
                        cleared = true;
                        unread = 0;
                    }
                    Happens::Read => {
                        let step = step(before, device, cleared);
                        prop_assert!(!step.unexpected);
                        summed += step.delta;
                        counted += unread;
                        (before, cleared, unread) = (device, false, 0);
                    }
                }
            }
            prop_assert_eq!(summed, counted);
        }
    }
}
