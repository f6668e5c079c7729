//! I3: packets between hosts can never wait for each other in a ring, whatever ports adaptive switches
//! choose. Service channels and lanes are those of the registers.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{Breach, Invariant};
use crate::view::FabricView;
use weft_fabric::{Lid, Sl};

/// A directed link: the lane, the switch and the egress port.
type Channel = (u8, usize, u8);

/// Channels for which packets in each channel can wait.
type Graph = HashMap<Channel, HashSet<Channel>>;

/// A packet at a switch: the switch, the port that it came in by and its service channel.
type At = (usize, u8, u8);

/// Where packets are that leave a switch by a port, at some service levels: the channel, and what it leads to.
type Leaving = HashMap<(usize, u8, Vec<Sl>), Vec<(Channel, At)>>;

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
    let mut behind: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for host in hosts(view).filter(|host| view.nodes[*host].may_send()) {
        let peer = view.nodes[host].port(1).and_then(|port| port.peer);
        let switch = peer.filter(|(peer, _)| view.nodes[*peer].switch);
        let at = switch.map(|(switch, _)| behind.entry(switch).or_default());
        at.into_iter().for_each(|hosts| hosts.push(host));
    }
    let mut left: Leaving = HashMap::new();
    let mut graph = Graph::new();
    for target in hosts(view) {
        for lid in view.nodes[target].lids() {
            let levels = levels(lid);
            let mut stack = Vec::new();
            for (switch, hosts) in behind.iter().filter(|(_, hosts)| **hosts != [target]) {
                for egress in view.nodes[*switch].egress(lid) {
                    let key = (*switch, egress, levels.clone());
                    let left = left.entry(key);
                    let left = left.or_insert_with(|| leave(view, hosts, egress, &levels));
                    stack.extend(left.iter().copied());
                }
            }
            follow(view, lid, stack, &mut graph);
        }
    }
    graph
}

/// The channels in which packets of the hosts of a switch leave it by a port, and where they are then.
fn leave(view: &FabricView, hosts: &[usize], egress: u8, levels: &[Sl]) -> Vec<(Channel, At)> {
    let starts = starts(view, hosts, levels);
    let steps = starts.filter_map(|at| step(view, at, egress));
    let steps: BTreeSet<(Channel, At)> = steps.collect();
    steps.into_iter().collect()
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
    let starts = starts(view, from, levels);
    let stack = starts.flat_map(|at| onward(view, lid, at)).collect();
    follow(view, lid, stack, graph);
}

/// Where packets of hosts come to a switch first.
fn starts<'a>(
    view: &'a FabricView,
    hosts: &'a [usize],
    levels: &'a [Sl],
) -> impl Iterator<Item = At> + 'a {
    let senders = hosts.iter().filter(|host| view.nodes[**host].may_send());
    senders.flat_map(move |host| {
        let channels = &view.nodes[*host].channels;
        let sent = levels.iter().map(|level| channels.of_level(*level));
        let behind = sent.filter_map(move |channel| behind(view, *host, 1, channel));
        behind.map(|(_, at)| at)
    })
}

/// Adds what packets to a LID can wait for that are sent in channels, each with where it leads.
fn follow(view: &FabricView, lid: Lid, mut stack: Vec<(Channel, At)>, graph: &mut Graph) {
    let mut seen: HashSet<At> = HashSet::new();
    while let Some((sent, at)) = stack.pop() {
        let waits = graph.entry(sent).or_default();
        let is_new = seen.insert(at);
        for (next, behind) in onward(view, lid, at) {
            waits.insert(next);
            if is_new {
                stack.push((next, behind));
            }
        }
    }
}

/// The channels that a packet at a switch may be sent in to another switch, and where it is then.
fn onward(view: &FabricView, lid: Lid, at: At) -> impl Iterator<Item = (Channel, At)> {
    let egress = view.nodes[at.0].egress(lid);
    egress.filter_map(move |egress| step(view, at, egress))
}

/// The same of one port.
fn step(view: &FabricView, (node, ingress, channel): At, egress: u8) -> Option<(Channel, At)> {
    let channel = view.nodes[node].channels.across(ingress, egress, channel);
    let (lane, next) = behind(view, node, egress, channel)?;
    Some(((lane, node, egress), next))
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
        let nexts = graph[path.last()?].iter();
        let next = nexts.filter(|next| alive.contains(next)).min()?;
        if let Some(start) = path.iter().position(|channel| channel == next) {
            return Some(path.split_off(start));
        }
        path.push(*next);
    }
}
