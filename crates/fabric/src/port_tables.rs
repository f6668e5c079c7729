//! Tables of ports (partitions, maps of service levels and channels, arbitration, buffers) as bytes
//! on the wire, each distinct one kept once.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_state::State;
use weft_wire::id::PortNum;

use crate::tables::PortMask;
use crate::topology::{NodeId, PortRef};

/// Names one content of a table among those that go together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, State)]
pub struct TableId(pub u32);

impl TableId {
    /// The content is not known.
    pub const UNKNOWN: Self = Self(0);
}

/// The kinds of tables that a port has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PortTable {
    /// The first block of partition keys (`STL_PARTITION_TABLE`, 64 bytes).
    PKeys,
    /// Service level to service channel (`STL_SLSCMAP`, 32 bytes).
    SlToSc,
    /// Service channel to service level (`STL_SCSLMAP`, 32 bytes).
    ScToSl,
    /// Service channel to virtual lane where packets are received (`STL_SCVLMAP`, 32 bytes).
    ScToVlr,
    /// Service channel to virtual lane where packets are sent.
    ScToVlt,
    /// Service channel to virtual lane on which the neighbour returns credits.
    ScToVlnt,
    /// Virtual lanes of low priority (`STL_VLARB_TABLE`, 256 bytes).
    ArbitrationLow,
    /// Virtual lanes of high priority.
    ArbitrationHigh,
    /// Limits of buffers (`STL_BUFFER_CONTROL_TABLE`, 132 bytes).
    Buffers,
    /// Matrix of virtual lanes that may preempt others (`STL_VLARB_TABLE`, 256 bytes).
    Preemption,
    /// Of an ingress port of a switch: service channel behind the switch by the one before it, for each
    /// egress port from 1 on (`STL_SCSCMAP`, 32 bytes each). [`UNKNOWN_CHANNEL`] where nothing is known.
    ScToSc,
}

impl PortTable {
    /// All kinds, in order.
    pub const ALL: [Self; PORT_TABLES] = [
        Self::PKeys,
        Self::SlToSc,
        Self::ScToSl,
        Self::ScToVlr,
        Self::ScToVlt,
        Self::ScToVlnt,
        Self::ArbitrationLow,
        Self::ArbitrationHigh,
        Self::Buffers,
        Self::Preemption,
        Self::ScToSc,
    ];
}

/// An entry of [`PortTable::ScToSc`] of an egress port whose map is not known, as in a file that leaves it out.
pub const UNKNOWN_CHANNEL: u8 = 0xFF;

/// The maps of a [`PortTable::ScToSc`] with the egress ports that have each, in order of the first of them.
pub fn channel_maps(content: &[u8]) -> Vec<(&[u8], PortMask)> {
    let mut maps: Vec<(&[u8], PortMask)> = Vec::new();
    for (port, map) in (1..=u8::MAX).map(PortNum).zip(content.chunks_exact(32)) {
        if map[0] == UNKNOWN_CHANNEL {
            continue;
        }
        match maps.iter_mut().find(|(of, _)| *of == map) {
            Some((_, ports)) => ports.insert(port),
            None => maps.push((map, [port].into_iter().collect())),
        }
    }
    maps
}

/// Number of kinds.
pub const PORT_TABLES: usize = 11;

/// The tables of one port, by [`PortTable`].
pub type PortTableIds = [TableId; PORT_TABLES];

/// The tables of all ports of one node.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, State)]
pub struct NodeTables {
    /// Number of its first port: 0 for a switch, 1 for an HFI.
    pub first: PortNum,
    /// In order of their numbers.
    pub ports: Vec<PortTableIds>,
}

/// The tables of the ports of all nodes, confirmed by them.
///
/// Nodes that did not change share their entries with the generation before, and equal tables are
/// there once: 27,648 hosts have a few dozen.
#[derive(Debug, Clone, Default, PartialEq, Eq, State)]
pub struct PortTables {
    contents: Vec<Arc<[u8]>>,
    nodes: Vec<Arc<NodeTables>>,
}

