//! All files of a history.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{DirBuilder, DirBuilderExt, SegmentName};
use crate::budget::{closed_bytes, victim};
use crate::error::HistoryError;
use crate::log::LogFile;
use crate::segment::{Listed, TEMPORARY, list};
use crate::tables::{Resolution, Table};

/// What the files of a history take.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of each table.
    pub tables: Vec<(Table, u64)>,
    /// Bytes of states.
    pub states: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Time of the oldest row, milliseconds since 1970.
    pub oldest_ms: Option<i64>,
}

/// The closed files of all tables.
#[derive(Debug)]
pub(super) struct Files {
    root: PathBuf,
    pub(super) budget: u64,
    tables: BTreeMap<Table, Listed>,
}

pub(super) fn make_dir(dir: &Path) -> Result<(), HistoryError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(HistoryError::io(dir))
}

impl Files {
    /// Lists all, after what was left half written is removed.
    pub(super) fn open(root: &Path, budget: u64) -> Result<Self, HistoryError> {
        let mut files = Self {
            root: root.to_owned(),
            budget,
            tables: BTreeMap::new(),
        };
        for table in Table::ALL {
            let temporary = table.dir(root).join(TEMPORARY);
            match std::fs::remove_file(&temporary) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(HistoryError::io(&temporary)(error));
                }
                _ => {}
            }
            files.list(table)?;
        }
        Ok(files)
    }

    /// Lists a table again.
    pub(super) fn list(&mut self, table: Table) -> Result<(), HistoryError> {
        let listed = list(&table.dir(&self.root))?;
        self.tables.insert(table, listed);
        Ok(())
    }

    pub(super) fn of(&self, table: Table) -> Option<&Listed> {
        self.tables.get(&table)
    }

    /// Number of the next log.
    pub(super) fn next_log(&self, table: Table) -> u64 {
        let listed = self.tables.get(&table);
        let last =
            listed.and_then(|listed| listed.segments.iter().map(|(name, ..)| name.last).max());
        // Where the readings themselves are gone, their roll-ups have the numbers.
        let coarser = match table {
            Table::Counters(Resolution::Image) => (self.tables.iter())
                .filter(|(table, _)| table.name() == "counters")
                .flat_map(|(_, listed)| listed.segments.iter().map(|(name, ..)| name.last))
                .max(),
            _ => None,
        };
        last.max(coarser).unwrap_or(0) + 1
    }

    /// Segments of a resolution that are in none of the next one, in order.
    pub(super) fn not_rolled_up(&self, resolution: Resolution) -> Vec<(SegmentName, PathBuf)> {
        let coarser = resolution
            .coarser()
            .and_then(|(coarser, _)| self.of(Table::Counters(coarser)));
        let done =
            coarser.and_then(|listed| listed.segments.iter().map(|(name, ..)| name.last).max());
        let listed = self.of(Table::Counters(resolution));
        let segments = listed.map_or(&[][..], |listed| &listed.segments);
        (segments.iter())
            .filter(|(name, ..)| done.is_none_or(|done| name.first > done))
            .map(|(name, path, _)| (*name, path.clone()))
            .collect()
    }

    pub(super) fn closed(&self) -> u64 {
        self.tables.values().map(closed_bytes).sum()
    }

    pub(super) fn victim(&self) -> Option<(Table, PathBuf)> {
        victim(&self.tables, self.budget)
    }

    pub(super) fn remove(&mut self, table: Table, path: &Path) -> Result<(), HistoryError> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(HistoryError::io(path)(error))
            }
            _ => self.list(table),
        }
    }

    pub(super) fn usage(&self, logs: [(Table, &LogFile, Option<i64>); 2], others: u64) -> Usage {
        let mut usage = Usage::default();
        for (table, listed) in &self.tables {
            let open = logs.iter().find(|(of, ..)| of == table);
            let bytes = closed_bytes(listed) + open.map_or(0, |(_, log, _)| log.len());
            usage.tables.push((*table, bytes));
            usage.bytes += bytes;
            let oldest = listed.segments.iter().map(|(name, ..)| name.from_ms).min();
            let begun = open.and_then(|(.., first_ms)| *first_ms);
            let times = [usage.oldest_ms, oldest, begun];
            usage.oldest_ms = times.into_iter().flatten().min();
        }
        usage.bytes += others;
        usage
    }
}
