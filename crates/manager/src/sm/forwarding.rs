//! Writing forwarding tables: only blocks that differ, as many in a datagram as fit.

use std::sync::Arc;

use weft_fabric::UNREACHABLE;
use weft_fabric::tables::SwitchPortGroups;
use weft_wire::Layout;
use weft_wire::sm::{AttributeId, BlockModifier, PortGroupModifier, SwitchInfo};

use super::Manager;
use super::batch::{Batch, Reply};
use super::devices::{Lft, Stage};
use super::wanted::switch;

/// LIDs in a block of a forwarding table.
const BLOCK: usize = 64;
/// Blocks in a segment of an Aggregate.
const SEGMENT_BLOCKS: usize = 15;
/// Groups in a block of a PortGroup table.
const GROUPS: usize = 8;
/// Slices of 64 ports in a PortGroup table: ports 1 to 254.
const POSITIONS: usize = 4;

/// The entries of a block of `row`, dropping beyond its end.
fn block_of(row: &[u8], block: usize) -> [u8; BLOCK] {
    let mut entries = [UNREACHABLE; BLOCK];
    let start = (block * BLOCK).min(row.len());
    let end = (start + BLOCK).min(row.len());
    entries[..end - start].copy_from_slice(&row[start..end]);
    entries
}

/// Adds a write of so many blocks of a table by LID unless it does not fit; says whether it was
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
    batch.push(table, modifier.bits(), count * BLOCK, |to| {
        for (offset, to) in to.chunks_exact_mut(BLOCK).enumerate() {
            to.copy_from_slice(&block_of(row, first + offset));
        }
    })
}

/// The same for 64 ports of a block of the PortGroup table.
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
    let content = group_block(groups, position, block);
    batch.push(
        AttributeId::PORT_GROUP_TABLE,
        modifier.bits(),
        BLOCK,
        |to| to.copy_from_slice(&content),
    )
}

impl Manager {
    /// The next blocks of a switch's table that differ from the step's.
    pub(super) fn next_table_write(&mut self, node: u32) -> bool {
        self.start_batch(node, true);
        let Some(row) = self.plan.row(self.sweep.step, node).map(Arc::clone) else {
            return false;
        };
        let device = &mut self.devices[node];
        if let Lft::Whole(held) = &device.observed.lft
            && (Arc::ptr_eq(held, &row) || *held == row)
        {
            return false;
        }
        // Beyond the end of the row nothing is routed, up to the top of what is in use.
        let used = row.len().max(self.plan.top.0 as usize + 1);
        let blocks = used.div_ceil(BLOCK);
        let most = usize::from(self.settings.requests.table_blocks.clamp(1, 29));
        while (device.work.cursor as usize) < blocks {
            let first = device.work.cursor as usize;
            let most = if self.requests.batch.is_empty() {
                most
            } else {
                SEGMENT_BLOCKS
            };
            let run = (first..blocks)
                .take(most)
                .take_while(|block| {
                    !device
                        .observed
                        .lft
                        .block_is(*block, &block_of(&row, *block))
                })
                .count();
            if run == 0 {
                device.work.cursor += 1;
                continue;
            }
            if !push_blocks(
                &mut self.requests.batch,
                AttributeId::LINEAR_FDB,
                &row,
                first,
                run,
            ) {
                break;
            }
            device.work.cursor += run as u32;
            if run > SEGMENT_BLOCKS {
                break;
            }
        }
        !self.requests.batch.is_empty()
    }

    /// What follows a table that is written.
    pub(super) fn after_table(&mut self, node: u32) -> Stage {
        let row = self.plan.row(self.sweep.step, node).map(Arc::clone);
        if let Some(row) = row {
            // Every block has been confirmed: share the row with the plan.
            self.devices[node].observed.lft = Lft::Whole(row);
        }
        match self.sweep.step + 1 < self.plan.steps.len() {
            true => Stage::Ready,
            false => Stage::WriteGroups,
        }
    }

    /// Whether a switch's adaptive groups are to be written.
    pub(super) fn groups_differ(&self, node: u32) -> bool {
        let device = &self.devices[node];
        let wanted = self.wanted_groups(node);
        let held = device.observed.groups.as_ref();
        let all = device.observed.group_blocks >= self.group_blocks(node);
        wanted.is_some_and(|wanted| held != Some(&wanted) || !all)
    }

