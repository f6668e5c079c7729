//! The links over which a switch may forward towards each destination switch.

use std::ops::Range;

use weft_state::State;

use crate::kinds::Kinds;
use crate::network::{Egress, Network};
use crate::planes::{Carry, Planes};
use crate::search::{self, Search, Start, columns_of, common, hull, span_of};
use crate::sets::Sets;

/// Legal next hops.
#[derive(Debug, State)]
pub(crate) struct Paths {
    rule: Rule,
    /// Column of each switch as a destination.
    column: Vec<u32>,
    /// Switches that may be exchanged.
    kinds: Kinds,
}

#[derive(Debug, State)]
enum Rule {
    /// Any path of least cost.
    Shortest(Planes),
    /// Down where a path of downward links leads there, up otherwise. `rank` grows upwards and is
    /// different for every switch, so no route turns from down to up and none runs in a circle.
    UpDown {
        rank: Vec<u32>,
        down: Box<Planes>,
        /// By switch, the words of its row outside of which no column is reached downwards.
        below: Vec<Range<usize>>,
        legal: Box<Planes>,
        /// Without such a path, the route towards the nearest switch that has one. Only
        /// such a switch's own traffic goes there, which is management: the others' routes
        /// avoid it. Only in the words in which some switch needs that.
        rest: Box<Planes>,
    },
}

impl Paths {
    /// Least-cost paths; destinations are numbered by `column`.
    pub(crate) fn shortest(network: &Network, column: Vec<u32>) -> Self {
        let planes = Search {
            network,
            allowed: |_, _: &Egress| true,
            start: Start::Columns(&column),
            words: 0..network.len().div_ceil(64),
        }
        .run(&mut search::Scratch::default());
        Self {
            rule: Rule::Shortest(planes),
            column,
            kinds: Kinds::new(network, |_, _| false),
        }
    }

    /// Paths that go up first and then down: `rank` orders the switches, no two alike.
    pub(crate) fn up_down(network: &Network, column: Vec<u32>, rank: Vec<u32>) -> Self {
        let is_down = |from: usize, link: &Egress| rank[link.to as usize] < rank[from];
        let kinds = Kinds::new(network, is_down);
        let words = 0..network.len().div_ceil(64);
        let scratch = &mut search::Scratch::default();
        let down = Search {
            network,
            allowed: is_down,
            start: Start::Columns(&column),
            words: words.clone(),
        }
        .run(scratch);
        let legal = Search {
            network,
            allowed: |from: usize, link: &Egress| rank[link.to as usize] > rank[from],
            start: Start::Known(&down),
            words,
        }
        .run(scratch);
        let rest = Search {
            network,
            allowed: |_: usize, _: &Egress| true,
            start: Start::Known(&legal),
            words: missing(&legal, network.len()),
        }
        .run(scratch);
        let below = (0..network.len()).map(|switch| {
            let reached = down.reached(switch);
            span_of(0..reached.len(), |word| reached[word] != 0)
        });
        Self {
            rule: Rule::UpDown {
                rank,
                below: below.collect(),
                down: Box::new(down),
                legal: Box::new(legal),
                rest: Box::new(rest),
            },
            column,
            kinds,
        }
    }

    /// The column of a switch as a destination.
    pub(crate) fn column(&self, switch: usize) -> usize {
        self.column[switch] as usize
    }

    /// The switch of each column.
    pub(crate) fn switches(&self) -> Vec<u32> {
        let mut switches = vec![0; self.column.len()];
        for (switch, column) in self.column.iter().enumerate() {
            switches[*column as usize] = switch as u32;
        }
        switches
    }

    /// The columns of all switches.
    pub(crate) fn columns(&self) -> &[u32] {
        &self.column
    }

    /// Switches that may be exchanged without changing any path.
    pub(crate) fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// Whether two links of a switch are legal next hops to the same columns, those of the two
    /// neighbours exchanged.
    fn are_twins(&self, a: &Egress, b: &Egress) -> bool {
        a.cost == b.cost && self.kinds.are_alike(a.to, b.to)
    }

    /// Exchanges the columns of two switches in a whole row.
    fn exchange(&self, row: &mut [u64], a: u32, b: u32) {
        let (a, b) = (self.column(a as usize), self.column(b as usize));
        let bit = |column: usize| row[column / 64] >> (column % 64) & 1;
        if bit(a) != bit(b) {
            row[a / 64] ^= 1 << (a % 64);
            row[b / 64] ^= 1 << (b % 64);
        }
    }

