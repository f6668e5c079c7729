//! Arming and activating ports.
//!
//! A port is armed when all that it needs is confirmed, and activated when its neighbour is armed
//! too. The agent refuses both to a port whose link bounced since the manager read it: then
//! `IsSMConfigurationStarted` is clear, and the next sweep takes the port up again.

use std::time::Duration;

use weft_fabric::{PortNum, Tick};
use weft_wire::Layout;
use weft_wire::enums::PortState;
use weft_wire::sm::{AttributeId, PortModifier, PortStateInfo};

use super::Manager;
use super::devices::Stage;

/// First and longest wait for a neighbour that is not ready.
const RETRY_FIRST: Duration = Duration::from_millis(1);
const RETRY_MAX: Duration = Duration::from_secs(1);
/// Ports whose states one datagram carries.
const STATES_PER_REQUEST: usize = 200;

impl Manager {
    /// Whether a port is to be armed.
    pub(super) fn may_arm(&self, node: u32, port: PortNum) -> bool {
        let device = &self.devices[node];
        let held = device.observed.port(port).map(|info| info.port_state);
        held == Some(PortState::INIT)
            && !device.observed.bounced_ports.contains(port)
            && !self.plan.steps.is_empty()
            && self.may_carry_data(node, port)
            && self.neighbour_works(node, port)
    }

    /// Whether the node at the other end has done its work so far.
    fn neighbour_works(&self, node: u32, port: PortNum) -> bool {
        self.peer_info(node, port)
            .is_some_and(|(peer, _)| peer.health.works_in(self.sweep.number))
    }

    /// Arms the ports of a switch, all in one request.
    pub(super) fn next_arm(&mut self, node: u32) -> bool {
        if self.devices[node].work.cursor > 0 || !self.has_its_lid(node) {
            return false;
        }
        self.devices[node].work.cursor = 1;
        self.push_states(node, PortState::ARMED, |manager, port| {
            manager.may_arm(node, port)
        })
    }

    /// Asks for `wanted` on the ports that `chosen` names; says whether there are any.
    fn push_states(
        &mut self,
        node: u32,
        wanted: PortState,
        chosen: impl Fn(&Self, PortNum) -> bool,
    ) -> bool {
        self.start_batch(node, true);
        let device = &self.devices[node];
        let (first, last) = match device.is_switch() {
            true => (1, device.observed.num_ports()),
            false => (device.end_port().0, device.end_port().0),
        };
        let ports: Vec<PortNum> = (first..=last)
            .map(PortNum)
            .filter(|port| chosen(self, *port))
            .collect();
        let Some((first, last)) = ports.first().copied().zip(ports.last().copied()) else {
            return false;
        };
        let count = usize::from(last.0 - first.0 + 1).min(STATES_PER_REQUEST);
        let modifier = PortModifier::range(first, count as u8).bits();
        let asked = PortStateInfo {
            port_state: wanted,
            ..PortStateInfo::default()
        };
        self.requests.batch.push(
            AttributeId::PORT_STATE_INFO,
            modifier,
            count * PortStateInfo::LEN,
            |to| {
                for port in ports {
                    let block = to
                        .chunks_exact_mut(PortStateInfo::LEN)
                        .nth(usize::from(port.0 - first.0));
                    block.into_iter().for_each(|block| asked.encode(block));
                }
            },
        )
    }

    /// Gives every node that is ready its ports to activate.
    pub(super) fn begin_activate(&mut self) {
        for node in self.devices.numbers() {
            if self.devices[node].work.stage == Stage::Ready {
                self.devices[node].work.enter(Stage::Activate);
                self.requests
                    .schedule
                    .make_ready(node, &mut self.devices[node].work);
            }
        }
    }

    /// Whether a port is to be activated: both ends are armed.
    fn may_activate(&self, node: u32, port: PortNum) -> bool {
        let device = &self.devices[node];
        let held = device.observed.port(port).map(|info| info.port_state);
        held == Some(PortState::ARMED)
            && !device.observed.bounced_ports.contains(port)
            && self.may_carry_data(node, port)
            && self
                .peer_info(node, port)
                .is_some_and(|(_, far)| far.port_state >= PortState::ARMED)
    }

    /// Activates the ports of a node, all in one request.
    pub(super) fn next_activation(&mut self, node: u32) -> bool {
        if self.devices[node].work.cursor > 0 {
            return false;
        }
        self.devices[node].work.cursor = 1;
        self.push_states(node, PortState::ACTIVE, |manager, port| {
            manager.may_activate(node, port)
        })
    }

    /// Tries again, after a while, what a neighbour was not ready for; says whether the node goes on
    /// at once.
    pub(super) fn after_activation(&mut self, now: Tick, node: u32) -> bool {
        let left = self.push_states(node, PortState::ACTIVE, |manager, port| {
            manager.may_activate(node, port)
        });
        let retries = self.settings.requests.neighbor_normal_retries;
        let device = &mut self.devices[node];
        if left && device.work.repeats < retries {
            let wait = RETRY_FIRST
                .saturating_mul(1 << device.work.repeats.min(16))
                .min(RETRY_MAX);
            device.work.repeats += 1;
            device.work.cursor = 0;
            self.requests
                .schedule
                .make_wait(node, &mut device.work, now + wait);
            return false;
        }
        if left {
            let guid = device.identity.guid;
            self.sweep.unfinished(format!(
                "ports of node {guid} cannot be activated: their neighbours are not ready"
            ));
        }
        self.devices[node].work.enter(Stage::Idle);
        false
    }

    /// A port is not in the state that it was asked for.
    pub(super) fn did_not_follow(&mut self, node: u32, port: PortNum, held: &PortStateInfo) {
        if held.port_state == PortState::ARMED && !held.neighbor_normal {
            return; // the neighbour is not ready: tried again
        }
        let device = &mut self.devices[node];
        device.observed.bounced_ports.insert(port);
        let guid = device.identity.guid;
        self.sweep.unfinished(format!(
            "the link at port {port} of node {guid} bounced during the sweep"
        ));
    }
}
