//! Points: names of parts of a fabric, in the syntax of the vendor's tools
//! (`nodepat:"NodeA hfi1_0":port:1`).
//!
//! A [`Point`] is parsed text; [`Point::select`] resolves it in a snapshot to
//! a [`Selection`]. Two deliberate differences from the vendor's tools:
//! a name or pattern may be in double quotes, or contain `\:` for a colon, so that every node can
//! be named; and a keyword that needs data which is not there is an
//! error, where the vendor's tools find nothing.

mod entries;
mod glob;
mod parse;
mod select;
mod shown;
mod words;

pub use entries::Entries;
pub use glob::Glob;
pub use parse::{KEYWORDS, MAX_POINT_LEN, PointError};
pub use select::{Known, NotFound, Selection};

use weft_fabric::enums::{Mtu, PhysState, PortState};
use weft_fabric::{CableKind, CableText, Guid, Lid, PortNum};

/// A part of a fabric, as a person named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Point {
    /// `gid:PREFIX:GUID`, a port.
    Gid {
        /// Subnet prefix.
        prefix: u64,
        /// Port GUID.
        guid: Guid,
    },
    /// `lid:N`, the port that answers to it.
    Lid(Lid),
    /// `portguid:GUID`.
    PortGuid(Guid),
    /// A set of nodes.
    Nodes(NodeMatch),
    /// One port of each of a set of nodes, where it has it.
    NodePort(NodeMatch, PortNum),
    /// A set of ports by reported attributes.
    Ports(PortMatch),
    /// `sm`, the master's port.
    Sm,
    /// Ports by what a topology file says of them: `labelpat:GLOB` and its like.
    Noted(Note, Glob),
    /// Ports by what their cables say of themselves: `cabinftype:optical` and its like.
    Cable(CableMatch),
    /// `route:POINT:POINT`, all ports on the paths between two points.
    Route(Box<Point>, Box<Point>),
    /// `nodepairpatfile:FILE`, the ports of all links between nodes of a pair of patterns.
    Pairs(Vec<(Glob, Glob)>),
}

/// Selects nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeMatch {
    /// `lid:N:node`, `lid:N:port:P`: the node that answers to it.
    Lid(Lid),
    /// `nodeguid:GUID`.
    Guid(Guid),
    /// `systemguid:GUID`: all nodes of a chassis or card.
    System(Guid),
    /// `node:NAME`.
    Name(String),
    /// `nodepat:GLOB`.
    Pattern(Glob),
    /// `nodepatfile:FILE`: any of the patterns.
    Patterns(Vec<Glob>),
    /// `nodedetpat:GLOB`: details in a topology file.
    Details(Glob),
    /// `nodetype:SW`: switches; `nodetype:FI`: HFIs.
    Type {
        /// Switches rather than HFIs.
        switch: bool,
    },
}

/// Selects ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortMatch {
    /// `rate:100g`: lanes × Gb/s a lane, in units of 0.5 Gb/s; not a switch's port 0.
    Rate {
        /// Twice the rate in Gb/s as it is called (100g is 200).
        half_gigabits: u32,
    },
    /// `portstate:armed`.
    State(StateMatch),
    /// `portphysstate:linkup`.
    PhysState(PhysState),
    /// `mtucap:10240`; not a switch's port 0.
    MtuCap(Mtu),
    /// `led:on`.
    Led(bool),
    /// `linkcrc:14b`, `linkcrcNE:14b`; not a switch's port 0.
    LinkCrc {
        /// Code of the mode in use: 1 14 bit, 2 16 bit, 4 48 bit, 8 per lane.
        mode: u8,
        /// Ports that use another.
        negated: bool,
    },
    /// `ldr`, `ldr:N`: why the link went down, here or at the neighbour; none: any reason.
    LinkDownReason(Option<u8>),
    /// `linkqual:N`, `linkqualLE:N`, `linkqualGE:N`: LinkQualityIndicator as the port's counters have it.
    Quality(Comparison, u8),
}

/// How a number compares with the one that was named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// It is that one.
    Equal,
    /// It is that one or less.
    AtMost,
    /// It is that one or more.
    AtLeast,
}

/// A remark of a topology file about ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// `labelpat`: label of the cable.
    CableLabel,
    /// `lengthpat`: length of the cable.
    CableLength,
    /// `cabledetpat`: details of the cable.
    CableDetails,
    /// `linkdetpat`: details of the link.
    LinkDetails,
    /// `portdetpat`: details of the port.
    PortDetails,
    /// `smdetpat`: details of the subnet manager on the port.
    SmDetails,
}

/// Selects ports by the memories of their cables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CableMatch {
    /// `cabinftype`.
    Kind(CableKind),
    /// `cabinflenpat`: its length in metres, with or without `m`.
    Length(Glob),
    /// `cabinfvendnamepat`, `cabinfvendpnpat`, `cabinfvendrevpat`, `cabinfvendsnpat`.
    Text(CableText, Glob),
}

/// What a point needs besides nodes, ports, links and routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A topology file.
    TopologyFile,
    /// Counters of ports.
    Counters,
    /// Memories of cables.
    Cables,
    /// Forwarding tables.
    Routes,
}

impl Point {
    /// What it needs besides the fabric.
    pub fn needs(&self) -> Vec<Need> {
        match self {
            Self::Noted(..)
            | Self::Nodes(NodeMatch::Details(_))
            | Self::NodePort(NodeMatch::Details(_), _) => vec![Need::TopologyFile],
            Self::Ports(PortMatch::Quality(..)) => vec![Need::Counters],
            Self::Cable(_) => vec![Need::Cables],
            Self::Route(from, to) => [vec![Need::Routes], from.needs(), to.needs()].concat(),
            _ => Vec::new(),
        }
    }
}

/// Selects logical states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateMatch {
    /// This one.
    Is(PortState),
    /// `notactive`: any but Active.
    NotActive,
    /// `initarmed`: Init or Armed.
    InitArmed,
}
