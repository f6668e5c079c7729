//! From the values of the other crates to messages, and back where a client needs it.

mod config;
mod counters;
mod event;
mod fabric;
mod fabric_plan;
mod perf;
mod perf_group;
mod plan;
mod port;
mod quarantine;
mod replacement;
mod route;
mod sweep;
mod topology;
mod tree;
mod virtual_fabric;

pub use config::rule_name;
pub use counters::{
    WantedCounters, count_of, counter_name, counter_named, counters_named, has_errors, rate_of,
};
pub use plan::{drain_message, drain_of};
pub use port::{disabled_port, port_action, port_action_done};

use weft_fabric::topology::node_type;
use weft_fabric::{Guid, PortNum, PortRef, Snapshot, Topology};
use weft_report::LinkEnd;

use crate::v1;

/// A port as messages name it; none when the topology does not have its node.
pub fn port_id(topology: &Topology, at: PortRef) -> Option<v1::PortId> {
    let node = topology.node(at.node)?;
    Some(v1::PortId {
        node_guid: node.guid().0,
        port: u32::from(at.port.0),
    })
}

/// The node and port that a message names; none when there is no such port number.
pub fn point_of(id: &v1::PortId) -> Option<(Guid, PortNum)> {
    let port = u8::try_from(id.port).ok()?;
    Some((Guid(id.node_guid), PortNum(port)))
}

/// A port as messages name it.
pub fn port_message(node: Guid, number: PortNum) -> v1::PortId {
    port((node, number))
}

pub(crate) fn port((node, port): (Guid, PortNum)) -> v1::PortId {
    v1::PortId {
        node_guid: node.0,
        port: u32::from(port.0),
    }
}

impl From<LinkEnd> for v1::LinkEnd {
    fn from(end: LinkEnd) -> Self {
        Self {
            port: Some(port((end.guid, PortNum(end.port)))),
            node_type: i32::from(end.node_type.0),
            node_name: end.name,
        }
    }
}

pub(crate) fn node_type_code(node: &weft_fabric::Node) -> i32 {
    i32::from(node_type(node).0)
}

/// Number of external ports of a snapshot in each state, in order of state.
pub(crate) fn port_counts(snapshot: &Snapshot) -> Vec<v1::PortCount> {
    let states = [
        v1::PortState::Down,
        v1::PortState::Init,
        v1::PortState::Armed,
        v1::PortState::Active,
    ];
    let mut counts = [0u32; 4];
    for (_, node) in snapshot.topology.nodes() {
        for (_, port) in node.external_ports() {
            let state = usize::from(port.info.port_state.0.max(1));
            if let Some(count) = counts.get_mut(state - 1) {
                *count += 1;
            }
        }
    }
    let counted = states.into_iter().zip(counts);
    counted
        .map(|(state, ports)| v1::PortCount {
            state: state.into(),
            ports,
        })
        .collect()
}
