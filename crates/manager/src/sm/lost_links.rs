//! Links that were there and are not: what switches hold may lead over them, and they may come back while
//! it is replaced.

use std::collections::BTreeSet;
use std::sync::Arc;

use weft_fabric::enums::PortState;
use weft_fabric::{NodeId, PortNum, PortRef, Topology};

use super::devices::Devices;

impl Devices {
    /// Links between switches of a topology that were there and are not.
    pub(super) fn lost_links(&self, of: &Topology) -> Vec<(PortRef, PortRef)> {
        let mut taken = BTreeSet::new();
        let mut lost = Vec::new();
        for node in of.switches() {
            let ports = of.node(*node).into_iter();
            let ports = ports.flat_map(|node| node.external_ports());
            for (port, _) in ports.filter(|(_, port)| port.peer.is_none()) {
                let own = PortRef { node: *node, port };
                let Some(far) = self.lost_end(of, own) else {
                    continue;
                };
                if !taken.contains(&own) && !taken.contains(&far) {
                    taken.extend([own, far]);
                    lost.push((own, far));
                }
            }
        }
        lost
    }

    /// The other end of a switch port's last link, where that is a switch of the topology whose port has
    /// none either.
    fn lost_end(&self, of: &Topology, own: PortRef) -> Option<PortRef> {
        let (guid, port) = self[own.node].observed.last_neighbour(own.port)?;
        let node = NodeId(self.find(guid)?);
        let far = PortRef { node, port };
        let is_external = port != PortNum(0) && of.switch_index(node).is_some();
        let is_free = of.port(far)?.peer.is_none();
        (is_external && is_free && node != own.node).then_some(far)
    }
}

/// A topology with further links, which are up.
pub(super) fn with_links(topology: &Arc<Topology>, links: &[(PortRef, PortRef)]) -> Arc<Topology> {
    let mut more = Arc::clone(topology);
    for (a, b) in links {
        for (own, far) in [(a, b), (b, a)] {
            let node = Arc::make_mut(&mut more).node_mut(own.node);
            let Some(port) = node.and_then(|node| node.port_mut(own.port)) else {
                continue;
            };
            (port.peer, port.info.port_state) = (Some(*far), PortState::INIT);
        }
    }
    more
}
