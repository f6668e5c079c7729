//! Which node of a file each node of a fabric is.

use std::collections::BTreeMap;

use weft_wire::enums::NodeType;

use super::Intended;
use crate::topology::{Node, NodeId, PortRef, Topology};

/// Most replaced nodes in a row that are recognised by their places; those behind them are unexpected.
const ROUNDS_MAX: usize = 16;

/// The nodes of a file in a fabric, and the other way round.
#[derive(Debug)]
pub(super) struct Identities {
    /// For each node of the fabric its node in the file.
    pub(super) in_file: Vec<Option<u32>>,
    /// For each node of the file its node in the fabric.
    pub(super) in_fabric: Vec<Option<NodeId>>,
}

impl Identities {
    /// Nodes by GUID. Those left over on both sides by description where only one on each side has it, then by
    /// the place at the other end of a cable: they have been replaced.
    pub(super) fn find(intended: &Intended, topology: &Topology) -> Self {
        let mut found = Self {
            in_file: vec![None; topology.len()],
            in_fabric: vec![None; intended.nodes.len()],
        };
        for (id, node) in topology.nodes() {
            if let Some(file) = intended.node_of(node) {
                found.pair(file, id);
            }
        }
        found.by_description(intended, topology);
        // A node that was identified by its place may be the place of others.
        for _ in 0..ROUNDS_MAX {
            if !found.by_place(intended, topology) {
                break;
            }
        }
        found
    }

    fn pair(&mut self, file: u32, id: NodeId) {
        self.in_file[id.0 as usize] = Some(file);
        self.in_fabric[file as usize] = Some(id);
    }

    fn is_free(&self, file: u32) -> bool {
        self.in_fabric[file as usize].is_none()
    }

    /// Nodes of the fabric that have none in the file yet.
    fn unknown(&self, topology: &Topology) -> Vec<NodeId> {
        let unknown = topology.nodes().map(|(id, _)| id);
        let is_unknown = |id: &NodeId| self.in_file[id.0 as usize].is_none();
        unknown.filter(is_unknown).collect()
    }

    fn by_description(&mut self, intended: &Intended, topology: &Topology) {
        let mut named: BTreeMap<(&[u8], bool), Vec<NodeId>> = BTreeMap::new();
        for id in self.unknown(topology) {
            if let Some(node) = topology.node(id) {
                let key = (node.description.bytes(), node.is_switch());
                named.entry(key).or_default().push(id);
            }
        }
        for ids in named.into_values() {
            let [id] = ids[..] else { continue };
            let Some(node) = topology.node(id) else {
                continue;
            };
            let same = intended.named(&node.description, kind(node));
            let free: Vec<u32> = same.filter(|file| self.is_free(*file)).take(2).collect();
            if let [file] = free[..] {
                self.pair(file, id);
            }
        }
    }

    /// One round of identification by place; returns whether it found any.
    fn by_place(&mut self, intended: &Intended, topology: &Topology) -> bool {
        let mut any = false;
        for id in self.unknown(topology) {
            if let Some(file) = self.place(intended, topology, id) {
                self.pair(file, id);
                any = true;
            }
        }
        any
    }

    /// The free node of the file to which all cables of a node lead that have a place in the file.
    fn place(&self, intended: &Intended, topology: &Topology, id: NodeId) -> Option<u32> {
        let node = topology.node(id)?;
        let at = |peer: PortRef| {
            let near = self.in_file[peer.node.0 as usize]?;
            Some(intended.cable(near, peer.port)?.1.node)
        };
        let peers = node.external_ports().filter_map(|(_, port)| port.peer);
        let mut places = peers.filter_map(at);
        let first = places.next()?;
        let fits = self.is_free(first) && intended.nodes[first as usize].node_type == kind(node);
        (fits && places.all(|place| place == first)).then_some(first)
    }
}

fn kind(node: &Node) -> NodeType {
    node.info.node_type
}
