//! The columns of both tables.

use std::fmt::Write;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::ByteArray;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, TypePtr};
use weft_columns::Column;

use crate::error::HistoryError;
use crate::row::{COUNTERS, EventRow, PortKey, PortValues, UNKNOWN, known_quality};
use crate::tables::Table;

/// Rows of a row group.
pub(crate) const ROWS: usize = 32_768;
/// Rows of a page: what is read where one port is asked for. It is compressed by itself: with pages of 4,096 rows files have 3 to 6
/// percent more, with 16,384 2 to 6 percent less, but a month of a port takes twice as long to read as with 4,096.
const PAGE_ROWS: usize = 8_192;

/// Level of zstd: 3 saves 1 percent of what 1 writes, 6 saves 3 to 4 for less than twice the CPU, 9 one more for 2.6 times.
const LEVEL: i32 = 6;

/// Places of columns of the counters.
pub(super) const TIME: usize = 0;
pub(super) const GUID: usize = 1;
pub(super) const PORT: usize = 2;
const NAME: usize = 3;
pub(super) const FIRST: usize = 4;
pub(super) const QUALITY: usize = FIRST + COUNTERS.len();

/// Rows as columns.
#[derive(Debug, Clone)]
pub(crate) struct Batch(pub(super) Vec<Column>);

/// Name and type of each column of a table.
fn schema_text(table: Table) -> String {
    let mut text = String::from("message weft {\n");
    let mut add = |kind: &str, name: &str, logical: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "required {kind} {name} ({logical});");
    };
    add("int64", "time", "TIMESTAMP(MILLIS,true)");
    match table {
        Table::Counters(_) => {
            add("int64", "node_guid", "INTEGER(64,false)");
            add("int32", "port", "INTEGER(8,false)");
            add("binary", "node_name", "STRING");
            for name in COUNTERS {
                add("int64", name, "INTEGER(64,false)");
            }
            add("int32", "link_quality", "INTEGER(8,false)");
        }
        Table::Events => {
            add("int64", "run", "INTEGER(64,false)");
            add("int64", "sequence", "INTEGER(64,false)");
            add("binary", "kind", "STRING");
            add("int64", "node_guid", "INTEGER(64,false)");
            add("binary", "node_name", "STRING");
            add("int32", "port", "INTEGER(8,false)");
            add("binary", "severity", "STRING");
            add("binary", "message", "STRING");
            add("binary", "body", "JSON");
        }
    }
    text + "}"
}

/// The schema of a table.
pub(super) fn schema(table: Table) -> Result<TypePtr, HistoryError> {
    let parsed = parse_message_type(&schema_text(table));
    let wrong = |error: parquet::errors::ParquetError| HistoryError::Input(error.to_string());
    parsed.map(Arc::new).map_err(wrong)
}

/// How a table is encoded.
pub(super) fn properties(table: Table) -> Result<WriterProperties, HistoryError> {
    let level =
        ZstdLevel::try_new(LEVEL).map_err(|error| HistoryError::Input(error.to_string()))?;
    let mut properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_created_by("weft".to_owned())
        .set_compression(Compression::ZSTD(level))
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::PLAIN)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_write_batch_size(PAGE_ROWS);
    let differences: &[&str] = match table {
        Table::Counters(_) => &["time", "node_guid", "port"],
        Table::Events => &["time", "run", "sequence", "node_guid", "port"],
    };
    for name in differences {
        let path = ColumnPath::from(*name);
        properties = properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    let totals: &[&str] = match table {
        Table::Counters(_) => &COUNTERS,
        Table::Events => &[],
    };
    for name in totals {
        // Totals that grow have high bytes that stay, which differences lose at each next port: a sixth to a half less.
        let path = ColumnPath::from(*name);
        properties = properties.set_column_encoding(path, Encoding::BYTE_STREAM_SPLIT);
    }
    // Most counters of a row group are the same everywhere, which its bounds tell without reading it.
    for name in totals.iter().copied().chain(["time", "node_guid"]) {
        let path = ColumnPath::from(name);
        properties = properties.set_column_statistics_enabled(path, EnabledStatistics::Chunk);
    }
    for name in ["node_name", "kind", "severity"] {
        properties = properties.set_column_dictionary_enabled(ColumnPath::from(name), true);
    }
    Ok(properties.build())
}

