//! Multicast: the members that tables are made for, and what switches say of their tables.
//!
//! A change of members alone needs no sweep: as soon as none is under way, the blocks that differ
//! are written, and the snapshot is published when they are confirmed.

use std::collections::BTreeSet;
use std::sync::Arc;

use weft_fabric::{MulticastTables, PortMask, Tick};
use weft_wire::enums::PortState;
use weft_wire::sm::{AttributeId, MulticastModifier};

use super::Manager;
use super::batch::Reply;
use super::devices::Stage;
use super::mft::{self, BLOCK_LEN};
use super::plan::{Members, MulticastPlan, Step, Told};
use crate::io::SweepReason;
use crate::multicast::MulticastLid;

/// Where changes of members stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Update {
    /// Tables are as the members ask.
    #[default]
    Done,
    /// Members have changed since tables were planned.
    Due,
    /// Blocks are being written between sweeps.
    Running,
    /// The same, and members have changed again.
    RunningAndDue,
}

impl Manager {
    /// Takes in who is in which group.
    pub(super) fn multicast_told(&mut self, groups: Vec<MulticastLid>) {
        if self.groups.members.as_deref() == Some(&groups) {
            return;
        }
        self.groups.members = Some(Arc::new(groups));
        self.groups.update = match self.groups.update {
            Update::Done | Update::Due => Update::Due,
            Update::Running | Update::RunningAndDue => Update::RunningAndDue,
        };
    }

    /// Nobody knows the members any more: tables stay as they are until they are told again.
    pub(super) fn forget_members(&mut self) {
        self.groups.members = None;
        self.groups.update = Update::Done;
        self.plan.multicast = MulticastPlan::default();
    }

    /// A sweep plans the tables for the members as they are now.
    pub(super) fn members_planned(&mut self) {
        self.groups.update = Update::Done;
    }

    /// Whether blocks are being written between sweeps.
    pub(super) fn is_updating(&self) -> bool {
        matches!(self.groups.update, Update::Running | Update::RunningAndDue)
    }

    /// Plans the tables for the members as they are now, between sweeps: links are as they were.
    fn plan_update(&mut self) {
        let members = self.members_now();
        let mut told = Told::default();
        let routes = Arc::clone(&self.plan.routes);
        self.plan.multicast = members.plan(&routes, &self.settings, true, &mut told);
        self.plan_multicast_step();
        told.tell(&mut self.out, &mut self.sweep);
    }

    /// What decides on multicast tables at present.
    pub(super) fn members_now(&self) -> Members {
        Members {
            groups: self.groups.members.clone(),
            before: self.plan.multicast.clone(),
        }
    }

    /// What switches may hold, as far as it is known.
    pub(super) fn possible_multicast(&self) -> MulticastTables {
        let switches = self.plan.topology.switches().iter();
        let rows = switches.map(|node| Arc::from(self.devices[*node].observed.mft.possible()));
        MulticastTables::new(rows.collect())
    }

    /// What is to be written first.
    fn plan_multicast_step(&mut self) {
        let routes = Arc::clone(&self.plan.routes);
        let (held, to_strangers) = (self.possible_multicast(), self.rows_to_strangers());
        self.plan.multicast.take_step(&Step {
            routable: &routes.routable,
            held: &held,
            to_strangers: &to_strangers,
        });
    }

    /// Rows that some switch may send over a link that is up to a node that is not known: what that one
    /// does with them may lead anywhere.
    pub(super) fn rows_to_strangers(&self) -> BTreeSet<usize> {
        let switches = self.plan.topology.switches().iter();
        let strangers = |node: u32| -> PortMask {
            let state = &self.devices[node];
            let ports = state
                .observed
                .node
                .iter()
                .flat_map(|node| node.external_ports());
            let up = ports.filter(|(_, port)| port.info.port_state >= PortState::INIT);
            let ports = up.map(|(port, _)| port);
            ports
                .filter(|port| self.plan.peer(node, *port).is_none())
                .collect()
        };
        let rows = switches.flat_map(|node| {
            let strangers = strangers(node.0);
            let rows = self.devices[*node].observed.mft.possible().iter();
            let rows = rows.enumerate().filter(move |_| !strangers.is_empty());
            rows.filter(move |(_, row)| !(**row & strangers).is_empty())
                .map(|(row, _)| row)
        });
        rows.collect()
    }

