//! Looks at the ports of a switch between sweeps.
//!
//! Sweeps wait for their hold-down time, so that they miss links that go down again and again: where one was
//! lost lately, each trap of its switches leads to a look. Nor does a trap start a sweep if only links have
//! changed that are not used anyway (`sm_flap_report_port_change_trap`).

use std::collections::BTreeSet;

use weft_fabric::{Guid, Lid, PortNum, Tick};
use weft_state::State;
use weft_wire::sm::{AttributeId, PortModifier, PortStateInfo, Repeated, decode_blocks};
use weft_wire::smp::SmpView;

use super::flapping::LinkState;
use super::{Manager, Tag};
use crate::ask::batch::STATES_PER_REQUEST;
use crate::io::SweepReason;

/// Switches that have reported a change during a sweep, or while they were looked at.
#[derive(Debug, Clone, Default, State)]
pub(super) struct Looks(BTreeSet<Guid>);

impl Manager {
    /// A port's state as its switch tells it: counts a link that has gone down by itself. Returns whether the
    /// state is news.
    pub(super) fn note_loss(
        &mut self,
        now: Tick,
        node: u32,
        port: PortNum,
        told: &PortStateInfo,
    ) -> bool {
        let device = &self.devices[node];
        let settings = self.settings.links.flapping.as_ref();
        let settings = settings.filter(|_| self.election.is_master());
        let (Some(settings), Some(held)) = (settings, device.observed.port(port)) else {
            return false;
        };
        let before = LinkState {
            state: held.port_state,
            is_marked: held.is_sm_configuration_started,
        };
        let state = LinkState {
            state: told.port_state,
            is_marked: told.is_sm_configuration_started,
        };
        let end = (device.identity.guid, port);
        let is_disabled = self.commands.disabled.contains_key(&end);
        let counts = Some(settings).filter(|_| !is_disabled);
        let flapping = &mut self.devices.flapping;
        flapping.seen(now, end, (before, state), counts)
    }

    /// Looks at the ports of a switch that reports a change, where links have been lost lately; returns
    /// whether it does.
    pub(super) fn look_at_ports(&mut self, now: Tick, lid: Lid) -> bool {
        let Some(node) = self.switch_with(lid) else {
            return false;
        };
        let device = &self.devices[node];
        let (guid, ports) = (device.identity.guid, device.observed.num_ports());
        if !self.devices.flapping.watches(guid) || ports > STATES_PER_REQUEST {
            return false;
        }
        let is_asked = self.requests.transactions.is_asked(node, &Tag::Look);
        if self.sweep.phase().is_some() || is_asked {
            self.requests.looks.0.insert(guid);
            return true;
        }
        self.look(now, node)
    }

    /// A sweep has ended: looks at switches that have reported a change meanwhile.
    pub(super) fn look_after_sweep(&mut self, now: Tick) {
        for guid in std::mem::take(&mut self.requests.looks.0) {
            let node = self.devices.find(guid);
            if let Some(node) = node.filter(|node| !self.look(now, *node)) {
                self.sweep_there(now, node);
            }
        }
    }

    fn look(&mut self, now: Tick, node: u32) -> bool {
        let ports = self.devices[node].observed.num_ports();
        if !self.requests.transactions.has_room() {
            return false;
        }
        self.start_batch(node, false);
        let modifier = PortModifier::range(PortNum(1), ports).bits();
        let len = usize::from(ports) * PortStateInfo::STRIDE;
        let batch = &mut self.requests.batch;
        if !batch.get(AttributeId::PORT_STATE_INFO, modifier, len) {
            return false;
        }
        self.send_batch(now, node, Tag::Look);
        true
    }

    /// A switch tells the states of its ports.
    pub(super) fn look_answered(&mut self, now: Tick, node: u32, view: &SmpView<'_>) {
        // It may have left the fabric since.
        let Some(guid) = self.devices.get(node).map(|device| device.identity.guid) else {
            return;
        };
        if self.sweep.phase().is_some() {
            self.requests.looks.0.insert(guid);
            return;
        }
        let again = self.requests.looks.0.remove(&guid);
        let is_good = view.status() == 0 && self.used_links_changed(now, node, view) == Some(false);
        if !is_good || (again && !self.look(now, node)) {
            self.sweep_there(now, node);
        } else if let Some(lids) = self.planning.plan.lids.get(node as usize) {
            self.sweep.next.reported.forget(*lids);
        }
    }

    /// A switch does not tell the states of its ports.
    pub(super) fn look_not_answered(&mut self, now: Tick, node: u32) {
        self.sweep_there(now, node);
    }

    fn sweep_there(&mut self, now: Tick, node: u32) {
        self.ports_changed(Some(node));
        self.sweep
            .request(now, SweepReason::Trap, &self.settings.sweeps);
    }

    /// Counts links that have gone down; returns whether others have changed than those that are not used, none
    /// where the answer lacks ports.
    fn used_links_changed(&mut self, now: Tick, node: u32, view: &SmpView<'_>) -> Option<bool> {
        let ports = usize::from(self.devices[node].observed.num_ports());
        let blocks = decode_blocks::<PortStateInfo>(view.payload, ports).flatten();
        let told: Vec<PortStateInfo> = blocks.collect();
        let mut in_use = false;
        for (port, told) in (1..).map(PortNum).zip(&told) {
            let changed = self.note_loss(now, node, port, told);
            in_use |= changed && !self.stays_unused(node, port);
        }
        (told.len() == ports).then_some(in_use)
    }

    /// Whether a port's link is not in use, and is not to be used if it is up.
    fn stays_unused(&self, node: u32, port: PortNum) -> bool {
        let observed = &self.devices[node].observed;
        let reason = self.devices.bar((self.devices[node].identity.guid, port));
        let plan = &self.planning.plan;
        match (reason, plan.peer(node, port)) {
            (None, _) => false,
            (_, Some(_)) => plan.is_refused(node, port),
            // Down: other links lead to the other end, or it is a host that stays cut off.
            (Some(reason), None) => {
                let neighbour = observed.last_neighbour(port);
                let is_there =
                    neighbour.is_some_and(|(guid, _)| plan.topology.find(guid).is_some());
                let info = observed.port(port);
                let is_host = info.is_some_and(|info| info.neighbor_node_type != 1);
                is_there || (is_host && reason.is_quarantine())
            }
        }
    }
}
