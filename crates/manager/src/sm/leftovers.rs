//! Wait between the two steps of a change of routes that drains first.
//!
//! The first step drops the entries that conflict with the new ones, the second writes the
//! new ones. In between, packets sent by the old entries are still in buffers, and wait for the
//! link of that entry; together with packets of the new entries they may wait in a circle. A packet that
//! was routed before its entry was dropped leaves that switch within its LifeTimeValue, over the link or
//! dropped, and the next one, which may keep its own entry for the LID, within its. From there on
//! packets follow entries that old and new tables share, which the certificate of the new
//! ones covers.

use std::time::Duration;

/// Unit of LifeTimeValue: 4.096 µs × 2^value (InfiniBand, 14.2.5.4; opa-fm's `SwitchLifetime`).
const LIFETIME_UNIT: Duration = Duration::from_nanos(4_096);
/// The longest lifetime that ends, 2.1 s; beyond it (`IB_LIFETIME_MAX` in opa-fm) none does.
const LIFETIME_LONGEST: u8 = 19;
/// Switches in which a packet can be that a dropped entry has sent off: the entry's own, and the next.
const SWITCHES: u32 = 2;

/// Time for which packets of dropped entries remain, if no switch has a longer
/// LifeTimeValue than this. An unlimited one counts as the longest finite one: no wait is certain
/// then, but only a receiver that accepts nothing for so long keeps packets in flight.
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
