//! Columns of values, and row groups of Parquet files from them.

use std::io::Write;

use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};

/// Values of a column. Numbers without sign are kept as the same bits.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Numbers of 64 bits.
    Long(Vec<i64>),
    /// Numbers of at most 32 bits.
    Int(Vec<i32>),
    /// Floating-point numbers.
    Real(Vec<f64>),
    /// Text in UTF-8, or bytes.
    Text(Vec<ByteArray>),
}

impl Column {
    /// Number of its values.
    pub fn len(&self) -> usize {
        match self {
            Self::Long(values) => values.len(),
            Self::Int(values) => values.len(),
            Self::Real(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }

    /// Whether it has no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        match self {
            Self::Long(values) => values.clear(),
            Self::Int(values) => values.clear(),
            Self::Real(values) => values.clear(),
            Self::Text(values) => values.clear(),
        }
    }
}

/// A column of a row group. The levels of an optional column have a 1 for each row that has a value, and a 0 for each
/// that has none; a required column has no levels.
pub type Written<'a> = (&'a Column, Option<&'a [i16]>);

/// Writes a row group: all columns of the file's schema, in their order.
///
/// # Errors
/// The file's; a column that the schema has not, or one of another type.
pub fn write_group<'a, W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    columns: impl IntoIterator<Item = Written<'a>>,
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for (values, levels) in columns {
        let column = group.next_column()?;
        let column = column.ok_or_else(|| {
            let what = "more columns than the schema has".to_owned();
            ParquetError::General(what)
        })?;
        write_column(column, values, levels)?;
    }
    group.close()?;
    Ok(())
}

fn write_column(
    mut column: SerializedColumnWriter<'_>,
    values: &Column,
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    match (column.untyped(), values) {
        (ColumnWriter::Int64ColumnWriter(writer), Column::Long(values)) => {
            writer.write_batch(values, levels, None)?;
        }
        (ColumnWriter::Int32ColumnWriter(writer), Column::Int(values)) => {
            writer.write_batch(values, levels, None)?;
        }
        (ColumnWriter::DoubleColumnWriter(writer), Column::Real(values)) => {
            writer.write_batch(values, levels, None)?;
        }
        (ColumnWriter::ByteArrayColumnWriter(writer), Column::Text(values)) => {
            writer.write_batch(values, levels, None)?;
        }
        _ => {
            let what = "the schema has another type for a column".to_owned();
            return Err(ParquetError::General(what));
        }
    }
    column.close()
}
