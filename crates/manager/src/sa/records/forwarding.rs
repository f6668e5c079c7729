//! Forwarding tables, as the switches confirmed them.

use weft_fabric::tables::LFT_BLOCK;
use weft_fabric::{Lid, Node, PortMask, PortNum, PortRef, SwitchIndex};
use weft_wire::sa::{
    LinearFdbRecord, MulticastFdbRecord, PortGroupFdbRecord, PortGroupTableRecord,
};
use weft_wire::sm::{LinearFdb, MulticastFdb, PortGroupFdb, PortGroupTable};

use super::nodes::{nodes_of, records_by_lid};
use crate::sa::query::{Found, Query, Refusal};
use crate::sa::view::View;

type Answered = Result<Found, Refusal>;

/// Entries in a block of a table of masks.
const MASKS: usize = 8;
/// Ports that one position of a table of masks covers.
const PORTS: usize = 64;

/// The switches that a query can mean, with their LIDs.
fn switches<'v>(
    view: &'v View,
    query: &Query<'_>,
) -> impl Iterator<Item = (SwitchIndex, Lid, &'v Node)> + use<'v> {
    nodes_of(view, query).filter_map(|(id, node)| {
        let switch = view.snapshot.topology.switch_index(id)?;
        let at = PortRef {
            node: id,
            port: PortNum(0),
        };
        Some((switch, view.lid_of(at)?, node))
    })
}

/// The block that a query means, or all of `count`.
fn blocks(wanted: Option<u32>, count: usize) -> std::ops::Range<u32> {
    let count = count as u32;
    match wanted {
        Some(block) => block.min(count)..(block.saturating_add(1)).min(count),
        None => 0..count,
    }
}

/// 64 entries of a table of LIDs; beyond its end nothing is reached.
fn entries(table: &[u8], block: u32) -> [u8; LFT_BLOCK] {
    let start = block as usize * LFT_BLOCK;
    let mut out = [weft_fabric::UNREACHABLE; LFT_BLOCK];
    let held = table.get(start.min(table.len())..).unwrap_or_default();
    out.iter_mut().zip(held).for_each(|(to, from)| *to = *from);
    out
}

pub(crate) fn linear_records(view: &View, query: &Query<'_>) -> Answered {
    let mut records = records_by_lid::<LinearFdbRecord>(view, query);
    let wanted: LinearFdbRecord = query.record().unwrap_or_default();
    let wanted = query.has(2).then_some(wanted.block_num);
    for (switch, lid, _) in switches(view, query) {
        let row = view.snapshot.linear.row(switch);
        for block in blocks(wanted, row.len().div_ceil(LFT_BLOCK)) {
            records.push(&LinearFdbRecord {
                lid,
                block_num: block,
                linear_fdb_data: LinearFdb {
                    lft_block: entries(row, block),
                },
            });
        }
    }
    records.finish()
}

pub(crate) fn multicast_records(view: &View, query: &Query<'_>) -> Answered {
    let mut records = records_by_lid::<MulticastFdbRecord>(view, query);
    let wanted: MulticastFdbRecord = query.record().unwrap_or_default();
    let wanted = query.has(3).then_some(wanted.block_num);
    for (switch, lid, node) in switches(view, query) {
        let row = view.snapshot.multicast.row(switch);
        for block in blocks(wanted, row.len().div_ceil(MASKS)) {
            for position in 0..=(usize::from(node.info.num_ports) / PORTS) {
                records.push(&MulticastFdbRecord {
                    lid,
                    position: position as u8,
                    block_num: block,
                    mft_table: MulticastFdb {
                        mft_block: masks(row, block, |mask| mask.word(position)),
                    },
                });
            }
        }
    }
    records.finish()
}

/// Eight masks of a table, as `word` gives them.
fn masks(table: &[PortMask], block: u32, word: impl Fn(&PortMask) -> u64) -> [u64; MASKS] {
    let start = block as usize * MASKS;
    std::array::from_fn(|index| table.get(start + index).map_or(0, &word))
}

pub(crate) fn group_records(view: &View, query: &Query<'_>) -> Answered {
    let mut records = records_by_lid::<PortGroupTableRecord>(view, query);
    for (switch, lid, node) in switches(view, query) {
        let Some(groups) = view.snapshot.groups.switches.get(switch.0 as usize) else {
            continue;
        };
        for block in 0..groups.groups.len().div_ceil(MASKS) as u32 {
            for position in 0..=(usize::from(node.info.num_ports.saturating_sub(1)) / PORTS) {
                // Port 0 is in no group: the mask on the wire begins with port 1.
                let word =
                    |mask: &PortMask| mask.word(position) >> 1 | mask.word(position + 1) << 63;
                records.push(&PortGroupTableRecord {
                    lid,
                    position: position as u8,
                    block_num: block as u8,
                    group_block: PortGroupTable {
                        pgt_block: masks(&groups.groups, block, word),
                    },
                });
            }
        }
    }
    records.finish()
}

pub(crate) fn group_fdb_records(view: &View, query: &Query<'_>) -> Answered {
    let mut records = records_by_lid::<PortGroupFdbRecord>(view, query);
    let wanted: PortGroupFdbRecord = query.record().unwrap_or_default();
    let wanted = query.has(1).then_some(wanted.block_num);
    for (switch, lid, _) in switches(view, query) {
        let Some(groups) = view.snapshot.groups.switches.get(switch.0 as usize) else {
            continue;
        };
        for block in blocks(wanted, groups.fdb.len().div_ceil(LFT_BLOCK)) {
            records.push(&PortGroupFdbRecord {
                lid,
                block_num: block,
                pg_fdb_data: PortGroupFdb {
                    pgft_block: entries(&groups.fdb, block),
                },
            });
        }
    }
    records.finish()
}
