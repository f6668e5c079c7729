//! Ports that end groups again and again (`<McDosThreshold>`): each time a multicast LID, and multicast
//! tables of many switches, change.
//!
//! Counted as by opa-fm (`sa_updateMcDeleteCountForPort`): departures by which a group ends, in a window
//! that begins with the first one.

use std::collections::BTreeMap;
use std::time::Duration;

use weft_fabric::{Guid, Tick};
use weft_state::State;

use crate::io::PortAction;

/// Ports that are counted at most; others end groups unnoticed.
const PORTS_MAX: usize = 4_096;

/// What happens to a port that ends groups too often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub struct MulticastStormSettings {
    /// Groups that it ends in the window, at least 1 (`<McDosThreshold>`).
    pub most: u32,
    /// Length of the window (`<McDosInterval>`).
    pub window: Duration,
    /// What is done to the port (`<McDosAction>`).
    pub action: PortAction,
}

/// Groups that ports, by their GUIDs, have ended since their windows began.
#[derive(Debug, Clone, Default, State)]
pub(crate) struct MulticastStorms(BTreeMap<Guid, (Tick, u32)>);

impl MulticastStorms {
    /// Counts a group that a port has ended; returns the number in the window if that is too many.
    pub(super) fn count(
        &mut self,
        now: Tick,
        port: Guid,
        settings: &MulticastStormSettings,
    ) -> Option<u32> {
        let is_over = |since: Tick| now.since(since) >= settings.window;
        if !self.0.contains_key(&port) && self.0.len() >= PORTS_MAX {
            self.0.retain(|_, (since, _)| !is_over(*since));
            if self.0.len() >= PORTS_MAX {
                return None;
            }
        }
        let (since, count) = self.0.entry(port).or_insert((now, 0));
        if is_over(*since) {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        let count = *count;
        let storms = count >= settings.most;
        if storms {
            self.0.remove(&port);
        }
        storms.then_some(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: MulticastStormSettings = MulticastStormSettings {
        most: 3,
        window: Duration::from_secs(60),
        action: PortAction::Disable,
    };

    fn told(times_s: &[u64]) -> Vec<Option<u32>> {
        let mut storms = MulticastStorms::default();
        let count = |s: &u64| storms.count(Tick(s * 1_000_000_000), Guid(7), &SETTINGS);
        times_s.iter().map(count).collect()
    }

    #[test]
    fn as_many_as_the_threshold_in_a_window_are_a_storm_and_the_next_one_begins_anew() {
        let twice = told(&[0, 1, 59, 59, 59, 59]);
        assert_eq!(twice, [None, None, Some(3), None, None, Some(3)]);
        assert_eq!(told(&[0, 1, 60, 61]), [None; 4]);
    }

    #[test]
    fn the_number_of_ports_is_bounded() {
        let mut storms = MulticastStorms::default();
        for guid in 0..2 * PORTS_MAX as u64 {
            storms.count(Tick(guid), Guid(guid), &SETTINGS);
        }
        assert_eq!(storms.0.len(), PORTS_MAX);
        storms.count(Tick(3_600_000_000_000), Guid(1 << 40), &SETTINGS);
        assert_eq!(storms.0.len(), 1, "windows that are over are forgotten");
    }
}
