//! Fabrics written for other programs.

mod name;
pub mod snapshot_xml;

pub use name::{escape_name, unescape_name};
pub use snapshot_xml::{SnapshotOptions, write_snapshot};
