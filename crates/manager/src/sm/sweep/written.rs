//! The switches whose linear tables a sweep has changed.

use std::collections::BTreeMap;

use weft_fabric::Guid;
use weft_state::State;

use crate::io::{WrittenSwitch, WrittenTables};

/// Switches that a report lists; the others are counted.
const TOLD_MAX: usize = 256;

/// Blocks that switches have confirmed, by GUID: no more than the fabric has switches.
#[derive(Debug, Clone, Default, State)]
pub(in crate::sm) struct Written(BTreeMap<Guid, u32>);

impl Written {
    /// A switch has confirmed so many blocks.
    pub(in crate::sm) fn add(&mut self, switch: Guid, blocks: u32) {
        if blocks > 0 {
            *self.0.entry(switch).or_default() += blocks;
        }
    }

    /// Puts it into the report of the sweep.
    pub(super) fn tell(&self, tables: &mut WrittenTables) {
        tables.blocks = self.0.values().map(|blocks| u64::from(*blocks)).sum();
        tables.switches = self.0.len() as u32;
        let first = self.0.iter().take(TOLD_MAX);
        tables.first = first
            .map(|(switch, blocks)| WrittenSwitch {
                switch: *switch,
                blocks: *blocks,
            })
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_counted_and_the_first_are_told() {
        let mut written = Written::default();
        for guid in (0..300).rev() {
            written.add(Guid(guid), 2);
            written.add(Guid(guid), 1);
        }
        written.add(Guid(999), 0);
        let mut tables = WrittenTables::default();
        written.tell(&mut tables);
        assert_eq!((tables.blocks, tables.switches), (900, 300));
        assert_eq!(tables.first.len(), TOLD_MAX);
        assert_eq!(tables.first[0].switch, Guid(0));
        assert!(tables.first.iter().all(|one| one.blocks == 3));
    }
}
