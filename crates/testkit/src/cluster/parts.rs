//! What is connected with whom.

use std::collections::BTreeMap;

use weft_dataplane::{Network, PortIndex};
use weft_fabric::enums::PortState;
use weft_fabric::{Guid, NodeId};

/// The parts of a fabric, each by the lowest GUID of its nodes.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// Changes of links until which `of` is right.
    changes: u64,
    of: BTreeMap<Guid, Guid>,
}

impl Parts {
    /// The part that a host is in.
    pub(super) fn of(&mut self, network: &Network, host: Guid) -> Guid {
        if network.link_changes() != self.changes {
            self.changes = network.link_changes();
            self.of.clear();
        }
        let part = self.of.entry(host);
        *part.or_insert_with(|| lowest(network, host))
    }
}

/// The lowest GUID of a node that is connected with a host.
fn lowest(network: &Network, host: Guid) -> Guid {
    let mut is_seen = vec![false; network.devices().len()];
    let mut open: Vec<NodeId> = network.find(host).into_iter().collect();
    let mut lowest = host;
    let start = open.first().copied();
    while let Some(node) = open.pop() {
        if std::mem::replace(&mut is_seen[node.0 as usize], true) {
            continue;
        }
        let device = network.device_at(node);
        lowest = lowest.min(device.info.node_guid);
        let forwards = device.is_switch() || Some(node) == start;
        let up = |at: &PortIndex| forwards && network.state(*at) != PortState::DOWN;
        let peers = device.ports().map(|(_, at)| at).filter(up);
        open.extend(peers.filter_map(|at| Some(network.node_of(network.peer(at)?))));
    }
    lowest
}
