//! Puts an [`Intended`] together and checks it.

use thiserror::Error;
use weft_wire::enums::NodeType;
use weft_wire::id::{Guid, Lid, Lmc, PortNum};
use weft_wire::sm::NodeDescription;

use super::{Intended, IntendedEnd, IntendedLink, IntendedNode, IntendedSm};

/// A cable's end, as a file describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EndSelector {
    /// NodeGUID.
    pub guid: Option<Guid>,
    /// NodeDesc.
    pub description: Option<NodeDescription>,
    /// Switch or HFI, none where it is not said.
    pub node_type: Option<NodeType>,
    /// PortGUID.
    pub port_guid: Option<Guid>,
    /// The port.
    pub port: PortNum,
}

/// Nodes or cables that make no topology.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum IntendedError {
    /// Two nodes with one GUID.
    #[error("a second node with GUID {0}")]
    DuplicateGuid(Guid),
    /// Two descriptions of one port.
    #[error("a second description of port {0}")]
    DuplicatePort(PortNum),
    /// A node without a LID, where LIDs are to be those of the file.
    #[error("{0} has no LID")]
    NoLid(String),
    /// A LID that no port can have.
    #[error(
        "{node} has LID {lid} with LMC {lmc}; allowed are multiples of 2^LMC, LMC 0 to 7, LIDs 1 to {highest}"
    )]
    BadLid {
        /// The node.
        node: String,
        /// Its LID.
        lid: Lid,
        /// Its LMC.
        lmc: u8,
        /// The highest LID that is allowed.
        highest: Lid,
    },
    /// A LID that two ports have.
    #[error("LID {lid} of {node} is one of {other} already")]
    LidTaken {
        /// The node.
        node: String,
        /// Its LID.
        lid: Lid,
        /// The node that has it.
        other: String,
    },
    /// An end names neither a GUID nor a description.
    #[error("an end of a cable has neither NodeGUID nor NodeDesc")]
    NoName,
    /// No such node.
    #[error("a cable to node {0}, which is not in <Nodes>")]
    UnknownNode(String),
    /// A cable to port 0 of a switch.
    #[error("a cable to port {0}, which can have none")]
    Port(PortNum),
    /// NodeDesc of a cable's end is not that of its node.
    #[error("NodeDesc of the cable's end is {end:?}, that of its node is {node:?}")]
    Description {
        /// At the end.
        end: String,
        /// Of the node.
        node: String,
    },
    /// NodeType of a cable's end is not that of its node.
    #[error("NodeType of the cable's end is not that of its node {0}")]
    Type(String),
    /// Two cables at a port, or one from a port to itself.
    #[error("a second cable at port {port} of {node}")]
    PortTaken {
        /// The node.
        node: String,
        /// The port.
        port: PortNum,
    },
    /// No cable at all.
    #[error("it has no cable")]
    NoLinks,
    /// Nodes that no cables join to the others.
    #[error("no cables join {node} to {to}")]
    Disjoint {
        /// A node.
        node: String,
        /// The node from which the search began.
        to: String,
    },
}

/// Puts an [`Intended`] together: nodes first, then cables.
#[derive(Debug, Default)]
pub struct IntendedBuilder {
    intended: Intended,
    /// Nodes are complete: look-ups are in order.
    is_sorted: bool,
}

impl IntendedBuilder {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node.
    pub fn node(&mut self, node: IntendedNode) {
        self.intended.nodes.push(node);
        self.intended.cables.push(Vec::new());
        self.is_sorted = false;
    }

    /// Adds LIDs of a port of the last node.
    ///
    /// # Errors
    /// [`IntendedError::DuplicatePort`].
    pub fn lids(&mut self, port: PortNum, lid: Lid, lmc: Lmc) -> Result<(), IntendedError> {
        let node = self.intended.nodes.len().saturating_sub(1) as u32;
        match self.intended.lids.insert((node, port), (lid, lmc)) {
            Some(_) => Err(IntendedError::DuplicatePort(port)),
            None => Ok(()),
        }
    }

    /// Adds a subnet manager.
    pub fn sm(&mut self, sm: IntendedSm) {
        self.intended.sms.push(sm);
    }

    /// Cables inside a chassis are not in the file.
    pub fn set_external_only(&mut self) {
        self.intended.is_external_only = true;
    }

