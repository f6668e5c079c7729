//! Multicast tables: blocks that differ, then MulticastFDBTop.

use weft_fabric::{FIRST_MLID, MLIDS, NodeId, PortMask, SwitchIndex};
use weft_wire::sm::{AttributeId, MulticastModifier, SwitchInfo};

use super::needs::Needs;
use super::writer::{Item, Writer};
use crate::ask::batch::SEGMENT_BLOCKS;
use crate::sm::mft::{self, BLOCK, BLOCK_LEN, words_of};

impl<'a> Needs<'a> {
    fn multicast_row(&self, node: u32) -> &'a [PortMask] {
        let switch = self.plan.topology.switch_index(NodeId(node));
        switch.map_or(&[], |switch: SwitchIndex| {
            self.plan.multicast.step.row(switch)
        })
    }

    /// Number of relevant blocks of a switch's table, and of slices of 64 ports: intended and
    /// current ones, of those that exist.
    pub(crate) fn multicast_extent(&self, node: u32) -> (usize, usize) {
        let observed = &self.devices[node].observed;
        let Some(held) = observed.switch() else {
            return (0, 0);
        };
        let rows = self.multicast_row(node).len() as u32;
        let rows = rows
            .max(mft::rows_in_use(held.multicast_fdb_top))
            .min(held.multicast_fdb_cap)
            .min(MLIDS);
        let positions = usize::from(observed.num_ports()) / 64 + 1;
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
    pub(crate) fn has_multicast(&self, node: u32) -> bool {
        let in_use = |held: SwitchInfo| self.multicast_top(node, &held) == held.multicast_fdb_top;
        self.has_multicast_rows(node) && self.devices[node].observed.switch().is_none_or(in_use)
    }

    /// MulticastFDBTop of a switch as it should be at present. Rows come into use when they are
    /// confirmed, or while no switch forwards anything at all; none goes out of use, as it is
    /// emptied instead.
    pub(crate) fn multicast_top(&self, node: u32, held: &SwitchInfo) -> u32 {
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

    /// Whether the table of a switch that was set up before this manager is to be read.
    pub(crate) fn must_read_multicast(&self, node: u32) -> bool {
        let observed = &self.devices[node].observed;
        let held = observed.switch().filter(|held| held.multicast_fdb_top != 0);
        let (blocks, positions) = self.multicast_extent(node);
        held.is_some() && observed.mft.lacks(blocks, positions)
    }
}

impl Writer<'_> {
    /// The next blocks of a switch's multicast table that differ, then MulticastFDBTop.
    pub(super) fn write_multicast(&mut self) -> bool {
        if self.needs.plan.multicast.routed.is_none() {
            return false;
        }
        let (blocks, positions) = self.needs.multicast_extent(self.node);
        let row = self.needs.multicast_row(self.node);
        while (self.cursor as usize) < blocks * positions {
            let cursor = self.cursor as usize;
            let at = (cursor / blocks, cursor % blocks);
            let run = self.multicast_run(row, at, blocks);
            if run > 0 && !self.push_multicast(row, at, run) {
                return true;
            }
            self.cursor += run.max(1) as u32;
        }
        if self.batch.is_empty() {
            self.push_multicast_top();
        }
        !self.batch.is_empty()
    }

    /// Number of blocks from `at` (position, block) on that differ, at most one datagram's.
    fn multicast_run(&self, row: &[PortMask], at: (usize, usize), blocks: usize) -> usize {
        let most = match self.batch.is_empty() {
            true => self.needs.settings.requests.blocks(),
            false => SEGMENT_BLOCKS,
        };
        let (position, first) = at;
        let held = &self.device().observed.mft;
        (first..blocks)
            .take(most)
            .take_while(|block| !held.holds(*block, position, &words_of(row, *block, position)))
            .count()
    }

    fn push_multicast(&mut self, row: &[PortMask], at: (usize, usize), run: usize) -> bool {
        let (position, first) = at;
        let modifier = MulticastModifier {
            count: run as u8,
            position: position as u8,
            all_blocks: false,
            block: first as u32,
        };
        let len = run * BLOCK_LEN;
        let pushed = self.push(AttributeId::MULTICAST_FDB, modifier.bits(), len, |to| {
            for (offset, to) in to.chunks_exact_mut(BLOCK_LEN).enumerate() {
                mft::encode(&words_of(row, first + offset, position), to);
            }
        });
        matches!(pushed, Item::Next)
    }

    fn push_multicast_top(&mut self) {
        let Some(held) = self.device().observed.switch() else {
            return;
        };
        let wanted = SwitchInfo {
            multicast_fdb_top: self.needs.multicast_top(self.node, &held),
            port_state_change: false,
            ..held
        };
        if wanted.multicast_fdb_top != held.multicast_fdb_top {
            self.push_switch(&wanted);
        }
    }
}
