//! The rows of switches that see the same: worked out for one of them and copied to the others.
//!
//! An entry follows from distances, links and divider; so the rows of a kind with one divider
//! differ only in the LIDs on one of its switches.

use weft_fabric::{LinearTables, UNREACHABLE};

use super::fill;
use super::form::Form;
use super::numbers::Numbers;
use crate::engine::rows::{KindRows, deliver, lids, rows_by_kind};
use crate::network::Network;
use crate::paths::{Candidates, Paths};

/// What rows are worked out from.
pub(super) struct Alike<'a> {
    pub(super) network: &'a Network,
    pub(super) paths: &'a Paths,
    pub(super) numbers: &'a Numbers,
}

impl Alike<'_> {
    /// The tables of all switches.
    pub(super) fn tables(&self) -> LinearTables {
        rows_by_kind(self.network, &self.kinds(), self)
    }

    fn kinds(&self) -> Vec<Vec<u32>> {
        let divider = |switch: usize| self.numbers.divider[switch];
        self.paths.kinds().split(divider)
    }

    /// Works out the entries of a switch for the LIDs on the first one of its kind, whose
    /// candidates are given.
    fn towards_first(
        &self,
        row: &mut [u8],
        (first, switch): (usize, usize),
        candidates: &mut Candidates,
    ) {
        let column = self.paths.column(first);
        let columns = (column, self.paths.column(switch));
        candidates.exchange(columns.0, columns.1);
        let form = Form::new((self.network, self.numbers), candidates, switch);
        lids(self.network, first, |lids| row[lids].fill(UNREACHABLE));
        if column < self.numbers.leaves.len() {
            form.leaf(row, column);
        }
        form.management(row, first);
        candidates.exchange(columns.0, columns.1);
    }
}

impl KindRows for Alike<'_> {
    fn write(&self, candidates: &mut Candidates, switch: usize, row: &mut [u8]) {
        fill(
            (self.network, self.paths, self.numbers),
            candidates,
            switch,
            row,
        );
    }

    fn rewrite(
        &self,
        candidates: &mut Candidates,
        (first, switch): (usize, usize),
        second: Option<&[u8]>,
        row: &mut [u8],
    ) {
        // The LIDs on the first one are as at the second one.
        match second {
            Some(second) => lids(self.network, first, |lids| {
                row[lids.clone()].copy_from_slice(&second[lids]);
            }),
            None => self.towards_first(row, (first, switch), candidates),
        }
        let ends = self.network.hfis(switch).iter();
        let ends = ends.chain(self.network.management(switch));
        ends.for_each(|end| deliver(row, end));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::super::numbers::{columns, leaves};
    use super::*;
    use crate::engine::levels::{levels, rank};
    use crate::engine::rows::tests::check;
    use crate::kinds::tests::fabrics;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_copied_row_is_what_is_worked_out_for_its_switch(topology in fabrics()) {
            let network = Network::new(&topology).unwrap();
            let level = levels(&network).unwrap();
            let (leaves, rank) = (leaves(&network), rank(&level));
            let columns = columns(&network, &leaves, &level);
            let paths = Paths::up_down(&network, columns, rank);
            let numbers = Numbers::new(&network, &leaves, &paths, &level);
            let alike = Alike {
                network: &network,
                paths: &paths,
                numbers: &numbers,
            };
            check(&network, &alike.kinds(), &alike)?;
        }
    }
}
