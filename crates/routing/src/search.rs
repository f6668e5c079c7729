//! The search for distances: outwards from the destinations, level of cost by level of cost.

use std::ops::Range;

use rayon::prelude::*;

use crate::network::{Egress, Network};
use crate::planes::Planes;

/// Fewest switches that are worth a thread of their own.
const SHARE: usize = 64;

/// What to search.
pub(crate) struct Search<'a, A> {
    pub(crate) network: &'a Network,
    /// Whether a route may leave a switch over this link.
    pub(crate) allowed: A,
    pub(crate) start: Start<'a>,
}

/// Where distances begin.
pub(crate) enum Start<'a> {
    /// Each switch reaches its own column at no cost.
    Columns(&'a [u32]),
    /// What is known stays; only columns that a switch does not reach yet are searched for.
    Known(&'a Planes),
}

/// What was found at one cost.
#[derive(Clone)]
struct Level {
    words: Vec<u64>,
    /// By switch, whether its row has anything.
    active: Vec<bool>,
}

/// Allowed links, one for each pair of switches and cost.
struct Links {
    start: Vec<u32>,
    /// To, and cost.
    links: Vec<(u32, u16)>,
}

impl Links {
    fn of(&self, from: usize) -> &[(u32, u16)] {
        &self.links[self.start[from] as usize..self.start[from + 1] as usize]
    }
}

impl<A> Search<'_, A>
where
    A: Fn(usize, &Egress) -> bool + Sync,
{
    /// Runs it to the end.
    pub(crate) fn run(&self) -> Planes {
        let count = self.network.len();
        let mut found = Planes::new(count);
        let links = self.links();
        let longest = links.links.iter().map(|link| link.1).max();
        let longest = longest.unwrap_or(1).max(1);
        let none = Level {
            words: vec![0; count * found.words()],
            active: vec![false; count],
        };
        // Levels that a link of the highest cost still looks back to.
        let mut recent = vec![none; usize::from(longest) + 1];
        let last_start = match self.start {
            Start::Columns(_) => 0,
            Start::Known(known) => known.ceiling(),
        };
        let mut last_new = 0;
        for cost in 0.. {
            let slot = cost as usize % recent.len();
            let empty = Level {
                words: Vec::new(),
                active: Vec::new(),
            };
            let mut level = std::mem::replace(&mut recent[slot], empty);
            self.level(cost, &links, &recent, found.reached_mut(), &mut level);
            if level.active.contains(&true) {
                last_new = cost;
                record(&mut found, cost, &level);
            }
            recent[slot] = level;
            if cost >= last_start && cost >= last_new + u32::from(longest) {
                break;
            }
        }
        found
    }

    fn links(&self) -> Links {
        let mut start = vec![0];
        let mut links: Vec<(u32, u16)> = Vec::new();
        let mut own = Vec::new();
        for from in 0..self.network.len() {
            let allowed = self.network.egress(from).iter();
            own.clear();
            own.extend(
                allowed
                    .filter(|link| (self.allowed)(from, link))
                    .map(|link| (link.to, link.cost)),
            );
            own.sort_unstable();
            own.dedup();
            links.extend_from_slice(&own);
            start.push(links.len() as u32);
        }
        Links { start, links }
    }

    fn level(
        &self,
        cost: u32,
        links: &Links,
        recent: &[Level],
        reached: &mut [u64],
        level: &mut Level,
    ) {
        let words = self.network.len().div_ceil(64).max(1);
        let rows = level.words.par_chunks_mut(words);
        let rows = rows.zip(level.active.par_iter_mut());
        rows.zip(reached.par_chunks_mut(words))
            .enumerate()
            .with_min_len(SHARE)
            .for_each(|(from, ((row, active), reached))| {
                if std::mem::take(active) {
                    row.fill(0);
                }
                if let Some(open) = self.open(from, reached) {
                    for &(to, weight) in links.of(from) {
                        let Some(back) = cost.checked_sub(u32::from(weight)) else {
                            continue;
                        };
                        let before = &recent[back as usize % recent.len()];
                        if before.active[to as usize] {
                            let far = &before.words[to as usize * words..][open.clone()];
                            let near = row[open.clone()].iter_mut().zip(far);
                            near.for_each(|(word, far)| *word |= far);
                            *active = true;
                        }
                    }
                }
                self.settle(cost, from, row, (active, reached));
            });
    }

    /// The words in which a switch may still find columns.
    fn open(&self, from: usize, reached: &[u64]) -> Option<Range<usize>> {
        let count = self.network.len();
        let is_open = |word: usize| {
            let columns = u64::MAX >> (64 - (count - word * 64).min(64));
            let known = match self.start {
                Start::Columns(_) => 0,
                Start::Known(known) => known.reached(from)[word],
            };
            columns & !reached[word] & !known != 0
        };
        let first = (0..reached.len()).find(|word| is_open(*word))?;
        let last = (first..reached.len()).rfind(|word| is_open(*word))?;
        Some(first..last + 1)
    }

    /// Adds where distances begin, takes out what is known already.
    fn settle(
        &self,
        cost: u32,
        from: usize,
        row: &mut [u64],
        (active, reached): (&mut bool, &mut [u64]),
    ) {
        match self.start {
            Start::Columns(column) if cost == 0 => {
                let own = column[from] as usize;
                row[own / 64] |= 1 << (own % 64);
                *active = true;
            }
            Start::Known(known) if *active || cost <= known.ceiling() => {
                let blocked = known.reached(from);
                for (index, (word, blocked)) in row.iter_mut().zip(blocked).enumerate() {
                    *word = *word & !blocked | known.at(cost, from, index);
                }
                *active = true;
            }
            _ => {}
        }
        if *active {
            let mut any = 0;
            for (word, reached) in row.iter_mut().zip(reached) {
                *word &= !*reached;
                *reached |= *word;
                any |= *word;
            }
            *active = any != 0;
        }
    }
}

fn record(found: &mut Planes, cost: u32, level: &Level) {
    let words = found.words().max(1);
    for plane in found.planes_of(cost) {
        let rows = plane.par_chunks_mut(words);
        rows.zip(level.words.par_chunks(words))
            .zip(&level.active)
            .with_min_len(SHARE)
            .filter(|(_, active)| **active)
            .for_each(|((plane, row), _)| {
                plane.iter_mut().zip(row).for_each(|(a, b)| *a |= b);
            });
    }
}
