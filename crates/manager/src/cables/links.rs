//! Links, and the known memories of their cables.

use std::collections::{BTreeMap, BTreeSet};

use weft_fabric::cables::{Module, measures};
use weft_fabric::enums::PortType;
use weft_fabric::{
    CableMemories, CableMemory, Guid, Lid, NodeId, PortNum, PortRef, Snapshot, Topology,
};

use super::CableInfoPolicy;

/// A node's GUID and a port of it.
pub(super) type End = (Guid, PortNum);

/// The links of the last snapshot, and their memories.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// Peers, in both directions.
    peers: BTreeMap<End, End>,
    /// Ends at which cables are read.
    read: BTreeSet<End>,
    /// LIDs of the agents of ports with a module.
    lids: BTreeMap<End, Lid>,
    /// Ports whose memory could not be read, with their peers; they are not read again while their
    /// link lasts.
    refused: BTreeMap<End, End>,
    /// Modules whose monitors cannot be read, while their link lasts.
    silent_modules: BTreeSet<End>,
    /// Modules whose page of thresholds was read or cannot be read, while their link lasts.
    with_thresholds: BTreeMap<End, Option<[u8; 128]>>,
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
        self.lids.clear();
        let mut asked = BTreeMap::new();
        for (a, b) in topology.links() {
            let (Some(here), Some(there)) = (end(topology, a), end(topology, b)) else {
                continue;
            };
            peers.insert(here, there);
            peers.insert(there, here);
            for at in [a, b] {
                let known = end(topology, at).zip(lid(topology, at.node));
                self.lids.extend(known.filter(|_| has_module(topology, at)));
            }
            for at in ends_to_ask(topology, a, b, policy) {
                let end = end(topology, at);
                asked.extend(end.and_then(|end| Some((end, *self.lids.get(&end)?))));
            }
        }
        self.read = asked.keys().copied().collect();
        let old = std::mem::replace(&mut self.peers, peers);
        let same = |end: &End| old.get(end) == self.peers.get(end) && old.contains_key(end);
        self.memories.retain(same);
        self.silent_modules.retain(same);
        self.with_thresholds.retain(|end, _| same(end));
        let peers = &self.peers;
        self.refused
            .retain(|end, peer| peers.get(end) == Some(peer));
        let (known, refused) = (&self.memories, &self.refused);
        asked.retain(|end, _| known.get(end.0, end.1).is_none() && !refused.contains_key(end));
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

    /// Keeps a memory; where a link is read at one end, it holds for both. Returns the ends whose modules measure
    /// something.
    pub(super) fn learn(
        &mut self,
        end: End,
        memory: CableMemory,
        policy: CableInfoPolicy,
    ) -> impl Iterator<Item = End> + use<> {
        let peer = self.peers.get(&end).copied();
        let peer = peer.filter(|_| policy == CableInfoPolicy::ByLink);
        let ends = [Some(end), peer].into_iter().flatten();
        for end in ends.clone() {
            self.memories.insert(end, memory);
        }
        ends.filter(move |_| measures(&memory))
    }

    /// Ends at which cables are read that are known.
    pub(super) fn read_ends(&self) -> Vec<End> {
        let known = |end: &&End| self.memories.get(end.0, end.1).is_some();
        self.read.iter().filter(known).copied().collect()
    }

    /// Whether these are not the second half of what is known of a cable.
    pub(super) fn is_other(&self, end: End, bytes: &[u8; 64]) -> bool {
        let known = self.memories.get(end.0, end.1);
        known.is_some_and(|known| known[64..] != bytes[..])
    }

    /// Forgets a cable; where a link is read at one end, at both.
    pub(super) fn forget(&mut self, end: End, policy: CableInfoPolicy) {
        let peer = self.peers.get(&end).copied();
        let peer = peer.filter(|_| policy == CableInfoPolicy::ByLink);
        let is_kept = |other: &End| *other != end && Some(*other) != peer;
        self.memories.retain(is_kept);
        self.silent_modules.retain(is_kept);
        self.with_thresholds.retain(|other, _| is_kept(other));
    }

    /// Ends whose modules measure something; each end has a module of its own.
    pub(super) fn modules(&self) -> Vec<End> {
        let known = self.memories.iter();
        let measuring = known.filter(|(_, memory)| measures(memory));
        let measuring = measuring.map(|(end, _)| end);
        measuring.filter(|end| self.is_measuring(end)).collect()
    }

    /// Whether a port's module can be asked for what it measures.
    pub(super) fn is_measuring(&self, end: &End) -> bool {
        self.lids.contains_key(end) && !self.silent_modules.contains(end)
    }

    /// The LID of the agent of a port with a module.
    pub(super) fn lid(&self, end: &End) -> Option<Lid> {
        self.lids.get(end).copied()
    }

    /// Keeps what a module has measured; returns whether its thresholds are to be read.
    pub(super) fn measured(&mut self, end: End, monitors: [u8; 64]) -> bool {
        let known = self.with_thresholds.get(&end).copied();
        let module = Module {
            monitors,
            thresholds: known.flatten(),
        };
        self.memories.insert_module(end, module);
        known.is_none() && !module.is_flat()
    }

    /// Keeps a module's page of thresholds, none where that cannot be read.
    pub(super) fn learn_thresholds(&mut self, end: End, page: Option<[u8; 128]>) {
        self.with_thresholds.insert(end, page);
        let module = self.memories.module(end.0, end.1).copied();
        if let Some(module) = module {
            let thresholds = page;
            self.memories.insert_module(
                end,
                Module {
                    thresholds,
                    ..module
                },
            );
        }
    }

    /// A module's monitors cannot be read.
    pub(super) fn silence_module(&mut self, end: End) {
        self.silent_modules.insert(end);
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
