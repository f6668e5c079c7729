//! The links that hosts use to reach each other.

use std::collections::{BTreeMap, BTreeSet};

use weft_fabric::{Lid, PortRef, Snapshot};

/// A direction of a link: the port that sends, and the one that receives.
pub type Hop = (PortRef, PortRef);

/// The links that packets between these end ports may cross by the tables of a snapshot, on all LIDs of each port and all
/// ports of adaptive groups, in both directions; each with the number of end ports that packets over it go to. None when
/// `stop`, which is asked for each port, ends it.
pub fn links_between(
    snapshot: &Snapshot,
    ends: &[PortRef],
    stop: &dyn Fn() -> bool,
) -> Option<BTreeMap<Hop, u32>> {
    let mut all = BTreeMap::new();
    for to in ends {
        if stop() {
            return None;
        }
        for hop in links_towards(snapshot, ends, *to) {
            *all.entry(hop).or_insert(0) += 1;
        }
    }
    Some(all)
}

fn links_towards(snapshot: &Snapshot, ends: &[PortRef], to: PortRef) -> BTreeSet<Hop> {
    let topology = &snapshot.topology;
    let mut hops = BTreeSet::new();
    let Some(port) = topology.port(to).filter(|port| port.info.lid.is_unicast()) else {
        return hops;
    };
    for offset in 0..port.info.lmc.lids() {
        let lid = Lid(port.info.lid.0.saturating_add(offset));
        let mut seen = BTreeSet::new();
        let mut open: Vec<PortRef> = ends.iter().copied().filter(|end| *end != to).collect();
        while let Some(out) = open.pop() {
            let Some(into) = topology.peer(out) else {
                continue;
            };
            hops.insert((out, into));
            let Some(switch) = topology.switch_index(into.node) else {
                continue;
            };
            if !seen.insert(switch) {
                continue;
            }
            let group = snapshot.groups.group(switch, lid);
            let group = group.into_iter().flat_map(|ports| ports.iter());
            let outs = group.chain(snapshot.linear.egress(switch, lid));
            open.extend(outs.filter(|port| port.0 != 0).map(|port| PortRef {
                node: into.node,
                port,
            }));
        }
    }
    hops
}
