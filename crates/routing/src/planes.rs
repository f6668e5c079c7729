//! Distances between all switches as bit planes: bit `column` of plane j at switch s is bit j of
//! the distance from s to the destination switch of that column.
//!
//! One word holds 64 destinations, so a step of the search and a comparison of distances treat 64
//! of them at once. Memory: switches² · (bits of the longest distance + 1) / 8 bytes.

use std::ops::Range;

use weft_state::State;

/// Distances from every switch to every column, and which columns it reaches at all.
#[derive(Debug, Clone, State)]
pub(crate) struct Planes {
    words: usize,
    planes: Vec<Vec<u64>>,
    reached: Vec<u64>,
    /// By distance, the words of each switch's row outside of which no column is that far; for the
    /// first few distances only, no switches where none is.
    spans: Vec<Vec<Range<usize>>>,
}

/// Distances of which spans are kept.
const SPANS: usize = 32;

/// Scratch memory of [`Planes::nearer`], one row long.
pub(crate) type Carry = Vec<u64>;

impl Planes {
    /// Nothing reached yet.
    pub(crate) fn new(switches: usize) -> Self {
        let words = switches.div_ceil(64);
        Self {
            words,
            planes: Vec::new(),
            reached: vec![0; switches * words],
            spans: Vec::new(),
        }
    }

    /// Columns that each switch reaches, mutable.
    pub(crate) fn reached_mut(&mut self) -> &mut [u64] {
        &mut self.reached
    }

    /// Columns that each switch reaches.
    pub(crate) fn all_reached(&self) -> &[u64] {
        &self.reached
    }

    /// The planes that hold a distance, made where there are none yet.
    pub(crate) fn planes_of(&mut self, distance: u32) -> impl Iterator<Item = &mut Vec<u64>> {
        let bits = (u32::BITS - distance.leading_zeros()) as usize;
        let len = self.reached.len();
        while self.planes.len() < bits {
            self.planes.push(vec![0; len]);
        }
        let planes = self.planes.iter_mut().enumerate();
        planes
            .filter(move |(bit, _)| distance.checked_shr(*bit as u32).unwrap_or(0) & 1 == 1)
            .map(|(_, plane)| plane)
    }

    /// Keeps the words of each switch's row outside of which no column is at the next distance.
    pub(crate) fn keep_spans(&mut self, spans: &[Range<usize>]) {
        if self.spans.len() < SPANS {
            let any = spans.iter().any(|span| !span.is_empty());
            self.spans
                .push(if any { spans.to_vec() } else { Vec::new() });
        }
    }

