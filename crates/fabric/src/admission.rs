//! Devices that are not let into the fabric, and what is wrong with them.

use std::fmt;

use serde::{Deserialize, Serialize};
use weft_state::State;
use weft_wire::id::{Guid, PortNum};
use weft_wire::sm::{NodeDescription, NodeInfo};

/// What is wrong with a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum Defect {
    /// It names another NodeGUID than its neighbour's hardware reports.
    NodeGuid = 1,
    /// It names another type of node than its neighbour's hardware reports.
    NodeType = 2,
    /// It names another port than its neighbour's hardware reports.
    PortNumber = 4,
    /// The PortGUID of an HFI does not follow from its NodeGUID and port.
    PortGuid = 8,
    /// An HFI has another LID than the switch's port before it.
    Lid = 16,
    /// The neighbour's hardware has not checked the firmware of a switch.
    Firmware = 32,
    /// It has no format of packets in common with its neighbour.
    PacketFormats = 64,
    /// The forwarding table of a switch is too small for all LIDs.
    TableSize = 128,
    /// Its packets are smaller than all have to carry.
    Mtu = 256,
    /// It has fewer virtual lanes than are in use.
    Lanes = 512,
}

/// All defects, in the order in which they are named.
const ALL: [(Defect, &str); 10] = [
    (Defect::NodeGuid, "another NodeGUID"),
    (Defect::NodeType, "another type of node"),
    (Defect::PortNumber, "another port number"),
    (Defect::PortGuid, "a wrong PortGUID"),
    (Defect::Lid, "another LID"),
    (Defect::Firmware, "firmware that is not checked"),
    (Defect::PacketFormats, "no common packet format"),
    (Defect::TableSize, "a forwarding table that is too small"),
    (Defect::Mtu, "an MTU that is too small"),
    (Defect::Lanes, "too few virtual lanes"),
];

/// A set of [`Defect`]s; displays as a list in words.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, State,
)]
pub struct Defects(u16);

impl Defects {
    /// Adds one.
    pub fn insert(&mut self, defect: Defect) {
        self.0 |= defect as u16;
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether one is in it.
    pub fn contains(self, defect: Defect) -> bool {
        self.0 & defect as u16 != 0
    }

    /// Whether one of them is a statement of the device about itself, not what it is capable of.
    pub fn is_of_statements(self) -> bool {
        STATEMENTS.iter().any(|defect| self.contains(*defect))
    }
}

/// Those that are false statements of a device about itself, or statements that nobody has checked.
const STATEMENTS: [Defect; 6] = [
    Defect::NodeGuid,
    Defect::NodeType,
    Defect::PortNumber,
    Defect::PortGuid,
    Defect::Lid,
    Defect::Firmware,
];

impl FromIterator<Defect> for Defects {
    fn from_iter<T: IntoIterator<Item = Defect>>(defects: T) -> Self {
        let mut all = Self::default();
        defects.into_iter().for_each(|defect| all.insert(defect));
        all
    }
}

impl fmt::Display for Defects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ALL.iter().filter(|(defect, _)| self.contains(*defect));
        let names: Vec<&str> = names.map(|(_, name)| *name).collect();
        f.write_str(&names.join(", "))
    }
}

/// A device that is not let into the fabric: it is no node of the topology, unless other links lead to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub struct RefusedNode {
    /// The port before it, of a node that is trusted.
    pub trusted: (Guid, PortNum),
    /// NodeGUID that the hardware of that port reports.
    pub neighbour: Guid,
    /// What the device says about itself; its port is the one at the other end of the link.
    pub info: NodeInfo,
    /// Its name, as it says.
    pub description: NodeDescription,
    /// What is wrong with it.
    pub defects: Defects,
}
