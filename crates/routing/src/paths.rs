//! The links over which a switch may forward towards each destination switch.

use std::ops::Range;

use crate::network::{Egress, Network};
use crate::planes::{Planes, Search};

/// Which links are legal next hops.
#[derive(Debug)]
pub(crate) struct Paths {
    rule: Rule,
    /// Column of each switch as a destination.
    column: Vec<u32>,
}

#[derive(Debug)]
enum Rule {
    /// Any path of least cost.
    Shortest(Planes),
    /// Down where a path of downward links leads there, up otherwise. `rank` grows upwards and is
    /// different for every switch, so no route turns from down to up and none runs in a circle.
    UpDown {
        rank: Vec<u32>,
        down: Planes,
        legal: Planes,
        /// Where no such path leads there, towards the nearest switch from which one does. Only
        /// what such a switch sends itself goes there, which is management: the others' routes
        /// avoid it.
        rest: Planes,
    },
}

impl Paths {
    /// Least-cost paths; destinations are numbered as `column` says.
    pub(crate) fn shortest(network: &Network, column: Vec<u32>) -> Self {
        let planes = Search {
            network,
            allowed: |_, _: &Egress| true,
            seeds: own_column(&column),
            last_seed: 0,
            seeds_only: None,
        }
        .run();
        Self {
            rule: Rule::Shortest(planes),
            column,
        }
    }

    /// Paths that go up first and then down: `rank` orders the switches, no two alike.
    pub(crate) fn up_down(network: &Network, column: Vec<u32>, rank: Vec<u32>) -> Self {
        let down = Search {
            network,
            allowed: |from: usize, link: &Egress| rank[link.to as usize] < rank[from],
            seeds: own_column(&column),
            last_seed: 0,
            seeds_only: None,
        }
        .run();
        let legal = Search {
            network,
            allowed: |from: usize, link: &Egress| rank[link.to as usize] > rank[from],
            seeds: |cost, switch, word| down.at(cost, switch, word),
            last_seed: down.ceiling(),
            seeds_only: Some(&down),
        }
        .run();
        let rest = Search {
            network,
            allowed: |_: usize, _: &Egress| true,
            seeds: |cost, switch, word| legal.at(cost, switch, word),
            last_seed: legal.ceiling(),
            seeds_only: Some(&legal),
        }
        .run();
        Self {
            rule: Rule::UpDown {
                rank,
                down,
                legal,
                rest,
            },
            column,
        }
    }

    /// The column of a switch as a destination.
    pub(crate) fn column(&self, switch: usize) -> usize {
        self.column[switch] as usize
    }

    fn distances(&self) -> &Planes {
        match &self.rule {
            Rule::Shortest(planes) => planes,
            Rule::UpDown { legal, .. } => legal,
        }
    }

    fn words(&self) -> usize {
        self.distances().words()
    }

    /// Of 64 columns, those at exactly this cost from a switch.
    pub(crate) fn at_distance(&self, cost: u32, switch: usize, word: usize) -> u64 {
        self.distances().at(cost, switch, word)
    }

    /// No path costs more.
    pub(crate) fn longest(&self) -> u32 {
        self.distances().ceiling()
    }

    /// The destinations that a link is a legal next hop to, as a row of words.
    /// `carry` is scratch memory of twice its length.
    fn legal(&self, from: usize, link: &Egress, row: &mut [u64], carry: &mut [u64]) {
        let to = link.to as usize;
        match &self.rule {
            Rule::Shortest(planes) => planes.nearer(from, to, link.cost, row, carry),
            Rule::UpDown {
                rank,
                down,
                legal,
                rest,
            } => {
                if rank[to] < rank[from] {
                    down.nearer(from, to, link.cost, row, carry);
                } else {
                    legal.nearer(from, to, link.cost, row, carry);
                    without(row, down.reached(from));
                }
                if rest.reached(from) != legal.reached(from) {
                    let (beyond, carry) = carry.split_at_mut(row.len());
                    rest.nearer(from, to, link.cost, beyond, carry);
                    without(beyond, legal.reached(from));
                    row.iter_mut()
                        .zip(beyond)
                        .for_each(|(word, beyond)| *word |= *beyond);
                }
            }
        }
    }
}

