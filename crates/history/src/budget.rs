//! Which file is removed first.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::segment::Listed;
use crate::tables::{Resolution, Table};

/// Shares of the budget that a table keeps, in sixteenths: what is above them goes first, the finest first.
fn share(table: Table) -> u64 {
    match table {
        Table::Counters(Resolution::Image | Resolution::Minute) => 4,
        Table::Counters(Resolution::TenMinutes) | Table::Events => 2,
        Table::Counters(Resolution::Hour) => 1,
    }
}

/// Share of the budget that states keep, in sixteenths.
pub(crate) const STATES_SHARE: u64 = 2;

/// Bytes of a table's segments and other closed files.
pub(crate) fn closed_bytes(listed: &Listed) -> u64 {
    let segments = listed.segments.iter().map(|(.., len)| len);
    segments
        .chain(listed.others.iter().map(|(_, len)| len))
        .sum()
}

/// The file to remove next, with its table: what is damaged, then the oldest of the finest table above its share.
pub(crate) fn victim(files: &BTreeMap<Table, Listed>, budget: u64) -> Option<(Table, PathBuf)> {
    for (table, listed) in files {
        if let Some((path, _)) = listed.others.first() {
            return Some((*table, path.clone()));
        }
    }
    let oldest = |table: &Table| {
        let (_, path, _) = files.get(table)?.segments.first()?;
        Some((*table, path.clone()))
    };
    let above = Table::ALL.into_iter().filter(|table| {
        let bytes = files.get(table).map_or(0, closed_bytes);
        bytes > budget / 16 * share(*table)
    });
    let fallback = Table::ALL.into_iter();
    above.chain(fallback).find_map(|table| oldest(&table))
}
