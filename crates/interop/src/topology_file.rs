//! The topology file of an emulated fabric, before anything manages it.

use std::sync::Arc;

use weft_fabric::enums::SmState;
use weft_fabric::export::write_topology;
use weft_fabric::{Lid, PortNum, PortRef, SmRecord, Snapshot, Topology};

/// The topology file of a fabric that is managed from its first host.
///
/// # Panics
/// If the fabric has no host.
pub fn topology_file(topology: &Topology) -> String {
    let (node, host) = topology.hfis().next().unwrap();
    let port = PortNum(1);
    let sm = SmRecord {
        port: PortRef { node, port },
        port_guid: host.port_guid(port).unwrap(),
        state: SmState::MASTER,
        lid: Lid(1),
        priority: 0,
        sm_key: 0,
        act_count: 0,
    };
    let snapshot = Snapshot {
        topology: Arc::new(topology.clone()),
        sms: vec![sm],
        ..Snapshot::default()
    };
    let mut text = Vec::new();
    write_topology(&snapshot, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}
