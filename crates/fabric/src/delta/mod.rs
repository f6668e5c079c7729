//! What changed between two snapshots.
//!
//! Nodes are known by their GUIDs, since their indices may differ from one snapshot to the next.
//! A delta holds enough to make the second snapshot from the first. Linear tables without any
//! entry count as no tables.

mod apply;
mod display;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thiserror::Error;
use weft_wire::id::{Guid, PortNum};
use weft_wire::sm::{NodeDescription, NodeInfo, PortInfo, SwitchInfo};

use crate::snapshot::{SmRecord, Snapshot};
use crate::tables::{LFT_BLOCK, SwitchPortGroups, UNREACHABLE};
use crate::topology::{Node, NodeId, PortRef, Topology, TopologyError};

/// A port, by its node's GUID and its number.
pub type Place = (Guid, PortNum);

/// A cable, by its two ends, the smaller first.
pub type Cable = (Place, Place);

/// A port's PortInfo before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortChange {
    /// The port.
    pub at: Place,
    /// Before.
    pub from: PortInfo,
    /// After.
    pub to: PortInfo,
}

/// A node's own attributes after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeChange {
    /// NodeInfo; the GUID and the number of ports are as before.
    pub info: NodeInfo,
    /// Its name.
    pub description: NodeDescription,
    /// SwitchInfo of a switch.
    pub switch: Option<SwitchInfo>,
}

/// New contents of one block of [`LFT_BLOCK`] entries of a linear table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockChange {
    /// The switch.
    pub switch: Guid,
    /// The block: LIDs from 64 times this.
    pub block: u32,
    /// Its entries now.
    pub entries: [u8; LFT_BLOCK],
}

/// The difference between two snapshots; all lists are in order of GUID and number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delta {
    /// Generations before and after.
    pub generations: (u64, u64),
    /// When the second was taken, seconds since 1970.
    pub unix_time: u64,
    /// Nodes that are new, or that came back with another number of ports or type.
    pub appeared: Vec<Arc<Node>>,
    /// Nodes that are gone.
    pub vanished: Vec<Guid>,
    /// Nodes whose own attributes changed.
    pub nodes: Vec<NodeChange>,
    /// Cables that are new.
    pub plugged: Vec<Cable>,
    /// Cables that are gone.
    pub unplugged: Vec<Cable>,
    /// Ports of nodes in both snapshots whose PortInfo changed.
    pub ports: Vec<PortChange>,
    /// Linear tables: blocks that changed.
    pub blocks: Vec<BlockChange>,
    /// Linear tables that have another length now.
    pub lengths: Vec<(Guid, u32)>,
    /// Adaptive-routing tables that changed.
    pub groups: Vec<(Guid, Arc<SwitchPortGroups>)>,
    /// Whether adaptive-routing tables exist at all in the second snapshot, and whether that is
    /// news.
    pub adaptive: Option<bool>,
    /// The subnet managers, when they changed; their ports are given as places.
    pub sms: Option<Vec<(Place, SmRecord)>>,
    /// The order of the nodes, when it is not the old one with the vanished left out and the
    /// appeared at the end.
    pub order: Option<Vec<Guid>>,
}

/// Why a delta cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DeltaError {
    /// The delta starts from another generation.
    #[error("the delta starts from generation {expected}, the snapshot is generation {actual}")]
    Generation {
        /// Where the delta starts.
        expected: u64,
        /// What the snapshot is.
        actual: u64,
    },
    /// The delta speaks of a node that the snapshot does not have.
    #[error("no node {guid}")]
    NoNode {
        /// The node.
        guid: Guid,
    },
    /// The result is no topology.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

impl Delta {
    /// The difference from one snapshot to another.
    pub fn between(from: &Snapshot, to: &Snapshot) -> Self {
        let [old, new] = [&*from.topology, &*to.topology];
        let kept = kept(old, new);
        let mut delta = Self {
            generations: (from.generation, to.generation),
            unix_time: to.unix_time,
            ..Self::default()
        };
        if !Arc::ptr_eq(&from.topology, &to.topology) {
            delta.find_nodes(old, new, &kept);
            delta.find_cables(old, new);
        }
        delta.find_tables(from, to, &kept);
        delta.find_managers(from, to);
        delta.find_order(old, new);
        delta
    }

    /// Whether nothing but generation and time differs.
    pub fn is_empty(&self) -> bool {
        let bare = Self {
            generations: self.generations,
            unix_time: self.unix_time,
            ..Self::default()
        };
        *self == bare
    }

    fn find_nodes(
        &mut self,
        old: &Topology,
        new: &Topology,
        kept: &BTreeMap<Guid, (NodeId, NodeId)>,
    ) {
        let guids = |topology: &Topology| -> BTreeSet<Guid> {
            topology.nodes().map(|(_, node)| node.guid()).collect()
        };
        let is_kept = |guid: &Guid| kept.contains_key(guid);
        self.vanished = guids(old)
            .into_iter()
            .filter(|guid| !is_kept(guid))
            .collect();
        let appeared = guids(new).into_iter().filter(|guid| !is_kept(guid));
        let shared = |guid| new.find(guid).and_then(|id| new.node_shared(id));
        self.appeared = appeared.filter_map(shared).map(unplugged).collect();
        for (before, after) in kept.values() {
            let (Some(before), Some(after)) = (old.node_shared(*before), new.node_shared(*after))
            else {
                continue;
            };
            if !Arc::ptr_eq(before, after) {
                self.find_changes(before, after);
            }
        }
    }

