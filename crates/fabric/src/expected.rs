//! What a topology file says, as opareport takes it for its reports: every part of it may be left out, and nothing
//! in it needs to fit the rest.

use weft_wire::enums::{Mtu, NodeType};
use weft_wire::id::{Guid, PortNum};

/// The contents of a topology file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expected {
    /// The file has a list of nodes.
    pub has_nodes: bool,
    /// HFIs and switches, in the order of the file.
    pub nodes: Vec<ExpectedNode>,
    /// Subnet managers, in the order of the file.
    pub sms: Vec<ExpectedSm>,
    /// The file has a list of links.
    pub has_links: bool,
    /// Links, in the order of the file.
    pub links: Vec<ExpectedLink>,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedNode {
    /// NodeGUID.
    pub guid: Option<Guid>,
    /// Its name.
    pub name: Option<String>,
    /// Switch or HFI.
    pub node_type: NodeType,
    /// What a person wrote about it.
    pub details: Option<String>,
    /// Line in the file, from 1.
    pub line: u64,
}

/// A subnet manager.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExpectedSm {
    /// Its port.
    pub end: ExpectedEnd,
    /// What a person wrote about it.
    pub details: Option<String>,
    /// Line in the file, from 1.
    pub line: u64,
}

/// A port.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExpectedEnd {
    /// NodeGUID.
    pub guid: Option<Guid>,
    /// PortGUID.
    pub port_guid: Option<Guid>,
    /// Its number.
    pub port: Option<PortNum>,
    /// Name of its node.
    pub name: Option<String>,
    /// Switch or HFI.
    pub node_type: Option<NodeType>,
    /// What a person wrote about it.
    pub details: Option<String>,
}

/// A link.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExpectedLink {
    /// Its rate as the vendor's tools call it, such as 100g.
    pub rate: Option<String>,
    /// Its MTU.
    pub mtu: Option<Mtu>,
    /// Both ends are in one chassis.
    pub internal: bool,
    /// What a person wrote about it.
    pub details: Option<String>,
    /// Its cable.
    pub cable: ExpectedCable,
    /// Its ends, in the order of the file.
    pub ends: [Option<ExpectedEnd>; 2],
    /// Line in the file, from 1.
    pub line: u64,
}

/// A cable, as a person described it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExpectedCable {
    /// The text on it.
    pub label: Option<String>,
    /// How long it is.
    pub length: Option<String>,
    /// Anything else.
    pub details: Option<String>,
}

impl ExpectedCable {
    /// Whether nothing is said of it.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
