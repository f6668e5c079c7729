//! I3: packets between hosts can never wait for each other in a ring, whatever ports adaptive switches
//! choose.
//!
//! All traffic is taken to share one virtual lane, the hardest case: whatever is free of cycles
//! then is free of them on any lanes.

use std::collections::{BTreeMap, BTreeSet};

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
    let mut graph = BTreeMap::new();
    for target in hosts(view) {
        for lid in view.nodes[target].lids() {
            depend(view, target, lid, lane(lid), &mut graph);
        }
    }
    graph
}

fn hosts(view: &FabricView) -> impl Iterator<Item = usize> {
    (0..view.nodes.len()).filter(|node| !view.nodes[*node].switch)
}

/// Adds what packets to a LID from all other hosts can wait for, whatever ports switches choose.
fn depend(
    view: &FabricView,
    target: usize,
    lid: Lid,
    lane: u8,
    graph: &mut BTreeMap<Channel, BTreeSet<Channel>>,
) {
    let mut seen = vec![false; view.nodes.len()];
    let others = hosts(view).filter(|host| *host != target);
    let mut stack: Vec<usize> = others.filter_map(|host| behind(view, host, 1)).collect();
    while let Some(switch) = stack.pop() {
        if std::mem::replace(&mut seen[switch], true) {
            continue;
        }
        for egress in view.nodes[switch].egress(lid) {
            let Some(next) = behind(view, switch, egress) else {
                continue;
            };
            let then = view.nodes[next].egress(lid);
            let then = then.filter(|egress| behind(view, next, *egress).is_some());
            let waits = graph.entry((lane, switch, egress)).or_default();
            waits.extend(then.map(|egress| (lane, next, egress)));
            stack.push(next);
        }
    }
}

/// The switch behind a port, where there is one.
fn behind(view: &FabricView, node: usize, port: u8) -> Option<usize> {
    let port = view.nodes[node].ports.get(usize::from(port))?.as_ref()?;
    let (peer, _) = port.peer?;
    view.nodes[peer].switch.then_some(peer)
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