impl PortTables {
    /// `contents[n]` is the content of [`TableId`] n + 1; `nodes` are in order of [`NodeId`].
    pub fn new(contents: Vec<Arc<[u8]>>, nodes: Vec<Arc<NodeTables>>) -> Self {
        Self { contents, nodes }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A node's tables, shared.
    pub fn node(&self, node: NodeId) -> Option<&Arc<NodeTables>> {
        self.nodes.get(node.0 as usize)
    }

    /// Content of a port's table; [`TableId::UNKNOWN`] if not confirmed.
    pub fn id(&self, at: PortRef, kind: PortTable) -> TableId {
        let port = self.node(at.node).and_then(|node| {
            let index = at.port.0.checked_sub(node.first.0)?;
            node.ports.get(usize::from(index))
        });
        port.map_or(TableId::UNKNOWN, |ids| ids[kind as usize])
    }

    /// A port's table as bytes on the wire, none where nothing is confirmed.
    pub fn table(&self, at: PortRef, kind: PortTable) -> Option<&[u8]> {
        self.content(self.id(at, kind))
    }

    /// Content for an identifier.
    pub fn content(&self, id: TableId) -> Option<&[u8]> {
        let index = (id.0 as usize).checked_sub(1)?;
        self.contents.get(index).map(|content| &**content)
    }

    /// The tables of each node in order, shared.
    pub fn nodes(&self) -> &[Arc<NodeTables>] {
        &self.nodes
    }

    /// The content of each [`TableId`] from 1 on.
    pub fn contents(&self) -> &[Arc<[u8]>] {
        &self.contents
    }

    /// Whether two are equal, and share all that is.
    pub fn is_same(&self, other: &Self) -> bool {
        let shared = |(a, b): (&Arc<NodeTables>, &Arc<NodeTables>)| Arc::ptr_eq(a, b);
        self.contents.len() == other.contents.len()
            && self.nodes.len() == other.nodes.len()
            && self.nodes.iter().zip(&other.nodes).all(shared)
    }
}

/// Collects tables, each distinct one once.
#[derive(Debug, Default)]
pub struct PortTablesBuilder {
    contents: Vec<Arc<[u8]>>,
    known: BTreeMap<Arc<[u8]>, TableId>,
    nodes: Vec<Arc<NodeTables>>,
    shared: BTreeMap<NodeTables, Arc<NodeTables>>,
    bytes: usize,
}

impl PortTablesBuilder {
    /// Names a content.
    pub fn content(&mut self, content: &[u8]) -> TableId {
        if let Some(id) = self.known.get(content) {
            return *id;
        }
        let content: Arc<[u8]> = content.into();
        self.bytes += content.len();
        self.contents.push(content.clone());
        let id = TableId(self.contents.len() as u32);
        self.known.insert(content, id);
        id
    }

    /// Bytes of all distinct contents.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Appends the tables of the next node in order of [`NodeId`].
    pub fn node(&mut self, node: NodeTables) {
        let shared = self
            .shared
            .entry(node)
            .or_insert_with_key(|node| Arc::new(node.clone()));
        self.nodes.push(Arc::clone(shared));
    }

    /// The tables; those of nodes that are not appended are not known.
    pub fn finish(self) -> PortTables {
        PortTables::new(self.contents, self.nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables() -> PortTables {
        let mut ids = [TableId::UNKNOWN; PORT_TABLES];
        ids[PortTable::SlToSc as usize] = TableId(2);
        let hfi = NodeTables {
            first: PortNum(1),
            ports: vec![ids],
        };
        PortTables::new(
            vec![Arc::from([1]), Arc::from([2, 2])],
            vec![Arc::default(), Arc::new(hfi)],
        )
    }

    #[test]
    fn a_table_is_found_by_node_port_and_kind() {
        let at = |node, port| PortRef {
            node: NodeId(node),
            port: PortNum(port),
        };
        let tables = tables();
        for (at, kind, expected) in [
            (at(1, 1), PortTable::SlToSc, Some(&[2, 2][..])),
            (at(1, 1), PortTable::ScToSl, None),
            (at(1, 0), PortTable::SlToSc, None),
            (at(1, 2), PortTable::SlToSc, None),
            (at(0, 0), PortTable::SlToSc, None),
            (at(2, 1), PortTable::SlToSc, None),
        ] {
            assert_eq!(tables.table(at, kind), expected, "{at:?} {kind:?}");
        }
        assert!(tables.is_same(&tables.clone()));
        assert!(!tables.is_same(&self::tables()), "equal, but not shared");
    }
}
