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
    let rows = (0..network.len()).into_par_iter();
    let rows = rows.map_init(Candidates::default, |candidates, switch| {
        new_row(network, |row| write(switch, candidates, row))
    });
    LinearTables::new(rows.collect())
}

/// One row; `write` gets it with everything dropped.
pub(crate) fn new_row(network: &Network, write: impl FnOnce(&mut [u8])) -> Arc<[u8]> {
    let len = (network.max_lid as usize + 1).next_multiple_of(LFT_BLOCK);
    let mut row: Arc<[u8]> = std::iter::repeat_n(UNREACHABLE, len).collect();
    if let Some(entries) = Arc::get_mut(&mut row) {
        write(entries);
    }
    row
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
    let once = rest.len().min(ports.len());
    rest[..once].copy_from_slice(&ports[..once]);
    // What is written is copied on, twice as much each time.
    let mut written = once;
    while written < rest.len() {
        let (done, open) = rest.split_at_mut(written);
        let now = open.len().min(done.len());
        open[..now].copy_from_slice(&done[..now]);
        written += now;
    }
}

/// The first LID of some end ports that have one LID each, one after the other.
pub(crate) fn consecutive(ends: &[EndPort]) -> Option<usize> {
    let first = ends.first()?.lid.0;
    let mut lids = ends.iter().zip(first..);
    let one_by_one = lids.all(|(end, lid)| end.lid.0 == lid && end.lmc.0 == 0);
    one_by_one.then_some(first as usize)
}
