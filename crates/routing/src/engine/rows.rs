//! Rows of linear tables, written in place, all switches in parallel.

use std::ops::Range;
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

/// How an engine makes rows of switches that see the same.
pub(crate) trait KindRows: Sync {
    /// Writes the row of a switch, which drops everything at first. What it leaves in the scratch
    /// memory is there when other rows of the kind are made.
    fn write(&self, candidates: &mut Candidates, switch: usize, row: &mut [u8]);

    /// Makes the row of another switch of the kind from a copy of the first one's. `second` is the
    /// row of the second one, where there is one already.
    fn rewrite(
        &self,
        candidates: &mut Candidates,
        pair: (usize, usize),
        second: Option<&[u8]>,
        row: &mut [u8],
    );
}

/// Makes the rows of all switches, kind by kind.
pub(crate) fn rows_by_kind(
    network: &Network,
    kinds: &[Vec<u32>],
    engine: &impl KindRows,
) -> LinearTables {
    let made = kinds.par_iter();
    let made = made.map_init(Candidates::default, |candidates, kind| {
        rows_of(network, kind, candidates, engine)
    });
    let made: Vec<Vec<Arc<[u8]>>> = made.collect();
    let mut rows = vec![Arc::default(); network.len()];
    for (switch, row) in kinds.iter().flatten().zip(made.into_iter().flatten()) {
        rows[*switch as usize] = row;
    }
    LinearTables::new(rows)
}

fn rows_of(
    network: &Network,
    kind: &[u32],
    candidates: &mut Candidates,
    engine: &impl KindRows,
) -> Vec<Arc<[u8]>> {
    let mut rows: Vec<Arc<[u8]>> = Vec::with_capacity(kind.len());
    for switch in kind.iter().map(|switch| *switch as usize) {
        let row = match &rows[..] {
            [] => new_row(network, |row| engine.write(candidates, switch, row)),
            [first, others @ ..] => {
                let mut row: Arc<[u8]> = Arc::from(&first[..]);
                if let Some(entries) = Arc::get_mut(&mut row) {
                    let second = others.first().map(|row| &**row);
                    engine.rewrite(candidates, (kind[0] as usize, switch), second, entries);
                }
                row
            }
        };
        rows.push(row);
    }
    rows
}

/// Calls with the LIDs of each end port on a switch.
pub(crate) fn lids(network: &Network, target: usize, mut call: impl FnMut(Range<usize>)) {
    let ends = network.hfis(target).iter();
    for end in ends.chain(network.management(target)) {
        let first = end.lid.0 as usize;
        call(first..first + end.lmc.lids() as usize);
    }
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

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use weft_fabric::SwitchIndex;

    use super::*;

    /// Each row of an engine is the one that is written for its switch alone; says how many are
    /// copied.
    pub(crate) fn check(
        network: &Network,
        kinds: &[Vec<u32>],
        engine: &impl KindRows,
    ) -> Result<usize, TestCaseError> {
        let tables = rows_by_kind(network, kinds, engine);
        for switch in 0..network.len() {
            let alone = new_row(network, |row| {
                engine.write(&mut Candidates::default(), switch, row);
            });
            let row = tables.row(SwitchIndex(switch as u32));
            prop_assert_eq!(row, &alone[..], "switch {}", switch);
        }
        Ok(network.len() - kinds.len())
    }
}
