//! Sets of links by column: from the columns of each link to the links of each column, equal sets
//! once.

use weft_state::State;

/// Links of a switch that one word of a set holds.
const GROUP: usize = 64;

/// Changes in 64 columns up to which sets are read one by one.
const FEW: u32 = 5;

/// Words of a set: a switch has at most 254 links.
const WORDS: usize = 4;

/// The distinct sets of one switch, numbered in order of their first column.
#[derive(Debug, Default, State)]
pub(crate) struct Sets {
    sets: Vec<[u64; WORDS]>,
    /// 64 columns of 64 links each, as many as are in use.
    blocks: Vec<[u64; GROUP]>,
    /// Hash table of sets: number + 1, 0 for a free place. Its size is a power of two above
    /// the number of sets.
    places: Vec<u32>,
}

impl Sets {
    /// Empties it for a switch with `links` links.
    pub(crate) fn clear(&mut self, links: usize) {
        self.sets.clear();
        let blocks = links.div_ceil(GROUP).clamp(1, WORDS);
        self.blocks.resize(blocks, [0; GROUP]);
        if self.places.is_empty() {
            self.places.resize(64, 0);
        }
        self.places.fill(0);
    }

    /// Reads up to 64 columns: for each link its columns as bits of a word.
    /// Writes the number of each column's set.
    pub(crate) fn read(&mut self, links: impl Iterator<Item = u64>, columns: &mut [u32]) {
        let mut changes = 0;
        let mut rows = self.blocks.as_flattened_mut().iter_mut();
        for (word, row) in links.zip(&mut rows) {
            *row = word;
            changes |= word ^ word << 1;
        }
        rows.for_each(|row| *row = 0);
        // Where the first column's set ends and the others' ones begin.
        changes = (changes & !1) & u64::MAX >> (64 - columns.len());
        match changes.count_ones() {
            0..=FEW => self.read_runs(changes, columns),
            _ => self.read_each(columns),
        }
    }

    /// For words in which few columns differ from the previous one.
    fn read_runs(&mut self, mut changes: u64, columns: &mut [u32]) {
        let mut column = 0;
        while column < columns.len() {
            let end = (changes.trailing_zeros() as usize).min(columns.len());
            let number = self.number(self.at(column));
            columns[column..end].fill(number);
            changes &= changes.wrapping_sub(1);
            column = end;
        }
    }

    /// For words in which many columns differ.
    fn read_each(&mut self, columns: &mut [u32]) {
        self.blocks.iter_mut().for_each(transpose);
        let mut last = ([0; WORDS], None);
        for (column, slot) in columns.iter_mut().enumerate() {
            let set = self.transposed(column);
            let number = match last {
                (before, Some(number)) if before == set => number,
                _ => self.number(set),
            };
            last = (set, Some(number));
            *slot = number;
        }
    }

    /// The set of a column, of blocks as they were read.
    fn at(&self, column: usize) -> [u64; WORDS] {
        let mut set = [0; WORDS];
        for (word, block) in set.iter_mut().zip(&self.blocks) {
            let links = block.iter().enumerate();
            *word = links.fold(0, |set, (place, row)| set | (row >> column & 1) << place);
        }
        set
    }

    fn transposed(&self, column: usize) -> [u64; WORDS] {
        let mut set = [0; WORDS];
        for (word, block) in set.iter_mut().zip(&self.blocks) {
            *word = block[column];
        }
        set
    }

    /// The number of a set, a new one where it is new.
    fn number(&mut self, set: [u64; WORDS]) -> u32 {
        let mask = self.places.len() - 1;
        let mut place = hash(&set) & mask;
        loop {
            match self.places[place].checked_sub(1) {
                Some(number) if self.sets[number as usize] == set => return number,
                Some(_) => place = (place + 1) & mask,
                None => break,
            }
        }
        self.sets.push(set);
        let number = self.sets.len() as u32;
        self.places[place] = number;
        if self.sets.len() * 2 > self.places.len() {
            self.grow();
        }
        number - 1
    }

    fn grow(&mut self) {
        let mask = self.places.len() * 4 - 1;
        self.places.clear();
        self.places.resize(mask + 1, 0);
        for (set, number) in self.sets.iter().zip(1..) {
            let mut place = hash(set) & mask;
            while self.places[place] != 0 {
                place = (place + 1) & mask;
            }
            self.places[place] = number;
        }
    }

    /// The links of each set, by place, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = impl Iterator<Item = usize> + '_> {
        self.sets.iter().map(|set| {
            set.iter().enumerate().flat_map(|(word, bits)| {
                let rest =
                    std::iter::successors(Some(*bits), |bits| Some(bits & bits.wrapping_sub(1)));
                rest.take_while(|bits| *bits != 0)
                    .map(move |bits| word * GROUP + bits.trailing_zeros() as usize)
            })
        })
    }
}

/// Spreads sets over the places: bits from all words, the high ones of the product.
fn hash(set: &[u64; WORDS]) -> usize {
    let mixed = set.iter().fold(0u64, |mixed, word| {
        (mixed.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    });
    (mixed >> 32) as usize
}

/// Exchanges rows and columns of 64 × 64 bits: by halves, then by quarters, and so on.
fn transpose(block: &mut [u64; GROUP]) {
    let mut width = GROUP / 2;
    let mut mask = u64::MAX >> width;
    while width != 0 {
        for pair in block.chunks_exact_mut(width * 2) {
            let (upper, lower) = pair.split_at_mut(width);
            for (upper, lower) in upper.iter_mut().zip(lower) {
                let swapped = (*upper >> width ^ *lower) & mask;
                *lower ^= swapped;
                *upper ^= swapped << width;
            }
        }
        width /= 2;
        mask ^= mask << width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_gets_the_links_that_have_it() {
        // Link n has the columns that n + 1 divides.
        let columns = |link: usize| {
            (0..64).fold(0u64, |word, column| {
                word | u64::from((column + 1) % (link + 1) == 0) << column
            })
        };
        for links in [1, 3, 64, 65, 254] {
            for count in [1, 63, 64] {
                let mut sets = Sets::default();
                sets.clear(links);
                let mut numbers = vec![u32::MAX; count];
                sets.read((0..links).map(columns), &mut numbers);
                let lists: Vec<Vec<usize>> = sets.iter().map(Iterator::collect).collect();
                for (column, number) in numbers.into_iter().enumerate() {
                    let expected: Vec<usize> = (0..links)
                        .filter(|link| (column + 1) % (link + 1) == 0)
                        .collect();
                    assert_eq!(lists[number as usize], expected, "{links} {column}");
                }
                let mut distinct = lists.clone();
                distinct.sort();
                distinct.dedup();
                assert_eq!(
                    distinct.len(),
                    lists.len(),
                    "{links} links, {count} columns"
                );
            }
        }
    }
}
