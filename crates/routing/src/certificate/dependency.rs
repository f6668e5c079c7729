//! The dependency graph of links: for each link into a switch, the links out of it that its packets
//! take.

use std::sync::Arc;

use rayon::prelude::*;
use weft_state::State;

use super::view::View;

/// Words that are worth a thread of their own.
const SHARE: usize = 1 << 13;

/// The channel-dependency graph as bits: row = a link, column = the place of the next link among
/// those of the switch in between.
#[derive(Debug, Clone, PartialEq, Eq, State)]
pub(super) struct Dependencies {
    words: Vec<u64>,
    row_start: Arc<[u32]>,
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
            row_start: row_start.into(),
        }
    }

    /// None yet, of the same links.
    pub(super) fn empty(&self) -> Self {
        Self {
            words: vec![0; self.words.len()],
            row_start: Arc::clone(&self.row_start),
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

    /// All of all, none of them this one's own.
    pub(super) fn union<'a>(&self, all: impl Iterator<Item = &'a Self> + Clone + Sync) -> Self {
        let mut union = self.empty();
        let parts = union.words.par_chunks_mut(SHARE).enumerate();
        parts.for_each(|(part, words)| {
            for one in all.clone() {
                let own = &one.words[part * SHARE..][..words.len()];
                let pairs = words.iter_mut().zip(own);
                pairs.for_each(|(word, own)| *word |= own);
            }
        });
        union
    }

    /// These dependencies between the links of another view, without those of links that are
    /// gone.
    pub(super) fn moved(&self, (old, new): (&View, &View), moves: &Moves) -> Self {
        let mut words = vec![0; moves.words];
        for &(before, now, count) in &moves.runs {
            let own = &self.words[before as usize..][..count as usize];
            words[now as usize..][..count as usize].copy_from_slice(own);
        }
        let mut moved = Self {
            words,
            row_start: Arc::clone(&moves.row_start),
        };
        for &(before, link) in &moves.others {
            let first = new.links_of(new.links[link].to as usize).start;
            let row = moved.row_mut(link);
            for next in self.successors(old, before) {
                if let Some(next) = new.link_like(&old.links[next]) {
                    row[(next - first) / 64] |= 1 << ((next - first) % 64);
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
            let rest = std::iter::successors(Some(*word), |bits| Some(bits & bits.wrapping_sub(1)));
            rest.take_while(|bits| *bits != 0)
                .map(move |bits| first + index * 64 + bits.trailing_zeros() as usize)
        })
    }

    /// The links that are on a cycle or lead to one; none when the graph is acyclic.
    pub(super) fn cyclic(&self, view: &View) -> Vec<usize> {
        let places = self.places(view).into_iter().enumerate();
        let waits = places.filter(|(_, place)| *place == NO_PLACE);
        waits.map(|(link, _)| link).collect()
    }

    /// For each link its place in an order in which a link waits for earlier ones only;
    /// [`NO_PLACE`] for those on a cycle or leading to one.
    pub(super) fn places(&self, view: &View) -> Vec<u32> {
        let mut free = Free::new(view);
        let mut places = vec![NO_PLACE; view.links.len()];
        let mut next = 0;
        let mut queue: std::collections::VecDeque<usize> = (0..view.len()).collect();
        let mut queued = vec![true; view.len()];
        while let Some(switch) = queue.pop_front() {
            queued[switch] = false;
            for link in view.links_of(switch) {
                if free.settle(self, view, link) {
                    places[link] = next;
                    next += 1;
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
        places
    }

    /// Whether every link waits for earlier ones only, so that there is no cycle. A link without a
    /// place may wait for those that have one, and none for it.
    pub(super) fn is_in_order(&self, view: &View, places: &[u32]) -> bool {
        (0..view.links.len())
            .into_par_iter()
            .with_min_len(SHARE)
            .all(|link| {
                let mut waits = self.successors(view, link);
                waits.all(|next| places[next] < places[link])
            })
    }
}

/// A link that has no place in an order.
pub(super) const NO_PLACE: u32 = u32::MAX;

/// Positions of one view's link rows in another's.
#[derive(Debug)]
pub(super) struct Moves {
    /// Words of a graph of the new links.
    words: usize,
    row_start: Arc<[u32]>,
    /// Words of links with the same links onward: first one before, first one now, and number.
    runs: Vec<(u32, u32, u32)>,
    /// Links into a switch with other links than before: before, and now.
    others: Vec<(usize, usize)>,
    /// By new link, the same one before.
    before: Vec<Option<u32>>,
}

impl Moves {
    /// From the links of the view that `graph` is of to those of another one.
    pub(super) fn new(graph: &Dependencies, (old, new): (&View, &View)) -> Self {
        let Dependencies { words, row_start } = Dependencies::new(new);
        let changed: Vec<bool> = (0..new.len())
            .map(|switch| new.is_changed(old, switch))
            .collect();
        let mut moves = Self {
            words: words.len(),
            row_start,
            runs: Vec::new(),
            others: Vec::new(),
            before: Vec::with_capacity(new.links.len()),
        };
        for (link, data) in new.links.iter().enumerate() {
            let before = old.link_like(data);
            moves.before.push(before.map(|before| before as u32));
            match before {
                None => {}
                Some(before) if changed[data.to as usize] => moves.others.push((before, link)),
                Some(before) => moves.keep(graph.row_start[before], link),
            }
        }
        moves
    }

    /// Keeps the row of a link as it is.
    fn keep(&mut self, before: u32, link: usize) {
        let (now, end) = (self.row_start[link], self.row_start[link + 1]);
        match self.runs.last_mut() {
            Some((first, start, count)) if *first + *count == before && *start + *count == now => {
                *count += end - now;
            }
            _ => self.runs.push((before, now, end - now)),
        }
    }

    /// The places of the links now, [`NO_PLACE`] for those that are new.
    pub(super) fn places(&self, places: &[u32]) -> Vec<u32> {
        let place = |before: &Option<u32>| before.map_or(NO_PLACE, |link| places[link as usize]);
        self.before.iter().map(place).collect()
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

    /// Marks a link when all that it waits for is marked; returns whether it is new.
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
