//! The end ports of a virtual fabric.

use weft_fabric::{Lid, Node, PortRef, Topology};

use super::Fabrics;
use crate::settings::VirtualFabric;
use crate::settings::members::{Candidate, Selector};

/// A member of a virtual fabric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The port.
    pub at: PortRef,
    /// It reaches all members; without security each member does.
    pub full: bool,
    /// The device groups that make it one, in the order of the file.
    pub groups: Vec<String>,
}

/// The ports that can be members: those with a LID.
pub fn end_ports(topology: &Topology) -> impl Iterator<Item = (PortRef, &Node)> {
    topology.nodes().flat_map(|(id, node)| {
        let with_lid = node.end_ports().filter(|(_, port)| port.info.lid != Lid(0));
        with_lid.map(move |(port, _)| (PortRef { node: id, port }, node))
    })
}

impl Fabrics<'_> {
    /// The members of a virtual fabric, in order of node and port; none of one that is on standby.
    pub fn members(&self, fabric: &VirtualFabric) -> impl Iterator<Item = Member> {
        let topology = &self.snapshot.topology;
        let ends = end_ports(topology).filter(|_| !fabric.standby);
        ends.filter_map(move |(at, node)| {
            let candidate = Candidate::new(topology, node, at);
            let full = fabric.full.contains(&candidate);
            let members = match full {
                true => &fabric.full,
                false => &fabric.limited,
            };
            let groups: Vec<String> = members
                .naming(&candidate)
                .map(Selector::to_string)
                .collect();
            (!groups.is_empty()).then_some(Member {
                at,
                full: full || !fabric.security,
                groups,
            })
        })
    }

    /// Whether a port is in a virtual fabric, and whether as a full member.
    pub(super) fn membership(&self, fabric: &VirtualFabric, at: PortRef) -> Option<bool> {
        let topology = &self.snapshot.topology;
        let candidate = Candidate::new(topology, topology.node(at.node)?, at);
        let full = fabric.full.contains(&candidate);
        let is_member = full || fabric.limited.contains(&candidate);
        (is_member && !fabric.standby).then_some(full || !fabric.security)
    }
}
