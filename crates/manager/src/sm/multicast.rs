//! Multicast: members for which tables are made, and tables reported by switches.
//!
//! A change of members alone needs no sweep: as soon as none is running, the blocks that differ
//! are written, and the snapshot is published when they are confirmed.

use std::sync::Arc;

use weft_fabric::Tick;
use weft_state::State;
use weft_wire::sm::MulticastModifier;

use super::Manager;
use super::devices::{Device, Devices, Stage};
use super::lost_links::with_links;
use super::mft::{self, BLOCK_LEN};
use super::plan::{Members, Plan, Step, Told};
use super::register::Registrations;
use super::sweep::Sweep;
use crate::ask::batch::Reply;
use crate::io::SweepReason;
use crate::multicast::MulticastLid;

/// Progress of a change of members.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, State)]
pub(super) enum Update {
    /// Tables match the members.
    #[default]
    Done,
    /// Members have changed since tables were planned.
    Due,
    /// Blocks are being written between sweeps.
    Running,
    /// A change is being written, and members have changed again.
    RunningAndDue,
}

impl Registrations {
    /// Sets the members of multicast groups.
    pub(super) fn told(&mut self, groups: Vec<MulticastLid>) {
        if self.members.as_deref() == Some(&groups) {
            return;
        }
        self.members = Some(Arc::new(groups));
        self.update = match self.update {
            Update::Done | Update::Due => Update::Due,
            Update::Running | Update::RunningAndDue => Update::RunningAndDue,
        };
    }

    /// The members are not known any more.
    pub(super) fn forget_members(&mut self) {
        (self.members, self.update) = (None, Update::Done);
    }

    /// A sweep plans the tables for the members as they are now.
    pub(super) fn members_planned(&mut self) {
        if !self.is_updating() {
            self.update = Update::Done;
        }
    }

    /// Whether blocks are being written between sweeps.
    pub(super) fn is_updating(&self) -> bool {
        matches!(self.update, Update::Running | Update::RunningAndDue)
    }
}

impl Plan {
    /// Determines the first tables to write.
    fn take_multicast_step(&mut self, devices: &Devices) {
        let held = devices.possible_multicast(&self.topology);
        let to_strangers = devices.rows_to_strangers(&self.topology);
        let links = with_links(&self.topology, &devices.lost_links(&self.topology));
        self.multicast.take_step(&Step {
            links: &links,
            held: &held,
            to_strangers: &to_strangers,
        });
    }

    /// Continues after the first tables; returns whether there is something to write. If a
    /// switch has not confirmed them, its groups keep their rows until the next sweep.
    pub(super) fn go_on_multicast(&mut self, devices: &Devices, sweep: &mut Sweep) -> bool {
        if !std::mem::take(&mut self.multicast.more) {
            return false;
        }
        self.take_multicast_step(devices);
        if std::mem::take(&mut self.multicast.more) {
            sweep.unfinished(
                "multicast groups wait for switches that may still use the old trees".into(),
            );
        }
        true
    }
}

impl Device {
    /// Records blocks of a switch's multicast table from its answer.
    pub(super) fn confirm_multicast(&mut self, reply: &Reply<'_>) {
        let modifier = MulticastModifier::from_bits(reply.modifier);
        let blocks = reply
            .data
            .chunks_exact(BLOCK_LEN)
            .take(usize::from(modifier.count));
        for (offset, bytes) in blocks.enumerate() {
            let block = modifier.block as usize + offset;
            let position = usize::from(modifier.position);
            self.observed
                .mft
                .confirm(block, position, &mft::decode(bytes));
        }
    }
}

impl Manager {
    /// Current inputs of multicast tables.
    pub(super) fn members(&self) -> Members {
        Members {
            groups: self.registrations.members.clone(),
            before: self.planning.plan.multicast.clone(),
        }
    }

    /// Plans the tables for the members as they are now, between sweeps: links are as they were.
    fn plan_update(&mut self) {
        let members = self.members();
        let mut told = Told::default();
        let plan = &mut self.planning.plan;
        plan.multicast = members.plan(&plan.routes, &self.settings, true, &mut told);
        plan.take_multicast_step(&self.devices);
        told.tell(&mut self.out, &mut self.sweep);
    }

