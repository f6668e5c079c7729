//! LIDs that HFIs hold before the manager begins, which leaves them as they are.

use weft_dataplane::packets::Random;
use weft_fabric::{Lid, Lmc, NodeId, PortNum, Topology};

/// Distinguishes this draw from those of hosts and destinations, which shuffle as many from the same seed: the n-th host
/// of such a draw would have LID n.
const LIDS: u64 = 0x4c49_4473;

/// Has all HFIs with a cable hold LIDs in an order drawn by the seed, as in a fabric to which hosts were added in any order.
/// A fabric that has more than LIDs has none for the last ones.
pub(super) fn draw(topology: &mut Topology, lmc: Lmc, seed: u64) {
    let mut ports: Vec<(NodeId, PortNum)> = Vec::new();
    for (id, hfi) in topology.hfis() {
        let cabled = hfi.external_ports().filter(|(_, port)| port.peer.is_some());
        ports.extend(cabled.map(|(number, _)| (id, number)));
    }
    Random::new(seed ^ LIDS).shuffle(&mut ports);
    for ((id, number), place) in ports.into_iter().zip(1..) {
        let lid = Lid(lmc.lids() * place);
        let port = topology.node_mut(id).and_then(|node| node.port_mut(number));
        if let Some(port) = port.filter(|_| lid.0 + lmc.lids() - 1 <= Lid::MAX_UNICAST_16.0) {
            port.info.lid = lid;
        }
    }
}