    /// Ends the list of nodes. Returns the line of a node with its error.
    ///
    /// # Errors
    /// [`IntendedError::DuplicateGuid`].
    pub fn end_nodes(&mut self) -> Result<(), (u64, IntendedError)> {
        let all = &mut self.intended;
        let numbered = || (0_u32..).zip(&all.nodes);
        let mut by_guid: Vec<(Guid, u32)> = numbered()
            .filter_map(|(index, node)| Some((node.guid?, index)))
            .collect();
        by_guid.sort_unstable();
        if let Some(pair) = by_guid.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let line = all.nodes[pair[1].1 as usize].line;
            return Err((line, IntendedError::DuplicateGuid(pair[1].0)));
        }
        let named = numbered().filter(|(_, node)| node.description.is_some());
        let mut by_name: Vec<u32> = named.map(|(index, _)| index).collect();
        by_name.sort_by_key(|node| (all.described(*node), *node));
        (all.by_guid, all.by_name) = (by_guid, by_name);
        self.is_sorted = true;
        Ok(())
    }

    /// Adds a cable.
    ///
    /// # Errors
    /// [`IntendedError`] where an end names no node or another one than it describes, or its port has a cable.
    pub fn link(&mut self, ends: [EndSelector; 2], line: u64) -> Result<(), IntendedError> {
        debug_assert!(self.is_sorted, "nodes are complete");
        let [a, b] = ends;
        let ends = [self.end(&a)?, self.end(&b)?];
        self.cable(IntendedLink { ends, line })
    }

    /// Adds a cable between nodes that are there, by their indices.
    pub(super) fn cable(&mut self, link: IntendedLink) -> Result<(), IntendedError> {
        let index = self.intended.links.len() as u32;
        for end in &link.ends {
            let Some(cables) = self.intended.cables.get_mut(end.node as usize) else {
                let number = format!("number {}", end.node);
                return Err(IntendedError::UnknownNode(number));
            };
            let place = cables.binary_search_by_key(&end.port, |(port, _)| *port);
            match place {
                Err(place) => cables.insert(place, (end.port, index)),
                Ok(_) => {
                    return Err(IntendedError::PortTaken {
                        node: self.name(end.node),
                        port: end.port,
                    });
                }
            }
        }
        self.intended.links.push(link);
        Ok(())
    }

    fn end(&self, end: &EndSelector) -> Result<IntendedEnd, IntendedError> {
        let all = &self.intended;
        let kinds = match end.node_type {
            Some(kind) => vec![kind],
            None => vec![NodeType::SWITCH, NodeType::HFI],
        };
        let found = match (end.guid, end.description) {
            (Some(guid), _) => all.find(guid),
            (None, Some(name)) => kinds.iter().find_map(|kind| all.named(&name, *kind).next()),
            (None, None) => return Err(IntendedError::NoName),
        };
        let index = found.ok_or_else(|| IntendedError::UnknownNode(shown(end)))?;
        let node = &all.nodes[index as usize];
        if let Some((end, node)) = end.description.zip(node.description)
            && end.bytes() != node.bytes()
        {
            return Err(IntendedError::Description {
                end: text(&end),
                node: text(&node),
            });
        }
        if !kinds.contains(&node.node_type) {
            return Err(IntendedError::Type(self.name(index)));
        }
        if end.port == PortNum(0) {
            return Err(IntendedError::Port(end.port));
        }
        Ok(IntendedEnd {
            node: index,
            port: end.port,
            port_guid: end.port_guid.filter(|_| !node.is_switch()),
        })
    }

    fn name(&self, node: u32) -> String {
        self.intended.name(node)
    }

    /// The finished topology. Returns the line of a node with its error, 0 where there is none.
    ///
    /// # Errors
    /// [`IntendedError::NoLinks`], [`IntendedError::Disjoint`].
    pub fn build(self) -> Result<Intended, (u64, IntendedError)> {
        if self.intended.links.is_empty() {
            return Err((0, IntendedError::NoLinks));
        }
        match self.unreached() {
            None => Ok(self.intended),
            Some((node, from)) => {
                let line = self.intended.nodes[node as usize].line;
                let [node, to] = [node, from].map(|node| self.name(node));
                Err((line, IntendedError::Disjoint { node, to }))
            }
        }
    }

    /// The first node that no cables join to the first switch, and that one.
    fn unreached(&self) -> Option<(u32, u32)> {
        let all = &self.intended;
        let switch = all.nodes.iter().position(IntendedNode::is_switch);
        let from = switch.unwrap_or(0) as u32;
        let mut found = vec![false; all.nodes.len()];
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            if std::mem::replace(&mut found[node as usize], true) {
                continue;
            }
            let cables = all.cables[node as usize].iter();
            let ends = cables.flat_map(|(_, link)| all.links[*link as usize].ends);
            open.extend(
                ends.map(|end| end.node)
                    .filter(|node| !found[*node as usize]),
            );
        }
        let missing = found.iter().position(|found| !found)?;
        Some((missing as u32, from))
    }
}

impl Intended {
    /// A node as people know it: by its description, else by its GUID.
    pub fn name(&self, node: u32) -> String {
        let node = &self.nodes[node as usize];
        match (node.description, node.guid) {
            (Some(name), _) => text(&name),
            (None, Some(guid)) => guid.to_string(),
            (None, None) => format!("the node of line {}", node.line),
        }
    }
}

fn shown(end: &EndSelector) -> String {
    let name = end.description.map(|name| text(&name));
    let guid = end.guid.map(|guid| guid.to_string());
    guid.or(name).unwrap_or_default()
}

fn text(description: &NodeDescription) -> String {
    crate::export::escape_name(description.bytes())
}
