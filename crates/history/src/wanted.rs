//! Rows of counters that a question is about, gathered from segments and open logs.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::HistoryError;
use crate::log::{ImageFrame, frames};
use crate::reader::POINTS_MAX;
use crate::row::{PortKey, Totals};
use crate::segment::{SegmentName, SegmentReader};
use crate::tables::{Resolution, Table};

/// Rows of a port, in order of time.
pub(crate) type Rows = Vec<(i64, Totals)>;

/// Rows of the ports that are asked for.
pub(crate) struct Wanted {
    pub(crate) ports: BTreeMap<PortKey, Rows>,
    from_ms: i64,
    to_ms: i64,
    left: usize,
    /// Of every port so many rows, the last ones; none for all rows of the ports that are named.
    last: Option<usize>,
}

impl Wanted {
    /// All rows of these ports from one time to another, milliseconds since 1970.
    pub(crate) fn new(ports: &[PortKey], (from_ms, to_ms): (i64, i64)) -> Self {
        Self {
            ports: ports.iter().map(|key| (*key, Vec::new())).collect(),
            from_ms,
            to_ms,
            left: POINTS_MAX,
            last: None,
        }
    }

    /// Of every port at most so many rows, the last ones.
    pub(crate) fn last(count: usize, span: (i64, i64)) -> Self {
        Self {
            left: usize::MAX,
            last: Some(count),
            ..Self::new(&[], span)
        }
    }

    fn has(&self, key: &PortKey) -> bool {
        self.last.is_some() || self.ports.contains_key(key)
    }

    fn push(&mut self, key: PortKey, time_ms: i64, totals: Totals) -> Result<(), HistoryError> {
        let rows = match self.last {
            Some(_) => self.ports.entry(key).or_default(),
            None => match self.ports.get_mut(&key) {
                Some(rows) => rows,
                None => return Ok(()),
            },
        };
        // What was recorded later counts.
        while rows.last().is_some_and(|(last, _)| *last >= time_ms) {
            rows.pop();
            self.left = self.left.saturating_add(1);
        }
        if !(self.from_ms..=self.to_ms).contains(&time_ms) {
            return Ok(());
        }
        if self.last.is_some_and(|most| rows.len() >= most) {
            rows.remove(0);
        }
        rows.push((time_ms, totals));
        self.left = self.left.checked_sub(1).ok_or_else(|| {
            let why = format!("more than {POINTS_MAX} readings: ask for fewer ports, a shorter time or a longer step");
            HistoryError::Input(why)
        })?;
        Ok(())
    }

    pub(crate) fn segment(
        &mut self,
        path: &Path,
        name: &SegmentName,
        resolution: Resolution,
    ) -> Result<(), HistoryError> {
        let segment = SegmentReader::open(path, name, Table::Counters(resolution))?;
        for group in 0..segment.groups() {
            let has = |key: &&PortKey| segment.may_have_node(group, key.guid);
            let keys: Vec<PortKey> = self.ports.keys().filter(has).copied().collect();
            let batch = match keys[..] {
                _ if self.last.is_some() => segment.group(group)?,
                [] => continue,
                [key] => segment.port(group, key)?,
                _ => segment.group(group)?,
            };
            for row in 0..batch.len() {
                let key = batch.key(row);
                if self.has(&key) {
                    self.push(key, batch.time(row), batch.totals(row))?;
                }
            }
        }
        Ok(())
    }

    /// Rows of an open log, as far as it is right: its last frame may be being written.
    pub(crate) fn log(&mut self, bytes: &[u8]) -> Result<(), HistoryError> {
        let mut known: BTreeMap<PortKey, ((), Totals)> = BTreeMap::new();
        for range in frames(bytes).payloads {
            let Some(mut frame) = ImageFrame::new(&bytes[range]) else {
                break;
            };
            while let Ok(Some(change)) = frame.next() {
                if self.has(&change.key) {
                    let before = known.remove(&change.key);
                    if let Some(after) = change.apply(before, |_| ()) {
                        known.insert(change.key, after);
                    }
                }
            }
            for (key, ((), totals)) in &known {
                self.push(*key, frame.time_ms, *totals)?;
            }
        }
        Ok(())
    }
}