    /// Adds the columns whose distances from a switch are not those of `other`, as bits of a row.
    pub(crate) fn differ(&self, other: &Self, switch: usize, row: &mut [u64]) {
        match (&self.rule, &other.rule) {
            (Rule::Shortest(own), Rule::Shortest(other)) => own.differ(other, switch, row),
            (
                Rule::UpDown {
                    down, legal, rest, ..
                },
                Rule::UpDown {
                    down: other_down,
                    legal: other_legal,
                    rest: other_rest,
                    ..
                },
            ) => {
                down.differ(other_down, switch, row);
                legal.differ(other_legal, switch, row);
                rest.differ_beyond(other_rest, [legal, other_legal], switch, row);
            }
            _ => row.fill(u64::MAX),
        }
    }

    fn distances(&self) -> &Planes {
        match &self.rule {
            Rule::Shortest(planes) => planes,
            Rule::UpDown { legal, .. } => legal,
        }
    }

    /// Words of a row of columns.
    pub(crate) fn words(&self) -> usize {
        self.distances().words()
    }

    /// The columns of a word of 64 at exactly this cost from a switch.
    pub(crate) fn at_distance(&self, cost: u32, switch: usize, word: usize) -> u64 {
        self.distances().at(cost, switch, word)
    }

    /// No path costs more.
    pub(crate) fn longest(&self) -> u32 {
        self.distances().ceiling()
    }

    /// The words with columns that a switch reaches only by the rest of the paths.
    fn beyond(&self, from: usize) -> Range<usize> {
        let Rule::UpDown { legal, rest, .. } = &self.rule else {
            return 0..0;
        };
        let (rest, legal) = (rest.reached(from), legal.reached(from));
        span_of(0..rest.len(), |word| rest[word] & !legal[word] != 0)
    }

    /// Writes the destinations that a link is a legal next hop to, as some words of a row, which is
    /// empty; `beyond` is what [`Self::beyond`] says of the switch.
    fn legal(
        &self,
        (from, link): (usize, &Egress),
        (words, beyond): (Range<usize>, &Range<usize>),
        row: &mut [u64],
        scratch: &mut Scratch,
    ) {
        let to = link.to as usize;
        let step = (from, to, link.cost);
        let carry = &mut scratch.carry;
        match &self.rule {
            Rule::Shortest(planes) => planes.nearer(step, words, row, carry),
            Rule::UpDown {
                rank,
                down,
                below,
                legal,
                rest,
            } => {
                if rank[to] < rank[from] {
                    let below = common(&words, &below[to]);
                    if !below.is_empty() {
                        let row = &mut row[below.start - words.start..][..below.len()];
                        down.nearer(step, below, row, carry);
                    }
                } else {
                    legal.nearer(step, words.clone(), row, carry);
                    without(row, &down.reached(from)[words.clone()]);
                }
                let both = common(&words, beyond);
                if !both.is_empty() {
                    scratch.beyond.clear();
                    scratch.beyond.resize(both.len(), 0);
                    let found = &mut scratch.beyond[..];
                    rest.nearer(step, both.clone(), found, carry);
                    without(found, &legal.reached(from)[both.clone()]);
                    let row = &mut row[both.start - words.start..][..both.len()];
                    row.iter_mut()
                        .zip(found)
                        .for_each(|(word, found)| *word |= *found);
                }
            }
        }
    }
}

/// The words from the first to the last in which some switch does not reach all of its columns.
fn missing(planes: &Planes, columns: usize) -> Range<usize> {
    let words = (0..columns).map(|switch| {
        let reached = planes.reached(switch);
        span_of(0..reached.len(), |word| {
            reached[word] != columns_of(word, columns)
        })
    });
    words.fold(0..0, |all, words| hull(&all, &words))
}

#[derive(Debug, Default)]
struct Scratch {
    carry: Carry,
    beyond: Vec<u64>,
}

/// Clears the bits of `taken`.
fn without(row: &mut [u64], taken: &[u64]) {
    row.iter_mut()
        .zip(taken)
        .for_each(|(word, taken)| *word &= !taken);
}

/// Maximum number of sets at one switch, after which numbering restarts at the next one.
const NUMBERS: usize = 256;

/// A switch's candidates for every destination; equal sets are stored once.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    /// Set of each column.
    set_of: Vec<u32>,
    sets: Sets,
    /// Range in `links` of each set.
    ranges: Vec<Range<u32>>,
    links: Vec<u16>,
    /// Destinations of each kept link, a row of words each.
    legal: Vec<u64>,
    /// Those of the switch before.
    before: Vec<u64>,
    scratch: Scratch,
    keep: Vec<u16>,
}

