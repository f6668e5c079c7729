//! How long a change of routes that drains first waits between its two steps.
//!
//! The first step drops the entries that do not go together with the new ones, the second writes the
//! new ones. In between, packets that an entry has sent off are still in buffers, and wait for the
//! link that it named; with them, what the new entries send off may wait in a circle. A packet that
//! was routed before its entry went leaves that switch within its LifeTimeValue, over the link or
//! dropped, and the next one, which may keep its own entry for the LID, within its. Whatever goes on
//! from there was sent by entries that old and new tables share, which the certificate of the new
//! ones covers.

use std::time::Duration;

/// Unit of LifeTimeValue: 4.096 µs × 2^value (InfiniBand, 14.2.5.4; opa-fm's `SwitchLifetime`).
const LIFETIME_UNIT: Duration = Duration::from_nanos(4_096);
/// The longest lifetime that ends, 2.1 s; beyond it (`IB_LIFETIME_MAX` in opa-fm) none does.
const LIFETIME_LONGEST: u8 = 19;
/// Switches in which a packet can be that a dropped entry has sent off: the entry's own, and the next.
const SWITCHES: u32 = 2;

/// How long packets stay that entries have sent off which are gone, where no switch has a longer
/// LifeTimeValue than this. One that never ends counts as the longest that does: no time is sure
/// then, but only a receiver that takes nothing for so long keeps packets on their way.
pub(super) fn stay(life_time_value: u8) -> Duration {
    let lifetime = LIFETIME_UNIT * (1 << life_time_value.min(LIFETIME_LONGEST));
    lifetime * SWITCHES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_stay_two_lifetimes() {
        for (value, micros) in [(0, 8), (13, 67_108), (19, 4_294_967), (31, 4_294_967)] {
            assert_eq!(stay(value).as_micros(), micros, "{value}");
        }
    }
}
