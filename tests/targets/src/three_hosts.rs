//! The fabric of targets that stand behind a sweep: three hosts at a switch.

use std::sync::{Arc, LazyLock};

use weft_fabric::enums::{PortState, SmState};
use weft_fabric::{FabricSpec, Lid, NodeId, PortNum, PortRef, SmRecord, Snapshot, Topology};

/// Made once: a fuzzer comes here ten million times.
pub static FABRIC: LazyLock<Arc<Snapshot>> = LazyLock::new(|| Arc::new(snapshot()));

/// Three hosts, LIDs 1 to 3, at a switch, all ports active; the manager runs on the first host.
fn snapshot() -> Snapshot {
    let generated = "one-switch:3".parse::<FabricSpec>().ok();
    let topology = generated.and_then(|spec| spec.generate().ok());
    let mut topology = topology.unwrap_or_default();
    let hosts: Vec<NodeId> = topology.hfis().map(|(node, _)| node).collect();
    let switches = topology.switches().to_vec();
    for (lid, node) in (1..).zip(hosts.iter().chain(&switches)) {
        activate(&mut topology, *node, Lid(lid));
    }
    let own = hosts.first().map(|node| PortRef {
        node: *node,
        port: PortNum(1),
    });
    let master = own.map(|port| SmRecord {
        port,
        lid: Lid(1),
        port_guid: topology
            .node(port.node)
            .map(|node| node.guid())
            .unwrap_or_default(),
        state: SmState::MASTER,
        priority: 0,
        sm_key: 0,
        act_count: 0,
    });
    Snapshot {
        generation: 1,
        topology: Arc::new(topology),
        sms: master.into_iter().collect(),
        ..Snapshot::default()
    }
}

fn activate(topology: &mut Topology, id: NodeId, lid: Lid) {
    let Some(node) = topology.node_mut(id) else {
        return;
    };
    let numbers: Vec<PortNum> = node.ports().map(|(number, _)| number).collect();
    for number in numbers {
        if let Some(port) = node.port_mut(number) {
            port.info.lid = lid;
            if port.peer.is_some() {
                port.info.port_state = PortState::ACTIVE;
            }
        }
    }
}
