//! Reading of a segment.

use std::fs::File;
use std::io::Cursor;
use std::ops::Range;
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
use weft_columns::Column;

use super::columns::{Batch, FIRST, GUID, PORT, QUALITY, TIME};
use super::name::SegmentName;
use super::write::GROUPS;
use crate::error::HistoryError;
use crate::row::{PortValues, UNKNOWN, known_quality};
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
        let bounds = self.bounds(group, TIME);
        bounds.is_none_or(|(least, most)| least <= to_ms && from_ms <= most)
    }

    /// A row group, after its checksum.
    pub(crate) fn group(&self, number: usize) -> Result<Group<'_>, HistoryError> {
        let window = self.window(number)?;
        let metadata = self.metadata.row_group(number);
        let rows = metadata.num_rows();
        if !(0..=GROUP_ROWS_MAX).contains(&rows) {
            let why = format!("a row group of {rows} rows");
            return Err(HistoryError::damaged(&self.path, why));
        }
        let index = RowGroupPageIndex::new(number, None);
        let properties = Arc::new(ReaderProperties::builder().build());
        let reader = SerializedRowGroupReader::new(window, metadata, index, properties);
        Ok(Group {
            segment: self,
            number,
            rows: rows as usize,
            reader: reader.map_err(|error| self.damaged(error))?,
        })
    }

    fn damaged(&self, error: ParquetError) -> HistoryError {
        HistoryError::damaged(&self.path, error)
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

/// A row group of a segment.
pub(crate) struct Group<'a> {
    segment: &'a SegmentReader,
    number: usize,
    rows: usize,
    reader: SerializedRowGroupReader<'a, Window>,
}

impl Group<'_> {
    /// All of it.
    pub(crate) fn all(&self) -> Result<Batch, HistoryError> {
        let columns: Vec<usize> = (0..Batch::empty(self.segment.table).0.len()).collect();
        self.columns(&columns)
    }

    /// Times and ports of all rows of counters, and nothing else.
    pub(crate) fn places(&self) -> Result<Batch, HistoryError> {
        self.columns(&[TIME, GUID, PORT])
    }

    /// What some rows have of their ports, in their order. What lies before and after them is not decoded.
    pub(crate) fn values(&self, rows: &[usize]) -> Result<Vec<PortValues>, HistoryError> {
        let mut all = vec![PortValues::NONE; rows.len()];
        let (Some(first), Some(last)) = (rows.iter().min(), rows.iter().max()) else {
            return Ok(all);
        };
        let span = *first..last + 1;
        let mut column = Column::Long(Vec::new());
        for place in 0..all[0].totals.len() {
            if let Some((least, most)) = self.segment.bounds(self.number, FIRST + place)
                && least == most
            {
                (all.iter_mut()).for_each(|values| values.totals[place] = least as u64);
                continue;
            }
            column.clear();
            self.read(FIRST + place, span.clone(), &mut column)?;
            let Column::Long(column) = &column else {
                continue;
            };
            for (values, row) in all.iter_mut().zip(rows) {
                values.totals[place] = column[row - first] as u64;
            }
        }
        let mut column = Column::Int(Vec::new());
        self.read(QUALITY, span, &mut column)?;
        if let Column::Int(column) = column {
            for (values, row) in all.iter_mut().zip(rows) {
                let quality = u8::try_from(column[row - first]).ok();
                values.link_quality = quality.and_then(known_quality);
            }
        }
        Ok(all)
    }

    fn columns(&self, columns: &[usize]) -> Result<Batch, HistoryError> {
        let mut batch = Batch::empty(self.segment.table);
        for place in columns {
            self.read(*place, 0..self.rows, &mut batch.0[*place])?;
        }
        Ok(batch)
    }

    /// Segments of earlier versions end before the qualities of links.
    fn is_before_quality(&self) -> bool {
        let columns = self.segment.metadata.row_group(self.number).num_columns();
        matches!(self.segment.table, Table::Counters(_)) && columns == QUALITY
    }

    /// Some rows of a column.
    fn read(&self, place: usize, rows: Range<usize>, to: &mut Column) -> Result<(), HistoryError> {
        if place == QUALITY
            && let Column::Int(to) = to
            && self.is_before_quality()
        {
            to.resize(rows.len(), UNKNOWN.into());
            return Ok(());
        }
        let column = self.reader.get_column_reader(place);
        let read = column.and_then(|column| match (column, to) {
            (ColumnReader::Int64ColumnReader(from), Column::Long(to)) => take(from, rows, to),
            (ColumnReader::Int32ColumnReader(from), Column::Int(to)) => take(from, rows, to),
            (ColumnReader::ByteArrayColumnReader(from), Column::Text(to)) => take(from, rows, to),
            _ => Err(ParquetError::General(format!(
                "column {place} is of another type"
            ))),
        });
        read.map_err(|error| self.segment.damaged(error))
    }
}

/// Reads values of a column.
fn take<T: DataType>(
    mut column: ColumnReaderImpl<T>,
    rows: Range<usize>,
    to: &mut Vec<T::T>,
) -> Result<(), ParquetError> {
    column.skip_records(rows.start)?;
    while to.len() < rows.len() {
        let (read, ..) = column.read_records(rows.len() - to.len(), None, None, to)?;
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