    /// Continues a change of members between sweeps; returns whether there was something to do.
    pub(super) fn advance_update(&mut self, now: Tick) -> bool {
        match self.registrations.update {
            Update::Done => false,
            // A sweep of the master writes it.
            Update::Due if self.planning.plan.steps.is_empty() || !self.election.is_master() => {
                false
            }
            Update::Due => {
                self.registrations.update = Update::Running;
                self.plan_update();
                self.begin_update();
                true
            }
            Update::Running | Update::RunningAndDue => {
                let plan = &mut self.planning.plan;
                if plan.go_on_multicast(&self.devices, &mut self.sweep) {
                    self.begin_update();
                } else {
                    self.end_update(now);
                }
                true
            }
        }
    }

    /// Writes nothing more between sweeps: this manager is no longer the master.
    pub(super) fn stop_update(&mut self) {
        if self.registrations.is_updating() {
            self.requests.schedule.clear(&mut self.devices);
        }
        self.registrations.update = Update::Done;
    }

    fn begin_update(&mut self) {
        for node in self.devices.numbers() {
            let device = &self.devices[node];
            let able = device.is_switch() && device.health.works_in(self.sweep.number);
            if able && !self.needs().has_multicast(node) {
                let work = &mut self.devices[node].work;
                self.requests
                    .schedule
                    .begin(node, work, Stage::WriteMulticast);
            }
        }
    }

    fn end_update(&mut self, now: Tick) {
        self.registrations.update = match self.registrations.update {
            Update::RunningAndDue => Update::Due,
            _ => Update::Done,
        };
        self.publish();
        let switches = self.planning.plan.topology.switches();
        let left = switches
            .iter()
            .any(|node| !self.needs().has_multicast(node.0));
        if left || self.planning.plan.multicast.is_held_back() {
            self.sweep
                .request(now, SweepReason::Unfinished, &self.settings.sweeps);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeSet;

    use weft_fabric::enums::Mtu;
    use weft_fabric::{FabricSpec, Lid, MulticastTables, NodeId, PortNum, PortRef};
    use weft_routing::{MulticastGroup, MulticastRequest, MulticastSettings, route_multicast};

    use super::*;
    use crate::sm::Settings;

    /// A manager that has ended the writes of a change of members between sweeps.
    fn updated(plan: impl FnOnce(&mut Plan)) -> Manager {
        let mut manager = Manager::new(Settings::default(), None);
        manager.devices.own_or_new();
        manager.sweep.next.take();
        manager.registrations.update = Update::Running;
        plan(&mut manager.planning.plan);
        manager.end_update(Tick(5));
        manager
    }

    /// Certified tables of a group of two hosts.
    fn take_tables(plan: &mut Plan) {
        let spec = "one-switch:4".parse::<FabricSpec>().unwrap();
        let topology = spec.generate().unwrap();
        let port = |node| PortRef {
            node: NodeId(node),
            port: PortNum(1),
        };
        let group = MulticastGroup {
            mlid: Lid(0xF000_0000),
            mtu: Mtu::B2048,
            rate_mbps: 25_000,
            receivers: vec![port(0), port(1)],
            senders: Vec::new(),
        };
        let request = MulticastRequest {
            topology: &topology,
            settings: &MulticastSettings::default(),
            groups: &[group],
            manager: NodeId(0),
            before: None,
            same_links: false,
        };
        plan.multicast.routed = Some(route_multicast(request).unwrap());
    }

    fn take_step(plan: &mut Plan, to_strangers: &[usize]) {
        let spec = "one-switch:4".parse::<FabricSpec>().unwrap();
        plan.multicast.take_step(&Step {
            links: &spec.generate().unwrap(),
            held: &MulticastTables::default(),
            to_strangers: &to_strangers.iter().copied().collect::<BTreeSet<_>>(),
        });
    }

    #[test]
    fn a_sweep_follows_where_groups_are_held_back_between_sweeps() {
        let whole = updated(|plan| {
            take_tables(plan);
            take_step(plan, &[]);
        });
        assert_eq!(whole.sweep_due(), None);
        let held_back = updated(|plan| {
            take_tables(plan);
            take_step(plan, &[0]);
        });
        assert!(held_back.sweep_due().is_some());
    }

    #[test]
    fn a_sweep_follows_where_there_are_no_certified_tables_for_the_members() {
        let refused = updated(|plan| plan.multicast.refuse_all());
        assert!(refused.sweep_due().is_some());
        let unknown = updated(|_| {});
        assert_eq!(unknown.sweep_due(), None);
    }
}
