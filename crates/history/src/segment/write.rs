//! Writing of a segment: beside, then sync, rename, sync of the directory.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::writer::SerializedFileWriter;

use super::columns::{Batch, ROWS, properties, schema};
use super::name::SegmentName;
use super::sync_dir;
use crate::error::{HistoryError, OverLimit};
use crate::tables::Table;

/// Name of a segment that is being written.
pub(crate) const TEMPORARY: &str = "segment.tmp";
/// Key of the checksums of row groups in the metadata.
pub(super) const GROUPS: &str = "weft.groups";

/// A segment that is being written; one that is not finished is removed.
pub(crate) struct SegmentWriter {
    dir: PathBuf,
    path: PathBuf,
    writer: Option<SerializedFileWriter<Counted>>,
    batch: Batch,
    /// Where each row group lies, and its checksum.
    groups: Vec<String>,
    from_ms: i64,
    to_ms: i64,
    failure: Failure,
}

/// A file that counts and sums what is written, up to a limit.
struct Counted {
    file: File,
    /// Bytes that may still be written.
    left: u64,
    /// Bytes since the last checksum, and theirs.
    crc: u32,
    from: u64,
    to: u64,
    failure: Failure,
}

/// Why the file behind a writer failed.
type Failure = Arc<std::sync::Mutex<Option<io::Error>>>;

