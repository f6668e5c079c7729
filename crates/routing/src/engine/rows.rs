//! Rows of linear tables, written in place, all switches in parallel.

use std::sync::Arc;

use rayon::prelude::*;
use weft_fabric::tables::LFT_BLOCK;
use weft_fabric::{LinearTables, UNREACHABLE};

use crate::network::{EndPort, Network};
use crate::paths::Candidates;

/// Makes one row a switch. `write` gets the switch, scratch memory and the row, which drops
/// everything at first; rows cover whole blocks.
pub(crate) fn rows<F>(network: &Network, write: F) -> LinearTables
where
    F: Fn(usize, &mut Candidates, &mut [u8]) + Sync,
{
    let len = (network.max_lid as usize + 1).next_multiple_of(LFT_BLOCK);
    let rows =
        (0..network.len())
            .into_par_iter()
            .map_init(Candidates::default, |candidates, switch| {
                let mut row: Arc<[u8]> = std::iter::repeat_n(UNREACHABLE, len).collect();
                if let Some(entries) = Arc::get_mut(&mut row) {
                    write(switch, candidates, entries);
                }
                row
            });
    LinearTables::new(rows.collect())
}

/// Points all LIDs of an end port at the port that it is attached to.
pub(crate) fn deliver(row: &mut [u8], end: &EndPort) {
    let base = end.lid.0 as usize;
    row[base..base + end.lmc.lids() as usize].fill(end.port);
}

/// Fills successive entries with ports in turn, from port number `start` of the list.
pub(crate) fn take_turns(entries: &mut [u8], ports: &[u8], start: usize) {
    let (first, rest) = entries.split_at_mut(entries.len().min(ports.len() - start));
    first.copy_from_slice(&ports[start..start + first.len()]);
    if let [port] = ports {
        return rest.fill(*port);
    }
    for entries in rest.chunks_mut(ports.len()) {
        entries.copy_from_slice(&ports[..entries.len()]);
    }
}

/// The first LID of some end ports that have one LID each, one after the other.
pub(crate) fn consecutive(ends: &[EndPort]) -> Option<usize> {
    let first = ends.first()?.lid.0;
    let mut lids = ends.iter().zip(first..);
    let one_by_one = lids.all(|(end, lid)| end.lid.0 == lid && end.lmc.0 == 0);
    one_by_one.then_some(first as usize)
}