    fn find_changes(&mut self, before: &Node, after: &Node) {
        let own = |node: &Node| NodeChange {
            info: node.info,
            description: node.description,
            switch: node.switch,
        };
        if own(before) != own(after) {
            self.nodes.push(own(after));
        }
        for ((number, from), (_, to)) in before.ports().zip(after.ports()) {
            if from.info != to.info {
                self.ports.push(PortChange {
                    at: (after.guid(), number),
                    from: from.info,
                    to: to.info,
                });
            }
        }
    }

    fn find_cables(&mut self, old: &Topology, new: &Topology) {
        let [before, after] = [old, new].map(cables);
        self.unplugged = before.difference(&after).copied().collect();
        self.plugged = after.difference(&before).copied().collect();
    }

    fn find_tables(
        &mut self,
        from: &Snapshot,
        to: &Snapshot,
        kept: &BTreeMap<Guid, (NodeId, NodeId)>,
    ) {
        let adaptive = [from, to].map(|snapshot| !snapshot.groups.switches.is_empty());
        self.adaptive = (adaptive[0] != adaptive[1]).then_some(adaptive[1]);
        let mut switches: Vec<(Guid, NodeId)> = to
            .topology
            .switches()
            .iter()
            .filter_map(|id| Some((to.topology.node(*id)?.guid(), *id)))
            .collect();
        switches.sort_unstable();
        for (guid, id) in switches {
            let before = kept
                .get(&guid)
                .and_then(|(old, _)| from.topology.switch_index(*old));
            let Some(after) = to.topology.switch_index(id) else {
                continue;
            };
            let old = before.map_or(&[][..], |index| from.linear.row(index));
            self.find_blocks(guid, old, to.linear.row(after));
            let old = before.and_then(|index| from.groups.switches.get(index.0 as usize));
            let new = to.groups.switches.get(after.0 as usize);
            if let Some(new) = new.filter(|new| old != Some(*new)) {
                self.groups.push((guid, Arc::clone(new)));
            }
        }
    }

    fn find_blocks(&mut self, switch: Guid, old: &[u8], new: &[u8]) {
        if std::ptr::eq(old, new) {
            return;
        }
        if old.len() != new.len() {
            self.lengths.push((switch, new.len() as u32));
        }
        for block in 0..new.len().div_ceil(LFT_BLOCK) {
            let [before, entries] = [old, new].map(|row| entries(row, block));
            if before != entries {
                self.blocks.push(BlockChange {
                    switch,
                    block: block as u32,
                    entries,
                });
            }
        }
    }

    fn find_managers(&mut self, from: &Snapshot, to: &Snapshot) {
        let [before, after] = [from, to].map(|snapshot| {
            let place = |sm: &SmRecord| place(&snapshot.topology, sm.port);
            let sms = snapshot.sms.iter();
            sms.map(|sm| (place(sm), sm.clone())).collect::<Vec<_>>()
        });
        let fields = |sms: &[(Place, SmRecord)]| -> Vec<(Place, SmRecord)> {
            let port = PortRef {
                node: NodeId(0),
                port: PortNum(0),
            };
            let plain = |(place, sm): &(Place, SmRecord)| (*place, SmRecord { port, ..sm.clone() });
            sms.iter().map(plain).collect()
        };
        if fields(&before) != fields(&after) {
            self.sms = Some(fields(&after));
        }
    }

    fn find_order(&mut self, old: &Topology, new: &Topology) {
        let order = |topology: &Topology| -> Vec<Guid> {
            topology.nodes().map(|(_, node)| node.guid()).collect()
        };
        let (expected, actual) = (self.usual_order(old), order(new));
        self.order = (expected != actual).then_some(actual);
    }

    fn usual_order(&self, old: &Topology) -> Vec<Guid> {
        let vanished: BTreeSet<Guid> = self.vanished.iter().copied().collect();
        let stays = old
            .nodes()
            .map(|(_, node)| node.guid())
            .filter(|guid| !vanished.contains(guid));
        stays
            .chain(self.appeared.iter().map(|node| node.guid()))
            .collect()
    }
}

/// Nodes that are in both and have the same ports and type, with their indices in each.
fn kept(old: &Topology, new: &Topology) -> BTreeMap<Guid, (NodeId, NodeId)> {
    let shape = |node: &Node| (node.is_switch(), node.info.num_ports);
    let pairs = old.nodes().filter_map(|(id, node)| {
        let other = new.find(node.guid())?;
        let same = shape(new.node(other)?) == shape(node);
        same.then_some((node.guid(), (id, other)))
    });
    pairs.collect()
}

/// The node without its cables.
fn unplugged(node: &Arc<Node>) -> Arc<Node> {
    let mut node = Arc::clone(node);
    let cabled: Vec<PortNum> = node
        .external_ports()
        .filter_map(|(number, port)| port.peer.map(|_| number))
        .collect();
    for number in cabled {
        if let Some(port) = Arc::make_mut(&mut node).port_mut(number) {
            port.peer = None;
        }
    }
    node
}

fn cables(topology: &Topology) -> BTreeSet<Cable> {
    let links = topology
        .links()
        .map(|(a, b)| [place(topology, a), place(topology, b)]);
    links.map(|[a, b]| (a.min(b), a.max(b))).collect()
}

fn place(topology: &Topology, at: PortRef) -> Place {
    (topology.node(at.node).map_or(Guid(0), Node::guid), at.port)
}

/// A block of a row, [`UNREACHABLE`] beyond its end.
fn entries(row: &[u8], block: usize) -> [u8; LFT_BLOCK] {
    let mut out = [UNREACHABLE; LFT_BLOCK];
    let part = row.get(block * LFT_BLOCK..).unwrap_or_default();
    out.iter_mut().zip(part).for_each(|(to, from)| *to = *from);
    out
}
