//! Nodes that are off for a while, and devices in the place of others.

use weft_fabric::{Guid, NodeId, PortNum, Tick, hfi_port_guid};

use super::Emulator;
use crate::agent::sma::KeyLease;
use crate::io::ControlError;
use crate::queue::Event;
use crate::trap::{News, TrapState};

/// Longest time, nanoseconds: an hour.
const OFF_MAX_NS: u64 = 3_600_000_000_000;

impl Emulator {
    /// Powers a node off and on again after a time. Another change of its power ends that.
    pub(super) fn reboot(&mut self, node: Guid, off_ns: u64) -> Result<(), ControlError> {
        if off_ns > OFF_MAX_NS {
            return Err(ControlError::Range {
                what: "off_ns",
                value: off_ns as f64,
                allowed: "up to 3600000000000",
            });
        }
        let id = self.power_off(node)?;
        let number = self.changes;
        let due = Tick(self.now.0.saturating_add(off_ns));
        if self.queue.push(due, Event::PowerOn { node: id, number }) {
            self.reboots.insert(id, number);
        } else {
            self.losses.overflow += 1;
            self.power_on(node)?;
        }
        Ok(())
    }

    /// The time of a node without power is over.
    pub(super) fn reboot_due(&mut self, id: NodeId, number: u64) {
        if self.reboots.get(&id) != Some(&number) {
            return;
        }
        self.changes += 1;
        self.circles.settle(&mut self.network, self.now);
        self.power_on_node(id);
        self.links_changed();
    }

    pub(super) fn power_off(&mut self, guid: Guid) -> Result<NodeId, ControlError> {
        let id = self.node(guid)?;
        self.reboots.remove(&id);
        self.network.power_off(id);
        Ok(id)
    }

    pub(super) fn power_on(&mut self, guid: Guid) -> Result<(), ControlError> {
        let id = self.node(guid)?;
        self.power_on_node(id);
        Ok(())
    }

    fn power_on_node(&mut self, id: NodeId) {
        self.reboots.remove(&id);
        if !self.network.device_at(id).is_powered() {
            self.network.power_on(id);
            // Requests in the agent's queue still count down; the rest starts anew.
            let agent = self.agent(id);
            agent.lease = KeyLease::default();
            for news in News::ALL {
                agent.announcement(news).trap = TrapState::default();
            }
        }
    }

    /// Puts another device in the place of one.
    pub(super) fn replace(&mut self, node: Guid, new: Guid) -> Result<(), ControlError> {
        let id = self.node(node)?;
        let is_switch = self.network.device_at(id).is_switch();
        let is_hfi = || hfi_port_guid(new, PortNum(1)) == new;
        let fits = new.0 != 0 && (is_switch || is_hfi());
        let exchanged = fits.then(|| self.network.exchange(id, new).ok()).flatten();
        exchanged.ok_or(ControlError::Guid { guid: new })?;
        // The links that it had are told as lost before they come up again.
        self.announce_changes();
        self.power_on(new)
    }
}
