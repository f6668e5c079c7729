//! The rows of switches that see the same: computed for one of them and copied to the others.
//!
//! An entry follows from distances, links and divider; so the rows of a kind with one divider
//! differ only in the LIDs on one of its switches. The first row of a kind is made from that of the
//! kind before where most columns have the same ports as candidates.

use std::sync::Arc;

use weft_fabric::LinearTables;

use super::form::{Form, Lists};
use super::numbers::Numbers;
use crate::engine::Pruning;
use crate::engine::neighbours::by_neighbour;
use crate::engine::rows::{
    KindRows, Memory, bits, copied_row, deliver, lids, new_row, rows_by_kind,
};
use crate::network::Network;
use crate::paths::{Candidates, Paths};

/// Inputs of rows.
pub(super) struct Alike<'a> {
    pub(super) network: &'a Network,
    pub(super) paths: &'a Paths,
    pub(super) numbers: &'a Numbers,
    /// The switch of each column.
    pub(super) switch_of: Vec<u32>,
}

impl Alike<'_> {
    /// The tables of all switches.
    pub(super) fn tables(&self) -> LinearTables {
        rows_by_kind(self.network, &self.kinds(), self)
    }

    fn kinds(&self) -> Vec<Vec<u32>> {
        let Numbers { divider, slots, .. } = self.numbers;
        let own = |switch: usize| (divider[switch], slots.count(switch));
        self.paths.kinds().split(own)
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
        form.again(row, (column, first));
        candidates.exchange(columns.0, columns.1);
    }
}

impl KindRows for Alike<'_> {
    type Lists = Lists;

    fn write(&self, memory: &mut Memory<Lists>, switch: usize) -> Arc<[u8]> {
        let order = by_neighbour(self.network, switch);
        let goes_on = Pruning::default().refill(
            &mut memory.candidates,
            (self.network, self.paths),
            (switch, &order),
            &mut memory.columns,
        );
        let form = Form::new((self.network, self.numbers), &memory.candidates, switch);
        let before = memory.before(|lists| goes_on && form.goes_on(lists));
        let row = match before {
            Some((before, row)) => copied_row(row, |row| {
                let own = [before, switch].map(|switch| self.paths.column(switch));
                for column in bits(&memory.columns).chain(own) {
                    form.again(row, (column, self.switch_of[column] as usize));
                }
            }),
            None => new_row(self.network, |row| {
                form.hfis(row);
                form.switches(row);
            }),
        };
        let lists = form.into_lists();
        memory.keep(switch, &row, lists);
        row
    }

    fn rewrite(
        &self,
        memory: &mut Memory<Lists>,
        (first, switch): (usize, usize),
        second: Option<&[u8]>,
        row: &mut [u8],
    ) {
        // The LIDs on the first one are as at the second one.
        match second {
            Some(second) => lids(self.network, first, |lids| {
                row[lids.clone()].copy_from_slice(&second[lids]);
            }),
            None => self.towards_first(row, (first, switch), &mut memory.candidates),
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
                switch_of: paths.switches(),
            };
            check(&network, &alike.kinds(), &alike)?;
        }
    }
}