impl Candidates {
    /// Fills in the candidates of one switch for the columns of some words; those of the others
    /// are then without meaning. `order` lists its links (indices into [`Network::egress`]) in the
    /// order in which candidates shall come; `refine` may take some out of each list.
    pub(crate) fn fill(
        &mut self,
        network: &Network,
        paths: &Paths,
        (switch, order): (usize, &[u16]),
        words: &[Range<usize>],
        refine: impl FnMut(&mut Vec<u16>),
    ) {
        self.keep(network, (switch, order));
        self.clear(network);
        let beyond = paths.beyond(switch);
        for words in words {
            let egress = network.egress(switch);
            self.read(paths, (switch, egress), (words.clone(), &beyond));
            words.clone().for_each(|word| self.number(word, words));
        }
        self.list(refine);
    }

    /// Fills in all candidates of one switch, starting from those of another one. Common sets
    /// keep their numbers: `columns` gets those whose links may have other positions in the order,
    /// as bits. Returns whether there is anything in common; otherwise everything is filled in anew.
    pub(crate) fn refill(
        &mut self,
        network: &Network,
        paths: &Paths,
        (switch, order): (usize, &[u16]),
        columns: &mut Vec<u64>,
        refine: impl FnMut(&mut Vec<u16>),
    ) -> bool {
        let links = self.keep.len();
        self.keep(network, (switch, order));
        std::mem::swap(&mut self.legal, &mut self.before);
        let all = 0..paths.words();
        let beyond = paths.beyond(switch);
        self.read(
            paths,
            (switch, network.egress(switch)),
            (all.clone(), &beyond),
        );
        let goes_on = links == self.keep.len()
            && self.legal.len() == self.before.len()
            && self.set_of.len() == network.len()
            && self.ranges.len() < NUMBERS;
        columns.clear();
        columns.resize(all.len(), if goes_on { 0 } else { u64::MAX });
        match goes_on {
            true => self.changes(columns),
            false => self.clear(network),
        }
        let due = columns.iter().zip(all.clone());
        let due = due.filter(|(columns, _)| **columns != 0);
        due.for_each(|(_, word)| self.number(word, &all));
        self.list(refine);
        goes_on
    }

    /// Adds the columns that the links are not legal next hops to as they were before.
    fn changes(&self, columns: &mut [u64]) {
        let words = columns.len().max(1);
        let before = self.before.chunks_exact(words);
        for (row, before) in self.legal.chunks_exact(words).zip(before) {
            let pairs = row.iter().zip(before);
            let columns = columns.iter_mut().zip(pairs);
            columns.for_each(|(column, (now, before))| *column |= now ^ before);
        }
    }

    /// Lists the links that any candidate is among.
    fn keep(&mut self, network: &Network, (switch, order): (usize, &[u16])) {
        let egress = network.egress(switch);
        let is_cheapest = |link: &&u16| network.costs_alike() || cheapest(egress, **link);
        self.keep.clear();
        self.keep.extend(order.iter().filter(is_cheapest));
    }

    /// Forgets all sets.
    fn clear(&mut self, network: &Network) {
        self.set_of.clear();
        self.set_of.resize(network.len(), 0);
        self.sets.clear(self.keep.len());
    }

    /// Finds the sets of 64 columns, of the words that were read.
    fn number(&mut self, word: usize, words: &Range<usize>) {
        let first = word * 64;
        let last = (first + 64).min(self.set_of.len());
        let rows = self.legal.get(word - words.start..).unwrap_or_default();
        let links = rows.iter().step_by(words.len()).copied();
        self.sets.read(links, &mut self.set_of[first..last]);
    }

    /// Finds the destinations of each kept link, in some words. Most neighbours are like the one
    /// before.
    fn read(
        &mut self,
        paths: &Paths,
        (switch, egress): (usize, &[Egress]),
        (words, beyond): (Range<usize>, &Range<usize>),
    ) {
        self.legal.clear();
        self.legal.resize(self.keep.len() * words.len(), 0);
        let mut before: Option<&Egress> = None;
        for (place, link) in self.keep.iter().enumerate() {
            let link = &egress[usize::from(*link)];
            let (done, row) = self.legal.split_at_mut(place * words.len());
            let row = &mut row[..words.len()];
            let is_whole = words.len() == paths.words();
            match before.filter(|before| is_whole && paths.are_twins(before, link)) {
                Some(twin) => {
                    row.copy_from_slice(&done[done.len() - words.len()..]);
                    paths.exchange(row, twin.to, link.to);
                }
                None => {
                    let words = (words.clone(), beyond);
                    paths.legal((switch, link), words, row, &mut self.scratch);
                }
            }
            before = Some(link);
        }
    }

    /// Makes these the candidates of another switch of the same kind, from those of one; both as
    /// columns. A second time undoes it.
    pub(crate) fn exchange(&mut self, a: usize, b: usize) {
        self.set_of.swap(a, b);
    }