impl Batch {
    /// No rows of a table.
    pub(crate) fn empty(table: Table) -> Self {
        let (long, int) = (|| Column::Long(Vec::new()), || Column::Int(Vec::new()));
        let text = || Column::Text(Vec::new());
        Self(match table {
            Table::Counters(_) => {
                let mut columns = vec![long(), long(), int(), text()];
                columns.extend(COUNTERS.map(|_| long()));
                columns.push(int());
                columns
            }
            Table::Events => vec![
                long(),
                long(),
                long(),
                text(),
                long(),
                text(),
                int(),
                text(),
                text(),
                text(),
            ],
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.0.first().map_or(0, Column::len)
    }

    pub(super) fn clear(&mut self) {
        self.0.iter_mut().for_each(Column::clear);
    }

    /// Appends a row of the counters.
    pub(crate) fn push_port(
        &mut self,
        time_ms: i64,
        key: PortKey,
        name: &ByteArray,
        values: &PortValues,
    ) {
        self.long(TIME, time_ms);
        self.long(GUID, key.guid as i64);
        self.int(PORT, i32::from(key.port));
        self.text(NAME, name.clone());
        for (place, total) in values.totals.iter().enumerate() {
            self.long(FIRST + place, *total as i64);
        }
        self.int(QUALITY, values.link_quality.unwrap_or(UNKNOWN).into());
    }

    /// Appends an event.
    pub(crate) fn push_event(&mut self, event: &EventRow) {
        self.long(0, event.time_ms);
        self.long(1, event.run as i64);
        self.long(2, event.sequence as i64);
        self.text(3, event.kind.as_str().into());
        self.long(4, event.guid as i64);
        self.text(5, event.name.as_str().into());
        self.int(6, i32::from(event.port));
        self.text(7, event.severity.as_str().into());
        self.text(8, event.message.as_str().into());
        self.text(9, event.body.as_str().into());
    }

    fn long(&mut self, place: usize, value: i64) {
        if let Some(Column::Long(values)) = self.0.get_mut(place) {
            values.push(value);
        }
    }

    fn int(&mut self, place: usize, value: i32) {
        if let Some(Column::Int(values)) = self.0.get_mut(place) {
            values.push(value);
        }
    }

    fn text(&mut self, place: usize, value: ByteArray) {
        if let Some(Column::Text(values)) = self.0.get_mut(place) {
            values.push(value);
        }
    }

    fn long_at(&self, place: usize, row: usize) -> i64 {
        match self.0.get(place) {
            Some(Column::Long(values)) => values.get(row).copied().unwrap_or_default(),
            _ => 0,
        }
    }

    fn int_at(&self, place: usize, row: usize) -> u8 {
        match self.0.get(place) {
            // Read from a column of eight bits.
            Some(Column::Int(values)) => values.get(row).copied().unwrap_or_default() as u8,
            _ => 0,
        }
    }

    fn text_at(&self, place: usize, row: usize) -> String {
        match self.0.get(place) {
            Some(Column::Text(values)) => values.get(row).map_or_else(String::new, |text| {
                String::from_utf8_lossy(text.data()).into_owned()
            }),
            _ => String::new(),
        }
    }

    /// Time of a row, milliseconds since 1970.
    pub(crate) fn time(&self, row: usize) -> i64 {
        self.long_at(TIME, row)
    }

    /// Port of a row of the counters.
    pub(crate) fn key(&self, row: usize) -> PortKey {
        PortKey {
            guid: self.long_at(GUID, row) as u64,
            port: self.int_at(PORT, row),
        }
    }

    /// Name of a row of the counters.
    pub(crate) fn name(&self, row: usize) -> ByteArray {
        match self.0.get(NAME) {
            Some(Column::Text(values)) => values.get(row).cloned().unwrap_or_default(),
            _ => ByteArray::default(),
        }
    }

    /// What a row of the counters has of its port.
    pub(crate) fn values(&self, row: usize) -> PortValues {
        PortValues {
            totals: std::array::from_fn(|place| self.long_at(FIRST + place, row) as u64),
            link_quality: known_quality(self.int_at(QUALITY, row)),
        }
    }

    /// An event.
    pub(crate) fn event(&self, row: usize) -> EventRow {
        EventRow {
            time_ms: self.long_at(0, row),
            run: self.long_at(1, row) as u64,
            sequence: self.long_at(2, row) as u64,
            kind: self.text_at(3, row),
            guid: self.long_at(4, row) as u64,
            name: self.text_at(5, row),
            port: self.int_at(6, row),
            severity: self.text_at(7, row),
            message: self.text_at(8, row),
            body: self.text_at(9, row),
        }
    }
}