    /// Goes on from what had to stand first; says whether there is something to write. Where a
    /// switch has not confirmed it, its groups keep what they have until the next sweep.
    pub(super) fn take_multicast_step(&mut self) -> bool {
        if !std::mem::take(&mut self.plan.multicast.more) {
            return false;
        }
        self.plan_multicast_step();
        if std::mem::take(&mut self.plan.multicast.more) {
            self.sweep.unfinished(
                "multicast groups wait for switches that may still send them the old way".into(),
            );
        }
        true
    }

    /// Reads a switch's multicast table.
    pub(super) fn ask_multicast(&mut self, node: u32) -> bool {
        self.start_batch(node, false);
        let (blocks, positions) = self.needs().multicast_extent(node);
        let most = self.settings.requests.blocks();
        let cursor = self.devices[node].work.cursor as usize;
        if cursor >= blocks * positions {
            return false;
        }
        let (position, first) = (cursor / blocks, cursor % blocks);
        let count = (blocks - first).min(most);
        let modifier = MulticastModifier {
            count: count as u8,
            position: position as u8,
            all_blocks: false,
            block: first as u32,
        };
        self.devices[node].work.cursor += count as u32;
        self.requests.batch.get(
            AttributeId::MULTICAST_FDB,
            modifier.bits(),
            count * BLOCK_LEN,
        )
    }

    /// Takes in what a switch says that blocks of its table hold.
    pub(super) fn confirm_multicast(&mut self, node: u32, reply: &Reply<'_>) {
        let modifier = MulticastModifier::from_bits(reply.modifier);
        let blocks = reply
            .data
            .chunks_exact(BLOCK_LEN)
            .take(usize::from(modifier.count));
        let held = &mut self.devices[node].observed.mft;
        for (offset, bytes) in blocks.enumerate() {
            let block = modifier.block as usize + offset;
            held.confirm(block, usize::from(modifier.position), &mft::decode(bytes));
        }
    }

    /// Goes on with a change of members between sweeps; says whether there was something to do.
    pub(super) fn advance_update(&mut self, now: Tick) -> bool {
        match self.groups.update {
            Update::Done => false,
            // A sweep of the master writes it.
            Update::Due if self.plan.steps.is_empty() || !self.election.is_master() => false,
            Update::Due => {
                self.groups.update = Update::Running;
                self.plan_update();
                self.begin_update();
                true
            }
            Update::Running | Update::RunningAndDue => {
                if self.take_multicast_step() {
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
        if self.is_updating() {
            self.requests.schedule.clear(&mut self.devices);
        }
        self.groups.update = Update::Done;
    }

    fn begin_update(&mut self) {
        for node in self.devices.numbers() {
            let state = &self.devices[node];
            let able = state.is_switch() && state.health.works_in(self.sweep.number);
            if able && !self.needs().has_multicast(node) {
                self.devices[node].work.enter(Stage::WriteMulticast);
                self.requests
                    .schedule
                    .make_ready(node, &mut self.devices[node].work);
            }
        }
    }

    fn end_update(&mut self, now: Tick) {
        self.groups.update = match self.groups.update {
            Update::RunningAndDue => Update::Due,
            _ => Update::Done,
        };
        self.publish();
        let switches = self.plan.topology.switches();
        let left = switches
            .iter()
            .any(|node| !self.needs().has_multicast(node.0));
        if left {
            self.sweep
                .request(now, SweepReason::Unfinished, &self.settings.sweeps);
        }
    }
}
