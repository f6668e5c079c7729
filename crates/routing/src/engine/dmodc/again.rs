//! The same closed form after a change of links: only entries whose inputs have changed are worked
//! out again.
//!
//! What an entry depends on: the links of its switch and the divider there, the number of the
//! destination, and how far the switch and its neighbours are from the destination. Where all of
//! these are as before, so is the entry.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use weft_fabric::{LinearTables, SwitchIndex, UNREACHABLE};

use super::form::Form;
use super::numbers::Numbers;
use super::{Dmodc, fill};
use crate::engine::fattree::by_neighbour;
use crate::engine::levels::{is_mostly_tree, rank};
use crate::engine::rows::{lids, new_row};
use crate::engine::{Choices, Plan, Pruning};
use crate::network::Network;
use crate::paths::{Candidates, Paths};

/// What a plan keeps for the next one.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(super) network: Network,
    pub(super) level: Vec<u8>,
    pub(super) numbers: Numbers,
}

impl Kept {
    /// The network that the plan is of.
    pub(crate) fn network(&self) -> &Network {
        &self.network
    }
}

/// The plan after a change of links; none where more than links has changed.
pub(super) fn again(engine: &Dmodc<'_>, network: &Network, before: &Plan) -> Option<Plan> {
    let kept = before.kept.as_deref()?;
    let Choices::Paths { paths: old, .. } = &before.choices else {
        return None;
    };
    let level = engine.levels(network).ok()?;
    let fits = is_mostly_tree(network, &level);
    if !fits || level != kept.level || !network.has_same_ends(&kept.network) {
        return None;
    }
    let paths = Paths::up_down(network, old.columns().to_vec(), rank(&level));
    let leaves: Vec<u32> = kept.numbers.leaves.iter().map(|leaf| leaf.switch).collect();
    let numbers = Numbers::new(network, &leaves, &paths, &level);
    if numbers.leaves != kept.numbers.leaves {
        return None;
    }
    let update = Update {
        network,
        kept,
        old: (old, &before.linear),
        paths: &paths,
        numbers: &numbers,
        switch_of: inverse(old.columns()),
    };
    let (rows, untouched) = update.rows();
    let kept = Kept {
        network: network.clone(),
        level,
        numbers,
    };
    let mut plan = Plan::on_paths(LinearTables::new(rows), paths, Pruning::default());
    plan.kept = Some(Box::new(kept));
    plan.untouched = untouched;
    Some(plan)
}

fn inverse(column: &[u32]) -> Vec<u32> {
    let mut switch_of = vec![0; column.len()];
    for (switch, column) in column.iter().enumerate() {
        switch_of[*column as usize] = switch as u32;
    }
    switch_of
}

/// Old and new state.
struct Update<'a> {
    network: &'a Network,
    kept: &'a Kept,
    old: (&'a Paths, &'a LinearTables),
    paths: &'a Paths,
    numbers: &'a Numbers,
    switch_of: Vec<u32>,
}

/// Memory of one thread.
#[derive(Default)]
struct Scratch {
    candidates: Candidates,
    /// A row of which only the entries that are worked out again mean something.
    row: Vec<u8>,
    /// Columns that may have other candidates, as bits.
    columns: Vec<u64>,
}

impl Update<'_> {
    /// The rows of all switches, and which of them have the same candidates as before.
    fn rows(&self) -> (Vec<Arc<[u8]>>, Vec<bool>) {
        let moved = self.moved();
        let made = (0..self.network.len()).into_par_iter();
        made.map_init(Scratch::default, |scratch, switch| {
            let old = self.old.1.row_shared(SwitchIndex(switch as u32));
            let old = old.cloned().unwrap_or_default();
            if self.is_new(switch) {
                let known = (self.network, self.paths, self.numbers);
                let row = new_row(self.network, |row| {
                    fill(known, &mut scratch.candidates, switch, row);
                });
                return (if row == old { old } else { row }, false);
            }
            if !self.columns(switch, &moved, &mut scratch.columns) {
                return (old, true);
            }
            (self.row(switch, old, scratch), false)
        })
        .unzip()
    }

    /// The columns to which the distance from a switch has changed: a row of bits for each.
    fn moved(&self) -> Vec<Vec<u64>> {
        let words = self.paths.words();
        let switches = (0..self.network.len()).into_par_iter();
        let moved = switches.with_min_len(64).map_init(
            || vec![0; words],
            |row, switch| {
                row.fill(0);
                self.paths.differ(self.old.0, switch, row);
                match row.iter().all(|word| *word == 0) {
                    true => Vec::new(),
                    false => row.clone(),
                }
            },
        );
        moved.collect()
    }

    /// Whether a switch has other links or another divider.
    fn is_new(&self, switch: usize) -> bool {
        self.network.egress(switch) != self.kept.network.egress(switch)
            || self.numbers.divider[switch] != self.kept.numbers.divider[switch]
    }

    /// The columns for which a switch may have other candidates; says whether there are any.
    fn columns(&self, switch: usize, moved: &[Vec<u64>], columns: &mut Vec<u64>) -> bool {
        columns.clear();
        columns.resize(self.paths.words(), 0);
        let near = self
            .network
            .egress(switch)
            .iter()
            .map(|link| link.to as usize);
        let mut any = false;
        for row in near.chain([switch]).map(|near| &moved[near]) {
            any |= !row.is_empty();
            columns
                .iter_mut()
                .zip(row)
                .for_each(|(word, moved)| *word |= moved);
        }
        any
    }

    /// The row with the entries for some columns worked out again.
    fn row(&self, switch: usize, mut old: Arc<[u8]>, scratch: &mut Scratch) -> Arc<[u8]> {
        let words: Vec<Range<usize>> = scratch
            .columns
            .iter()
            .enumerate()
            .filter(|(_, word)| **word != 0)
            .map(|(index, _)| index..index + 1)
            .collect();
        let order = by_neighbour(self.network, switch);
        let pruning = Pruning::default();
        pruning.fill_words(
            &mut scratch.candidates,
            (self.network, self.paths),
            (switch, &order),
            &words,
        );
        let known = (self.network, self.numbers);
        let form = Form::new(known, &scratch.candidates, switch);
        scratch.row.resize(old.len(), UNREACHABLE);
        let mut differs = false;
        for column in bits(&scratch.columns) {
            let target = self.switch_of[column] as usize;
            lids(self.network, target, |lids| {
                scratch.row[lids].fill(UNREACHABLE)
            });
            if column < self.numbers.leaves.len() {
                form.leaf(&mut scratch.row, column);
            }
            form.management(&mut scratch.row, target);
            lids(self.network, target, |lids| {
                differs |= scratch.row[lids.clone()] != old[lids];
            });
        }
        if differs {
            let row = Arc::make_mut(&mut old);
            for column in bits(&scratch.columns) {
                let target = self.switch_of[column] as usize;
                lids(self.network, target, |lids| {
                    row[lids.clone()].copy_from_slice(&scratch.row[lids]);
                });
            }
        }
        old
    }
}

/// The bits of a row, in order.
fn bits(row: &[u64]) -> impl Iterator<Item = usize> + '_ {
    row.iter().enumerate().flat_map(|(word, bits)| {
        let rest = std::iter::successors(Some(*bits), |bits| Some(bits & bits.wrapping_sub(1)));
        rest.take_while(|bits| *bits != 0)
            .map(move |bits| word * 64 + bits.trailing_zeros() as usize)
    })
}
