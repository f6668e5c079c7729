//! Fabrics made from a line of text.
//!
//! | text | fabric |
//! |---|---|
//! | `one-switch:4` | one switch with 4 hosts; `radix=` |
//! | `back-to-back` | two HFIs on one cable |
//! | `fattree:1152` | fat tree for 1,152 hosts; `radix=48`, `tiers=2\|3`, `oversubscription=1`, `taper=1`, `links=` |
//! | `pgft:2;24,48;1,24;1,1` | parallel-ports generalised fat tree: height; children; parents; parallel links, from the hosts up; then `radix=48` |
//! | `mesh:4x4` | switches in a grid of any dimensions; `hosts=1`, `links=1` |
//! | `torus:4x4x4` | grid with wrap-around; `hosts=1`, `links=1` |
//! | `hypercube:6` | 2^6 switches; `hosts=1` |
//! | `dragonfly:4,8,4` | hosts on a switch, switches of a group, cables of a switch to other groups; `groups=` |
//! | `dragonfly-plus:4,4,4,4` | hosts on a leaf; leaves, spines of a group; cables of a spine to other groups; `groups=` |
//! | `hyperx:4x4` | switches in a grid, all of a row cabled to each other; `hosts=1`, `links=1` |
//! | `slimfly:5` | Slim Fly of 2q² switches; `hosts=` |
//! | `jellyfish:50,7` | random cables: switches, cables of each to others; `hosts=1`, `seed=0` |
//! | `swd06`, `swd24` | OPA director chassis with its internal wiring; `hosts=16` on each leaf chip |
//! | `file:PATH`, or a path | an ibnetdiscover dump or an opareport snapshot, see [`crate::import`] |
//!
//! Options follow the first value, or the colon, and are separated by commas (`pgft`: semicolons).
//! All switches are of the OPA100 series, with 48 ports unless `radix=` says otherwise.
//! Hosts come first in the order of nodes, then switches from the hosts up.

mod director;
mod fat_tree;
mod grid;
mod pgft;
mod small;
mod spec;
mod studied;

use thiserror::Error;

use crate::topology::{Topology, TopologyError};
pub use director::{Chassis, Director};
pub use fat_tree::FatTree;
pub use grid::Grid;
pub use pgft::Pgft;
pub use small::OneSwitch;
pub use spec::{SpecError, fabrics};
pub use studied::Described;

/// Most hosts that a generated fabric may have.
pub const HOSTS_MAX: u64 = 600_000;
/// Most switches that a generated fabric may have.
pub const SWITCHES_MAX: u64 = 100_000;
/// Most links that a generated fabric may have.
pub const LINKS_MAX: u64 = 2_000_000;
/// Most ports that a switch may have: its ports are numbered 1 to 254.
pub const RADIX_MAX: u8 = 254;

/// A fabric, described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FabricSpec {
    /// One switch and its hosts.
    OneSwitch(OneSwitch),
    /// Two HFIs on one cable.
    BackToBack,
    /// A fat tree for a number of hosts.
    FatTree(FatTree),
    /// A fat tree by its parameters.
    Pgft(Pgft),
    /// A mesh, a torus or a hypercube.
    Grid(Grid),
    /// A director chassis.
    Director(Director),
    /// One of a family that people study.
    Studied(Described),
    /// A file to import; the caller reads it.
    File(String),
}

/// Why a described fabric cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GenerateError {
    /// A size is out of its range.
    #[error("{what} is {actual}, allowed are {allowed}")]
    OutOfRange {
        /// Name of the parameter.
        what: &'static str,
        /// Its value.
        actual: u64,
        /// Allowed values.
        allowed: String,
    },
    /// A file is read by the caller, not generated.
    #[error("{path} is a file: read it and import its text")]
    IsFile {
        /// The path.
        path: String,
    },
    /// The cables do not fit; a fault of the generator.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

impl FabricSpec {
    /// The described fabric, freshly powered on: no LIDs, links up, ports in Init.
    ///
    /// # Errors
    /// [`GenerateError::OutOfRange`] when it would be larger than [`HOSTS_MAX`],
    /// [`SWITCHES_MAX`] or [`LINKS_MAX`] or a switch has too few ports, [`GenerateError::IsFile`] for a file.
    pub fn generate(&self) -> Result<Topology, GenerateError> {
        match self {
            Self::OneSwitch(spec) => spec.generate(),
            Self::BackToBack => small::back_to_back(),
            Self::FatTree(spec) => spec.pgft()?.generate(),
            Self::Pgft(spec) => spec.generate(),
            Self::Grid(spec) => spec.generate(),
            Self::Director(spec) => spec.generate(),
            Self::Studied(spec) => spec.generate(),
            Self::File(path) => Err(GenerateError::IsFile { path: path.clone() }),
        }
    }
}

/// Checks that a size is in its range.
fn in_range(what: &'static str, actual: u64, min: u64, max: u64) -> Result<u64, GenerateError> {
    if (min..=max).contains(&actual) {
        return Ok(actual);
    }
    let allowed = if min == max {
        min.to_string()
    } else {
        format!("{min} to {max}")
    };
    Err(GenerateError::OutOfRange {
        what,
        actual,
        allowed,
    })
}
