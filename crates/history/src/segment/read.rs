//! Reading of a segment.

use std::fs::File;
use std::io::Cursor;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::page_index::RowGroupPageIndex;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::ReaderProperties;
use parquet::file::reader::{ChunkReader, Length, RowGroupReader};
use parquet::file::serialized_reader::SerializedRowGroupReader;
use parquet::file::statistics::Statistics;

use super::columns::{Batch, Column, GUID};
use super::name::SegmentName;
use super::write::GROUPS;
use crate::error::HistoryError;
use crate::row::PortKey;
use crate::tables::Table;

/// Most bytes of the metadata.
const METADATA_MAX: u64 = 64 << 20;
/// Most rows of a row group that is read.
const GROUP_ROWS_MAX: i64 = 1 << 20;

/// An open segment.
#[derive(Debug)]
pub(crate) struct SegmentReader {
    path: PathBuf,
    file: File,
    table: Table,
    metadata: ParquetMetaData,
    /// Offset, length and checksum of each row group.
    groups: Vec<(u64, u64, u32)>,
}

impl SegmentReader {
    /// Opens a segment and checks its metadata.
    pub(crate) fn open(
        path: &Path,
        name: &SegmentName,
        table: Table,
    ) -> Result<Self, HistoryError> {
        let failed = HistoryError::io(path);
        let file = File::open(path).map_err(&failed)?;
        let len = file.metadata().map_err(&failed)?.len();
        let damaged = |why: &str| HistoryError::damaged(path, why);
        let tail_at = len
            .checked_sub(8)
            .ok_or_else(|| damaged("it is too short"))?;
        let mut tail = [0; 8];
        file.read_exact_at(&mut tail, tail_at).map_err(&failed)?;
        let metadata_len = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
        let from = tail_at.checked_sub(metadata_len);
        let from = from.filter(|_| metadata_len <= METADATA_MAX);
        let from = from.ok_or_else(|| damaged("its end has another length"))?;
        let mut bytes = vec![0; (len - from) as usize];
        file.read_exact_at(&mut bytes, from).map_err(&failed)?;
        if crc32c::crc32c(&bytes) != name.check {
            return Err(damaged("its metadata have another checksum"));
        }
        let metadata = ParquetMetaDataReader::decode_metadata(&bytes[..metadata_len as usize]);
        let metadata = metadata.map_err(|error| HistoryError::damaged(path, error))?;
        let groups = groups(&metadata);
        let groups = groups.filter(|groups| groups.len() == metadata.num_row_groups());
        Ok(Self {
            path: path.to_owned(),
            file,
            table,
            groups: groups.ok_or_else(|| damaged("it has no checksums"))?,
            metadata,
        })
    }

    pub(crate) fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Bounds of a column of numbers in a row group.
    fn bounds(&self, group: usize, column: usize) -> Option<(i64, i64)> {
        match self.metadata.row_group(group).column(column).statistics()? {
            Statistics::Int64(bounds) => Some((*bounds.min_opt()?, *bounds.max_opt()?)),
            _ => None,
        }
    }

    /// Whether rows of a node may be in a row group.
    pub(crate) fn may_have_node(&self, group: usize, guid: u64) -> bool {
        let bounds = self.bounds(group, GUID);
        bounds.is_none_or(|(least, most)| (least as u64..=most as u64).contains(&guid))
    }

    /// Whether rows of a time may be in a row group; both ends count.
    pub(crate) fn may_have_time(&self, group: usize, from_ms: i64, to_ms: i64) -> bool {
        let bounds = self.bounds(group, 0);
        bounds.is_none_or(|(least, most)| least <= to_ms && from_ms <= most)
    }

    /// All rows of a row group.
    pub(crate) fn group(&self, group: usize) -> Result<Batch, HistoryError> {
        let columns: Vec<usize> = (0..Batch::empty(self.table).0.len()).collect();
        self.read(group, &columns, None)
    }

    /// Rows of one port in a row group, all of them where they are sorted.
    pub(crate) fn port(&self, group: usize, key: PortKey) -> Result<Batch, HistoryError> {
        let places = self.read(group, &[GUID, GUID + 1], None)?;
        let rows = (0..places.0[GUID].len()).filter(|row| places.key(*row) == key);
        let (mut first, mut count) = (None, 0);
        for row in rows {
            first = first.or(Some(row));
            count += 1;
        }
        let Some(first) = first else {
            return Ok(Batch::empty(self.table));
        };
        let columns: Vec<usize> = (0..places.0.len()).collect();
        self.read(group, &columns, Some((first, count)))
    }

