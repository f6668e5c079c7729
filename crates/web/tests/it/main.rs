//! The fabric in the order and the columns that the page reads.
#![allow(clippy::unwrap_used)]

mod board;
mod layout;

use weft_fabric::{FabricSpec, Guid, PortRef, Topology};

/// A fabric as a manager knows it: all links active.
fn fabric(spec: &str) -> Topology {
    let mut topology = spec.parse::<FabricSpec>().unwrap().generate().unwrap();
    let ends: Vec<PortRef> = topology.links().flat_map(|(a, b)| [a, b]).collect();
    for end in ends {
        let port = topology.node_mut(end.node).unwrap();
        let port = port.port_mut(end.port).unwrap();
        port.info.port_state = weft_fabric::enums::PortState::ACTIVE;
        port.info.phys_state = weft_fabric::enums::PhysState::LINK_UP;
    }
    topology
}

fn guid(topology: &Topology, end: PortRef) -> Guid {
    topology.node(end.node).unwrap().guid()
}
