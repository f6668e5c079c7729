//! The fabric as it should be: nodes and cables of a topology file, and what differs from it.
//!
//! | module | contents |
//! |---|---|
//! | this one | the file's contents as a value, with look-ups |
//! | `faults`, `judge` | which links of a fabric are not to be trusted, as a manager finds them from its own port on |
//! | `lids` | LIDs that it prescribes |
//! | `identify`, `compare`, `difference` | all differences, as people name them: missing, moved, swapped, replaced |

mod build;
mod compare;
mod difference;
mod faults;
mod identify;
mod judge;
mod lids;
mod stored;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weft_state::State;
use weft_wire::enums::NodeType;
use weft_wire::id::{Guid, Lid, Lmc, PortNum};
use weft_wire::sm::NodeDescription;

use crate::topology::Node;
use stored::Stored;

pub use build::{EndSelector, IntendedBuilder, IntendedError};
pub use compare::compare;
pub use difference::{Cable, Difference, End, NodeName};
pub use faults::{Fault, Faults, Look, Rules};
pub use judge::{Finding, Judgement, judge};

/// A node of a topology file. What the file does not say is not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct IntendedNode {
    /// NodeGUID.
    pub guid: Option<Guid>,
    /// NodeDesc.
    pub description: Option<NodeDescription>,
    /// Switch or HFI.
    pub node_type: NodeType,
    /// Line in the file, from 1.
    pub line: u64,
}

impl IntendedNode {
    /// Whether it is a switch.
    pub fn is_switch(&self) -> bool {
        self.node_type == NodeType::SWITCH
    }
}

/// One end of a cable of a topology file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct IntendedEnd {
    /// Index of the node in [`Intended::nodes`].
    pub node: u32,
    /// The port.
    pub port: PortNum,
    /// PortGUID of an HFI's port.
    pub port_guid: Option<Guid>,
}

/// A cable of a topology file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct IntendedLink {
    /// Both ends, in the order of the file.
    pub ends: [IntendedEnd; 2],
    /// Line in the file, from 1.
    pub line: u64,
}

/// A subnet manager of a topology file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct IntendedSm {
    /// NodeGUID of its node.
    pub node_guid: Option<Guid>,
    /// PortGUID of its port.
    pub port_guid: Option<Guid>,
}

/// The contents of a topology file: at least one cable, at most one a port, every node reached by some cable, and
/// all of them joined. Made by [`IntendedBuilder`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, State)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Intended {
    nodes: Vec<IntendedNode>,
    links: Vec<IntendedLink>,
    sms: Vec<IntendedSm>,
    /// Cables inside a chassis are not in the file.
    is_external_only: bool,
    /// Nodes that have a GUID, in order of it.
    by_guid: Vec<(Guid, u32)>,
    /// Nodes that have a description, in order of it, then of the node.
    by_name: Vec<u32>,
    /// For each node its ports with cables, in order: port, index of the cable.
    cables: Vec<Vec<(PortNum, u32)>>,
    /// Base LID and LMC by node and port, port 0 for a switch.
    lids: BTreeMap<(u32, PortNum), (Lid, Lmc)>,
}

impl Intended {
    /// The nodes, in the order of the file.
    pub fn nodes(&self) -> &[IntendedNode] {
        &self.nodes
    }

    /// The cables, in the order of the file.
    pub fn links(&self) -> &[IntendedLink] {
        &self.links
    }

    /// The subnet managers, in the order of the file.
    pub fn sms(&self) -> &[IntendedSm] {
        &self.sms
    }

    /// Whether cables inside a chassis are not in the file, so that they are never wrong.
    pub fn is_external_only(&self) -> bool {
        self.is_external_only
    }

    /// A node by its GUID.
    pub fn find(&self, guid: Guid) -> Option<u32> {
        let place = self.by_guid.binary_search_by_key(&guid, |(guid, _)| *guid);
        place.ok().map(|at| self.by_guid[at].1)
    }

    /// The node that a device is by its GUID, else by that of an HFI in whose place it is.
    pub fn node_of(&self, node: &Node) -> Option<u32> {
        node.guids().find_map(|guid| self.find(guid))
    }

    /// The nodes of a kind with a description, in the order of the file.
    pub fn named(
        &self,
        description: &NodeDescription,
        node_type: NodeType,
    ) -> impl Iterator<Item = u32> {
        let key = Some(description.bytes());
        let from = self
            .by_name
            .partition_point(|node| self.described(*node) < key);
        let same = self.by_name[from..].iter().copied();
        same.take_while(move |node| self.described(*node) == key)
            .filter(move |node| self.nodes[*node as usize].node_type == node_type)
    }

    /// The description of a node, without what follows its end.
    fn described(&self, node: u32) -> Option<&[u8]> {
        let description = self.nodes[node as usize].description.as_ref();
        description.map(NodeDescription::bytes)
    }

    /// The cable at a port: the near end, and the one that should be at the other end.
    pub fn cable(&self, node: u32, port: PortNum) -> Option<(&IntendedEnd, &IntendedEnd)> {
        let link = &self.links[self.cable_index(node, port)? as usize];
        let [a, b] = &link.ends;
        match (a.node, a.port) == (node, port) {
            true => Some((a, b)),
            false => Some((b, a)),
        }
    }

    /// Index in [`Self::links`] of the cable at a port.
    pub(crate) fn cable_index(&self, node: u32, port: PortNum) -> Option<u32> {
        let cables = self.cables.get(node as usize)?;
        let place = cables.binary_search_by_key(&port, |(port, _)| *port);
        place.ok().map(|at| cables[at].1)
    }
}
