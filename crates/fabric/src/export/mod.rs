//! Fabrics written for other programs.

pub mod dot;
pub mod ibnetdiscover;
mod name;
pub mod snapshot_xml;

pub use dot::{DotOptions, write_dot};
pub use ibnetdiscover::write_ibnetdiscover;
pub use name::{escape_name, unescape_name};
pub use snapshot_xml::{SnapshotOptions, write_snapshot};