    /// The words of a switch's row outside of which no column is at this distance.
    pub(crate) fn span(&self, distance: u32, switch: usize) -> Range<usize> {
        match self.spans.get(distance as usize) {
            Some(spans) => spans.get(switch).cloned().unwrap_or(0..0),
            None => 0..self.words,
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

    /// The columns of a word of 64 at exactly this distance.
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

    /// Adds the columns at exactly this distance from a switch to some words of a row.
    pub(crate) fn add_at(
        &self,
        (distance, switch): (u32, usize),
        words: Range<usize>,
        row: &mut [u64],
    ) {
        let row = &mut row[words.clone()];
        let at = (distance, switch, words.start);
        match self.planes.len() {
            _ if distance > self.ceiling() => {}
            0 => self.add_at_of::<0>(at, row),
            1 => self.add_at_of::<1>(at, row),
            2 => self.add_at_of::<2>(at, row),
            3 => self.add_at_of::<3>(at, row),
            _ => {
                for (word, row) in words.zip(row) {
                    *row |= self.at(distance, switch, word);
                }
            }
        }
    }

    /// All planes of a word at once: possible with few planes.
    fn add_at_of<const N: usize>(
        &self,
        (distance, switch, first): (u32, usize, usize),
        row: &mut [u64],
    ) {
        let len = row.len();
        let start = switch * self.words + first;
        let reached = &self.reached[start..][..len];
        let planes: [&[u64]; N] = std::array::from_fn(|plane| &self.planes[plane][start..][..len]);
        let wanted: [u64; N] =
            std::array::from_fn(|bit| u64::from(distance >> bit & 1).wrapping_neg());
        for (index, row) in row.iter_mut().enumerate() {
            let hits = planes.iter().zip(&wanted);
            let hits = hits.fold(reached[index], |hits, (plane, wanted)| {
                hits & !(plane[index] ^ wanted)
            });
            *row |= hits;
        }
    }

    /// Adds the columns whose distance from a switch is not the same in both, as bits of a row.
    pub(crate) fn differ(&self, other: &Self, switch: usize, row: &mut [u64]) {
        self.differ_where(other, switch, row, |_| [u64::MAX; 2]);
    }

    /// Compares distances except in columns that `known` of both reach.
    pub(crate) fn differ_beyond(
        &self,
        other: &Self,
        known: [&Self; 2],
        switch: usize,
        row: &mut [u64],
    ) {
        let [own, others] = known.map(|known| known.reached(switch));
        self.differ_where(other, switch, row, |word| [!own[word], !others[word]]);
    }

    /// `open` selects the columns of a word that count, in this one and in the other.
    fn differ_where(
        &self,
        other: &Self,
        switch: usize,
        row: &mut [u64],
        open: impl Fn(usize) -> [u64; 2],
    ) {
        let at = switch * self.words;
        let mut add = |a: Option<&Vec<u64>>, b: Option<&Vec<u64>>| {
            let bits = |plane: Option<&Vec<u64>>, word| plane.map_or(0, |plane| plane[at + word]);
            for (word, row) in row.iter_mut().enumerate() {
                let [own, others] = open(word);
                *row |= (bits(a, word) & own) ^ (bits(b, word) & others);
            }
        };
        add(Some(&self.reached), Some(&other.reached));
        for plane in 0..self.planes.len().max(other.planes.len()) {
            add(self.planes.get(plane), other.planes.get(plane));
        }
    }

    /// The columns that `to` is nearer to than `from` by exactly `cost`, as words of a row.
    pub(crate) fn nearer(
        &self,
        (from, to, cost): (usize, usize, u16),
        words: Range<usize>,
        row: &mut [u64],
        carry: &mut Carry,
    ) {
        if u32::from(cost) > self.ceiling() {
            return row.fill(0);
        }
        match self.planes.len() {
            1 => self.nearer_of::<1>((from, to, cost), words, row),
            2 => self.nearer_of::<2>((from, to, cost), words, row),
            3 => self.nearer_of::<3>((from, to, cost), words, row),
            4 => self.nearer_of::<4>((from, to, cost), words, row),
            _ => self.nearer_of_many((from, to, cost), words, row, carry),
        }
    }

    /// All planes of a word at once: possible with few planes.
    fn nearer_of<const N: usize>(
        &self,
        (from, to, cost): (usize, usize, u16),
        words: Range<usize>,
        row: &mut [u64],
    ) {
        let len = words.len();
        let slice = |plane: usize, switch: usize| {
            &self.planes[plane][switch * self.words + words.start..][..len]
        };
        let here: [&[u64]; N] = std::array::from_fn(|plane| slice(plane, from));
        let far: [&[u64]; N] = std::array::from_fn(|plane| slice(plane, to));
        let add: [u64; N] = std::array::from_fn(|bit| u64::from(cost >> bit & 1).wrapping_neg());
        let from_reached = &self.reached(from)[words.clone()][..len];
        let to_reached = &self.reached(to)[words.clone()][..len];
        for (index, word) in row[..len].iter_mut().enumerate() {
            let (mut same, mut carry) = (from_reached[index] & to_reached[index], 0);
            for bit in 0..N {
                let (near, far) = (here[bit][index], far[bit][index]);
                let half = far ^ add[bit];
                same &= !(half ^ carry ^ near);
                carry = far & add[bit] | carry & half;
            }
            *word = same & !carry;
        }
    }

    /// Plane by plane.
    fn nearer_of_many(
        &self,
        (from, to, cost): (usize, usize, u16),
        words: Range<usize>,
        row: &mut [u64],
        carry: &mut Carry,
    ) {
        let both = self.reached(from)[words.clone()].iter();
        let both = both.zip(&self.reached(to)[words.clone()]);
        row.iter_mut()
            .zip(both)
            .for_each(|(row, (a, b))| *row = a & b);
        carry.clear();
        carry.resize(row.len(), 0);
        // distance(to) + cost == distance(from), added bit by bit with a carry.
        for (bit, plane) in self.planes.iter().enumerate() {
            let here = &plane[from * self.words..][words.clone()];
            let there = &plane[to * self.words..][words.clone()];
            let add = u64::from(cost.checked_shr(bit as u32).unwrap_or(0) & 1).wrapping_neg();
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
