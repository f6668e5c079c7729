//! I3: packets between hosts can never wait for each other in a ring, whatever ports adaptive switches
//! choose. Service channels and lanes are those of the registers.

use std::collections::{BTreeMap, BTreeSet};

use super::{Breach, Invariant};
use crate::view::FabricView;
use weft_fabric::{Lid, Sl};

/// A directed link: the lane, the switch and the egress port.
type Channel = (u8, usize, u8);

/// Channels for which packets in each channel can wait.
type Graph = BTreeMap<Channel, BTreeSet<Channel>>;

/// A packet at a switch: the switch, the port that it came in by and its service channel.
type At = (usize, u8, u8);

/// I3 over every route from host to host, all of them at one service level.
pub fn check(view: &FabricView) -> Vec<Breach> {
    check_levels(view, |_| vec![Sl(0)])
}

/// I3 over every route from host to host, at the service levels that hosts use for each LID.
pub fn check_levels(view: &FabricView, levels: impl Fn(Lid) -> Vec<Sl>) -> Vec<Breach> {
    judge(view, &asked(view, levels))
}

/// I3 over these routes and those of answers on the level of the request: from the owner of a LID
/// to every other one, at the LID's own levels.
pub fn check_answers(view: &FabricView, levels: impl Fn(Lid) -> Vec<Sl>) -> Vec<Breach> {
    let mut graph = asked(view, &levels);
    for from in hosts(view) {
        let own: BTreeSet<Sl> = view.nodes[from].lids().flat_map(&levels).collect();
        let own: Vec<Sl> = own.into_iter().collect();
        let others = hosts(view).filter(|target| *target != from);
        for lid in others.flat_map(|target| view.nodes[target].lids()) {
            depend(view, &[from], lid, &own, &mut graph);
        }
    }
    judge(view, &graph)
}

/// Dependencies of packets to all LIDs.
fn asked(view: &FabricView, levels: impl Fn(Lid) -> Vec<Sl>) -> Graph {
    let mut graph = Graph::new();
    for target in hosts(view) {
        let others: Vec<usize> = hosts(view).filter(|host| *host != target).collect();
        for lid in view.nodes[target].lids() {
            depend(view, &others, lid, &levels(lid), &mut graph);
        }
    }
    graph
}

fn judge(view: &FabricView, graph: &Graph) -> Vec<Breach> {
    let Some(cycle) = find_cycle(graph) else {
        return Vec::new();
    };
    let hops: Vec<String> = cycle
        .iter()
        .map(|(lane, node, port)| {
            let guid = view.nodes[*node].guid;
            format!("{guid} port {port} lane {lane}")
        })
        .collect();
    let what = format!("cycle: {}", hops.join(" -> "));
    vec![Breach::new(Invariant::DeadlockFree, what)]
}

fn hosts(view: &FabricView) -> impl Iterator<Item = usize> {
    (0..view.nodes.len()).filter(|node| !view.nodes[*node].switch)
}

/// Adds what packets to a LID from some hosts can wait for, whatever ports switches choose.
fn depend(view: &FabricView, from: &[usize], lid: Lid, levels: &[Sl], graph: &mut Graph) {
    let mut seen: BTreeSet<At> = BTreeSet::new();
    let starts = from.iter().flat_map(|host| {
        let channels = &view.nodes[*host].channels;
        let levels = levels.iter().filter(|_| view.nodes[*host].may_send());
        let sent = levels.map(|level| channels.of_level(*level));
        sent.filter_map(move |channel| behind(view, *host, 1, channel))
    });
    let mut stack: Vec<At> = starts.map(|(_, at)| at).collect();
    while let Some(at) = stack.pop() {
        if !seen.insert(at) {
            continue;
        }
        for (sent, next) in onward(view, lid, at) {
            let waits = graph.entry(sent).or_default();
            waits.extend(onward(view, lid, next).map(|(sent, _)| sent));
            stack.push(next);
        }
    }
}

/// The channels that a packet at a switch may be sent in to another switch, and where it is then.
fn onward(
    view: &FabricView,
    lid: Lid,
    (node, ingress, channel): At,
) -> impl Iterator<Item = (Channel, At)> {
    let switch = &view.nodes[node];
    let egress = switch.egress(lid);
    egress.filter_map(move |egress| {
        let channel = switch.channels.across(ingress, egress, channel);
        let (lane, next) = behind(view, node, egress, channel)?;
        Some(((lane, node, egress), next))
    })
}

/// The lane that a channel is sent in by a port, and where that leads where it is a switch.
fn behind(view: &FabricView, node: usize, port: u8, channel: u8) -> Option<(u8, At)> {
    let sender = &view.nodes[node];
    let lane = sender.channels.lane(port, channel)?;
    let (peer, ingress) = sender.port(port)?.peer?;
    let next = (peer, ingress, channel);
    view.nodes[peer].switch.then_some((lane, next))
}

/// Takes channels without a successor away until none is left, or only cycles are.
fn find_cycle(graph: &Graph) -> Option<Vec<Channel>> {
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
