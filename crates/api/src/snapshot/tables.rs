//! Multicast tables and tables of ports.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_fabric::{
    MLIDS, NodeId, NodeTables, PortMask, PortNum, PortTableIds, PortTables, Snapshot, SwitchIndex,
    TableId,
};

use super::{SnapshotError, chunks, switch_guid};
use crate::v1::{self, get_snapshot_response::Part};

/// Contents in one part: the largest has 8 KiB.
pub(super) const CONTENTS_PER_PART: usize = 128;
/// Contents that a snapshot may have: each port of the largest fabric has a few of its own.
const CONTENTS_MAX: usize = 1 << 22;

pub(super) fn multicast(snapshot: Arc<Snapshot>) -> impl Iterator<Item = Part> + Send {
    let switches = 0..snapshot.multicast.len() as u32;
    switches.filter_map(move |index| multicast_part(&snapshot, SwitchIndex(index)))
}

/// The multicast table of a switch, none where it has none.
pub(super) fn multicast_part(snapshot: &Snapshot, index: SwitchIndex) -> Option<Part> {
    let row = snapshot.multicast.row(index);
    let guid = switch_guid(&snapshot.topology, index).filter(|_| !row.is_empty())?;
    let entries = (0..).zip(row).filter(|(_, ports)| !ports.is_empty());
    let entries = entries.map(|(entry, ports)| v1::SnapshotMulticastEntry {
        entry,
        ports: ports.iter().map(|port| port.0).collect(),
    });
    Some(Part::Multicast(v1::SnapshotMulticast {
        switch_guid: guid.0,
        size: row.len() as u32,
        entries: entries.collect(),
    }))
}

pub(super) fn read_multicast(
    table: v1::SnapshotMulticast,
) -> Result<Arc<[PortMask]>, SnapshotError> {
    let range = |what, value, allowed| SnapshotError::Range {
        what,
        value,
        allowed,
    };
    if table.size > MLIDS {
        return Err(range(
            "the size of a multicast table",
            table.size,
            "0 to 16383",
        ));
    }
    let mut row = vec![PortMask::EMPTY; table.size as usize];
    for entry in table.entries {
        let place = row.get_mut(entry.entry as usize);
        let place = place.ok_or_else(|| {
            range(
                "an entry of a multicast table",
                entry.entry,
                "less than its size",
            )
        })?;
        *place = entry.ports.into_iter().map(PortNum).collect();
    }
    Ok(row.into())
}

pub(super) fn of_ports(snapshot: Arc<Snapshot>) -> impl Iterator<Item = Part> + Send {
    let contents: Vec<Vec<u8>> = snapshot
        .port_tables
        .contents()
        .iter()
        .map(|content| content.to_vec())
        .collect();
    let contents = chunks(contents, CONTENTS_PER_PART)
        .map(|contents| Part::Tables(v1::SnapshotTables { contents }));
    let nodes = 0..snapshot.port_tables.len() as u32;
    contents.chain(nodes.filter_map(move |node| of_node(&snapshot, NodeId(node))))
}

/// The tables of the ports of a node.
pub(super) fn of_node(snapshot: &Snapshot, node: NodeId) -> Option<Part> {
    let tables = snapshot.port_tables.node(node)?;
    let guid = snapshot.topology.node(node)?.guid();
    Some(Part::PortTables(v1::SnapshotPortTables {
        node_guid: guid.0,
        first_port: tables.first.0.into(),
        contents: tables.ports.iter().flatten().map(|id| id.0).collect(),
    }))
}

/// Tables of ports as far as they have come.
#[derive(Debug, Default)]
pub(super) struct PortTableParts {
    contents: Vec<Arc<[u8]>>,
    nodes: BTreeMap<NodeId, Arc<NodeTables>>,
}

impl PortTableParts {
    pub(super) fn contents(&mut self, contents: Vec<Vec<u8>>) -> Result<(), SnapshotError> {
        self.contents.extend(contents.into_iter().map(Arc::from));
        match self.contents.len() <= CONTENTS_MAX {
            true => Ok(()),
            false => Err(SnapshotError::Range {
                what: "the number of contents of tables",
                value: self.contents.len() as u32,
                allowed: "0 to 4194304",
            }),
        }
    }

    pub(super) fn node(
        &mut self,
        id: NodeId,
        tables: &v1::SnapshotPortTables,
    ) -> Result<(), SnapshotError> {
        let port = tables.first_port;
        let first = u8::try_from(port).map_err(|_| SnapshotError::PortNumber { port })?;
        let known = self.contents.len() as u32;
        if let Some(value) = tables.contents.iter().copied().find(|id| *id > known) {
            let (what, allowed) = ("a table of a port", "a content that has come");
            return Err(SnapshotError::Range {
                what,
                value,
                allowed,
            });
        }
        let ports = tables
            .contents
            .chunks_exact(size_of::<PortTableIds>() / size_of::<TableId>());
        let ids = |ids: &[u32]| std::array::from_fn(|kind| TableId(ids[kind]));
        let (first, ports) = (PortNum(first), ports.map(ids).collect());
        self.nodes.insert(id, Arc::new(NodeTables { first, ports }));
        Ok(())
    }

    pub(super) fn finish(self, nodes: usize) -> PortTables {
        if self.nodes.is_empty() {
            return PortTables::default();
        }
        let node = |id| self.nodes.get(&NodeId(id)).cloned().unwrap_or_default();
        PortTables::new(self.contents, (0..nodes as u32).map(node).collect())
    }
}
