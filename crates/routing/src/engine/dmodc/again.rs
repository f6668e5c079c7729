//! The closed form after a change of links: only entries whose inputs have changed are
//! recomputed.
//!
//! Inputs of an entry: the links of its switch and the divider there, the number of the
//! destination, and the distances from the switch and its neighbours to the destination. If all of
//! these are unchanged, so is the entry.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use weft_fabric::{LinearTables, SwitchIndex, UNREACHABLE};
use weft_state::State;

use super::form::Form;
use super::numbers::Numbers;
use super::{Dmodc, fill};
use crate::engine::levels::{is_mostly_tree, rank};
use crate::engine::neighbours::by_neighbour;
use crate::engine::rows::{bits, lids, new_row, rewritten_row};
use crate::engine::{Choices, Plan, Pruning};
use crate::network::Network;
use crate::paths::{Candidates, Paths};

/// Data that a plan keeps for the next one.
#[derive(Debug, State)]
pub(crate) struct Kept {
    network: Network,
    level: Vec<u8>,
    numbers: Numbers,
    /// By switch, the row that its current one has replaced; empty if there is none.
    /// The next plan writes into those that nobody reads any more: fresh memory
    /// costs more than writing into it.
    #[state(skip)]
    replaced: Mutex<Vec<Arc<[u8]>>>,
}

impl Kept {
    /// Data that a full plan keeps.
    pub(super) fn new(network: &Network, level: Vec<u8>, numbers: Numbers) -> Self {
        Self {
            network: network.clone(),
            level,
            numbers,
            replaced: Mutex::default(),
        }
    }

    /// The rows that were replaced, for all switches; the first caller gets them.
    fn take_replaced(&self) -> Vec<Arc<[u8]>> {
        let kept = self.replaced.lock();
        let mut rows = std::mem::take(&mut *kept.unwrap_or_else(PoisonError::into_inner));
        rows.resize(self.network.len(), Arc::default());
        rows
    }

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
        switch_of: old.switches(),
    };
    let ((rows, untouched), replaced) = update.rows(kept.take_replaced());
    let mut kept = Kept::new(network, level, numbers);
    kept.replaced = Mutex::new(replaced);
    let mut plan = Plan::on_paths(LinearTables::new(rows), paths, Pruning::default());
    plan.kept = Some(Box::new(kept));
    plan.untouched = untouched;
    Some(plan)
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
    /// A row of which only the entries that are recomputed mean something.
    row: Vec<u8>,
    /// Columns that may have other candidates, as bits.
    columns: Vec<u64>,
}

type Rows = Vec<Arc<[u8]>>;

impl Update<'_> {
    /// The rows of all switches, which of them have the same candidates as before, and rows that
    /// are replaced. `spare` has rows that may be written into.
    fn rows(&self, spare: Rows) -> ((Rows, Vec<bool>), Rows) {
        let moved = self.moved();
        let made = spare.into_par_iter().enumerate();
        made.map_init(Scratch::default, |scratch, (switch, mut spare)| {
            let old = self.old.1.row_shared(SwitchIndex(switch as u32));
            let old = old.cloned().unwrap_or_default();
            let is_new = self.is_new(switch);
            let row = if is_new {
                self.new_row(switch, &old, scratch)
            } else if self.columns(switch, &moved, &mut scratch.columns) {
                self.row(switch, &old, &mut spare, scratch)
            } else {
                return ((old, true), spare);
            };
            match row {
                Some(row) => ((row, false), old),
                None => ((old, false), spare),
            }
        })
        .unzip()
    }

    /// The row of a switch from nothing; none where it is the old one.
    fn new_row(&self, switch: usize, old: &[u8], scratch: &mut Scratch) -> Option<Arc<[u8]>> {
        let known = (self.network, self.paths, self.numbers);
        let row = new_row(self.network, |row| {
            fill(known, &mut scratch.candidates, switch, row);
        });
        (*row != *old).then_some(row)
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

    /// Whether a switch has other links, other places for them or another divider.
    fn is_new(&self, switch: usize) -> bool {
        let (slots, before) = (&self.numbers.slots, &self.kept.numbers.slots);
        self.network.egress(switch) != self.kept.network.egress(switch)
            || self.numbers.divider[switch] != self.kept.numbers.divider[switch]
            || !slots.are_as_before(before, self.network, switch)
    }

    /// The columns for which a switch may have other candidates; returns whether there are any.
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

    /// The row with the entries for some columns recomputed, in the memory of `spare` if
    /// nobody else reads that; `None` if nothing changes.
    fn row(
        &self,
        switch: usize,
        old: &[u8],
        spare: &mut Arc<[u8]>,
        scratch: &mut Scratch,
    ) -> Option<Arc<[u8]>> {
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
            form.again(&mut scratch.row, (column, target));
            lids(self.network, target, |lids| {
                differs |= scratch.row[lids.clone()] != old[lids];
            });
        }
        differs.then(|| {
            rewritten_row(old, std::mem::take(spare), |row| {
                for column in bits(&scratch.columns) {
                    let target = self.switch_of[column] as usize;
                    lids(self.network, target, |lids| {
                        row[lids.clone()].copy_from_slice(&scratch.row[lids]);
                    });
                }
            })
        })
    }
}
