//! Fabrics written for other programs.

pub mod ibnetdiscover;
mod name;
pub mod opensm;
pub mod slurm;
pub mod snapshot_xml;
pub mod topology_xml;

pub use ibnetdiscover::write_ibnetdiscover;
pub use name::{escape_name, unescape_name};
pub use opensm::{write_fdbs, write_mcfdbs, write_subnet_list};
pub use snapshot_xml::{SnapshotOptions, utc_date, write_snapshot};
pub use topology_xml::write_topology;
