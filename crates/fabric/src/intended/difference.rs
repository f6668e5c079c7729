//! Differences of a fabric from its topology file, in words.

use std::fmt;

use serde::Serialize;
use weft_wire::id::{Guid, PortNum};

use super::{Intended, IntendedEnd};
use crate::topology::{Node, PortRef, Topology};

/// A node, as file or fabric call it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeName {
    /// NodeGUID, none where the file has none.
    pub guid: Option<Guid>,
    /// NodeDesc, escaped, empty where the file has none.
    pub name: String,
}

/// One end of a cable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct End {
    /// The node.
    pub node: NodeName,
    /// The port.
    pub port: PortNum,
}

/// A cable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cable {
    /// One end.
    pub a: End,
    /// The other.
    pub b: End,
}

/// Something in which fabric and file differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Difference {
    /// A node of the file is not in the fabric.
    MissingNode {
        /// The node.
        node: NodeName,
        /// Where its first cable should lead.
        at: Option<End>,
    },
    /// A node that the file lacks.
    UnexpectedNode {
        /// The node.
        node: NodeName,
        /// Where its first cable leads.
        at: Option<End>,
    },
    /// Another device in the place of a node, or under its description.
    ReplacedNode {
        /// In the file.
        intended: NodeName,
        /// In the fabric.
        found: NodeName,
        /// Where its first cable leads.
        at: Option<End>,
    },
    /// Another description.
    Description {
        /// In the file.
        intended: NodeName,
        /// In the fabric.
        found: NodeName,
    },
    /// Another PortGUID.
    PortGuid {
        /// The port.
        port: End,
        /// In the file.
        intended: Guid,
        /// In the fabric.
        found: Option<Guid>,
    },
    /// A cable of the file is not there.
    MissingLink {
        /// In the file.
        intended: Cable,
    },
    /// A cable that the file lacks.
    UnexpectedLink {
        /// In the fabric.
        found: Cable,
    },
    /// One end of a cable is in another port.
    MovedLink {
        /// In the file.
        intended: Cable,
        /// In the fabric.
        found: Cable,
    },
    /// Two cables have changed places.
    SwappedLinks {
        /// In the file.
        intended: [Cable; 2],
        /// In the fabric.
        found: [Cable; 2],
    },
}

impl NodeName {
    pub(super) fn in_file(intended: &Intended, node: u32) -> Self {
        let described = intended.described(node).unwrap_or_default();
        Self {
            guid: intended.nodes[node as usize].guid,
            name: crate::export::escape_name(described),
        }
    }

    pub(crate) fn in_fabric(node: &Node) -> Self {
        Self {
            guid: Some(node.guid()),
            name: node.name(),
        }
    }
}

impl End {
    pub(super) fn in_file(intended: &Intended, end: &IntendedEnd) -> Self {
        Self {
            node: NodeName::in_file(intended, end.node),
            port: end.port,
        }
    }

    pub(super) fn in_fabric(topology: &Topology, at: PortRef) -> Option<Self> {
        Some(Self {
            node: NodeName::in_fabric(topology.node(at.node)?),
            port: at.port,
        })
    }
}

impl Cable {
    pub(super) fn in_file(intended: &Intended, [a, b]: &[IntendedEnd; 2]) -> Self {
        let [a, b] = [a, b].map(|end| End::in_file(intended, end));
        Self { a, b }
    }

    pub(crate) fn in_fabric(topology: &Topology, (a, b): (PortRef, PortRef)) -> Option<Self> {
        Some(Self {
            a: End::in_fabric(topology, a)?,
            b: End::in_fabric(topology, b)?,
        })
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name.as_str(), self.guid) {
            ("", Some(guid)) => write!(f, "{guid}"),
            (name, Some(guid)) => write!(f, "{name} ({guid})"),
            (name, None) => f.write_str(name),
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port {} of {}", self.port, self.node)
    }
}

impl fmt::Display for Cable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.a, self.b)
    }
}

/// `, at …` where the place is known.
struct At<'a>(&'a Option<End>);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(end) => write!(f, ", at {end}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingNode { node, at } => write!(f, "missing node: {node}{}", At(at)),
            Self::UnexpectedNode { node, at } => write!(f, "unexpected node: {node}{}", At(at)),
            Self::ReplacedNode {
                intended,
                found,
                at,
            } => {
                write!(f, "replaced node: {intended} by {found}{}", At(at))
            }
            Self::Description { intended, found } => write!(
                f,
                "wrong description: {found}, the file has {:?}",
                intended.name
            ),
            Self::PortGuid {
                port,
                intended,
                found,
            } => match found {
                Some(found) => {
                    write!(
                        f,
                        "wrong PortGUID: {found} at {port}, the file has {intended}"
                    )
                }
                None => write!(f, "wrong PortGUID: none at {port}, the file has {intended}"),
            },
            Self::MissingLink { intended } => write!(f, "missing link: {intended}"),
            Self::UnexpectedLink { found } => write!(f, "unexpected link: {found}"),
            Self::MovedLink { intended, found } => {
                write!(f, "moved link: {found}; the file has {intended}")
            }
            Self::SwappedLinks { intended, found } => write!(
                f,
                "swapped links: {} and {}; the file has {} and {}",
                found[0], found[1], intended[0], intended[1]
            ),
        }
    }
}
