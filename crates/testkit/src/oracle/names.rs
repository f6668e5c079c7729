//! I14: nodes are called in a snapshot what they call themselves.

use weft_dataplane::Network;
use weft_fabric::Snapshot;

use super::{Breach, Invariant};

/// Each published node that is there has the description of its device, byte by byte.
pub fn check(network: &Network, published: &Snapshot) -> Option<Breach> {
    let mut nodes = published.topology.nodes();
    let other = nodes.find(|(_, node)| {
        let device = network.find(node.guid()).map(|id| network.device_at(id));
        device.is_some_and(|device| device.description.bytes() != node.description.bytes())
    });
    other.map(|(_, node)| {
        let (guid, name) = (node.guid(), node.description.text());
        let what = format!("{guid} is published as {name:?}, which it does not call itself");
        Breach::new(Invariant::ConsistentSnapshot, what)
    })
}
