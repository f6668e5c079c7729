//! The part of the fabric that is asked about.

use std::collections::BTreeSet;

use weft_fabric::{Guid, NodeId, PortNum, PortRef, Snapshot};
use weft_history::PortKey;
use weft_report::Selection;

use super::named::Named;

/// What changes are asked for.
#[derive(Debug, Clone)]
pub(crate) enum Object {
    /// All of them.
    Everything,
    /// Those of nodes and ports.
    Parts(Parts),
    /// Those of a route plan.
    Plan(u64),
    /// Those of a virtual fabric.
    VirtualFabric(String),
}

/// Nodes and ports, with the other ends of their links.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parts {
    nodes: BTreeSet<u64>,
    ports: BTreeSet<PortKey>,
    /// Nodes of the ports: what befalls them as a whole befalls the ports.
    around: BTreeSet<u64>,
    far: BTreeSet<PortKey>,
    /// Name of nodes that are gone, whose GUIDs are looked for in events.
    gone: Option<Gone>,
}

/// Nodes that are not in the fabric any more.
#[derive(Debug, Clone)]
pub(crate) struct Gone {
    /// Their name.
    pub(crate) name: String,
    /// The port that is asked about; none for all.
    pub(crate) port: Option<PortNum>,
}

impl Parts {
    /// What a point names in the fabric of now.
    pub(crate) fn of(selection: &Selection, snapshot: &Snapshot) -> Self {
        let mut parts = Self::default();
        match selection {
            Selection::Ports(ports) => {
                for at in ports {
                    parts.add_end(snapshot, *at);
                }
            }
            Selection::Nodes(nodes) | Selection::System { nodes, .. } => {
                for node in nodes {
                    parts.add_all(snapshot, *node);
                }
            }
        }
        parts
    }

    /// A node that is gone, or one port of it.
    pub(crate) fn of_guid(node: Guid, port: Option<PortNum>) -> Self {
        let mut parts = Self::default();
        parts.add(node.0, port);
        parts
    }

    /// A node that is gone, of which only the name is known.
    pub(crate) fn of_gone(gone: Gone) -> Self {
        Self {
            gone: Some(gone),
            ..Self::default()
        }
    }

    fn add(&mut self, guid: u64, port: Option<PortNum>) {
        match port {
            None => {
                self.nodes.insert(guid);
            }
            Some(port) => {
                let port = port.0;
                self.ports.insert(PortKey { guid, port });
                self.around.insert(guid);
            }
        }
    }

    fn add_end(&mut self, snapshot: &Snapshot, at: PortRef) {
        let topology = &snapshot.topology;
        if let Some(node) = topology.node(at.node) {
            self.add(node.guid().0, Some(at.port));
            self.add_far(snapshot, at);
        }
    }

    fn add_all(&mut self, snapshot: &Snapshot, id: NodeId) {
        if let Some(node) = snapshot.topology.node(id) {
            self.add(node.guid().0, None);
            for (port, _) in node.external_ports() {
                self.add_far(snapshot, PortRef { node: id, port });
            }
        }
    }

    fn add_far(&mut self, snapshot: &Snapshot, at: PortRef) {
        let far = snapshot.topology.peer(at);
        let node = far.and_then(|far| snapshot.topology.node(far.node));
        if let Some((far, node)) = far.zip(node) {
            self.far.insert(PortKey {
                guid: node.guid().0,
                port: far.port.0,
            });
        }
    }

    /// An event tells of a node: it may be the one that is gone.
    pub(super) fn meets(&mut self, named: &Named) {
        if let Some(gone) = &self.gone
            && gone.name == named.name
        {
            let port = gone.port;
            self.add(named.key.guid, port);
        }
    }

    /// Whether nothing is known by GUID yet.
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.ports.is_empty()
    }

    /// An event tells of a link: its other end belongs to it.
    pub(super) fn learns(&mut self, ends: &[Named]) {
        let [a, b] = ends else { return };
        for (own, far) in [(a, b), (b, a)] {
            if self.has_own(own.key) {
                self.far.insert(far.key);
            }
        }
    }

    fn has_own(&self, key: PortKey) -> bool {
        self.nodes.contains(&key.guid) || self.ports.contains(&key)
    }

    /// Whether a change that names these concerns it.
    pub(super) fn has(&self, named: &[Named]) -> bool {
        named.iter().any(|named| {
            let key = named.key;
            let is_around = key.port == 0 && self.around.contains(&key.guid);
            self.has_own(key) || self.far.contains(&key) || is_around
        })
    }

    /// Whether it has whole nodes that are named.
    pub(super) fn has_node(&self, named: &[Named]) -> bool {
        named
            .iter()
            .any(|named| self.nodes.contains(&named.key.guid))
    }
}
