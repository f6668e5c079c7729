//! The keys of a table, and what two tables differ in.

use std::collections::BTreeMap;

use weft_state::State;
use weft_wire::Layout;
use weft_wire::id::PKey;
use weft_wire::sm::PartitionTable;

const FULL: u16 = 0x8000;

/// Membership of a port in a partition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, State)]
pub(super) enum Rank {
    #[default]
    None,
    Limited,
    Full,
}

impl Rank {
    fn of(key: u16) -> Self {
        match key & FULL {
            0 => Self::Limited,
            _ => Self::Full,
        }
    }
}

/// The partitions of a table; the empty table of a port of which nothing is known has none.
#[derive(Debug, Clone, Default, PartialEq, Eq, State)]
pub(super) struct Keys(BTreeMap<u16, Rank>);

impl Keys {
    pub(super) fn of(table: &[u8]) -> Self {
        let mut ranks = BTreeMap::new();
        for key in entries(table).filter(|key| key & !FULL != 0) {
            let rank: &mut Rank = ranks.entry(key & !FULL).or_default();
            *rank = Rank::of(key).max(*rank);
        }
        Self(ranks)
    }

    pub(super) fn rank(&self, partition: u16) -> Rank {
        self.0.get(&partition).copied().unwrap_or_default()
    }

    /// The partitions in which this table has more than another one.
    pub(super) fn more_than<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = u16> + 'a {
        let more = |(partition, rank): &(&u16, &Rank)| **rank > other.rank(**partition);
        self.0.iter().filter(more).map(|(partition, _)| *partition)
    }
}

/// A table with what it has of some partitions reduced to what `held` has of them, each key at its place.
pub(super) fn reduced(
    table: &[u8],
    held: &Keys,
    is_handed_over: impl Fn(u16) -> bool,
) -> Option<[u8; PartitionTable::LEN]> {
    let mut reduced = PartitionTable::decode(table).ok()?;
    for key in &mut reduced.partition_table_block {
        let partition = key.0 & !FULL;
        let rank = held.rank(partition);
        if partition == 0 || !is_handed_over(partition) || Rank::of(key.0) <= rank {
            continue;
        }
        *key = match rank {
            Rank::None => PKey(0),
            _ => PKey(partition),
        };
    }
    let mut bytes = [0; PartitionTable::LEN];
    reduced.encode(&mut bytes);
    Some(bytes)
}

fn entries(table: &[u8]) -> impl Iterator<Item = u16> + '_ {
    let (keys, _) = table.as_chunks::<2>();
    keys.iter().map(|key| u16::from_be_bytes(*key))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn table(keys: &[u16]) -> Vec<u8> {
        let mut bytes: Vec<u8> = keys.iter().flat_map(|key| key.to_be_bytes()).collect();
        bytes.resize(PartitionTable::LEN, 0);
        bytes
    }

    #[test]
    fn a_table_is_reduced_key_by_key_at_its_place() {
        let held = Keys::of(&table(&[0x8001, 0x7FFF, 0x0005]));
        let wanted = table(&[0x8006, 0x7FFF, 0xFFFF, 0x8005, 0x8001]);
        for (handed_over, expected) in [
            (&[][..], [0x8006, 0x7FFF, 0xFFFF, 0x8005, 0x8001]),
            (&[5], [0x8006, 0x7FFF, 0xFFFF, 0x0005, 0x8001]),
            (&[6], [0, 0x7FFF, 0xFFFF, 0x8005, 0x8001]),
            (&[0x7FFF, 1], [0x8006, 0x7FFF, 0x7FFF, 0x8005, 0x8001]),
        ] {
            let found = reduced(&wanted, &held, |key| handed_over.contains(&key)).unwrap();
            assert_eq!(found.to_vec(), table(&expected), "{handed_over:x?}");
        }
    }

    #[test]
    fn a_full_member_has_more_than_a_limited_one() {
        let (full, limited) = (Keys::of(&table(&[0x8005, 5])), Keys::of(&table(&[5])));
        assert_eq!(full.more_than(&limited).collect::<Vec<_>>(), [5]);
        assert_eq!(limited.more_than(&full).count(), 0);
        assert_eq!(limited.more_than(&Keys::default()).count(), 1);
    }
}
