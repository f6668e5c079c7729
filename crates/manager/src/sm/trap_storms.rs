//! Ports whose link errors storm (`<TrapThreshold>`): they are disabled, as by opa-fm
//! (`sa_updateTrapCountForPort`).
//!
//! Traps 129 to 131 of a port count in a window in which `<TrapThresholdMinCount>` of them would come at
//! the threshold's rate. When that many have come within twice the window, and at that rate or a higher
//! one, the port is disabled until it is enabled by command: of an HFI, the switch's port before it.

use std::collections::BTreeMap;
use std::time::Duration;

use weft_fabric::{Guid, Lid, PortNum, Tick};
use weft_state::State;
use weft_wire::sm::Trap;
use weft_wire::sm::trap::TrapLink;

use super::Manager;
use super::settings::StormSettings;
use crate::io::{Event, PortAction};

/// Why such a port is disabled.
const STORM: &str = "traps of errors of its link, more than TrapThreshold";

/// Ports that are counted at most; others send storms unnoticed.
const PORTS_MAX: usize = 4_096;

/// Traps of ports.
#[derive(Debug, Clone, Default, State)]
pub(super) struct Storms(BTreeMap<(Guid, PortNum), Window>);

/// Traps of a port since the window began.
#[derive(Debug, Clone, Copy, State)]
struct Window {
    since: Tick,
    count: u32,
}

impl StormSettings {
    /// The time in which the least number of traps comes at the threshold's rate.
    fn window(&self) -> Duration {
        Duration::from_secs(60) * self.least / self.per_minute.max(1)
    }
}

impl Storms {
    /// Counts a trap; returns the number in the window if that is too many.
    fn count(&mut self, now: Tick, port: (Guid, PortNum), settings: &StormSettings) -> Option<u32> {
        let length = settings.window();
        if !self.0.contains_key(&port) && self.0.len() >= PORTS_MAX {
            self.0
                .retain(|_, window| now.since(window.since) <= length * 2);
            if self.0.len() >= PORTS_MAX {
                return None;
            }
        }
        let first = Window {
            since: now,
            count: 0,
        };
        let window = self.0.entry(port).or_insert(first);
        let passed = now.since(window.since);
        if passed <= length {
            window.count += 1;
        }
        let count = window.count;
        let in_time = passed < length * 2 && count >= settings.least;
        // As a rate per minute, without a division by the time, which may be none.
        let is_fast = Duration::from_secs(60) * count >= passed * settings.per_minute;
        if passed > length {
            *window = Window {
                since: now,
                count: 1,
            };
        }
        let storms = in_time && is_fast;
        if storms {
            self.0.remove(&port);
        }
        storms.then_some(count)
    }
}

impl Manager {
    /// Counts a trap about link errors; disables a port that sends too many.
    pub(super) fn link_errors_reported(&mut self, now: Tick, trap: &Trap) {
        let Some(of) = link_of(trap) else {
            return;
        };
        let settings = self.settings.links.storms;
        let (Some(settings), Some(at)) = (settings, self.port_to_disable(of.lid, of.port)) else {
            return;
        };
        let Some(traps) = self.devices.storms.count(now, at, &settings) else {
            return;
        };
        if let Some(port) = self.change_unasked(now, at, PortAction::Disable, STORM) {
            self.out.event(Event::TrapStorm { port, traps });
        }
    }

    /// The port that a storm of `port` of the node with a LID disables.
    fn port_to_disable(&self, lid: Lid, port: PortNum) -> Option<(Guid, PortNum)> {
        let number = self.node_with(lid)?;
        let device = &self.devices[number];
        if device.is_switch() {
            return Some((device.identity.guid, port));
        }
        self.port_before(number)
    }

    /// The port that the end port of a node is cabled to.
    pub(super) fn port_before(&self, number: u32) -> Option<(Guid, PortNum)> {
        let end = self.devices[number].end_port();
        let peer = self.planning.plan.peer(number, end)?;
        Some((self.devices[peer.node].identity.guid, peer.port))
    }
}

/// The link whose errors a trap reports.
pub(super) fn link_of(trap: &Trap) -> Option<&TrapLink> {
    match trap {
        Trap::LinkIntegrity(of) | Trap::BufferOverrun(of) | Trap::FlowWatchdog(of) => Some(of),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: (Guid, PortNum) = (Guid(1), PortNum(7));
    /// Five at twenty a minute come in a quarter of a minute.
    const SETTINGS: StormSettings = StormSettings {
        per_minute: 20,
        least: 5,
    };

    fn told(times_ms: &[u64]) -> Vec<Option<u32>> {
        let mut storms = Storms::default();
        let at = |ms: &u64| Tick(ms * 1_000_000);
        let count = |ms| storms.count(at(ms), PORT, &SETTINGS);
        times_ms.iter().map(count).collect()
    }

    #[test]
    fn as_many_as_the_least_number_at_the_rate_are_a_storm() {
        let quick = told(&[1_000, 2_000, 3_000, 4_000, 5_000]);
        assert_eq!(quick, [None, None, None, None, Some(5)]);
        let at_once = told(&[1_000; 5]);
        assert_eq!(at_once, [None, None, None, None, Some(5)]);
    }

    #[test]
    fn fewer_or_slower_ones_are_none() {
        let few = told(&[1_000, 2_000, 3_000, 4_000]);
        assert_eq!(few, [None; 4]);
        let slow: Vec<u64> = (0..40).map(|n| 1_000 + n * 4_000).collect();
        assert_eq!(told(&slow), [None; 40]);
    }

    #[test]
    fn the_number_of_ports_is_bounded() {
        let mut storms = Storms::default();
        for guid in 0..2 * PORTS_MAX as u64 {
            storms.count(Tick(guid), (Guid(guid), PortNum(1)), &SETTINGS);
        }
        assert_eq!(storms.0.len(), PORTS_MAX);
        let later = Tick(3_600_000_000_000);
        storms.count(later, PORT, &SETTINGS);
        assert_eq!(storms.0.len(), 1, "what is over is forgotten");
    }
}
