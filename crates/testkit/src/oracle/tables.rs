//! I4: the switches hold the published tables.

use super::{Breach, Invariant};
use crate::view::FabricView;
use weft_fabric::{Lid, Snapshot, UNREACHABLE};

/// Published nodes that have no power.
fn unpowered(view: &FabricView, snapshot: &Snapshot) -> Vec<Breach> {
    let nodes = snapshot.topology.nodes().map(|(_, node)| node.guid());
    let dark = nodes.filter(|guid| view.find(*guid).is_none());
    let breach = |guid| {
        let what = format!("{guid} has no power, yet is in the snapshot");
        Breach::new(Invariant::TablesAsIntended, what)
    };
    dark.map(breach).collect()
}

/// I4: the published snapshot and the devices agree on every entry of every connected switch, and on
/// the set of nodes.
pub fn check(view: &FabricView, root: usize, snapshot: &Snapshot) -> Vec<Breach> {
    let mut breaches = unpowered(view, snapshot);
    let connected = view.connected(root);
    for (node, connected) in view.nodes.iter().zip(&connected) {
        let known = snapshot.topology.find(node.guid);
        if known.is_some() != *connected {
            let there = if *connected {
                "is missing in"
            } else {
                "is gone, yet in"
            };
            let what = format!("{} {there} the snapshot", node.guid);
            breaches.push(Breach::new(Invariant::TablesAsIntended, what));
        }
        let Some(switch) = known.and_then(|id| snapshot.topology.switch_index(id)) else {
            continue;
        };
        let intended = snapshot.linear.row(switch);
        for lid in 1..node.lft.len().max(intended.len()) {
            let has = node.lft.get(lid).copied().unwrap_or(UNREACHABLE);
            let means = intended.get(lid).copied().unwrap_or(UNREACHABLE);
            if has != means {
                let lid = Lid(lid as u32);
                let what = format!("{} sends LID {lid} to {has}, intended {means}", node.guid);
                breaches.push(Breach::new(Invariant::TablesAsIntended, what));
            }
        }
    }
    breaches
}
