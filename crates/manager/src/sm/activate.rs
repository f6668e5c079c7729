//! Activates ports, once their neighbours are armed too, and handles ports that do not change
//! state.
//!
//! The agent refuses to arm and to activate a port whose link bounced since the manager read it: then
//! `IsSMConfigurationStarted` is clear, and the next sweep brings the port up again. As the node may have
//! been power-cycled, its tables are read again too.

use std::time::Duration;

use weft_fabric::{PortNum, Tick};
use weft_wire::enums::PortState;
use weft_wire::sm::PortStateInfo;

use super::Manager;
use super::devices::Stage;

/// First and longest wait for a neighbour that is not ready.
const RETRY_FIRST: Duration = Duration::from_millis(1);
const RETRY_MAX: Duration = Duration::from_secs(1);

impl Manager {
    /// Gives every node that is ready its ports to activate.
    pub(super) fn begin_activate(&mut self) {
        for node in self.devices.numbers() {
            if self.devices[node].work.stage == Stage::Ready {
                let work = &mut self.devices[node].work;
                self.requests.schedule.begin(node, work, Stage::Activate);
            }
        }
    }

    /// Retries, after a while, ports whose neighbour was not ready; returns whether the node continues
    /// at once.
    pub(super) fn after_activation(&mut self, now: Tick, node: u32) -> bool {
        let left = !self.needs().ports_to_activate(node).is_empty();
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
            let label = device.label();
            self.sweep.unfinished_link(format!(
                "ports of {label} cannot be activated: their neighbours are not ready"
            ));
        }
        self.devices[node].work.enter(Stage::Idle);
        false
    }

    /// A port is not in the requested state.
    pub(super) fn did_not_follow(&mut self, node: u32, port: PortNum, held: &PortStateInfo) {
        if held.port_state == PortState::ARMED && !held.neighbor_normal {
            return; // the neighbour is not ready: tried again
        }
        let device = &mut self.devices[node];
        device.observed.bounced_ports.insert(port);
        device.health.doubtful = true;
        let label = device.label();
        self.sweep.unfinished_link(format!(
            "the link at port {port} of {label} bounced during the sweep"
        ));
    }
}
