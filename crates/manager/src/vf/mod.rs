//! What the virtual fabrics of a configuration mean for the ports of a snapshot: which ports are in which, and
//! whether one may reach another.
//!
//! | module | contents |
//! |---|---|
//! | `members` | the end ports of a virtual fabric, and the device groups that put them there |
//! | `levels` | service levels, channels and virtual lanes |
//! | `reach` | whether a port may reach another: by which keys, and along which registers |
//! | `plan` | what other virtual fabrics would change |
//! | `way` | the links from one port to another, with the channel and lane on each |
//! | `words` | refusals in words |

mod levels;
mod members;
mod plan;
mod reach;
mod way;
mod words;

pub use levels::LevelUse;
pub use members::{Member, end_ports};
pub use plan::{ChangedFabric, ChangedPort, ChangedSetting, FabricPlan};
pub use reach::{HeldKey, LevelTo, Reach, Refused, Route, Why};
pub use way::{Hop, Register, RegisterValue};

use weft_fabric::Snapshot;

use crate::sa::SaSettings;
use crate::settings::VirtualFabric;

/// The virtual fabrics in force, over a snapshot.
#[derive(Debug, Clone, Copy)]
pub struct Fabrics<'a> {
    snapshot: &'a Snapshot,
    settings: &'a SaSettings,
}

/// A virtual fabric with the numbers of its members.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed<'a> {
    /// Its place in the file, from 0, as VFInfo records have it.
    pub index: usize,
    /// Its settings.
    pub fabric: &'a VirtualFabric,
    /// Full members.
    pub full: usize,
    /// Limited members.
    pub limited: usize,
    /// Its service levels as the manager's own port sends them, in each lane of routes.
    pub levels: Vec<LevelUse>,
}

impl<'a> Fabrics<'a> {
    /// The virtual fabrics of these settings over a snapshot.
    pub fn new(snapshot: &'a Snapshot, settings: &'a SaSettings) -> Self {
        Self { snapshot, settings }
    }

    /// All of them, those on standby among them, in the order of the file.
    pub fn list(&self) -> Vec<Listed<'a>> {
        let all = self.settings.fabrics.iter().enumerate();
        all.map(|(index, fabric)| self.listed(index, fabric))
            .collect()
    }

    /// The virtual fabric with this name.
    pub fn named(&self, name: &str) -> Option<&'a VirtualFabric> {
        let mut all = self.settings.fabrics.iter();
        all.find(|fabric| fabric.name == name)
    }

    /// The name of a virtual fabric, empty where there is none with this index.
    pub fn name(&self, index: usize) -> &'a str {
        let fabric = self.settings.fabrics.get(index);
        fabric.map_or("", |fabric| &fabric.name)
    }

    /// The fabric that they are over.
    pub fn snapshot(&self) -> &'a Snapshot {
        self.snapshot
    }

    fn listed(&self, index: usize, fabric: &'a VirtualFabric) -> Listed<'a> {
        let (mut full, mut limited) = (0, 0);
        for member in self.members(fabric) {
            match member.full {
                true => full += 1,
                false => limited += 1,
            }
        }
        Listed {
            index,
            fabric,
            full,
            limited,
            levels: self.levels(fabric),
        }
    }
}
