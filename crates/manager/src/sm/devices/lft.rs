//! The linear forwarding table of a switch, as far as it is confirmed.

use std::fmt;
use std::sync::Arc;

use weft_fabric::UNREACHABLE;
use weft_fabric::tables::LFT_BLOCK;
use weft_state::State;

/// A switch's linear forwarding table as far as it is confirmed.
#[derive(Debug, Clone, Default, State)]
pub(crate) enum Lft {
    /// Nothing is known; it counts as dropping everything.
    #[default]
    Unknown,
    /// All of it that has been in use since it was written.
    Whole {
        /// Entries; beyond the end the confirmed blocks drop.
        row: Arc<[u8]>,
        /// Blocks that are confirmed; nothing is known of those beyond.
        blocks: usize,
    },
    /// Some blocks.
    Partial {
        /// Entries; those of unknown blocks mean nothing.
        row: Vec<u8>,
        /// For each block, whether it is known.
        known: Vec<bool>,
    },
}

impl Lft {
    /// Whether `block` is confirmed to hold `entries`.
    pub(crate) fn block_is(&self, block: usize, entries: &[u8]) -> bool {
        let start = block * LFT_BLOCK;
        match self {
            Self::Unknown => false,
            Self::Whole { row, blocks } => block < *blocks && same(row, start, entries),
            Self::Partial { row, known } => {
                known.get(block).copied().unwrap_or(false) && same(row, start, entries)
            }
        }
    }

    /// The first of `entries`, which a switch says that `block` holds, that is not the confirmed one; none where nothing is known.
    pub(crate) fn difference(&self, block: usize, entries: &[u8]) -> Option<Difference> {
        let (row, is_known) = match self {
            Self::Unknown => return None,
            Self::Whole { row, blocks } => (&row[..], block < *blocks),
            Self::Partial { row, known } => (&row[..], known.get(block) == Some(&true)),
        };
        let mut lids = (block * LFT_BLOCK..).zip(entries).filter(|_| is_known);
        lids.find_map(|(lid, held)| {
            let confirmed = *row.get(lid).unwrap_or(&UNREACHABLE);
            (confirmed != *held).then_some(Difference {
                lid,
                confirmed,
                held: *held,
            })
        })
    }

    /// Records that `block` holds `entries`.
    pub(crate) fn confirm(&mut self, block: usize, entries: &[u8]) {
        let (row, known) = self.partial();
        if known.len() <= block {
            known.resize(block + 1, false);
            row.resize((block + 1) * LFT_BLOCK, UNREACHABLE);
        }
        known[block] = true;
        let start = block * LFT_BLOCK;
        row[start..start + entries.len()].copy_from_slice(entries);
    }

    fn partial(&mut self) -> (&mut Vec<u8>, &mut Vec<bool>) {
        if !matches!(self, Self::Partial { .. }) {
            let (mut row, blocks) = match self {
                Self::Whole { row, blocks } => (row.to_vec(), *blocks),
                _ => (Vec::new(), 0),
            };
            row.resize(blocks * LFT_BLOCK, UNREACHABLE);
            let known = vec![true; blocks];
            *self = Self::Partial { row, known };
        }
        match self {
            Self::Partial { row, known } => (row, known),
            _ => unreachable!("made partial above"),
        }
    }

    /// The confirmed entries; unknown ones drop.
    pub(crate) fn row(&self) -> Arc<[u8]> {
        match self {
            Self::Unknown => Arc::from([]),
            Self::Whole { row, .. } => Arc::clone(row),
            Self::Partial { row, known } => {
                let mut row = row.clone();
                let unknown = known.iter().enumerate().filter(|(_, known)| !**known);
                for (block, _) in unknown {
                    row[block * LFT_BLOCK..(block + 1) * LFT_BLOCK].fill(UNREACHABLE);
                }
                row.into()
            }
        }
    }
}

/// An entry that is not as it was confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Difference {
    lid: usize,
    confirmed: u8,
    held: u8,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = |port| match port {
            UNREACHABLE => "no port".to_owned(),
            port => format!("port {port}"),
        };
        let (confirmed, held) = (way(self.confirmed), way(self.held));
        let lid = self.lid;
        write!(
            f,
            "it had confirmed {confirmed} for LID {lid:#x} and holds {held}"
        )
    }
}

/// Whether a row holds `entries` from `start` on; beyond its end it drops.
fn same(row: &[u8], start: usize, entries: &[u8]) -> bool {
    let held = row.get(start.min(row.len())..(start + entries.len()).min(row.len()));
    let held = held.unwrap_or_default();
    let (head, tail) = entries.split_at(held.len());
    head == held && tail.iter().all(|entry| *entry == UNREACHABLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_knows_what_was_confirmed() {
        let mut lft = Lft::default();
        assert!(!lft.block_is(0, &[UNREACHABLE; LFT_BLOCK]));
        lft.confirm(1, &[3; LFT_BLOCK]);
        assert!(lft.block_is(1, &[3; LFT_BLOCK]));
        assert!(
            !lft.block_is(0, &[UNREACHABLE; LFT_BLOCK]),
            "block 0 is not known"
        );
        let row = lft.row();
        assert_eq!((row[63], row[64], row.len()), (UNREACHABLE, 3, 128));
    }

    #[test]
    fn an_entry_that_differs_is_found_where_something_is_known() {
        let mut lft = Lft::default();
        assert_eq!(lft.difference(0, &[7; LFT_BLOCK]), None);
        lft.confirm(1, &[3; LFT_BLOCK]);
        assert_eq!(lft.difference(1, &[3; LFT_BLOCK]), None);
        assert_eq!(lft.difference(0, &[7; LFT_BLOCK]), None, "nothing is known");
        let mut other = [3; LFT_BLOCK];
        other[5] = UNREACHABLE;
        let difference = lft.difference(1, &other).map(|found| found.to_string());
        assert_eq!(
            difference.as_deref(),
            Some("it had confirmed port 3 for LID 0x45 and holds no port")
        );
        let short = Lft::Whole {
            row: Arc::from([1_u8; 70]),
            blocks: 3,
        };
        assert!(short.difference(2, &[UNREACHABLE; LFT_BLOCK]).is_none());
        assert!(short.difference(2, &[1; LFT_BLOCK]).is_some());
    }

    #[test]
    fn beyond_the_end_of_a_whole_table_packets_are_dropped_as_far_as_it_is_confirmed() {
        let mut lft = Lft::Whole {
            row: Arc::from([1_u8; 70]),
            blocks: 3,
        };
        let mut end = [UNREACHABLE; LFT_BLOCK];
        end[..6].fill(1);
        assert!(lft.block_is(1, &end));
        let empty = [UNREACHABLE; LFT_BLOCK];
        assert!(lft.block_is(2, &empty) && !lft.block_is(0, &empty));
        assert!(!lft.block_is(3, &empty), "block 3 is not known");
        lft.confirm(4, &empty);
        assert!(lft.block_is(2, &empty) && lft.block_is(4, &empty));
        assert!(!lft.block_is(3, &empty));
    }
}