impl Counted {
    fn new(path: &Path, limit: u64, failure: &Failure) -> Result<Self, HistoryError> {
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        Ok(Self {
            file: options.open(path).map_err(HistoryError::io(path))?,
            left: limit,
            crc: 0,
            from: 0,
            to: 0,
            failure: Arc::clone(failure),
        })
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = match (bytes.len() as u64) > self.left {
            true => Err(io::Error::new(io::ErrorKind::QuotaExceeded, OverLimit)),
            false => self.file.write(bytes),
        };
        match result {
            Ok(len) => {
                self.left -= len as u64;
                self.to += len as u64;
                self.crc = crc32c::crc32c_append(self.crc, &bytes[..len]);
                Ok(len)
            }
            Err(error) => {
                let kind = error.kind();
                if kind != io::ErrorKind::Interrupted
                    && let Ok(mut failure) = self.failure.lock()
                {
                    *failure = Some(error);
                }
                Err(kind.into())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl SegmentWriter {
    /// Begins a segment in a directory, of at most `limit` bytes.
    pub(crate) fn new(dir: &Path, table: Table, limit: u64) -> Result<Self, HistoryError> {
        let path = dir.join(TEMPORARY);
        let failure = Arc::default();
        let counted = Counted::new(&path, limit, &failure)?;
        let mut segment = Self {
            dir: dir.to_owned(),
            path,
            writer: None,
            batch: Batch::empty(table),
            groups: Vec::new(),
            from_ms: i64::MAX,
            to_ms: i64::MIN,
            failure,
        };
        let writer = SerializedFileWriter::new(counted, schema(table)?, properties(table)?.into());
        segment.writer = Some(writer.map_err(|error| segment.failed(&error))?);
        Ok(segment)
    }

    /// Rows that are not written yet, for [`Self::pushed`].
    pub(crate) fn batch(&mut self) -> &mut Batch {
        &mut self.batch
    }

    /// After each row that was put into the batch.
    pub(crate) fn pushed(&mut self, time_ms: i64) -> Result<(), HistoryError> {
        self.from_ms = self.from_ms.min(time_ms);
        self.to_ms = self.to_ms.max(time_ms);
        match self.batch.len() >= ROWS {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), HistoryError> {
        let Some(mut writer) = self.writer.take() else {
            return Ok(());
        };
        let written = write_group(&mut writer, &self.batch);
        let group = written.map_err(|error| self.failed(&error))?;
        self.groups.push(group);
        self.batch.clear();
        self.writer = Some(writer);
        Ok(())
    }

    /// Ends the segment, of logs `first` to `last`; returns its name, none where it has no rows.
    pub(crate) fn finish(
        mut self,
        first: u64,
        last: u64,
    ) -> Result<Option<SegmentName>, HistoryError> {
        if self.batch.len() > 0 {
            self.flush()?;
        }
        let Some(mut writer) = self.writer.take().filter(|_| !self.groups.is_empty()) else {
            return Ok(None);
        };
        let groups = KeyValue::new(GROUPS.to_owned(), self.groups.join(","));
        writer.append_key_value_metadata(groups);
        let counted = writer.into_inner().map_err(|error| self.failed(&error))?;
        let failed = HistoryError::io(&self.path);
        counted.file.sync_all().map_err(&failed)?;
        let name = SegmentName {
            first,
            last,
            from_ms: self.from_ms,
            to_ms: self.to_ms,
            check: counted.crc,
        };
        let path = self.dir.join(name.file());
        std::fs::rename(&self.path, &path).map_err(&failed)?;
        sync_dir(&path)?;
        Ok(Some(name))
    }

    /// The failure of the file behind one of the writer, where there is one.
    fn failed(&self, error: &ParquetError) -> HistoryError {
        let failure = self
            .failure
            .lock()
            .ok()
            .and_then(|mut failure| failure.take());
        let error = failure.unwrap_or_else(|| io::Error::other(error.to_string()));
        HistoryError::io(&self.path)(error)
    }
}

impl Drop for SegmentWriter {
    fn drop(&mut self) {
        // After `finish` it has another name.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Writes a row group; returns where it lies, and its checksum.
fn write_group(
    writer: &mut SerializedFileWriter<Counted>,
    batch: &Batch,
) -> Result<String, ParquetError> {
    let columns = batch.0.iter().map(|values| (values, None));
    weft_columns::write_group(writer, columns)?;
    writer.flush()?;
    let counted = writer.inner_mut();
    let (from, len, crc) = (counted.from, counted.to - counted.from, counted.crc);
    (counted.from, counted.crc) = (counted.to, 0);
    Ok(format!("{from}:{len}:{crc:08x}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use parquet::schema::types::Type;

    use super::*;
    use crate::row::{PortKey, PortValues};
    use crate::segment::SegmentReader;
    use crate::tables::Resolution;

    const TABLE: Table = Table::Counters(Resolution::Image);

    /// A writer of segments as they were before the qualities of links were kept.
    fn of_before(dir: &Path) -> SegmentWriter {
        let mut segment = SegmentWriter::new(dir, TABLE, 1 << 20).unwrap();
        let all = schema(TABLE).unwrap();
        let [fields @ .., quality] = all.get_fields() else {
            panic!("a schema without columns");
        };
        assert_eq!(quality.name(), "link_quality");
        let group = Type::group_type_builder("weft").with_fields(fields.to_vec());
        let counted = Counted::new(&segment.path, 1 << 20, &segment.failure).unwrap();
        let (schema, properties) = (group.build().unwrap(), properties(TABLE).unwrap());
        let writer = SerializedFileWriter::new(counted, schema.into(), properties.into());
        segment.writer = Some(writer.unwrap());
        segment.batch.0.pop();
        segment
    }

    #[test]
    fn a_segment_of_before_has_its_counters_and_no_quality_of_links() {
        let dir = tempfile::tempdir().unwrap();
        let mut segment = of_before(dir.path());
        let key = PortKey { guid: 7, port: 1 };
        let values = |count: u64| PortValues {
            totals: [count; _],
            link_quality: None,
        };
        for count in 0..9_u64 {
            let batch = segment.batch();
            batch.push_port(count as i64, key, &"a".into(), &values(count));
            segment.pushed(count as i64).unwrap();
        }
        let name = segment.finish(1, 1).unwrap().unwrap();
        let reader = SegmentReader::open(&dir.path().join(name.file()), &name, TABLE).unwrap();
        let group = reader.group(0).unwrap();
        assert_eq!(group.values(&[2, 5]).unwrap(), [values(2), values(5)]);
        let all = group.all().unwrap();
        assert_eq!(all.values(8), values(8));
    }

    /// A quota of the file system is as a full disk; the budget's own end is not.
    #[test]
    fn the_end_of_the_budget_is_told_from_a_quota() {
        let dir = tempfile::tempdir().unwrap();
        let mut segment = SegmentWriter::new(dir.path(), TABLE, 64).unwrap();
        let key = PortKey { guid: 7, port: 1 };
        let values = PortValues {
            totals: [1; _],
            link_quality: None,
        };
        segment.batch().push_port(0, key, &"a".into(), &values);
        segment.pushed(0).unwrap();
        assert!(segment.finish(1, 1).unwrap_err().is_over_limit());
        let quota = io::Error::from(io::ErrorKind::QuotaExceeded);
        assert!(!HistoryError::io(dir.path())(quota).is_over_limit());
    }
}
