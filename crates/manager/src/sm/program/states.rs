//! Arming and activating ports, and asking hosts to register again.
//!
//! A port is armed when all that it needs is confirmed, and activated when its neighbour is armed too.

use weft_fabric::PortNum;
use weft_wire::enums::PortState;
use weft_wire::sm::{PortInfo, PortModifier};

use super::needs::Needs;
use super::writer::Writer;
use crate::sm::devices::Device;
use crate::sm::wanted::port::to_set;

/// The ports of a node that carry data: a switch's external ones, an HFI's port by which it was reached.
fn data_ports(device: &Device) -> impl Iterator<Item = PortNum> + use<> {
    let (first, last) = match device.is_switch() {
        true => (1, device.observed.num_ports()),
        false => (device.end_port().0, device.end_port().0),
    };
    (first..=last).map(PortNum)
}

impl Needs<'_> {
    /// Whether a port is to be armed.
    pub(crate) fn may_arm(&self, node: u32, port: PortNum) -> bool {
        self.is_steady_in(node, port, PortState::INIT)
            && !self.plan.steps.is_empty()
            && self.may_carry_data(node, port)
            && self
                .peer_info(node, port)
                .is_some_and(|(peer, _)| peer.health.works_in(self.sweep))
    }

    /// Whether a port is to be activated: both ends are armed.
    pub(crate) fn may_activate(&self, node: u32, port: PortNum) -> bool {
        self.is_steady_in(node, port, PortState::ARMED)
            && self.may_carry_data(node, port)
            && self
                .peer_info(node, port)
                .is_some_and(|(_, far)| far.port_state >= PortState::ARMED)
    }

    /// The ports of a node that are to be activated.
    pub(crate) fn ports_to_activate(&self, node: u32) -> Vec<PortNum> {
        let ports = data_ports(&self.devices[node]);
        ports
            .filter(|port| self.may_activate(node, *port))
            .collect()
    }

    fn is_steady_in(&self, node: u32, port: PortNum, state: PortState) -> bool {
        let observed = &self.devices[node].observed;
        let held = observed.port(port).map(|info| info.port_state);
        held == Some(state) && !observed.bounced_ports.contains(port)
    }
}

impl Writer<'_> {
    /// Arms the ports of a switch, all in one request.
    pub(super) fn arm(&mut self) -> bool {
        if !self.needs.has_its_lid(self.node) || !self.is_first() {
            return false;
        }
        let ports = data_ports(self.device());
        let ports: Vec<PortNum> = ports
            .filter(|port| self.needs.may_arm(self.node, *port))
            .collect();
        self.push_states(&ports, PortState::ARMED);
        !self.batch.is_empty()
    }

    /// Activates the ports of a node, all in one request.
    pub(super) fn activate(&mut self) -> bool {
        if !self.is_first() {
            return false;
        }
        let ports = self.needs.ports_to_activate(self.node);
        self.push_states(&ports, PortState::ACTIVE);
        !self.batch.is_empty()
    }

    /// Asks the host behind an end port to register again.
    pub(super) fn register(&mut self) -> bool {
        let device = self.device();
        let port = device.end_port();
        let Some(held) = device.observed.port(port).filter(|_| self.is_first()) else {
            return false;
        };
        let info = PortInfo {
            client_reregister: true,
            ..to_set(held)
        };
        self.push_port(PortModifier::one(port), &info);
        !self.batch.is_empty()
    }
}
