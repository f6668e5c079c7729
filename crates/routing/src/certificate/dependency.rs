//! Which link waits for which: for each link into a switch, the links out of it that its packets
//! go on to.

use std::sync::Arc;

use rayon::prelude::*;

use super::view::{Link, View};

/// Words that are worth a thread of their own.
const SHARE: usize = 1 << 13;

/// The channel-dependency graph as bits: row = a link, column = the place of the next link among
/// those of the switch in between.
#[derive(Debug, Clone)]
pub(super) struct Dependencies {
    words: Vec<u64>,
    row_start: Vec<u32>,
}

impl Dependencies {
    /// None yet.
    pub(super) fn new(view: &View) -> Self {
        let mut row_start = Vec::with_capacity(view.links.len() + 1);
        let mut total = 0;
        for link in &view.links {
            row_start.push(total);
            total += view.links_of(link.to as usize).len().div_ceil(64) as u32;
        }
        row_start.push(total);
        Self {
            words: vec![0; total as usize],
            row_start,
        }
    }

    /// The row of a link.
    pub(super) fn row(&self, link: usize) -> &[u64] {
        &self.words[self.row_start[link] as usize..self.row_start[link + 1] as usize]
    }

    /// The row of a link, to add to it.
    pub(super) fn row_mut(&mut self, link: usize) -> &mut [u64] {
        &mut self.words[self.row_start[link] as usize..self.row_start[link + 1] as usize]
    }

    /// Words that it takes.
    pub(super) fn words(&self) -> usize {
        self.words.len()
    }

    /// All of all.
    pub(super) fn union(view: &View, all: &[Arc<Self>]) -> Self {
        let mut union = Self::new(view);
        let parts = union.words.par_chunks_mut(SHARE).enumerate();
        parts.for_each(|(part, words)| {
            for one in all {
                let own = &one.words[part * SHARE..][..words.len()];
                let pairs = words.iter_mut().zip(own);
                pairs.for_each(|(word, own)| *word |= own);
            }
        });
        union
    }

    /// The same dependencies where links have other numbers; those of links that are gone are left
    /// out.
    pub(super) fn moved(&self, old: &View, new: &View) -> Self {
        let mut moved = Self::new(new);
        let changed: Vec<bool> = (0..new.len())
            .map(|switch| new.is_changed(old, switch))
            .collect();
        for (index, link) in new.links.iter().enumerate() {
            let Some(before) = old.link_at(link.from as usize, link.port) else {
                continue;
            };
            let same = |a: &Link, b: &Link| (a.to, a.far_port) == (b.to, b.far_port);
            if !same(&old.links[before], link) {
                continue;
            }
            let to = link.to as usize;
            let row = moved.row_mut(index);
            if !changed[to] {
                row.copy_from_slice(self.row(before));
                continue;
            }
            let first = new.links_of(to).start;
            for next in self.successors(old, before) {
                let onward = &old.links[next];
                let Some(next) = new.link_at(to, onward.port) else {
                    continue;
                };
                if same(onward, &new.links[next]) {
                    let place = next - first;
                    row[place / 64] |= 1 << (place % 64);
                }
            }
        }
        moved
    }

    /// All of both.
    pub(super) fn merge(mut self, other: &Self) -> Self {
        let pairs = self.words.iter_mut().zip(&other.words);
        pairs.for_each(|(word, other)| *word |= other);
        self
    }

    /// Number of dependencies.
    pub(super) fn count(&self) -> u64 {
        let bits = self.words.iter().map(|word| u64::from(word.count_ones()));
        bits.sum()
    }

    /// The links that a link waits for.
    pub(super) fn successors<'a>(
        &'a self,
        view: &View,
        link: usize,
    ) -> impl Iterator<Item = usize> + 'a {
        let first = view.links_of(view.links[link].to as usize).start;
        let words = self.row(link).iter().enumerate();
        words.flat_map(move |(index, word)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| first + index * 64 + bit)
        })
    }

    /// The links that are on a cycle or lead to one; none when the graph is acyclic.
    pub(super) fn cyclic(&self, view: &View) -> Vec<usize> {
        let mut free = Free::new(view);
        let mut queue: std::collections::VecDeque<usize> = (0..view.len()).collect();
        let mut queued = vec![true; view.len()];
        while let Some(switch) = queue.pop_front() {
            queued[switch] = false;
            for link in view.links_of(switch) {
                if free.settle(self, view, link) {
                    // The links into this switch may wait for this one only.
                    for back in view.links_of(switch) {
                        let from = view.links[back].to as usize;
                        if !queued[from] {
                            queued[from] = true;
                            queue.push_back(from);
                        }
                    }
                }
            }
        }
        let all = 0..view.links.len();
        all.filter(|link| !free.has(view, *link)).collect()
    }
}

/// Links that surely get free: all that they wait for does.
struct Free {
    words: Vec<u64>,
    first_word: Vec<u32>,
}

impl Free {
    fn new(view: &View) -> Self {
        let mut first_word = Vec::with_capacity(view.len());
        let mut total = 0;
        for switch in 0..view.len() {
            first_word.push(total);
            total += view.links_of(switch).len().div_ceil(64) as u32;
        }
        Self {
            words: vec![0; total as usize],
            first_word,
        }
    }

    fn place(&self, view: &View, link: usize) -> (usize, u32) {
        let from = view.links[link].from as usize;
        let index = link - view.links_of(from).start;
        let word = self.first_word[from] as usize + index / 64;
        (word, (index % 64) as u32)
    }

    fn has(&self, view: &View, link: usize) -> bool {
        let (word, bit) = self.place(view, link);
        self.words[word] >> bit & 1 == 1
    }

    /// Marks a link when all that it waits for is marked; says whether it is new.
    fn settle(&mut self, graph: &Dependencies, view: &View, link: usize) -> bool {
        let (word, bit) = self.place(view, link);
        if self.words[word] >> bit & 1 == 1 {
            return false;
        }
        let to = view.links[link].to as usize;
        let free = &self.words[self.first_word[to] as usize..];
        let waits = graph.row(link).iter().zip(free);
        let settled = waits.fold(0, |left, (row, free)| left | row & !free) == 0;
        self.words[word] |= u64::from(settled) << bit;
        settled
    }
}