    /// Some columns of some rows of a row group, after its checksum.
    fn read(
        &self,
        group: usize,
        columns: &[usize],
        rows: Option<(usize, usize)>,
    ) -> Result<Batch, HistoryError> {
        let damaged = |why: String| HistoryError::damaged(&self.path, why);
        let window = self.window(group)?;
        let metadata = self.metadata.row_group(group);
        let all = metadata.num_rows();
        if !(0..=GROUP_ROWS_MAX).contains(&all) {
            return Err(damaged(format!("a row group of {all} rows")));
        }
        let (skip, count) = rows.unwrap_or((0, all as usize));
        let index = RowGroupPageIndex::new(group, None);
        let properties = Arc::new(ReaderProperties::builder().build());
        let wrong = |error: ParquetError| damaged(error.to_string());
        let reader = SerializedRowGroupReader::new(window, metadata, index, properties);
        let reader = reader.map_err(wrong)?;
        let mut batch = Batch::empty(self.table);
        for place in columns {
            let column = reader.get_column_reader(*place).map_err(wrong)?;
            let read = match (column, &mut batch.0[*place]) {
                (ColumnReader::Int64ColumnReader(from), Column::Long(to)) => {
                    take(from, skip, count, to)
                }
                (ColumnReader::Int32ColumnReader(from), Column::Int(to)) => {
                    take(from, skip, count, to)
                }
                (ColumnReader::ByteArrayColumnReader(from), Column::Text(to)) => {
                    take(from, skip, count, to)
                }
                _ => Err(ParquetError::General(format!(
                    "column {place} is of another type"
                ))),
            };
            read.map_err(wrong)?;
        }
        Ok(batch)
    }

    /// The bytes of a row group, checked.
    fn window(&self, group: usize) -> Result<Arc<Window>, HistoryError> {
        let (from, len, crc) = self.groups[group];
        let failed = HistoryError::io(&self.path);
        let file_len = self.file.metadata().map_err(&failed)?.len();
        if from.saturating_add(len) > file_len {
            return Err(HistoryError::damaged(&self.path, "it is too short"));
        }
        let mut bytes = vec![0; len as usize];
        self.file.read_exact_at(&mut bytes, from).map_err(&failed)?;
        if crc32c::crc32c(&bytes) != crc {
            let why = format!("row group {group} has another checksum");
            return Err(HistoryError::damaged(&self.path, why));
        }
        Ok(Arc::new(Window {
            from,
            bytes: bytes.into(),
        }))
    }
}

/// Reads values of a column.
fn take<T: DataType>(
    mut column: ColumnReaderImpl<T>,
    skip: usize,
    count: usize,
    to: &mut Vec<T::T>,
) -> Result<(), ParquetError> {
    column.skip_records(skip)?;
    while to.len() < count {
        let (read, ..) = column.read_records(count - to.len(), None, None, to)?;
        if read == 0 {
            return Err(ParquetError::General("a column ends early".to_owned()));
        }
    }
    Ok(())
}

/// Where row groups lie, and their checksums.
fn groups(metadata: &ParquetMetaData) -> Option<Vec<(u64, u64, u32)>> {
    let pairs = metadata.file_metadata().key_value_metadata()?;
    let value = pairs
        .iter()
        .find(|pair| pair.key == GROUPS)?
        .value
        .as_ref()?;
    let group = |text: &str| {
        let mut parts = text.split(':');
        let from = parts.next()?.parse().ok()?;
        let len = parts.next()?.parse().ok()?;
        let crc = u32::from_str_radix(parts.next()?, 16).ok()?;
        Some((from, len, crc))
    };
    value.split(',').map(group).collect()
}

/// Bytes of a file from an offset on.
struct Window {
    from: u64,
    bytes: Bytes,
}

impl Length for Window {
    fn len(&self) -> u64 {
        self.from + self.bytes.len() as u64
    }
}

impl Window {
    fn part(&self, start: u64) -> Result<Bytes, ParquetError> {
        let at = start.checked_sub(self.from).map(|at| at as usize);
        let at = at.filter(|at| *at <= self.bytes.len());
        at.map(|at| self.bytes.slice(at..))
            .ok_or_else(|| ParquetError::EOF("outside its row group".to_owned()))
    }
}

impl ChunkReader for Window {
    type T = Cursor<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        self.part(start).map(Cursor::new)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let part = self.part(start)?;
        match length <= part.len() {
            true => Ok(part.slice(..length)),
            false => Err(ParquetError::EOF("outside its row group".to_owned())),
        }
    }
}
