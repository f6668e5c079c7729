//! The open log of events.

use std::path::Path;

use super::DAY_MS;
use super::files::Files;
use super::logs::{Closing, log_path, open_logs};
use crate::error::HistoryError;
use crate::log::{HEADER, LogFile, decode_events, frames};
use crate::tables::Table;

/// The log that events are appended to.
#[derive(Debug)]
pub(super) struct OpenEvents {
    number: u64,
    pub(super) log: LogFile,
    /// Time of its first event, milliseconds since 1970.
    pub(super) first_ms: Option<i64>,
}

impl OpenEvents {
    pub(super) fn open(
        root: &Path,
        files: &mut Files,
        warnings: &mut Vec<String>,
    ) -> Result<Self, HistoryError> {
        let mut logs = open_logs(Table::Events, files)?;
        let number = logs.pop().unwrap_or_else(|| files.next_log(Table::Events));
        let open = Self::of(root, number, warnings)?;
        files.list(Table::Events)?;
        Ok(open)
    }

    fn of(root: &Path, number: u64, warnings: &mut Vec<String>) -> Result<Self, HistoryError> {
        let opened = LogFile::open(&log_path(Table::Events, root, number))?;
        warnings.extend(opened.damage);
        let mut open = Self {
            number,
            log: opened.log,
            first_ms: None,
        };
        for range in frames(&opened.bytes).payloads {
            let from = range.start - HEADER;
            let Some(events) = decode_events(&opened.bytes[range]) else {
                let why = "a frame has no events";
                warnings.push(open.log.set_aside_from(&opened.bytes, from, why)?);
                return Self::of(root, number, warnings);
            };
            for event in events {
                open.appended(event.time_ms);
            }
        }
        Ok(open)
    }

    /// Whether an event of this time belongs to the next log.
    pub(super) fn ends_before(&self, time_ms: i64, len_max: u64) -> bool {
        let day = |time: i64| time.div_euclid(DAY_MS);
        let other = self
            .first_ms
            .is_some_and(|first| day(first) != day(time_ms));
        self.log.has_frames() && (other || self.log.len() > len_max)
    }

    pub(super) fn appended(&mut self, first_ms: i64) {
        self.first_ms = self.first_ms.or(Some(first_ms));
    }

    /// Makes a segment of the log and begins the next one.
    pub(super) fn close(
        &mut self,
        root: &Path,
        files: &mut Files,
        limit: u64,
    ) -> Result<(), HistoryError> {
        let closing = Closing {
            table: Table::Events,
            root,
            limit,
        };
        let closed = closing.close(&mut self.log, &mut self.number, |payloads, writer| {
            for payload in payloads {
                for event in decode_events(payload).ok_or("a frame has no events")? {
                    writer.batch().push_event(&event);
                    writer.pushed(event.time_ms)?;
                }
            }
            Ok(())
        })?;
        self.first_ms = None;
        files.remove(Table::Events, &closed)
    }
}
