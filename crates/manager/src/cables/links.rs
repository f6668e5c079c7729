//! Links, and the known memories of their cables.

use std::collections::BTreeMap;

use weft_fabric::enums::PortType;
use weft_fabric::{Guid, Lid, NodeId, PortNum, PortRef, Snapshot, Topology};

use super::CableInfoPolicy;

/// A node's GUID and a port of it.
pub(super) type End = (Guid, PortNum);

/// The bytes of a cable's memory that are read: its upper half, addresses 128 to 255, with what
/// cable it is.
pub const CABLE_MEMORY: std::ops::RangeInclusive<u16> = 128..=255;

/// The bytes of [`CABLE_MEMORY`].
pub type CableMemory = [u8; 128];

/// Memories of cables by the ports that they are in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CableMemories {
    by_port: BTreeMap<End, CableMemory>,
}

impl CableMemories {
    /// The memory of the cable in a port of a node, none where it is not known.
    pub fn get(&self, node: Guid, port: PortNum) -> Option<&CableMemory> {
        self.by_port.get(&(node, port))
    }

    /// Ports whose cable is known.
    pub fn len(&self) -> usize {
        self.by_port.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.by_port.is_empty()
    }
}

/// The links of the last snapshot, and their memories.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// Peers, in both directions.
    peers: BTreeMap<End, End>,
    /// Ports whose memory could not be read, with their peers; they are not read again while their
    /// link lasts.
    refused: BTreeMap<End, End>,
    pub(super) memories: CableMemories,
}

impl Links {
    /// Sets the links of a snapshot, discards memories of others, and returns the ports to
    /// read, with the LIDs of their nodes.
    pub(super) fn renew(
        &mut self,
        snapshot: &Snapshot,
        policy: CableInfoPolicy,
    ) -> Vec<(End, Lid)> {
        let topology = &*snapshot.topology;
        let mut peers = BTreeMap::new();
        let mut asked = BTreeMap::new();
        for (a, b) in topology.links() {
            let (Some(here), Some(there)) = (end(topology, a), end(topology, b)) else {
                continue;
            };
            peers.insert(here, there);
            peers.insert(there, here);
            for at in ends_to_ask(topology, a, b, policy) {
                let known = end(topology, at).zip(lid(topology, at.node));
                asked.extend(known.filter(|_| has_module(topology, at)));
            }
        }
        let old = std::mem::replace(&mut self.peers, peers);
        let same = |end: &End| old.get(end) == self.peers.get(end) && old.contains_key(end);
        self.memories.by_port.retain(|end, _| same(end));
        let peers = &self.peers;
        self.refused
            .retain(|end, peer| peers.get(end) == Some(peer));
        let (known, refused) = (&self.memories.by_port, &self.refused);
        asked.retain(|end, _| !known.contains_key(end) && !refused.contains_key(end));
        asked.into_iter().collect()
    }

    /// A port's memory cannot be read.
    pub(super) fn refuse(&mut self, end: End) {
        let peer = self.peers.get(&end);
        self.refused.extend(peer.map(|peer| (end, *peer)));
    }

    /// Whether a port's memory cannot be read.
    pub(super) fn is_refused(&self, end: &End) -> bool {
        self.refused.contains_key(end)
    }

    /// Keeps a memory; where a link is read at one end, it holds for both.
    pub(super) fn learn(&mut self, end: End, memory: CableMemory, policy: CableInfoPolicy) {
        self.memories.by_port.insert(end, memory);
        let peer = self.peers.get(&end);
        if let Some(peer) = peer.filter(|_| policy == CableInfoPolicy::ByLink) {
            self.memories.by_port.insert(*peer, memory);
        }
    }
}

/// The ends of a link at which its cable is read: of one end, rather a switch's, as its agent is
/// always there.
fn ends_to_ask(
    topology: &Topology,
    a: PortRef,
    b: PortRef,
    policy: CableInfoPolicy,
) -> impl Iterator<Item = PortRef> + use<> {
    let switch = |at: PortRef| topology.node(at.node).is_some_and(|node| node.is_switch());
    let ends = match policy {
        CableInfoPolicy::None => [None, None],
        CableInfoPolicy::ByPort => [Some(a), Some(b)],
        CableInfoPolicy::ByLink if switch(a) || !switch(b) => [Some(a), None],
        CableInfoPolicy::ByLink => [Some(b), None],
    };
    ends.into_iter().flatten()
}

fn end(topology: &Topology, at: PortRef) -> Option<End> {
    Some((topology.node(at.node)?.guid(), at.port))
}

fn has_module(topology: &Topology, at: PortRef) -> bool {
    let port = topology.port(at);
    port.is_some_and(|port| port.info.port_type == PortType::STANDARD)
}

/// The LID of a node's agent.
fn lid(topology: &Topology, node: NodeId) -> Option<Lid> {
    let held = topology.node(node)?;
    let mut ports = held.ports();
    let lid = match held.is_switch() {
        true => ports.find(|(port, _)| port.0 == 0),
        false => ports.find(|(_, port)| port.info.lid.0 != 0),
    };
    lid.map(|(_, port)| port.info.lid).filter(|lid| lid.0 != 0)
}
