//! Content of a switch's multicast table: confirmed, and possible.

use std::fmt;

use weft_fabric::{FIRST_MLID, PortMask};
use weft_state::State;
use weft_wire::sm::{AttributeId, MulticastModifier};

use crate::ask::batch::Batch;

/// LIDs in a block.
pub(crate) const BLOCK: usize = 8;
/// Bytes of a block.
pub(crate) const BLOCK_LEN: usize = 64;

/// One block: for each of its LIDs 64 ports as bits.
pub(crate) type Words = [u64; BLOCK];

/// A switch's multicast forwarding table.
///
/// A row that was sent and not confirmed may be there or not: until the switch has confirmed it, it counts
/// as holding both the old and the sent one. A change of trees is safe only if that is so.
#[derive(Debug, Clone, Default, State)]
pub(crate) struct Mft {
    /// All ports that each row may have.
    possible: Vec<PortMask>,
    /// For each block, a bit for each 64 ports that are confirmed.
    known: Vec<u8>,
}

impl Mft {
    /// Whether a part is confirmed to hold `words`.
    pub(crate) fn holds(&self, block: usize, position: usize, words: &Words) -> bool {
        let known = self.known.get(block).copied().unwrap_or(0) >> position & 1 == 1;
        known && words_of(&self.possible, block, position) == *words
    }

    /// The first row of a confirmed part that is not as a switch says that it is.
    pub(crate) fn difference(
        &self,
        block: usize,
        position: usize,
        words: &Words,
    ) -> Option<Difference> {
        let is_known = self.known.get(block).copied().unwrap_or(0) >> position & 1 == 1;
        let confirmed = is_known.then(|| words_of(&self.possible, block, position))?;
        let mut rows = confirmed.iter().zip(words);
        let row = rows.position(|(confirmed, held)| confirmed != held)?;
        let ports = |words: &Words| {
            let mut mask = PortMask::EMPTY;
            mask.set_word(position, words[row]);
            mask
        };
        Some(Difference {
            row: (block * BLOCK + row) as u32,
            confirmed: ports(&confirmed),
            held: ports(words),
        })
    }

    /// Blocks of which anything is confirmed or was.
    pub(crate) fn blocks(&self) -> usize {
        self.known.len()
    }

    /// Whether any part of the first `blocks` is not confirmed.
    pub(crate) fn lacks(&self, blocks: usize, positions: usize) -> bool {
        let all = (1_u8 << positions) - 1;
        (0..blocks).any(|block| self.known.get(block).copied().unwrap_or(0) & all != all)
    }

    fn sent(&mut self, block: usize, position: usize, words: &Words) {
        self.grow(block);
        self.known[block] &= !(1 << position);
        for (row, word) in self.rows(block).iter_mut().zip(words) {
            row.set_word(position, row.word(position) | word);
        }
    }

    /// Records that the writes of a request are in flight.
    pub(crate) fn sent_in(&mut self, batch: &Batch) {
        for (modifier, data) in batch.writes(AttributeId::MULTICAST_FDB) {
            let at = MulticastModifier::from_bits(modifier);
            for (offset, bytes) in data.chunks_exact(BLOCK_LEN).enumerate() {
                let block = at.block as usize + offset;
                self.sent(block, usize::from(at.position), &decode(bytes));
            }
        }
    }

    /// Records that a part holds `words`.
    pub(crate) fn confirm(&mut self, block: usize, position: usize, words: &Words) {
        self.grow(block);
        self.known[block] |= 1 << position;
        for (row, word) in self.rows(block).iter_mut().zip(words) {
            row.set_word(position, *word);
        }
    }

    /// Records that nothing is certain any more.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
    }

    /// Records that the switch was power-cycled.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    /// All ports that each row may have.
    pub(crate) fn possible(&self) -> &[PortMask] {
        &self.possible
    }

    /// The confirmed rows; where something is not confirmed, its ports are left out.
    pub(crate) fn confirmed(&self) -> Vec<PortMask> {
        let mut rows = self.possible.clone();
        for (block, rows) in rows.chunks_mut(BLOCK).enumerate() {
            let known = self.known.get(block).copied().unwrap_or(0);
            for position in (0..4).filter(|position| known >> position & 1 == 0) {
                rows.iter_mut().for_each(|row| row.set_word(position, 0));
            }
        }
        let used = rows.iter().rposition(|row| !row.is_empty());
        rows.truncate(used.map_or(0, |last| last + 1));
        rows
    }

    fn grow(&mut self, block: usize) {
        if self.known.len() <= block {
            self.known.resize(block + 1, 0);
        }
        if self.possible.len() < (block + 1) * BLOCK {
            self.possible.resize((block + 1) * BLOCK, PortMask::EMPTY);
        }
    }

    fn rows(&mut self, block: usize) -> &mut [PortMask] {
        &mut self.possible[block * BLOCK..(block + 1) * BLOCK]
    }
}

