//! Keys (M_Key, SM_Key) taken out of a fabric that is handed on.

use std::sync::Arc;

use weft_wire::id::PortNum;

use crate::{Node, SmRecord, Snapshot};

/// Takes keys out of snapshots. Nodes that stay as they are stay shared from one snapshot to the
/// next, as they do without a mask.
#[derive(Debug, Default)]
pub struct KeyMask {
    /// Nodes of the last snapshot, with and without their keys, by their index.
    nodes: Vec<(Arc<Node>, Arc<Node>)>,
}

impl KeyMask {
    /// The snapshot without keys.
    pub fn snapshot(&mut self, snapshot: &Snapshot) -> Snapshot {
        let last = std::mem::take(&mut self.nodes);
        let topology = snapshot.topology.map_nodes(|id, node| {
            let held = last.get(id.0 as usize);
            let held = held.filter(|(before, _)| Arc::ptr_eq(before, node));
            let masked = held.map_or_else(|| without_key(node), |(_, masked)| Arc::clone(masked));
            self.nodes.push((Arc::clone(node), Arc::clone(&masked)));
            masked
        });
        let without_key = |sm: &SmRecord| SmRecord {
            sm_key: 0,
            ..sm.clone()
        };
        Snapshot {
            topology: Arc::new(topology),
            sms: snapshot.sms.iter().map(without_key).collect(),
            ..snapshot.clone()
        }
    }
}

fn without_key(node: &Arc<Node>) -> Arc<Node> {
    let keyed = |(_, port): &(PortNum, &crate::Port)| port.info.m_key != 0;
    let keyed: Vec<PortNum> = node.ports().filter(keyed).map(|(port, _)| port).collect();
    if keyed.is_empty() {
        return Arc::clone(node);
    }
    let mut masked = Node::clone(node);
    for port in keyed {
        if let Some(port) = masked.port_mut(port) {
            port.info.m_key = 0;
        }
    }
    Arc::new(masked)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::{FabricSpec, NodeId};

    use super::*;

    #[test]
    fn nodes_lose_their_keys_and_stay_shared() {
        let spec: FabricSpec = "one-switch:3".parse().unwrap();
        let mut topology = spec.generate().unwrap();
        let ids: Vec<NodeId> = topology.nodes().map(|(id, _)| id).collect();
        for id in &ids[1..] {
            let node = topology.node_mut(*id).unwrap();
            let ports: Vec<PortNum> = node.ports().map(|(port, _)| port).collect();
            for port in ports {
                node.port_mut(port).unwrap().info.m_key = 0x5EC2E7;
            }
        }
        let mut snapshot = Snapshot {
            topology: Arc::new(topology),
            ..Snapshot::default()
        };
        let mut mask = KeyMask::default();
        let first = mask.snapshot(&snapshot);
        let keys = |snapshot: &Snapshot| {
            let nodes = snapshot.topology.nodes();
            let ports = nodes.flat_map(|(_, node)| node.ports().map(|(_, port)| port.info.m_key));
            ports.filter(|key| *key != 0).count()
        };
        assert!(keys(&snapshot) > 3);
        assert_eq!(keys(&first), 0);
        assert_eq!(first.topology.links().count(), 3, "cables are still there");

        let changed = Arc::make_mut(&mut snapshot.topology);
        let info = &mut changed.node_mut(ids[2]).unwrap();
        info.port_mut(PortNum(1)).unwrap().info.m_key = 9;
        let second = mask.snapshot(&snapshot);
        assert_eq!(keys(&second), 0);
        let changed = second.topology.changed_since(first.topology.nodes_shared());
        assert_eq!(changed, Some(vec![ids[2]]), "the others are shared");
    }
}
