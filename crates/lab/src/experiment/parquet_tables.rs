//! Results as Parquet: a file for each table, whose rows are those of JSON Lines.

use std::fmt::Write;
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use weft_columns::{Column, write_group};

use super::perform::Outcome;
use super::rows::{self, Cell, OF_CASE, Table, Type};
use super::scenario::Scenario;

/// Rows of a row group.
const ROWS: usize = 65_536;

/// All results of experiments: for each table, also one without rows, the name of its file and its content.
///
/// # Errors
/// The writer's.
pub fn parquet_tables<'a>(
    all: impl IntoIterator<Item = (&'a Scenario, &'a [Outcome])>,
) -> Result<Vec<(String, Vec<u8>)>, ParquetError> {
    let files = Table::ALL.into_iter().map(TableFile::new);
    let mut files = files.collect::<Result<Vec<_>, _>>()?;
    for (scenario, outcomes) in all {
        for (case, outcome) in scenario.cases.iter().zip(outcomes) {
            let of_case = rows::of_case(scenario, case);
            for (table, cells) in rows::rows(case, outcome) {
                let file = files.iter_mut().find(|file| file.table == table);
                if let Some(file) = file {
                    file.push(of_case.iter().chain(&cells))?;
                }
            }
        }
    }
    files.into_iter().map(TableFile::finish).collect()
}

/// A file that is being written.
struct TableFile {
    table: Table,
    writer: SerializedFileWriter<Vec<u8>>,
    columns: Vec<Optional>,
}

/// A column whose rows may have no value.
struct Optional {
    values: Column,
    /// For each row whether it has one.
    levels: Vec<i16>,
}

impl TableFile {
    fn new(table: Table) -> Result<Self, ParquetError> {
        let schema = Arc::new(parse_message_type(&schema(table))?);
        let properties = WriterProperties::builder()
            .set_created_by("weft".to_owned())
            .set_compression(Compression::ZSTD(ZstdLevel::default()));
        let writer = SerializedFileWriter::new(Vec::new(), schema, properties.build().into())?;
        let columns = OF_CASE.iter().chain(table.columns());
        let column = |(_, kind): &(&str, Type)| Optional {
            values: match kind {
                Type::Text => Column::Text(Vec::new()),
                Type::Real => Column::Real(Vec::new()),
                Type::Count => Column::Long(Vec::new()),
            },
            levels: Vec::new(),
        };
        Ok(Self {
            table,
            writer,
            columns: columns.map(column).collect(),
        })
    }

    fn push<'a>(&mut self, cells: impl Iterator<Item = &'a Cell<'a>>) -> Result<(), ParquetError> {
        let mut columns = self.columns.iter_mut();
        for cell in cells {
            let column = columns.next().ok_or_else(|| misfit("a cell too many"))?;
            column.push(cell)?;
        }
        if columns.next().is_some() {
            return Err(misfit("a cell too few"));
        }
        match self.rows() >= ROWS {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Rows that are not written yet.
    fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.levels.len())
    }

    fn flush(&mut self) -> Result<(), ParquetError> {
        let columns = self.columns.iter();
        let columns = columns.map(|column| (&column.values, Some(&column.levels[..])));
        write_group(&mut self.writer, columns)?;
        for column in &mut self.columns {
            column.values.clear();
            column.levels.clear();
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(String, Vec<u8>), ParquetError> {
        if self.rows() > 0 {
            self.flush()?;
        }
        let name = format!("{}.parquet", self.table.name());
        Ok((name, self.writer.into_inner()?))
    }
}

impl Optional {
    fn push(&mut self, cell: &Cell<'_>) -> Result<(), ParquetError> {
        match (cell, &mut self.values) {
            (Cell::Text(text), Column::Text(values)) => {
                values.push(text.as_bytes().to_vec().into())
            }
            (Cell::Real(value), Column::Real(values)) => values.push(*value),
            (Cell::Count(count), Column::Long(values)) => values.push(*count as i64),
            (Cell::None, _) => {
                self.levels.push(0);
                return Ok(());
            }
            _ => return Err(misfit("a cell of another type")),
        }
        self.levels.push(1);
        Ok(())
    }
}

/// A row that is not as its table's columns.
fn misfit(what: &str) -> ParquetError {
    ParquetError::General(format!("a row has {what} than its columns say"))
}

fn schema(table: Table) -> String {
    let mut text = format!("message {} {{\n", table.name());
    for (name, kind) in OF_CASE.iter().chain(table.columns()) {
        let kind = match kind {
            Type::Text => format!("binary {name} (STRING)"),
            Type::Real => format!("double {name}"),
            Type::Count => format!("int64 {name} (INTEGER(64,false))"),
        };
        // Writing to a string does not fail.
        let _ = writeln!(text, "optional {kind};");
    }
    text + "}"
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use parquet::file::reader::FileReader;
    use parquet::file::serialized_reader::SerializedFileReader;
    use parquet::record::Field;

    use super::*;

    #[test]
    fn a_table_of_several_row_groups_has_all_rows_in_order() {
        let mut file = TableFile::new(Table::Latency).unwrap();
        let rows = ROWS as u64 + 5;
        for row in 0..rows {
            let series = (row % 2 == 1).then_some("s");
            let cells: [Cell<'_>; 14] = [
                "e".into(),
                row.to_string().into(),
                series.into(),
                Cell::None,
                Cell::None,
                Cell::None,
                Cell::None,
                Cell::None,
                Cell::None,
                Cell::None,
                Cell::None,
                Cell::None,
                50.0.into(),
                (row as f64).into(),
            ];
            file.push(cells.iter()).unwrap();
        }
        let (name, content) = file.finish().unwrap();
        assert_eq!(name, "latency.parquet");
        let reader = SerializedFileReader::new(bytes::Bytes::from(content)).unwrap();
        assert_eq!(reader.num_row_groups(), 2);
        let mut read = 0_u64;
        for row in reader.get_row_iter(None).unwrap() {
            let row = row.unwrap();
            let fields: Vec<&Field> = row.get_column_iter().map(|(_, field)| field).collect();
            assert_eq!(*fields[1], Field::Str(read.to_string()));
            let series = match read % 2 {
                1 => Field::Str("s".to_owned()),
                _ => Field::Null,
            };
            assert_eq!(*fields[2], series);
            assert_eq!(*fields[13], Field::Double(read as f64));
            read += 1;
        }
        assert_eq!(read, rows);
    }
}