    /// Blocks of a switch's port group forwarding table that it uses.
    fn group_blocks(&self, node: u32) -> usize {
        let switch = self.devices[node].observed.node.as_ref();
        let cap = switch.and_then(|node| node.switch);
        let cap = cap.map_or(0, |switch| switch.port_group_fdb_cap as usize);
        (self.plan.top.0 as usize + 1).min(cap).div_ceil(BLOCK)
    }

    /// The next part of a switch's adaptive groups: the PortGroup table, then the group of each LID.
    pub(super) fn next_group_write(&mut self, node: u32) -> bool {
        self.start_batch(node, true);
        if !self.groups_differ(node) {
            return false;
        }
        let Some(wanted) = self.wanted_groups(node) else {
            return false;
        };
        let positions =
            1 + usize::from(self.devices[node].observed.num_ports().saturating_sub(1)) / 64;
        // Also where no LID has a group any more: what the switch holds from before leads elsewhere.
        let blocks = self.group_blocks(node);
        let device = &mut self.devices[node];
        let tables = wanted.groups.len().div_ceil(GROUPS);
        let parts = tables * positions.min(POSITIONS);
        loop {
            let cursor = device.work.cursor as usize;
            let (count, fits) = match cursor.checked_sub(parts) {
                None => {
                    let (position, block) = (cursor / tables, cursor % tables);
                    (
                        1,
                        push_groups(&mut self.requests.batch, &wanted, position, block),
                    )
                }
                Some(first) => {
                    let count = blocks.saturating_sub(first).min(SEGMENT_BLOCKS);
                    if count == 0 {
                        return !self.requests.batch.is_empty();
                    }
                    let fdb = AttributeId::PORT_GROUP_FDB;
                    let fits =
                        push_blocks(&mut self.requests.batch, fdb, &wanted.fdb, first, count);
                    (count, fits)
                }
            };
            if !fits {
                return true;
            }
            device.work.cursor += count as u32;
        }
    }

    /// Notes a part of the adaptive groups that a device did not take over.
    pub(super) fn confirm_groups(&mut self, node: u32, reply: &Reply<'_>) {
        let held = reply.data.get(..reply.asked.len());
        if held != Some(reply.asked) {
            self.devices[node].observed.groups_refused = true;
        }
    }

    /// Ends the suspension of adaptive routing.
    pub(super) fn next_resume(&mut self, node: u32) -> bool {
        self.start_batch(node, true);
        let wanted = self.wanted_switch(node, false);
        let held = self.devices[node]
            .observed
            .node
            .as_ref()
            .and_then(|node| node.switch);
        let Some((held, wanted)) = held.zip(wanted) else {
            return false;
        };
        if switch::same_settings(&held, &wanted) || self.devices[node].work.cursor > 0 {
            return false;
        }
        self.devices[node].work.cursor = 1;
        self.requests
            .batch
            .push(AttributeId::SWITCH_INFO, 0, SwitchInfo::LEN, |to| {
                wanted.encode(to)
            })
    }

    /// Takes over the groups that were written, all of them confirmed.
    pub(super) fn after_groups(&mut self, node: u32) {
        let wanted = self.wanted_groups(node);
        let blocks = self.group_blocks(node);
        let device = &mut self.devices[node];
        if !std::mem::take(&mut device.observed.groups_refused) && wanted.is_some() {
            (device.observed.groups, device.observed.group_blocks) = (wanted, blocks);
        }
    }
}

/// Eight groups' masks for ports 64·position + 1 to 64·position + 64: bit 0 is the first of them.
fn group_block(groups: &SwitchPortGroups, position: usize, block: usize) -> [u8; BLOCK] {
    let mut bytes = [0; BLOCK];
    let masks = groups.groups.iter().skip(block * GROUPS).take(GROUPS);
    for (to, mask) in bytes.chunks_exact_mut(8).zip(masks) {
        // Port 0 is in no group: the mask on the wire is shifted by one port.
        let word = mask.word(position) >> 1 | mask.word(position + 1) << 63;
        to.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}