/// A row that is not as it was confirmed, as far as 64 ports go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Difference {
    row: u32,
    confirmed: PortMask,
    held: PortMask,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ways = |ports: &PortMask| match ports.len() {
            0 => "no port".to_owned(),
            1 => format!("port {}", ports.ranges()),
            _ => format!("ports {}", ports.ranges()),
        };
        let (confirmed, held) = (ways(&self.confirmed), ways(&self.held));
        let lid = FIRST_MLID + self.row;
        write!(
            f,
            "it had confirmed {confirmed} for multicast LID {lid:#x} and holds {held}"
        )
    }
}

/// A block of `rows`, no ports beyond their end.
pub(crate) fn words_of(rows: &[PortMask], block: usize, position: usize) -> Words {
    std::array::from_fn(|row| {
        rows.get(block * BLOCK + row)
            .map_or(0, |mask| mask.word(position))
    })
}

/// A block as on the wire.
pub(crate) fn encode(words: &Words, to: &mut [u8]) {
    for (word, to) in words.iter().zip(to.chunks_exact_mut(8)) {
        to.copy_from_slice(&word.to_be_bytes());
    }
}

/// A block from the wire.
pub(crate) fn decode(bytes: &[u8]) -> Words {
    let mut words = Words::default();
    for (word, from) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = from
            .iter()
            .fold(0, |word, byte| word << 8 | u64::from(*byte));
    }
    words
}

/// Rows that MulticastFDBTop says are in use, whichever of its forms it has.
pub(crate) fn rows_in_use(top: u32) -> u32 {
    match top {
        0 => 0,
        FIRST_MLID.. => (top - FIRST_MLID).saturating_add(1),
        0xC000..=0xFFFF => top - 0xC000 + 1,
        row => row.saturating_add(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_fabric::PortNum;

    fn block(bits: u64) -> Words {
        let mut words = Words::default();
        words[1] = bits;
        words
    }

    #[test]
    #[allow(clippy::unwrap_used)]
    fn what_was_sent_counts_as_there_until_the_switch_has_told() {
        let mut mft = Mft::default();
        assert!(mft.lacks(1, 1) && !mft.holds(0, 0, &Words::default()));
        mft.confirm(0, 0, &block(0b10));
        assert!(mft.holds(0, 0, &block(0b10)) && !mft.lacks(1, 1) && mft.lacks(1, 2));
        mft.sent(0, 0, &block(0b100));
        assert!(mft.lacks(1, 1) && mft.confirmed().is_empty());
        assert_eq!(mft.possible()[1].word(0), 0b110);
        mft.confirm(0, 0, &block(0b100));
        assert_eq!(mft.confirmed().len(), 2);
        assert_eq!(mft.confirmed()[1], PortMask::from_iter([PortNum(2)]));
        assert_eq!(mft.difference(0, 0, &block(0b100)), None);
        assert_eq!(mft.difference(0, 1, &block(1)), None, "nothing is known");
        let found = mft.difference(0, 0, &block(0b11010)).unwrap().to_string();
        assert_eq!(
            found,
            "it had confirmed port 2 for multicast LID 0xf0000001 and holds ports 1,3-4"
        );
        mft.forget();
        assert!(mft.lacks(1, 1) && mft.possible()[1].word(0) == 0b100);
        mft.reset();
        assert!(mft.possible().is_empty());
    }

    #[test]
    fn a_top_has_several_forms() {
        for (top, rows) in [
            (0, 0),
            (0xF000_0000, 1),
            (0xF000_0007, 8),
            (0xC000, 1),
            (5, 6),
        ] {
            assert_eq!(rows_in_use(top), rows, "{top:#x}");
        }
    }

    #[test]
    fn a_block_comes_back_from_the_wire() {
        let mut bytes = [0; BLOCK_LEN];
        encode(&block(0x0102_0304_0506_0708), &mut bytes);
        assert_eq!(bytes[8..16], [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(decode(&bytes), block(0x0102_0304_0506_0708));
    }
}
