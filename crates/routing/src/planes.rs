//! Distances between all switches as bit planes: bit `column` of plane j at switch s is bit j of
//! the distance from s to the destination switch of that column.
//!
//! One word holds 64 destinations, so a step of the search and a comparison of distances treat 64
//! of them at once. Memory: switches² · (bits of the longest distance + 1) / 8 bytes.

use rayon::prelude::*;

use crate::network::{Egress, Network};

/// Distances from every switch to every column, and which columns it reaches at all.
#[derive(Debug, Clone)]
pub(crate) struct Planes {
    words: usize,
    planes: Vec<Vec<u64>>,
    reached: Vec<u64>,
}

/// A search outwards from the destinations, level of cost by level of cost.
pub(crate) struct Search<'a, A, S> {
    pub(crate) network: &'a Network,
    /// Whether a route may leave a switch over this link.
    pub(crate) allowed: A,
    /// Columns that a switch reaches at a cost without any allowed link: word by word.
    pub(crate) seeds: S,
    /// The highest cost at which there are seeds.
    pub(crate) last_seed: u32,
    /// Columns that a switch may reach by its seeds only.
    pub(crate) seeds_only: Option<&'a Planes>,
}

impl<A, S> Search<'_, A, S>
where
    A: Fn(usize, &Egress) -> bool + Sync,
    S: Fn(u32, usize, usize) -> u64 + Sync,
{
    /// Runs it to the end.
    pub(crate) fn run(&self) -> Planes {
        let count = self.network.len();
        let words = count.div_ceil(64);
        let mut found = Planes {
            words,
            planes: Vec::new(),
            reached: vec![0; count * words],
        };
        let links = self.links();
        let longest = links.iter().map(|link| link.2).max().unwrap_or(1).max(1);
        // Levels that a link of the highest cost still looks back to.
        let mut recent: Vec<Vec<u64>> = vec![vec![0; count * words]; usize::from(longest) + 1];
        let mut last_new = 0;
        for cost in 0.. {
            let slot = cost as usize % recent.len();
            let mut level = std::mem::take(&mut recent[slot]);
            if self.level(cost, &links, &recent, &mut found.reached, &mut level) {
                last_new = cost;
                found.record(cost, &level);
            }
            recent[slot] = level;
            if cost >= self.last_seed && cost >= last_new + u32::from(longest) {
                break;
            }
        }
        found
    }

    /// Allowed links, one for each pair of switches and cost: (from, to, cost), by `from`.
    fn links(&self) -> Vec<(u32, u32, u16)> {
        let mut links = Vec::new();
        for from in 0..self.network.len() {
            let start = links.len();
            let allowed = self.network.egress(from).iter();
            links.extend(
                allowed
                    .filter(|link| (self.allowed)(from, link))
                    .map(|link| (from as u32, link.to, link.cost)),
            );
            links[start..].sort_unstable();
        }
        links.dedup();
        links
    }

    fn level(
        &self,
        cost: u32,
        links: &[(u32, u32, u16)],
        recent: &[Vec<u64>],
        reached: &mut [u64],
        level: &mut [u64],
    ) -> bool {
        let words = self.network.len().div_ceil(64).max(1);
        let rows = level
            .par_chunks_mut(words)
            .zip(reached.par_chunks_mut(words));
        rows.enumerate()
            .with_min_len(64)
            .map(|(from, (row, reached))| {
                row.fill(0);
                let first = links.partition_point(|link| (link.0 as usize) < from);
                let own = links[first..]
                    .iter()
                    .take_while(|link| link.0 as usize == from);
                for &(_, to, weight) in own.filter(|link| u32::from(link.2) <= cost) {
                    let before = &recent[(cost as usize - usize::from(weight)) % recent.len()];
                    let far = &before[to as usize * words..][..words];
                    row.iter_mut().zip(far).for_each(|(word, far)| *word |= far);
                }
                self.settle(cost, from, row, reached)
            })
            .reduce(|| false, |a, b| a | b)
    }

    /// Adds the seeds, takes out what is known already; says whether anything is left.
    fn settle(&self, cost: u32, from: usize, row: &mut [u64], reached: &mut [u64]) -> bool {
        let blocked = self.seeds_only.map(|planes| planes.reached(from));
        let mut any = 0;
        for (index, (word, reached)) in row.iter_mut().zip(reached).enumerate() {
            let blocked = blocked.map_or(0, |blocked| blocked[index]);
            *word = (*word & !blocked | (self.seeds)(cost, from, index)) & !*reached;
            *reached |= *word;
            any |= *word;
        }
        any != 0
    }
}

impl Planes {
    fn record(&mut self, cost: u32, level: &[u64]) {
        for bit in (0..u32::BITS).filter(|bit| cost >> bit & 1 == 1) {
            while self.planes.len() <= bit as usize {
                self.planes.push(vec![0; self.reached.len()]);
            }
            let plane = &mut self.planes[bit as usize];
            plane
                .par_chunks_mut(1 << 14)
                .zip(level.par_chunks(1 << 14))
                .for_each(|(plane, level)| {
                    plane.iter_mut().zip(level).for_each(|(a, b)| *a |= b);
                });
        }
    }

    /// Words of one row: columns / 64, rounded up.
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// The columns that a switch reaches.
    pub(crate) fn reached(&self, switch: usize) -> &[u64] {
        &self.reached[switch * self.words..][..self.words]
    }

    /// The highest distance that fits the planes.
    pub(crate) fn ceiling(&self) -> u32 {
        (1u32 << self.planes.len()) - 1
    }

    /// Of 64 columns, those at exactly this distance.
    pub(crate) fn at(&self, distance: u32, switch: usize, word: usize) -> u64 {
        let at = switch * self.words + word;
        let mut hits = self.reached[at];
        if distance > self.ceiling() {
            return 0;
        }
        for (bit, plane) in self.planes.iter().enumerate() {
            let wanted = u64::from(distance >> bit & 1).wrapping_neg();
            hits &= !(plane[at] ^ wanted);
        }
        hits
    }

    /// The columns that `to` is nearer to than `from` by exactly `cost`, as a row of words; `carry`
    /// is scratch memory of the same length.
    pub(crate) fn nearer(
        &self,
        from: usize,
        to: usize,
        cost: u16,
        row: &mut [u64],
        carry: &mut [u64],
    ) {
        if u32::from(cost) > self.ceiling() {
            return row.fill(0);
        }
        let both = self.reached(from).iter().zip(self.reached(to));
        row.iter_mut()
            .zip(both)
            .for_each(|(row, (a, b))| *row = a & b);
        carry.fill(0);
        // distance(to) + cost == distance(from), added bit by bit with a carry.
        for (bit, plane) in self.planes.iter().enumerate() {
            let here = &plane[from * self.words..][..self.words];
            let there = &plane[to * self.words..][..self.words];
            let add = u64::from(cost >> bit & 1).wrapping_neg();
            let state = row.iter_mut().zip(carry.iter_mut());
            for ((row, carry), (here, far)) in state.zip(here.iter().zip(there)) {
                let half = far ^ add;
                *row &= !(half ^ *carry ^ here);
                *carry = far & add | *carry & half;
            }
        }
        row.iter_mut()
            .zip(carry)
            .for_each(|(row, carry)| *row &= !*carry);
    }
}
