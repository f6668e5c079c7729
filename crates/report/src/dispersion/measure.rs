//! Counts disjoint paths from one switch to one port, reached and possible.

use serde::Serialize;
use weft_fabric::LinearTables;

use super::disjoint::most_disjoint;
use super::flow::Flow;
use super::view::{End, View};

/// Numbers of disjoint paths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Disjoint {
    /// Paths of which no two share a link between switches.
    pub links: u32,
    /// Paths of which no two share a switch besides the first and the last one.
    pub switches: u32,
}

/// Disjointness of a port's LIDs, seen from one switch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// Number of LIDs.
    pub lids: u32,
    /// Those of them whose routes arrive.
    pub arriving: u32,
    /// The disjoint ones among their paths.
    pub reached: Disjoint,
    /// Disjoint shortest paths in the cabling, at most the number of LIDs; if longer
    /// paths are disjoint, the number reached.
    pub possible: Disjoint,
}

impl Spread {
    /// Deficit of reached against possible paths.
    pub(super) fn missing(&self) -> u32 {
        let switches = self.possible.switches - self.reached.switches;
        self.possible.links - self.reached.links + switches
    }
}

/// The paths of one pair, and scratch memory.
#[derive(Debug)]
pub(super) struct Measure<'a> {
    view: &'a View,
    linear: &'a LinearTables,
    flow: Flow<'a>,
    /// The links of all paths, one after the other, and where each ends.
    links: Vec<u32>,
    ends: Vec<usize>,
    /// By link and by switch, the paths that pass it as bits.
    on_link: Vec<u128>,
    on_switch: Vec<u128>,
    conflicts: Vec<u128>,
}

impl<'a> Measure<'a> {
    pub(super) fn new(view: &'a View, linear: &'a LinearTables) -> Self {
        Self {
            view,
            linear,
            flow: Flow::new(view),
            links: Vec::new(),
            ends: Vec::new(),
            on_link: vec![0; view.links.len()],
            on_switch: vec![0; view.len()],
            conflicts: Vec::new(),
        }
    }

    /// Follows all LIDs of a port from a switch.
    pub(super) fn spread(&mut self, from: u32, end: &End) -> Spread {
        self.links.clear();
        self.ends.clear();
        let mut arriving = 0u128;
        for index in 0..end.lids.min(u128::BITS) {
            let route = (from, end, end.lid.saturating_add(index));
            if self.view.walk(self.linear, route, &mut self.links) {
                arriving |= 1 << index;
            }
            self.ends.push(self.links.len());
        }
        let reached = match from == end.switch {
            true => Disjoint::default(),
            false => self.reached(arriving),
        };
        let lids = end.lids;
        let mut possible = |apart, reached: u32| match reached == lids {
            true => lids,
            false => self.flow.most(from, end.switch, apart, lids).max(reached),
        };
        Spread {
            lids,
            arriving: arriving.count_ones(),
            reached,
            possible: Disjoint {
                links: possible(false, reached.links),
                switches: possible(true, reached.switches),
            },
        }
    }

    /// The paths of the last pair, as links.
    pub(super) fn paths(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let ranges = starts.zip(&self.ends);
        ranges.map(|(start, end)| &self.links[start..*end])
    }

    fn reached(&mut self, arriving: u128) -> Disjoint {
        let count = self.ends.len();
        self.conflicts.clear();
        self.conflicts.resize(count, 0);
        for path in 0..count {
            for place in self.range(path) {
                meet(
                    path,
                    &mut self.on_link[self.links[place] as usize],
                    &mut self.conflicts,
                );
            }
        }
        let links = most_disjoint(&self.conflicts, arriving);
        self.conflicts.fill(0);
        for path in 0..count {
            for place in self.inner(path) {
                let switch = self.view.links[self.links[place] as usize].to as usize;
                meet(path, &mut self.on_switch[switch], &mut self.conflicts);
            }
        }
        let switches = most_disjoint(&self.conflicts, arriving);
        for link in &self.links {
            self.on_link[*link as usize] = 0;
            self.on_switch[self.view.links[*link as usize].to as usize] = 0;
        }
        Disjoint { links, switches }
    }

    fn range(&self, path: usize) -> std::ops::Range<usize> {
        let start = path.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[path]
    }

    /// The links to switches in between: all but the last.
    fn inner(&self, path: usize) -> std::ops::Range<usize> {
        let range = self.range(path);
        range.start..range.end.saturating_sub(1).max(range.start)
    }
}

/// A path passes something: it conflicts with those that pass it too.
fn meet(path: usize, on: &mut u128, conflicts: &mut [u128]) {
    let mut others = *on & !(1 << path);
    conflicts[path] |= others;
    *on |= 1 << path;
    while others != 0 {
        conflicts[others.trailing_zeros() as usize] |= 1 << path;
        others &= others - 1;
    }
}
