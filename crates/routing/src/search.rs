//! The search for distances: outwards from the destinations, level of cost by level of cost.

use std::ops::Range;

use rayon::prelude::*;

use crate::kinds::Kinds;
use crate::network::{Egress, Network, slice};
use crate::planes::Planes;

/// Fewest switches that are worth a thread of their own.
const SHARE: usize = 64;

/// Inputs of a search.
pub(crate) struct Search<'a, A> {
    pub(crate) network: &'a Network,
    /// Whether a route may leave a switch over this link.
    pub(crate) allowed: A,
    pub(crate) start: Start<'a>,
    /// The words of columns that are searched for; of others nothing is found.
    pub(crate) words: Range<usize>,
}

/// Memory of consecutive searches in one network: fresh pages cost more than writing
/// to them.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Levels that a link of the highest cost still looks back to.
    recent: Vec<Level>,
    by_kind: Option<Level>,
}

/// Start of distances.
pub(crate) enum Start<'a> {
    /// Each switch reaches its own column at no cost.
    Columns(&'a [u32]),
    /// Known distances stay; only columns that a switch does not reach yet are searched.
    Known(&'a Planes),
}

/// Findings at one cost, a row of columns for each switch or kind of switches.
#[derive(Clone)]
struct Level {
    words: Vec<u64>,
    /// The words of each row outside of which nothing is set.
    spans: Vec<Range<usize>>,
}

impl Level {
    /// Rows without any column.
    fn new(rows: usize, words: usize) -> Self {
        Self {
            words: vec![0; rows * words],
            spans: vec![0..0; rows],
        }
    }
}

/// Allowed links, one for each pair of switches and cost.
struct Links {
    start: Vec<u32>,
    /// To, and cost.
    links: Vec<(u32, u16)>,
    /// Switches that have the same ones.
    kinds: Kinds,
}

impl Links {
    fn new(start: Vec<u32>, links: Vec<(u32, u16)>) -> Self {
        let of = |from| slice(&start, &links, from).iter().copied();
        let kinds = Kinds::by(start.len() - 1, of, |(to, cost)| {
            u64::from(*to) << 16 | u64::from(*cost)
        });
        Self {
            start,
            links,
            kinds,
        }
    }

    fn of(&self, from: usize) -> &[(u32, u16)] {
        slice(&self.start, &self.links, from)
    }
}

impl<A> Search<'_, A>
where
    A: Fn(usize, &Egress) -> bool + Sync,
{
    /// Runs it to the end.
    pub(crate) fn run(&self, scratch: &mut Scratch) -> Planes {
        let count = self.network.len();
        let mut found = Planes::new(count);
        let links = self.links();
        let longest = links.links.iter().map(|link| link.1).max();
        let longest = longest.unwrap_or(1).max(1);
        let none = || Level::new(count, found.words());
        let Scratch { recent, by_kind } = scratch;
        recent.resize_with(usize::from(longest) + 1, none);
        let by_kind = by_kind.get_or_insert_with(none);
        let last_start = match self.start {
            Start::Columns(_) => 0,
            Start::Known(known) => known.ceiling(),
        };
        let mut last_new = 0;
        for cost in 0.. {
            let slot = cost as usize % recent.len();
            let mut level = std::mem::replace(&mut recent[slot], Level::new(0, 0));
            self.gather(cost, (&links, recent), found.all_reached(), by_kind);
            self.level(cost, (&links, by_kind), found.reached_mut(), &mut level);
            if level.spans.iter().any(|span| !span.is_empty()) {
                last_new = cost;
                record(&mut found, cost, &level);
            }
            found.keep_spans(&level.spans);
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
        Links::new(start, links)
    }

    /// Finds the columns beyond the links of each kind of switches.
    fn gather(
        &self,
        cost: u32,
        (links, recent): (&Links, &[Level]),
        reached: &[u64],
        by_kind: &mut Level,
    ) {
        let words = self.network.len().div_ceil(64).max(1);
        let before = |weight: u16| {
            let back = cost.checked_sub(u32::from(weight))?;
            Some(&recent[back as usize % recent.len()])
        };
        let rows = by_kind.words.par_chunks_mut(words);
        rows.zip(by_kind.spans.par_iter_mut())
            .zip(links.kinds.members())
            .with_min_len(SHARE)
            .for_each(|((row, span), kind)| {
                row[std::mem::take(span)].fill(0);
                let open = kind.iter().map(|switch| {
                    let from = *switch as usize;
                    self.open(from, &reached[from * words..][..words])
                });
                let open = open.fold(0..0, |all, open| hull(&all, &open));
                if !open.is_empty() {
                    *span = gather(row, open, &before, links.of(kind[0] as usize));
                }
            });
    }

    /// Adds to each switch the findings of its kind that it lacks.
    fn level(
        &self,
        cost: u32,
        (links, by_kind): (&Links, &Level),
        reached: &mut [u64],
        level: &mut Level,
    ) {
        let words = self.network.len().div_ceil(64).max(1);
        let rows = level.words.par_chunks_mut(words);
        let rows = rows.zip(level.spans.par_iter_mut());
        rows.zip(reached.par_chunks_mut(words))
            .enumerate()
            .with_min_len(SHARE)
            .for_each(|(from, ((row, span), reached))| {
                row[std::mem::take(span)].fill(0);
                let kind = links.kinds.of(from);
                *span = by_kind.spans[kind].clone();
                let found = &by_kind.words[kind * words..][span.clone()];
                row[span.clone()].copy_from_slice(found);
                self.settle(cost, from, row, (span, reached));
            });
    }

    /// The words in which a switch may still find columns.
    fn open(&self, from: usize, reached: &[u64]) -> Range<usize> {
        let count = self.network.len();
        span_of(self.words.clone(), |word| {
            let known = match self.start {
                Start::Columns(_) => 0,
                Start::Known(known) => known.reached(from)[word],
            };
            columns_of(word, count) & !reached[word] & !known != 0
        })
    }

    /// Adds the starts of distances, and removes known columns.
    fn settle(
        &self,
        cost: u32,
        from: usize,
        row: &mut [u64],
        (span, reached): (&mut Range<usize>, &mut [u64]),
    ) {
        match self.start {
            Start::Columns(column) if cost == 0 => {
                let own = column[from] as usize;
                row[own / 64] |= 1 << (own % 64);
                *span = hull(span, &(own / 64..own / 64 + 1));
            }
            Start::Known(known) => {
                let blocked = &known.reached(from)[span.clone()];
                let words = row[span.clone()].iter_mut().zip(blocked);
                words.for_each(|(word, blocked)| *word &= !blocked);
                let starts = common(&known.span(cost, from), &self.words);
                if cost <= known.ceiling() && !starts.is_empty() {
                    known.add_at((cost, from), starts.clone(), row);
                    *span = hull(span, &starts);
                }
            }
            Start::Columns(_) => {}
        }
        let words = row[span.clone()].iter_mut();
        for (word, reached) in words.zip(&mut reached[span.clone()]) {
            *word &= !*reached;
            *reached |= *word;
        }
        *span = span_of(span.clone(), |word| row[word] != 0);
    }
}

/// Adds the open columns that a switch reaches over its links, given as (to, cost); `before` returns
/// the columns reached at the far end for a link of some cost. Returns the words that may be set.
fn gather<'a>(
    row: &mut [u64],
    open: Range<usize>,
    before: &impl Fn(u16) -> Option<&'a Level>,
    links: &[(u32, u16)],
) -> Range<usize> {
    let words = row.len();
    let mut set = 0..0;
    for &(to, weight) in links {
        let Some(before) = before(weight) else {
            continue;
        };
        let span = &before.spans[to as usize];
        let both = common(span, &open);
        if both.is_empty() {
            continue;
        }
        let far = &before.words[to as usize * words..][both.clone()];
        let near = row[both.clone()].iter_mut().zip(far);
        near.for_each(|(word, far)| *word |= far);
        set = hull(&set, &both);
    }
    set
}

/// The words that are in both.
pub(crate) fn common(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    a.start.max(b.start)..a.end.min(b.end)
}

/// The words from the first to the last of both.
pub(crate) fn hull(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    match (a.is_empty(), b.is_empty()) {
        (true, _) => b.clone(),
        (_, true) => a.clone(),
        _ => a.start.min(b.start)..a.end.max(b.end),
    }
}

/// The words from the first to the last of some for which something holds.
pub(crate) fn span_of(words: Range<usize>, holds: impl Fn(usize) -> bool) -> Range<usize> {
    let Some(first) = words.clone().find(|word| holds(*word)) else {
        return 0..0;
    };
    let last = (first..words.end).rfind(|word| holds(*word));
    first..last.unwrap_or(first) + 1
}

/// Mask of the columns in a word, of `count` columns in all.
pub(crate) fn columns_of(word: usize, count: usize) -> u64 {
    u64::MAX >> (64 - (count - word * 64).min(64))
}

fn record(found: &mut Planes, cost: u32, level: &Level) {
    let words = found.words().max(1);
    for plane in found.planes_of(cost) {
        let rows = plane.par_chunks_mut(words);
        rows.zip(level.words.par_chunks(words))
            .zip(&level.spans)
            .with_min_len(SHARE)
            .for_each(|((plane, row), span)| {
                let pairs = plane[span.clone()].iter_mut().zip(&row[span.clone()]);
                pairs.for_each(|(a, b)| *a |= b);
            });
    }
}
