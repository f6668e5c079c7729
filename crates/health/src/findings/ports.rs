//! Ports without a link: switched off, or with a module and no link.

use weft_fabric::enums::{OfflineDisabledReason, PhysState, PortState};

use super::{Finder, NO_PORT, point, words};
use crate::memory::LinkEnd;
use crate::page::Kind;

impl Finder<'_> {
    /// Ports that are switched off, with what they led to where that is remembered.
    pub(super) fn disabled(&mut self) {
        let ports = self.ports_down(|info_state| info_state == PhysState::DISABLED);
        for end in ports {
            let known = self.switched_off.get(&end).copied();
            if self.is_explained(end) && known.is_none() {
                continue;
            }
            let port = self.at(end).and_then(|at| self.topology.port(at));
            let reason = port.map(|port| port.info.offline_disabled_reason);
            if reason == Some(OfflineDisabledReason::CHASSIS_CONFIG) {
                continue;
            }
            let by = match reason {
                Some(OfflineDisabledReason::SWITCH_MGMT) => "by the switch's own management",
                _ => "by the fabric manager",
            };
            let far = known.map(|(far, _)| self.end(far));
            let what = match known {
                Some(_) => format!("the port is switched off {by}; a link was there before"),
                None => format!("the port is switched off {by}"),
            };
            let mut finding = self.begin(Kind::Disabled, what, self.end(end), far);
            finding.since = known.and_then(|(_, since)| since);
            (finding.hosts, finding.host_names) = match (self.cut_off.remove(&end), known) {
                (Some(hosts), _) => super::felt::first(hosts),
                (None, Some((far, _))) => self.felt.over(self.topology, end, far),
                (None, None) => (0, Vec::new()),
            };
            finding.next = format!("weft port enable {}", point(end));
            self.found.push(finding);
            self.explain([end]);
        }
    }

    /// Ports with a module and no link, of which nothing is remembered.
    pub(super) fn down(&mut self) {
        for end in self.ports_down(|_| true) {
            let port = self.at(end).and_then(|at| self.topology.port(at));
            let module = port.and_then(|port| words::module(&port.info));
            let (Some((what, advice)), Some(port)) = (module, port) else {
                continue;
            };
            if self.is_explained(end) {
                continue;
            }
            let what = format!("{what}: {}", words::port(&port.info));
            let mut finding = self.begin(Kind::Down, what, self.end(end), None);
            finding.advice = advice.to_owned();
            finding.next = super::why(end);
            self.found.push(finding);
            self.explain([end]);
        }
    }

    /// Ports of cables that are down, by their physical state.
    fn ports_down(&self, is_wanted: impl Fn(PhysState) -> bool) -> Vec<LinkEnd> {
        let mut down = Vec::new();
        for (_, node) in self.topology.nodes() {
            for (number, port) in node.external_ports() {
                let info = &port.info;
                let is_down = port.peer.is_none() && info.port_state == PortState::DOWN;
                if is_down && number != NO_PORT && is_wanted(info.phys_state) {
                    down.push((node.guid(), number));
                }
            }
        }
        down
    }
}
