//! Names of segments: `FIRST-LAST-FROM-TO-CHECK.parquet`. Logs have numbers, from 1; a segment has the numbers of the
//! first and the last log that is in it, the milliseconds since 1970 of its first and last row, and the checksum of
//! its metadata.

use std::path::{Path, PathBuf};

use crate::error::HistoryError;

/// What the name of a segment says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SegmentName {
    /// Number of the first log in it.
    pub(crate) first: u64,
    /// Number of the last.
    pub(crate) last: u64,
    /// Time of the first row, milliseconds since 1970.
    pub(crate) from_ms: i64,
    /// Time of the last.
    pub(crate) to_ms: i64,
    /// CRC-32C of its metadata, and the eight bytes behind that.
    pub(crate) check: u32,
}

impl SegmentName {
    pub(crate) fn file(&self) -> String {
        let Self {
            first,
            last,
            from_ms,
            to_ms,
            check,
        } = self;
        format!("{first:010}-{last:010}-{from_ms:013}-{to_ms:013}-{check:08x}.parquet")
    }

    fn parse(file: &str) -> Option<Self> {
        let parts: Vec<&str> = file.strip_suffix(".parquet")?.split('-').collect();
        let [first, last, from_ms, to_ms, check] = parts[..] else {
            return None;
        };
        Some(Self {
            first: first.parse().ok()?,
            last: last.parse().ok()?,
            from_ms: from_ms.parse().ok()?,
            to_ms: to_ms.parse().ok()?,
            check: u32::from_str_radix(check, 16).ok()?,
        })
    }
}

/// The files of a table.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    /// Segments by the number of their first log, with their bytes.
    pub(crate) segments: Vec<(SegmentName, PathBuf, u64)>,
    /// Logs by their number.
    pub(crate) logs: Vec<(u64, PathBuf, u64)>,
    /// Others: what is damaged or was left half written.
    pub(crate) others: Vec<(PathBuf, u64)>,
}

impl Listed {
    /// Logs of which there is no segment yet.
    pub(crate) fn open_logs(&self) -> impl Iterator<Item = &(u64, PathBuf, u64)> {
        let closed = |number: u64| self.segments.iter().any(|(name, ..)| name.last >= number);
        self.logs
            .iter()
            .filter(move |(number, ..)| !closed(*number))
    }
}

/// Lists the files of a directory; an absent one has none.
pub(crate) fn list(dir: &Path) -> Result<Listed, HistoryError> {
    let failed = HistoryError::io(dir);
    let mut listed = Listed::default();
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(listed),
        Err(error) => return Err(failed(error)),
    };
    for entry in entries {
        let entry = entry.map_err(&failed)?;
        // It may have gone meanwhile.
        let Some(meta) = entry.metadata().ok().filter(std::fs::Metadata::is_file) else {
            continue;
        };
        let (path, len) = (entry.path(), meta.len());
        let file = entry.file_name();
        let file = file.to_str().unwrap_or_default();
        let log = file.strip_suffix(".log").and_then(|name| name.parse().ok());
        match (SegmentName::parse(file), log) {
            (Some(name), _) => listed.segments.push((name, path, len)),
            (_, Some(number)) => listed.logs.push((number, path, len)),
            _ => listed.others.push((path, len)),
        }
    }
    listed.segments.sort_unstable();
    listed.logs.sort_unstable();
    listed.others.sort_unstable();
    Ok(listed)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_and_strange_ones_are_none() {
        let name = SegmentName {
            first: 7,
            last: 12,
            from_ms: 1_764_043_200_000,
            to_ms: 1_764_046_790_000,
            check: 0xbeef,
        };
        assert_eq!(SegmentName::parse(&name.file()), Some(name));
        for file in [
            "",
            "a.parquet",
            "1-2-3-4.parquet",
            "1-2-3-4-zz.parquet",
            "1-2-3-4-5",
        ] {
            assert_eq!(SegmentName::parse(file), None, "{file}");
        }
    }
}
