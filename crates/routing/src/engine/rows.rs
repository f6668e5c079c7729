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

/// State of a thread from the row of one switch to the next.
pub(crate) struct Memory<L> {
    pub(crate) candidates: Candidates,
    /// Columns that may have other candidates than at the switch before, as bits.
    pub(crate) columns: Vec<u64>,
    before: Option<Before<L>>,
}

/// The switch before.
struct Before<L> {
    switch: usize,
    row: Arc<[u8]>,
    /// Inputs of its entries.
    lists: L,
}

impl<L> Memory<L> {
    fn new() -> Self {
        Self {
            candidates: Candidates::default(),
            columns: Vec::new(),
            before: None,
        }
    }

    /// Keeps data for the next row.
    pub(crate) fn keep(&mut self, switch: usize, row: &Arc<[u8]>, lists: L) {
        let row = Arc::clone(row);
        self.before = Some(Before { switch, row, lists });
    }

    /// The row of the switch before, and that switch, where `goes_on` finds that entries for
    /// columns whose candidates have kept their number are the same here, and most have.
    pub(crate) fn before(&self, goes_on: impl FnOnce(&L) -> bool) -> Option<(usize, &[u8])> {
        let before = self.before.as_ref()?;
        let changed: u32 = self.columns.iter().map(|word| word.count_ones()).sum();
        let is_few = changed as usize <= FEW.max(self.columns.len() * 64 / SHARE);
        (is_few && goes_on(&before.lists)).then_some((before.switch, &before.row))
    }
}

/// Columns that are computed one by one at most, whatever the size of the network.
const FEW: usize = 64;

/// The part of all columns that is computed one by one at most.
const SHARE: usize = 8;

/// The bits of a row, in order.
pub(crate) fn bits(row: &[u64]) -> impl Iterator<Item = usize> + Clone + '_ {
    row.iter().enumerate().flat_map(|(word, bits)| {
        let rest = std::iter::successors(Some(*bits), |bits| Some(bits & bits.wrapping_sub(1)));
        rest.take_while(|bits| *bits != 0)
            .map(move |bits| word * 64 + bits.trailing_zeros() as usize)
    })
}

/// Makes rows of switches with equal inputs.
pub(crate) trait KindRows: Sync {
    /// Inputs of entries, apart from the candidates of each column.
    type Lists: Send;

    /// Makes the row of a switch. Data left in the memory is available for other rows of the kind,
    /// and for the first one of the next kind.
    fn write(&self, memory: &mut Memory<Self::Lists>, switch: usize) -> Arc<[u8]>;

    /// Makes the row of another switch of the kind from a copy of the first one's. `second` is the
    /// row of the second one, where there is one already.
    fn rewrite(
        &self,
        memory: &mut Memory<Self::Lists>,
        pair: (usize, usize),
        second: Option<&[u8]>,
        row: &mut [u8],
    );
}

/// Makes the rows of all switches, kind by kind.
pub(crate) fn rows_by_kind<E: KindRows>(
    network: &Network,
    kinds: &[Vec<u32>],
    engine: &E,
) -> LinearTables {
    let made = kinds.par_iter();
    let made = made.map_init(Memory::new, |memory, kind| rows_of(kind, memory, engine));
    let made: Vec<Vec<Arc<[u8]>>> = made.collect();
    let mut rows = vec![Arc::default(); network.len()];
    for (switch, row) in kinds.iter().flatten().zip(made.into_iter().flatten()) {
        rows[*switch as usize] = row;
    }
    LinearTables::new(rows)
}

fn rows_of<E: KindRows>(kind: &[u32], memory: &mut Memory<E::Lists>, engine: &E) -> Vec<Arc<[u8]>> {
    let mut rows: Vec<Arc<[u8]>> = Vec::with_capacity(kind.len());
    for switch in kind.iter().map(|switch| *switch as usize) {
        let row = match &rows[..] {
            [] => engine.write(memory, switch),
            [first, others @ ..] => {
                let second = others.first().map(|row| &**row);
                copied_row(first, |row| {
                    engine.rewrite(memory, (kind[0] as usize, switch), second, row);
                })
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
        call(end.entries());
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

/// A copy of a row; `write` gets it.
pub(crate) fn copied_row(row: &[u8], write: impl FnOnce(&mut [u8])) -> Arc<[u8]> {
    let mut row: Arc<[u8]> = row.into();
    if let Some(entries) = Arc::get_mut(&mut row) {
        write(entries);
    }
    row
}

/// Rewrites a row in the memory of another one, if nobody else reads that.
pub(crate) fn rewritten_row(
    row: &[u8],
    mut spare: Arc<[u8]>,
    write: impl FnOnce(&mut [u8]),
) -> Arc<[u8]> {
    let entries = Arc::get_mut(&mut spare);
    let Some(entries) = entries.filter(|entries| entries.len() == row.len()) else {
        return copied_row(row, write);
    };
    entries.copy_from_slice(row);
    write(entries);
    spare
}

/// Points all LIDs of an end port at the port that it is attached to.
pub(crate) fn deliver(row: &mut [u8], end: &EndPort) {
    row[end.entries()].fill(end.port);
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
    // The written part is copied on, twice as much each time.
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

    /// Each row of an engine is the one that is written for its switch alone; returns how many are
    /// copied.
    pub(crate) fn check(
        network: &Network,
        kinds: &[Vec<u32>],
        engine: &impl KindRows,
    ) -> Result<usize, TestCaseError> {
        let tables = rows_by_kind(network, kinds, engine);
        for switch in 0..network.len() {
            let alone = engine.write(&mut Memory::new(), switch);
            let row = tables.row(SwitchIndex(switch as u32));
            prop_assert_eq!(row, &alone[..], "switch {}", switch);
        }
        Ok(network.len() - kinds.len())
    }
}
