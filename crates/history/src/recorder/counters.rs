//! The open log of readings.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::SEGMENT_MS;
use super::files::Files;
use super::logs::{Closing, log_path, open_logs};
use crate::error::HistoryError;
use crate::log::{ImageFrame, LogFile, frames};
use crate::rollup::sort;
use crate::row::{PortKey, PortRow, PortValues};
use crate::tables::{Resolution, Table};

const TABLE: Table = Table::Counters(Resolution::Image);
/// Longest usual time between two readings where nothing is known, milliseconds.
const USUAL_MS: i64 = 60_000;

/// The log that readings are appended to.
#[derive(Debug)]
pub(super) struct OpenCounters {
    number: u64,
    pub(super) log: LogFile,
    /// The last reading in it; empty where it has none.
    pub(super) rows: Vec<PortRow>,
    /// Times of its first reading, and of the last one of all, milliseconds since 1970.
    pub(super) first_ms: Option<i64>,
    pub(super) last_ms: Option<i64>,
    /// Between the last two readings.
    spacing_ms: Option<i64>,
}

impl OpenCounters {
    pub(super) fn open(
        root: &Path,
        files: &mut Files,
        warnings: &mut Vec<String>,
    ) -> Result<Self, HistoryError> {
        let mut logs = open_logs(TABLE, files)?;
        let number = logs.pop().unwrap_or_else(|| files.next_log(TABLE));
        let mut open = Self::of(root, number, warnings)?;
        let listed = files.of(TABLE);
        let newest = listed.and_then(|listed| listed.segments.last().map(|(name, ..)| name.to_ms));
        open.last_ms = open.last_ms.or(newest);
        files.list(TABLE)?;
        Ok(open)
    }

    /// Opens one log and replays it.
    fn of(root: &Path, number: u64, warnings: &mut Vec<String>) -> Result<Self, HistoryError> {
        let path = log_path(TABLE, root, number);
        let opened = LogFile::open(&path)?;
        warnings.extend(opened.damage);
        let mut log = opened.log;
        let mut replay = Replay::default();
        for range in frames(&opened.bytes).payloads {
            let from = range.start - crate::log::HEADER;
            if let Err(why) = replay.frame(&opened.bytes[range]) {
                warnings.push(log.set_aside_from(&opened.bytes, from, why)?);
                return Self::of(root, number, warnings);
            }
        }
        Ok(Self {
            number,
            log,
            first_ms: replay.first_ms,
            last_ms: replay.last_ms,
            spacing_ms: replay.spacing_ms,
            rows: replay.rows(),
        })
    }

    /// Whether a reading of this time belongs to the next log.
    pub(super) fn ends_before(&self, time_ms: i64, len_max: u64) -> bool {
        let segment = |time: i64| time.div_euclid(SEGMENT_MS);
        let other = self
            .first_ms
            .is_some_and(|first| segment(first) != segment(time_ms));
        let back = self.last_ms.is_some_and(|last| time_ms < last);
        self.log.has_frames() && (other || back || self.log.len() > len_max)
    }

    /// Longest time to the next reading that is no gap, milliseconds.
    pub(super) fn usual_ms(&self) -> i64 {
        self.spacing_ms
            .map_or(USUAL_MS, |spacing| (3 * spacing).max(USUAL_MS / 2))
    }

    pub(super) fn appended(&mut self, time_ms: i64, ports: Vec<PortRow>) {
        self.rows = ports;
        self.first_ms = self.first_ms.or(Some(time_ms));
        let spacing = self.last_ms.map(|last| time_ms - last);
        self.spacing_ms = spacing.filter(|spacing| *spacing > 0).or(self.spacing_ms);
        self.last_ms = Some(time_ms);
    }

    /// Makes a segment of the log and begins the next one.
    pub(super) fn close(
        &mut self,
        root: &Path,
        files: &mut Files,
        limit: u64,
    ) -> Result<(), HistoryError> {
        let closing = Closing {
            table: TABLE,
            root,
            limit,
        };
        let closed = closing.close(&mut self.log, &mut self.number, |payloads, writer| {
            let images = payloads.map(ImageFrame::new);
            let images: Option<Vec<ImageFrame<'_>>> = images.collect();
            sort(images.ok_or("a frame is no reading")?, writer)?;
            Ok(())
        })?;
        (self.rows, self.first_ms) = (Vec::new(), None);
        files.remove(TABLE, &closed)
    }
}

/// What a log says.
#[derive(Debug, Default)]
struct Replay {
    ports: BTreeMap<PortKey, (Arc<str>, PortValues)>,
    first_ms: Option<i64>,
    last_ms: Option<i64>,
    spacing_ms: Option<i64>,
}

impl Replay {
    fn frame(&mut self, payload: &[u8]) -> Result<(), &'static str> {
        let mut frame = ImageFrame::new(payload).ok_or("a frame is no reading")?;
        // A frame that is wrong leaves nothing.
        let mut check = frame.clone();
        while check.next()?.is_some() {}
        while let Some(change) = frame.next()? {
            let before = self.ports.remove(&change.key);
            if let Some(after) = change.apply(before, |name| Arc::from(name)) {
                self.ports.insert(change.key, after);
            }
        }
        self.first_ms = self.first_ms.or(Some(frame.time_ms));
        self.spacing_ms = self
            .last_ms
            .map(|last| frame.time_ms - last)
            .or(self.spacing_ms);
        self.last_ms = Some(frame.time_ms);
        Ok(())
    }

    fn rows(self) -> Vec<PortRow> {
        let row = |(key, (name, values))| PortRow { key, name, values };
        self.ports.into_iter().map(row).collect()
    }
}
