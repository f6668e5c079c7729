//! Which link waits for which: for each link into a switch, the links out of it that its packets
//! go on to.

use super::view::View;

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
