//! Import of fabrics from files of other programs.
//!
//! The formats of a fabric are recognised by their first character. Texts are taken as hostile: nothing here
//! panics, and memory is bounded by the length of the text and by the limits of
//! [`crate::generate`].

mod budget;
pub mod expected_xml;
pub mod ibnetdiscover;
pub mod snapshot_xml;
pub mod topology_xml;
mod xml;

use std::borrow::Cow;
use std::sync::Arc;

use thiserror::Error;

use crate::snapshot::Snapshot;
use crate::topology::TopologyError;

pub use expected_xml::import_expected;
pub use ibnetdiscover::import_ibnetdiscover;
pub use snapshot_xml::{SnapshotParts, import_snapshot, import_snapshot_parts};
pub use topology_xml::{TOPOLOGY_FILE_MAX, import_topology, import_topology_with_lids};

/// A malformed text, with the position.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {what}, allowed: {allowed}")]
pub struct ImportError {
    /// The line, from 1.
    pub line: u64,
    /// The error.
    pub what: String,
    /// Allowed text.
    pub allowed: String,
}

impl ImportError {
    fn new(line: u64, what: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self {
            line,
            what: what.into(),
            allowed: allowed.into(),
        }
    }

    fn topology(line: u64, error: &TopologyError) -> Self {
        Self::new(line, error.to_string(), "nodes and cables that fit")
    }
}

/// Reads an opareport snapshot (its first character is `<`) or an ibnetdiscover dump; bytes that are
/// not UTF-8 are replaced.
///
/// # Errors
/// [`ImportError`] of the format that it is.
pub fn import_fabric(text: &[u8]) -> Result<Snapshot, ImportError> {
    import_fabric_parts(text, SnapshotParts::ALL)
}

/// The same, with parts of a snapshot left out; mistakes in those are not seen.
///
/// # Errors
/// Those of [`import_fabric`].
pub fn import_fabric_parts(text: &[u8], parts: SnapshotParts) -> Result<Snapshot, ImportError> {
    let text = as_text(text);
    let text = text.trim_start_matches('\u{FEFF}');
    if text.trim_start().starts_with('<') {
        return import_snapshot_parts(text, parts);
    }
    Ok(Snapshot {
        topology: Arc::new(import_ibnetdiscover(text)?),
        ..Snapshot::default()
    })
}

/// A file as text; bytes that are none become replacement characters. Text as a whole is checked several times as fast as
/// `from_utf8_lossy` looks for such bytes.
fn as_text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}
