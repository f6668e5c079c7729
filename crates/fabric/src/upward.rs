//! Links in the direction that people read them: from the hosts up.

use crate::topology::{NodeId, PortRef, Topology};
use weft_wire::id::Guid;

/// Every link once, from the end that is nearer to the HFIs (the smaller GUID and port where both
/// are as near), in order of that end's GUID and port.
pub fn links_upward(topology: &Topology) -> Vec<(PortRef, PortRef)> {
    let tiers = tiers(topology);
    let guid = |at: PortRef| topology.node(at.node).map_or(Guid(0), |node| node.guid());
    let key = |at: PortRef| (tiers[at.node.0 as usize], guid(at), at.port);
    let mut links: Vec<_> = topology
        .links()
        .map(|(a, b)| if key(a) <= key(b) { (a, b) } else { (b, a) })
        .collect();
    links.sort_by_key(|(from, _)| (guid(*from), from.port));
    links
}

/// Cables between each node and the nearest HFI, by node; the largest number where none is
/// connected.
pub(crate) fn tiers(topology: &Topology) -> Vec<u32> {
    let mut tiers = vec![u32::MAX; topology.len()];
    let hosts = topology.hfis().map(|(id, _)| id).collect();
    spread(topology, &mut tiers, hosts, 0);
    tiers
}

/// Gives `tier` to the nodes of `now`, the next number to their neighbours that have none (the largest number), and
/// so on.
pub(crate) fn spread(topology: &Topology, tiers: &mut [u32], mut now: Vec<NodeId>, mut tier: u32) {
    while !now.is_empty() {
        now.iter().for_each(|id| tiers[id.0 as usize] = tier);
        let nodes = now.iter().filter_map(|id| topology.node(*id));
        let peers = nodes.flat_map(|node| node.ports().filter_map(|(_, port)| port.peer));
        let mut next: Vec<_> = peers
            .map(|peer| peer.node)
            .filter(|id| tiers[id.0 as usize] == u32::MAX)
            .collect();
        next.sort_unstable();
        next.dedup();
        now = next;
        tier += 1;
    }
}
