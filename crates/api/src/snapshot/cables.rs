//! Memories of cables.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_fabric::cables::{CableMemories, Module};
use weft_fabric::{Guid, PortNum, Snapshot};

use super::SnapshotError;
use crate::v1::{self, get_snapshot_response::Part};

/// Cables in one part.
const CABLES_PER_PART: usize = 2_048;

/// The memories in parts.
pub(super) fn parts(snapshot: Arc<Snapshot>) -> impl Iterator<Item = Part> {
    let mut all: BTreeMap<(Guid, PortNum), v1::SnapshotCable> = BTreeMap::new();
    for (port, memory) in snapshot.cables.iter() {
        all.entry(port).or_default().memory = memory.to_vec();
    }
    for (port, module) in snapshot.cables.modules() {
        let cable = all.entry(port).or_default();
        cable.monitors = module.monitors.to_vec();
        cable.thresholds = module.thresholds.map_or_else(Vec::new, Vec::from);
    }
    let cables = all.into_iter().map(|((guid, port), cable)| {
        let port = Some(v1::PortId {
            node_guid: guid.0,
            port: port.0.into(),
        });
        v1::SnapshotCable { port, ..cable }
    });
    let chunks = super::chunks(cables.collect(), CABLES_PER_PART);
    chunks.map(|cables| Part::Cables(v1::SnapshotCables { cables }))
}

/// What cables each node has, by its GUID and in order. What modules measure changes all the time and is left out.
pub(super) fn of_nodes(snapshot: &Snapshot) -> Vec<(Guid, v1::SnapshotCables)> {
    let mut nodes: Vec<(Guid, v1::SnapshotCables)> = Vec::new();
    for ((guid, port), memory) in snapshot.cables.iter() {
        let cable = v1::SnapshotCable {
            port: Some(v1::PortId {
                node_guid: guid.0,
                port: port.0.into(),
            }),
            memory: memory.to_vec(),
            ..v1::SnapshotCable::default()
        };
        match nodes.last_mut().filter(|(last, _)| *last == guid) {
            Some((_, of_node)) => of_node.cables.push(cable),
            None => nodes.push((
                guid,
                v1::SnapshotCables {
                    cables: vec![cable],
                },
            )),
        }
    }
    nodes
}

/// Takes a part.
pub(super) fn read(
    part: v1::SnapshotCables,
    memories: &mut CableMemories,
) -> Result<(), SnapshotError> {
    for cable in part.cables {
        let id = cable.port.unwrap_or_default();
        let port = u8::try_from(id.port).map_err(|_| SnapshotError::PortNumber { port: id.port });
        let port = (Guid(id.node_guid), PortNum(port?));
        if let Some(memory) = bytes("the memory of a cable", &cable.memory)? {
            memories.insert(port, memory);
        }
        let thresholds = bytes("the page of thresholds of a cable", &cable.thresholds)?;
        if let Some(monitors) = bytes("the monitors of a cable", &cable.monitors)? {
            let module = Module {
                monitors,
                thresholds,
            };
            memories.insert_module(port, module);
        }
    }
    Ok(())
}

/// Bytes of a fixed number; none where there are none.
fn bytes<const N: usize>(
    what: &'static str,
    bytes: &[u8],
) -> Result<Option<[u8; N]>, SnapshotError> {
    let wrong = |_| SnapshotError::Length {
        what,
        actual: bytes.len(),
        expected: N,
    };
    match bytes.is_empty() {
        true => Ok(None),
        false => bytes.try_into().map(Some).map_err(wrong),
    }
}