    /// Writes the sets out as lists of links.
    fn list(&mut self, mut refine: impl FnMut(&mut Vec<u16>)) {
        self.ranges.clear();
        self.links.clear();
        let mut list = Vec::with_capacity(self.keep.len());
        for set in self.sets.iter() {
            list.clear();
            list.extend(set.map(|place| self.keep[place]));
            refine(&mut list);
            let start = self.links.len() as u32;
            self.links.extend_from_slice(&list);
            self.ranges.push(start..self.links.len() as u32);
        }
    }

    /// The number of a column's set; columns with one number have the same candidates.
    pub(crate) fn set(&self, column: usize) -> u32 {
        self.set_of[column]
    }

    /// Number of columns, from the first, that have its set.
    pub(crate) fn run(&self, columns: Range<usize>) -> usize {
        const STEP: usize = 16;
        let sets = &self.set_of[columns];
        let is_other = |set: &u32| *set != sets[0];
        // All of a step are compared without a jump in between.
        let any = |step: &[u32]| step.iter().fold(false, |any, set| any | is_other(set));
        let steps = sets.chunks_exact(STEP).take_while(|step| !any(step));
        let known = steps.count() * STEP;
        let rest = sets[known..].iter().take_while(|set| !is_other(set));
        known + rest.count()
    }

    /// Number of sets.
    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// The candidates of a set, as indices into the switch's links.
    pub(crate) fn links(&self, set: u32) -> &[u16] {
        let range = &self.ranges[set as usize];
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use weft_fabric::generate::FabricSpec;

    use super::*;
    use crate::kinds::tests::fabrics;

    /// Edge switches are reached up and down from everywhere, so that their columns, which come first,
    /// need not be searched for the rest.
    #[test]
    fn the_rest_of_the_paths_is_the_same_in_fewer_words() {
        let spec: FabricSpec = "fattree:432,radix=12".parse().unwrap();
        let network = Network::new(&spec.generate().unwrap()).unwrap();
        let numbers: Vec<u32> = (0..network.len() as u32).collect();
        let paths = Paths::up_down(&network, numbers.clone(), numbers);
        let Rule::UpDown { legal, rest, .. } = &paths.rule else {
            panic!("it is up and down");
        };
        let words = 0..paths.words();
        let some = missing(legal, network.len());
        assert!(words.len() == 3 && some == (1..3), "{words:?}: {some:?}");
        let all = Search {
            network: &network,
            allowed: |_: usize, _: &Egress| true,
            start: Start::Known(legal),
            words: words.clone(),
        }
        .run(&mut search::Scratch::default());
        for (switch, word) in
            (0..network.len()).flat_map(|at| words.clone().map(move |word| (at, word)))
        {
            let open = !legal.reached(switch)[word];
            let reached = |planes: &Planes| planes.reached(switch)[word] & open;
            assert_eq!(reached(rest), reached(&all), "{switch} {word}");
            for cost in 0..=all.ceiling() {
                let there = |planes: &Planes| planes.at(cost, switch, word) & open;
                assert_eq!(there(rest), there(&all), "{switch} {word} {cost}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn a_link_is_a_candidate_for_what_it_is_a_legal_next_hop_to(
            topology in fabrics(),
            up_down in any::<bool>(),
        ) {
            let network = Network::new(&topology).unwrap();
            let column: Vec<u32> = (0..network.len() as u32).rev().collect();
            let paths = match up_down {
                true => Paths::up_down(&network, column, (0..network.len() as u32).collect()),
                false => Paths::shortest(&network, column),
            };
            let mut candidates = Candidates::default();
            let (mut next, mut columns) = (Candidates::default(), Vec::new());
            let all = 0..paths.words();
            for switch in 0..network.len() {
                let egress = network.egress(switch);
                let order: Vec<u16> = (0..egress.len() as u16).collect();
                candidates.fill(&network, &paths, (switch, &order), std::slice::from_ref(&all), |_| ());
                next.refill(&network, &paths, (switch, &order), &mut columns, |_| ());
                let beyond = paths.beyond(switch);
                for link in order.into_iter().filter(|link| cheapest(egress, *link)) {
                    let mut row = vec![0; paths.words()];
                    let step = (switch, &egress[usize::from(link)]);
                    paths.legal(step, (all.clone(), &beyond), &mut row, &mut Scratch::default());
                    for column in 0..network.len() {
                        let is_legal = row[column / 64] >> (column % 64) & 1 == 1;
                        let links = candidates.links(candidates.set(column));
                        prop_assert_eq!(links.contains(&link), is_legal, "{} {}", switch, column);
                        prop_assert_eq!(next.links(next.set(column)), links);
                    }
                }
            }
        }
    }
}
