//! Forwarding tables: only blocks that differ, as many in a datagram as fit.

use std::sync::Arc;

use weft_fabric::tables::{LFT_BLOCK, SwitchPortGroups, block_of};
use weft_wire::sm::{AttributeId, BlockModifier, PortGroupModifier};

use super::needs::Needs;
use super::writer::Writer;
use crate::ask::batch::{Batch, SEGMENT_BLOCKS};
use crate::sm::devices::Lft;
use crate::sm::wanted::switch;

/// Slices of 64 ports in a PortGroup table: ports 1 to 254.
const POSITIONS: usize = 4;

/// Adds a write of `count` blocks of a table by LID unless it does not fit; returns whether it was
/// added.
fn push_blocks(
    batch: &mut Batch,
    table: AttributeId,
    row: &[u8],
    first: usize,
    count: usize,
) -> bool {
    let modifier = BlockModifier {
        count: count as u8,
        all_blocks: false,
        block: first as u32,
    };
    batch.push(table, modifier.bits(), count * LFT_BLOCK, |to| {
        for (offset, to) in to.chunks_exact_mut(LFT_BLOCK).enumerate() {
            to.copy_from_slice(&block_of(row, first + offset));
        }
    })
}

/// Adds a write for 64 ports of a block of the PortGroup table.
fn push_groups(
    batch: &mut Batch,
    groups: &SwitchPortGroups,
    position: usize,
    block: usize,
) -> bool {
    let modifier = PortGroupModifier {
        count: 1,
        position: position as u8,
        all_blocks: false,
        block: block as u8,
    };
    let content = groups.block(position, block);
    batch.push(
        AttributeId::PORT_GROUP_TABLE,
        modifier.bits(),
        LFT_BLOCK,
        |to| to.copy_from_slice(&content),
    )
}

impl Needs<'_> {
    /// Whether a switch's adaptive groups are to be written.
    pub(crate) fn groups_differ(&self, node: u32) -> bool {
        let observed = &self.devices[node].observed;
        let wanted = self.wanted_groups(node);
        let all = observed.group_blocks >= self.group_blocks(node);
        wanted.is_some_and(|wanted| observed.groups.as_ref() != Some(&wanted) || !all)
    }

    /// Blocks of a switch's port group forwarding table that it uses.
    pub(crate) fn group_blocks(&self, node: u32) -> usize {
        let switch = self.devices[node].observed.switch();
        let cap = switch.map_or(0, |switch| switch.port_group_fdb_cap as usize);
        (self.plan.top.0 as usize + 1).min(cap).div_ceil(LFT_BLOCK)
    }
}

impl Writer<'_> {
    /// The next blocks of a switch's table that differ from the step's.
    pub(super) fn write_table(&mut self) -> bool {
        let Some(row) = self.needs.plan.row(self.step, self.node) else {
            return false;
        };
        let blocks = self.needs.plan.blocks(row);
        let held = &self.device().observed.lft;
        if let Lft::Whole {
            row: held,
            blocks: confirmed,
        } = held
            && !self.needs.rewrites
            && *confirmed >= blocks
            && (Arc::ptr_eq(held, row) || held == row)
        {
            return false;
        }
        while (self.cursor as usize) < blocks {
            let first = self.cursor as usize;
            let most = match self.batch.is_empty() {
                true => self.needs.settings.requests.blocks(),
                false => SEGMENT_BLOCKS,
            };
            let run = (first..blocks)
                .take(most)
                .take_while(|block| {
                    self.needs.rewrites || !held.block_is(*block, &block_of(row, *block))
                })
                .count();
            if run == 0 {
                self.cursor += 1;
                continue;
            }
            if !push_blocks(self.batch, AttributeId::LINEAR_FDB, row, first, run) {
                break;
            }
            self.cursor += run as u32;
            if run > SEGMENT_BLOCKS {
                break;
            }
        }
        !self.batch.is_empty()
    }

    /// The next part of a switch's adaptive groups: the PortGroup table, then the group of each LID.
    pub(super) fn write_groups(&mut self) -> bool {
        if !self.needs.groups_differ(self.node) {
            return false;
        }
        let Some(wanted) = self.needs.wanted_groups(self.node) else {
            return false;
        };
        let ports = self.device().observed.num_ports();
        let positions = 1 + usize::from(ports.saturating_sub(1)) / 64;
        // Also if no LID has a group any more: old groups of the switch lead elsewhere.
        let blocks = self.needs.group_blocks(self.node);
        let tables = wanted.groups.len().div_ceil(SwitchPortGroups::PER_BLOCK);
        let parts = tables * positions.min(POSITIONS);
        loop {
            let cursor = self.cursor as usize;
            let (count, fits) = match cursor.checked_sub(parts) {
                None => {
                    let (position, block) = (cursor / tables, cursor % tables);
                    (1, push_groups(self.batch, &wanted, position, block))
                }
                Some(first) => {
                    let count = blocks.saturating_sub(first).min(SEGMENT_BLOCKS);
                    if count == 0 {
                        return !self.batch.is_empty();
                    }
                    let fdb = AttributeId::PORT_GROUP_FDB;
                    let fits = push_blocks(self.batch, fdb, &wanted.fdb, first, count);
                    (count, fits)
                }
            };
            if !fits {
                return true;
            }
            self.cursor += count as u32;
        }
    }

    /// Ends the suspension of adaptive routing, unless some switch may hold old tables, or this one has
    /// not confirmed its groups.
    pub(super) fn resume(&mut self) -> bool {
        let pause = self.needs.plan.stays_paused || self.needs.groups_differ(self.node);
        let wanted = self.needs.wanted_switch(self.node, pause);
        let Some((held, wanted)) = self.device().observed.switch().zip(wanted) else {
            return false;
        };
        if switch::same_settings(&held, &wanted) || !self.is_first() {
            return false;
        }
        self.push_switch(&wanted);
        !self.batch.is_empty()
    }
}
