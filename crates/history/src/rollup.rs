//! One longer segment with fewer rows from several: of each port the last row of each period.

use std::path::{Path, PathBuf};

use parquet::data_type::ByteArray;

use crate::error::HistoryError;
use crate::log::{Change, ImageFrame};
use crate::row::{PortKey, PortValues};
use crate::segment::{Batch, SegmentName, SegmentReader, SegmentWriter};
use crate::tables::{Resolution, Table};

/// Rows of a segment in order, row group after row group.
struct Source {
    reader: SegmentReader,
    group: usize,
    batch: Batch,
    row: usize,
}

impl Source {
    fn new(path: &Path, name: &SegmentName, resolution: Resolution) -> Result<Self, HistoryError> {
        let table = Table::Counters(resolution);
        let mut source = Self {
            reader: SegmentReader::open(path, name, table)?,
            group: 0,
            batch: Batch::empty(table),
            row: 0,
        };
        source.fill()?;
        Ok(source)
    }

    fn fill(&mut self) -> Result<(), HistoryError> {
        while self.row >= self.batch.len() && self.group < self.reader.groups() {
            self.batch = self.reader.group(self.group)?.all()?;
            (self.group, self.row) = (self.group + 1, 0);
        }
        Ok(())
    }

    fn key(&self) -> Option<PortKey> {
        (self.row < self.batch.len()).then(|| self.batch.key(self.row))
    }

    /// Row of a port, if that is the next one.
    fn next(&mut self, key: PortKey) -> Result<Option<Row>, HistoryError> {
        if self.key() != Some(key) {
            return Ok(None);
        }
        let row = Row {
            time_ms: self.batch.time(self.row),
            name: self.batch.name(self.row),
            values: self.batch.values(self.row),
        };
        self.row += 1;
        self.fill()?;
        Ok(Some(row))
    }
}

struct Row {
    time_ms: i64,
    name: ByteArray,
    values: PortValues,
}

impl Row {
    /// The row that stands for both where the other one was read before in the same time: the worst quality is kept.
    fn after(mut self, before: Option<Self>) -> Self {
        let before = before.and_then(|row| row.values.link_quality);
        let both = [before, self.values.link_quality];
        self.values.link_quality = both.into_iter().flatten().min();
        self
    }
}

/// Writes a segment of `to` from segments of `from`, in their order, into `dir`.
pub(crate) fn roll_up(
    segments: &[(SegmentName, PathBuf)],
    (from, to): (Resolution, Resolution),
    dir: &Path,
    limit: u64,
) -> Result<Option<SegmentName>, HistoryError> {
    let sources = segments
        .iter()
        .map(|(name, path)| Source::new(path, name, from));
    let mut sources = sources.collect::<Result<Vec<Source>, _>>()?;
    let mut writer = SegmentWriter::new(dir, Table::Counters(to), limit)?;
    while let Some(key) = sources.iter().filter_map(Source::key).min() {
        let mut last: Option<Row> = None;
        for source in &mut sources {
            while let Some(row) = source.next(key)? {
                let period = |row: &Row| row.time_ms.div_euclid(to.period_ms());
                if let Some(before) = last.take_if(|before| period(before) != period(&row)) {
                    push(&mut writer, key, &before)?;
                }
                last = Some(row.after(last));
            }
        }
        if let Some(row) = last {
            push(&mut writer, key, &row)?;
        }
    }
    let numbers = segments.first().zip(segments.last());
    let (first, last) = numbers.map_or((0, 0), |(first, last)| (first.0.first, last.0.last));
    writer.finish(first, last)
}

fn push(writer: &mut SegmentWriter, key: PortKey, row: &Row) -> Result<(), HistoryError> {
    writer
        .batch()
        .push_port(row.time_ms, key, &row.name, &row.values);
    writer.pushed(row.time_ms)
}

/// Frame of a log, with the port that is next in it.
struct Cursor<'a> {
    frame: ImageFrame<'a>,
    next: Option<Change<'a>>,
}

/// Writes the rows of a log's frames, sorted by port and time.
pub(crate) fn sort(
    frames: Vec<ImageFrame<'_>>,
    writer: &mut SegmentWriter,
) -> Result<(), HistoryError> {
    let wrong = |why: &str| HistoryError::Input(why.to_owned());
    let mut cursors = Vec::new();
    for mut frame in frames {
        let next = frame.next().map_err(wrong)?;
        cursors.push(Cursor { frame, next });
    }
    let next = |cursor: &Cursor<'_>| cursor.next.map(|change| change.key);
    while let Some(key) = cursors.iter().filter_map(next).min() {
        let mut present: Option<(ByteArray, PortValues)> = None;
        for cursor in &mut cursors {
            if let Some(change) = cursor.next.take_if(|change| change.key == key) {
                present = change.apply(present, |name| name.into());
                cursor.next = cursor.frame.next().map_err(wrong)?;
            }
            if let Some((name, values)) = &present {
                let time_ms = cursor.frame.time_ms;
                writer.batch().push_port(time_ms, key, name, values);
                writer.pushed(time_ms)?;
            }
        }
    }
    Ok(())
}