/// Takes out what is in `taken`.
fn without(row: &mut [u64], taken: &[u64]) {
    row.iter_mut()
        .zip(taken)
        .for_each(|(word, taken)| *word &= !taken);
}

fn own_column(column: &[u32]) -> impl Fn(u32, usize, usize) -> u64 + Sync + '_ {
    move |cost, switch, word| {
        let own = column[switch] as usize;
        u64::from(cost == 0 && own / 64 == word) << (own % 64)
    }
}

/// A switch's candidates for every destination, equal neighbours in the order of columns stored
/// once.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    /// Index into `runs` by column.
    run_of: Vec<u32>,
    /// Range in `links` of each run.
    runs: Vec<Range<u32>>,
    links: Vec<u16>,
    /// Destinations of each kept link, a row of words each.
    legal: Vec<u64>,
    carry: Vec<u64>,
    keep: Vec<u16>,
}

impl Candidates {
    /// Fills in the candidates of one switch. `order` lists its links (indices into
    /// [`Network::egress`]) in the order in which candidates shall come; `refine` may take some
    /// out of each list.
    pub(crate) fn fill(
        &mut self,
        network: &Network,
        paths: &Paths,
        switch: usize,
        order: &[u16],
        mut refine: impl FnMut(&mut Vec<u16>),
    ) {
        let egress = network.egress(switch);
        self.keep.clear();
        self.keep
            .extend(order.iter().filter(|link| cheapest(egress, **link)));
        let (count, words) = (self.keep.len(), paths.words());
        self.run_of.clear();
        self.run_of.resize(network.len(), 0);
        self.runs.clear();
        self.links.clear();
        self.legal.resize(count * words, 0);
        self.carry.resize(words * 2, 0);
        for (row, link) in self.legal.chunks_mut(words.max(1)).zip(&self.keep) {
            paths.legal(switch, &egress[usize::from(*link)], row, &mut self.carry);
        }
        let mut list: Vec<u16> = Vec::with_capacity(count);
        let mut last = vec![0u64; count];
        for word in 0..words {
            let mut changes = u64::from(word == 0);
            for (row, last) in self.legal.chunks(words).zip(&mut last) {
                let now = row[word];
                changes |= now ^ (now << 1 | *last);
                *last = now >> 63;
            }
            let columns = (network.len() - word * 64).min(64);
            self.split(word, words, columns, changes, &mut list, &mut refine);
        }
    }

    /// Cuts 64 columns into runs where the set of candidates changes.
    fn split(
        &mut self,
        word: usize,
        words: usize,
        columns: usize,
        changes: u64,
        list: &mut Vec<u16>,
        refine: &mut impl FnMut(&mut Vec<u16>),
    ) {
        let base = word * 64;
        let mut from = 0;
        while from < columns {
            if changes >> from & 1 == 1 {
                list.clear();
                let set = self.keep.iter().zip(self.legal.chunks(words));
                list.extend(
                    set.filter(|(_, row)| row[word] >> from & 1 == 1)
                        .map(|(link, _)| *link),
                );
                refine(list);
                let start = self.links.len() as u32;
                self.links.extend_from_slice(list);
                self.runs.push(start..self.links.len() as u32);
            }
            let rest = changes & u64::MAX.checked_shl(from as u32 + 1).unwrap_or(0);
            let to = (rest.trailing_zeros() as usize).min(columns);
            self.run_of[base + from..base + to].fill(self.runs.len() as u32 - 1);
            from = to;
        }
    }

    /// The number of a column's run; columns with one number have the same candidates.
    pub(crate) fn run(&self, column: usize) -> u32 {
        self.run_of[column]
    }

    /// The candidates of a run, as indices into the switch's links.
    pub(crate) fn links(&self, run: u32) -> &[u16] {
        let range = &self.runs[run as usize];
        &self.links[range.start as usize..range.end as usize]
    }
}

/// Whether no link to the same neighbour costs less.
fn cheapest(egress: &[Egress], link: u16) -> bool {
    let Egress { to, cost, .. } = egress[usize::from(link)];
    egress
        .iter()
        .all(|other| other.to != to || other.cost >= cost)
}
