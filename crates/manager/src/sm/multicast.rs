//! Multicast: the tables that all switches should have, and writing what differs of them.
//!
//! A change of members alone needs no sweep: as soon as none is under way, the blocks that differ
//! are written, and the snapshot is published when they are confirmed.

use std::collections::BTreeSet;
use std::sync::Arc;

use weft_fabric::{FIRST_MLID, MulticastTables, NodeId, PortMask, SwitchIndex, Tick};
use weft_wire::Layout;
use weft_wire::enums::PortState;
use weft_wire::sm::{AttributeId, MulticastModifier, SwitchInfo};

use super::Manager;
use super::batch::Reply;
use super::devices::Stage;
use super::mft::{self, BLOCK, BLOCK_LEN, words_of};
use super::plan::{Members, MulticastPlan, Step, Told};
use crate::io::SweepReason;
use crate::multicast::MulticastLid;

/// Blocks in a segment of an Aggregate.
const SEGMENT_BLOCKS: usize = 15;

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

    fn multicast_row(&self, node: u32) -> &[PortMask] {
        let switch = self.plan.topology.switch_index(NodeId(node));
        switch.map_or(&[], |switch: SwitchIndex| {
            self.plan.multicast.step.row(switch)
        })
    }

    fn held_switch(&self, node: u32) -> Option<SwitchInfo> {
        self.devices[node].observed.node.as_ref()?.switch
    }

    /// Blocks of a switch's table that matter, and slices of 64 ports: what it should hold, and
    /// what it forwards at present.
    fn multicast_extent(&self, node: u32) -> (usize, usize) {
        let Some(held) = self.held_switch(node) else {
            return (0, 0);
        };
        let rows = self.multicast_row(node).len() as u32;
        let rows = rows
            .max(mft::rows_in_use(held.multicast_fdb_top))
            .min(held.multicast_fdb_cap);
        let positions = usize::from(self.devices[node].observed.num_ports()) / 64 + 1;
        ((rows as usize).div_ceil(BLOCK), positions)
    }

    fn has_multicast_rows(&self, node: u32) -> bool {
        let (blocks, positions) = self.multicast_extent(node);
        let (row, held) = (self.multicast_row(node), &self.devices[node].observed.mft);
        (0..blocks * positions).all(|item| {
            let (position, block) = (item / blocks, item % blocks);
            held.holds(block, position, &words_of(row, block, position))
        })
    }

    /// Whether a switch holds its rows, and has them in use.
    fn has_multicast(&self, node: u32) -> bool {
        let in_use = |held: SwitchInfo| self.multicast_top(node, &held) == held.multicast_fdb_top;
        self.has_multicast_rows(node) && self.held_switch(node).is_none_or(in_use)
    }

    /// MulticastFDBTop of a switch as it should be at present. Rows come into use when they are
    /// confirmed, or while no switch forwards anything at all; none goes out of use, as it is
    /// emptied instead.
    pub(super) fn multicast_top(&self, node: u32, held: &SwitchInfo) -> u32 {
        let rows = self.multicast_row(node).len() as u32;
        let rows = rows.min(held.multicast_fdb_cap);
        let stays = self.plan.multicast.routed.is_none()
            || rows <= mft::rows_in_use(held.multicast_fdb_top);
        let forwards = held.linear_fdb_top != 0 || self.plan.late_tops;
        match stays || (forwards && !self.has_multicast_rows(node)) {
            true => held.multicast_fdb_top,
            false => FIRST_MLID + rows - 1,
        }
    }

    /// The next blocks of a switch's multicast table that differ, then MulticastFDBTop.
    pub(super) fn next_multicast_write(&mut self, node: u32) -> bool {
        self.start_batch(node, true);
        if self.plan.multicast.routed.is_none() {
            return false;
        }
        let (blocks, positions) = self.multicast_extent(node);
        let switch = self.plan.topology.switch_index(NodeId(node));
        let step = Arc::clone(&self.plan.multicast.step);
        let row = switch.map_or(&[][..], |switch| step.row(switch));
        while (self.devices[node].work.cursor as usize) < blocks * positions {
            let cursor = self.devices[node].work.cursor as usize;
            let at = (cursor / blocks, cursor % blocks);
            let run = self.multicast_run(node, row, at, blocks);
            if run > 0 && !self.push_multicast(node, row, at, run) {
                return true;
            }
            self.devices[node].work.cursor += run.max(1) as u32;
        }
        if self.requests.batch.is_empty() {
            self.push_multicast_top(node);
        }
        !self.requests.batch.is_empty()
    }

    /// How many blocks from `at` (position, block) on differ, as many as a datagram takes.
    fn multicast_run(
        &self,
        node: u32,
        row: &[PortMask],
        at: (usize, usize),
        blocks: usize,
    ) -> usize {
        let most = match self.requests.batch.is_empty() {
            true => usize::from(self.settings.requests.table_blocks.clamp(1, 29)),
            false => SEGMENT_BLOCKS,
        };
        let (position, first) = at;
        let held = &self.devices[node].observed.mft;
        (first..blocks)
            .take(most)
            .take_while(|block| !held.holds(*block, position, &words_of(row, *block, position)))
            .count()
    }

    fn push_multicast(
        &mut self,
        node: u32,
        row: &[PortMask],
        at: (usize, usize),
        run: usize,
    ) -> bool {
        let (position, first) = at;
        let modifier = MulticastModifier {
            count: run as u8,
            position: position as u8,
            all_blocks: false,
            block: first as u32,
        };
        let fits = self.requests.batch.push(
            AttributeId::MULTICAST_FDB,
            modifier.bits(),
            run * BLOCK_LEN,
            |to| {
                for (offset, to) in to.chunks_exact_mut(BLOCK_LEN).enumerate() {
                    mft::encode(&words_of(row, first + offset, position), to);
                }
            },
        );
        if fits {
            let held = &mut self.devices[node].observed.mft;
            for block in first..first + run {
                held.sent(block, position, &words_of(row, block, position));
            }
        }
        fits
    }

    fn push_multicast_top(&mut self, node: u32) {
        let Some(held) = self.held_switch(node) else {
            return;
        };
        let wanted = SwitchInfo {
            multicast_fdb_top: self.multicast_top(node, &held),
            port_state_change: false,
            ..held
        };
        if wanted.multicast_fdb_top != held.multicast_fdb_top {
            self.requests
                .batch
                .push(AttributeId::SWITCH_INFO, 0, SwitchInfo::LEN, |to| {
                    wanted.encode(to)
                });
        }
    }

    /// Whether the table of a switch that was set up before this manager is to be read.
    pub(super) fn must_read_multicast(&self, node: u32) -> bool {
        let held = self
            .held_switch(node)
            .filter(|held| held.multicast_fdb_top != 0);
        let (blocks, positions) = self.multicast_extent(node);
        held.is_some() && self.devices[node].observed.mft.lacks(blocks, positions)
    }

    /// Reads a switch's multicast table.
    pub(super) fn ask_multicast(&mut self, node: u32) -> bool {
        self.start_batch(node, false);
        let (blocks, positions) = self.multicast_extent(node);
        let most = usize::from(self.settings.requests.table_blocks.clamp(1, 29));
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
            if able && !self.has_multicast(node) {
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
        let left = switches.iter().any(|node| !self.has_multicast(node.0));
        if left {
            self.sweep
                .request(now, SweepReason::Unfinished, &self.settings.sweeps);
        }
    }
}
