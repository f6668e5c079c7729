//! From old tables to new ones: which blocks change, and in which order they may be written.

use std::sync::Arc;

use rayon::prelude::*;
use weft_fabric::tables::LFT_BLOCK;
use weft_fabric::{LinearTables, SwitchIndex};

/// One block of a linear table to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockWrite {
    /// Whose table.
    pub switch: SwitchIndex,
    /// LIDs 64·block to 64·block + 63.
    pub block: u32,
    /// Egress port of each, 0xFF to drop.
    pub entries: [u8; LFT_BLOCK],
}

/// Writes in an order in which every intermediate state is loop-free and deadlock-free.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WritePlan {
    /// All writes of one phase are confirmed before the next begins; inside a phase any order is
    /// safe. One phase when nothing has to be drained, two otherwise, none when nothing changes.
    pub phases: Vec<Vec<BlockWrite>>,
    /// Entries that are set to 0xFF for a while because old and new routes together would close a
    /// loop or a credit cycle.
    pub drained: u64,
    /// Packets that were sent off before must have left the switches between the phases: some entries
    /// are dropped because they close a credit cycle with new ones, or change their lane.
    pub settle_drained: bool,
    /// Adaptive routing must be paused on all switches before the first phase and resumed after
    /// the last one and after the group tables are written.
    pub pause_adaptive: bool,
    /// Earlier packets must have left all switches after the pause has begun and
    /// again before it ends: packets of the old groups and entries may wait in a circle with
    /// those of the new ones. The wait between the phases, if there is one, serves for the pause too.
    pub settle_adaptive: bool,
}

/// The blocks of all switches that differ between two sets of tables, block by block, inside a
/// block switch by switch: the low LIDs of all switches first. A switch that is new in `new` is
/// compared with an empty table, entries beyond the end of a row count as dropped.
pub fn changed_blocks(old: &LinearTables, new: &LinearTables) -> Vec<BlockWrite> {
    let mut writes: Vec<BlockWrite> = (0..new.len() as u32)
        .into_par_iter()
        .flat_map_iter(|switch| changed_in(old, new, SwitchIndex(switch)))
        .collect();
    writes.par_sort_by_key(|write| (write.block, write.switch));
    writes
}

/// Blocks that are compared at once.
const PART: usize = 16;

fn changed_in<'a>(
    old: &'a LinearTables,
    new: &'a LinearTables,
    switch: SwitchIndex,
) -> impl Iterator<Item = BlockWrite> + 'a {
    let shared = match (old.row_shared(switch), new.row_shared(switch)) {
        (Some(before), Some(after)) => Arc::ptr_eq(before, after),
        _ => false,
    };
    let longest = old.row(switch).len().max(new.row(switch).len());
    let blocks = if shared {
        0
    } else {
        longest.div_ceil(LFT_BLOCK)
    };
    let differs = move |part: &usize| {
        let (start, end) = (part * PART * LFT_BLOCK, (part + 1) * PART * LFT_BLOCK);
        let before = old.row(switch).get(start..end);
        before.is_none() || before != new.row(switch).get(start..end)
    };
    let parts = (0..blocks.div_ceil(PART)).filter(differs);
    let blocks = parts.flat_map(move |part| part * PART..blocks.min((part + 1) * PART));
    blocks.filter_map(move |block| {
        let entries = new.block(switch, block);
        (entries != old.block(switch, block)).then_some(BlockWrite {
            switch,
            block: block as u32,
            entries,
        })
    })
}
