//! Segments: Parquet files that are written once.
//!
//! Every byte of a segment is covered by a CRC-32C: those of row groups are in its metadata, that of the metadata is in
//! its name.
//!
//! | module | contents |
//! |---|---|
//! | `name` | names of files |
//! | `columns` | the columns of both tables, and rows as columns |
//! | `write` | writing beside, sync, rename |
//! | `read` | reading of one row group |

mod columns;
mod name;
mod read;
mod write;

use std::fs::File;
use std::path::Path;

use crate::error::HistoryError;

pub(crate) use columns::Batch;
pub(crate) use name::{Listed, SegmentName, list};
pub(crate) use read::{Group, SegmentReader};
pub(crate) use write::{SegmentWriter, TEMPORARY};

/// Syncs the directory of a file, so that its name is there after a loss of power.
pub(crate) fn sync_dir(file: &Path) -> Result<(), HistoryError> {
    let dir = file.parent().unwrap_or(Path::new("."));
    let synced = File::open(dir).and_then(|dir| dir.sync_all());
    synced.map_err(HistoryError::io(dir))
}
