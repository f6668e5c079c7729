//! Logs by their numbers: those that are open, and how one becomes a segment.

use std::path::{Path, PathBuf};

use super::files::Files;
use crate::error::HistoryError;
use crate::log::{LogFile, frames};
use crate::segment::SegmentWriter;
use crate::tables::Table;

pub(super) fn log_path(table: Table, root: &Path, number: u64) -> PathBuf {
    table.dir(root).join(format!("{number:010}.log"))
}

/// Removes logs of which there is a segment; returns the numbers of the others.
pub(super) fn open_logs(table: Table, files: &mut Files) -> Result<Vec<u64>, HistoryError> {
    let listed = files.of(table);
    let open: Vec<u64> = listed.map_or_else(Vec::new, |listed| {
        listed.open_logs().map(|(number, ..)| *number).collect()
    });
    let all = listed.map_or(&[][..], |listed| &listed.logs);
    let closed: Vec<PathBuf> = (all.iter())
        .filter(|(number, ..)| !open.contains(number))
        .map(|(_, path, _)| path.clone())
        .collect();
    for path in closed {
        files.remove(table, &path)?;
    }
    Ok(open)
}

/// Where the segment of a log goes.
pub(super) struct Closing<'a> {
    pub(super) table: Table,
    pub(super) root: &'a Path,
    /// Most bytes of the segment.
    pub(super) limit: u64,
}

/// Why no segment is made of a log.
pub(super) enum CloseError {
    /// Its content is wrong.
    Content(&'static str),
    /// The segment cannot be written.
    Segment(HistoryError),
}

impl From<&'static str> for CloseError {
    fn from(why: &'static str) -> Self {
        Self::Content(why)
    }
}

impl From<HistoryError> for CloseError {
    fn from(error: HistoryError) -> Self {
        Self::Segment(error)
    }
}

impl Closing<'_> {
    /// Makes a segment of a log, into which `write` puts the contents of its frames, and begins the next log; returns the
    /// path of the old one, which is to be removed.
    pub(super) fn close(
        &self,
        log: &mut LogFile,
        number: &mut u64,
        write: impl FnOnce(
            &mut dyn Iterator<Item = &[u8]>,
            &mut SegmentWriter,
        ) -> Result<(), CloseError>,
    ) -> Result<PathBuf, HistoryError> {
        let path = log.path().to_owned();
        let bytes = std::fs::read(&path).map_err(HistoryError::io(&path))?;
        let payloads = frames(&bytes).payloads;
        let mut payloads = payloads.into_iter().map(|range| &bytes[range]);
        let directory = self.table.dir(self.root);
        let mut writer = SegmentWriter::new(&directory, self.table, self.limit)?;
        write(&mut payloads, &mut writer).map_err(|error| match error {
            CloseError::Content(why) => HistoryError::damaged(&path, why),
            CloseError::Segment(error) => error,
        })?;
        writer.finish(*number, *number)?;
        // The next one first: without it this log stays, and its segment counts.
        let next = LogFile::open(&log_path(self.table, self.root, *number + 1))?;
        *log = next.log;
        *number += 1;
        Ok(path)
    }
}
