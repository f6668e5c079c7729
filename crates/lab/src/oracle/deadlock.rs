//! I3: packets between hosts can never wait for each other in a ring.
//!
//! All traffic is taken to share one virtual lane, the hardest case: whatever is free of cycles
//! then is free of them on any lanes.

use std::collections::{BTreeMap, BTreeSet};

use super::reach::walk;
use super::{Breach, Invariant};
use crate::view::FabricView;
use weft_fabric::Lid;

/// A directed link: the lane, the switch and the egress port.
type Channel = (u8, usize, u8);

/// I3 over every route from host to host, all of them in one lane.
pub fn check(view: &FabricView) -> Vec<Breach> {
    check_lanes(view, |_| 0)
}

/// The same with destinations in lanes of their own.
pub fn check_lanes(view: &FabricView, lane: impl Fn(Lid) -> u8) -> Vec<Breach> {
    let graph = dependencies(view, lane);
    match find_cycle(&graph) {
        None => Vec::new(),
        Some(cycle) => {
            let hops: Vec<String> = cycle
                .iter()
                .map(|(_, node, port)| format!("{} port {port}", view.nodes[*node].guid))
                .collect();
            vec![Breach::new(
                Invariant::DeadlockFree,
                format!("cycle: {}", hops.join(" -> ")),
            )]
        }
    }
}

fn dependencies(
    view: &FabricView,
    lane: impl Fn(Lid) -> u8,
) -> BTreeMap<Channel, BTreeSet<Channel>> {
    let mut graph: BTreeMap<Channel, BTreeSet<Channel>> = BTreeMap::new();
    let hosts = || (0..view.nodes.len()).filter(|node| !view.nodes[*node].switch);
    for target in hosts() {
        let Some(port) = view.nodes[target].end_port().filter(|port| port.lid.0 != 0) else {
            continue;
        };
        for lid in port.lid.0..port.lid.0 + port.lmc.lids() {
            for from in hosts().filter(|from| *from != target) {
                let mut last = None;
                walk(view, from, Lid(lid), |node, egress| {
                    let channel = (lane(Lid(lid)), node, egress);
                    if let Some(before) = last.replace(channel) {
                        graph.entry(before).or_default().insert(channel);
                    }
                });
            }
        }
    }
    graph
}

/// Takes channels without a successor away until none is left, or only cycles are.
fn find_cycle(graph: &BTreeMap<Channel, BTreeSet<Channel>>) -> Option<Vec<Channel>> {
    let mut alive: BTreeSet<Channel> = graph.keys().copied().collect();
    loop {
        let waits = |channel: &Channel| graph[channel].iter().any(|next| alive.contains(next));
        let still: BTreeSet<Channel> = alive
            .iter()
            .filter(|channel| waits(channel))
            .copied()
            .collect();
        if still.len() == alive.len() {
            break;
        }
        alive = still;
    }
    let mut path = vec![*alive.first()?];
    loop {
        let next = graph[path.last()?]
            .iter()
            .find(|next| alive.contains(next))?;
        if let Some(start) = path.iter().position(|channel| channel == next) {
            return Some(path.split_off(start));
        }
        path.push(*next);
    }
}
