//! I3: packets between hosts can never wait for each other in a ring, whatever ports adaptive switches
//! choose. Service channels and lanes are those of the registers.

use std::collections::{BTreeMap, BTreeSet};

use super::waits::{Channel, Waits, first_ports};
use super::{Breach, Invariant};
use crate::view::FabricView;
use weft_fabric::{Lid, Sl};

/// A packet at a switch: the switch, the port that it came in by and its service channel.
type At = (usize, u8, u8);

/// Where packets are that leave a switch: the channels, and what each leads to.
type Leaving = Vec<(Channel, At)>;

/// I3 over every route from host to host, all of them at one service level.
pub fn check(view: &FabricView) -> Vec<Breach> {
    check_levels(view, |_| vec![Sl(0)])
}

/// I3 over every route from host to host, at the service levels that hosts use for each LID.
pub fn check_levels(view: &FabricView, levels: impl Fn(Lid) -> Vec<Sl>) -> Vec<Breach> {
    judge(view, &asked(view, levels).waits)
}

/// I3 over these routes and those of answers on the level of the request: from the owner of a LID
/// to every other one, at the LID's own levels.
pub fn check_answers(view: &FabricView, levels: impl Fn(Lid) -> Vec<Sl>) -> Vec<Breach> {
    let mut routes = asked(view, &levels);
    for from in hosts(view) {
        let own: BTreeSet<Sl> = view.nodes[from].lids().flat_map(&levels).collect();
        let own: Vec<Sl> = own.into_iter().collect();
        let others = hosts(view).filter(|target| *target != from);
        for lid in others.flat_map(|target| view.nodes[target].lids()) {
            let from = [from];
            let starts = starts(view, &from, &own);
            let stack = starts.flat_map(|at| onward(view, lid, at)).collect();
            routes.follow(lid, stack);
        }
    }
    judge(view, &routes.waits)
}

/// Routes of packets to all LIDs.
fn asked(view: &FabricView, levels: impl Fn(Lid) -> Vec<Sl>) -> Routes<'_> {
    let mut behind: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for host in hosts(view).filter(|host| view.nodes[*host].may_send()) {
        let peer = view.nodes[host].port(1).and_then(|port| port.peer);
        let switch = peer.filter(|(peer, _)| view.nodes[*peer].switch);
        let at = switch.map(|(switch, _)| behind.entry(switch).or_default());
        at.into_iter().for_each(|hosts| hosts.push(host));
    }
    let (first, ports) = first_ports(view);
    // Where packets are that leave each port, by the service levels that they have.
    let mut left: BTreeMap<Vec<Sl>, Vec<Option<Leaving>>> = BTreeMap::new();
    let mut routes = Routes::of(view);
    for target in hosts(view) {
        for lid in view.nodes[target].lids() {
            let levels = levels(lid);
            let left = left.entry(levels.clone());
            let left = left.or_insert_with(|| vec![None; ports]);
            let mut stack = Vec::new();
            for (switch, hosts) in behind.iter().filter(|(_, hosts)| **hosts != [target]) {
                for egress in view.nodes[*switch].egress(lid) {
                    // A table may name a port that its switch does not have.
                    if view.nodes[*switch].port(egress).is_some() {
                        let left = &mut left[first[*switch] + usize::from(egress)];
                        let left = left.get_or_insert_with(|| leave(view, hosts, egress, &levels));
                        stack.extend(left.iter().copied());
                    }
                }
            }
            routes.follow(lid, stack);
        }
    }
    routes
}

/// The channels in which packets of the hosts of a switch leave it by a port, and where they are then.
fn leave(view: &FabricView, hosts: &[usize], egress: u8, levels: &[Sl]) -> Leaving {
    let starts = starts(view, hosts, levels);
    let steps = starts.filter_map(|at| step(view, at, egress));
    let steps: BTreeSet<(Channel, At)> = steps.collect();
    steps.into_iter().collect()
}

fn judge(view: &FabricView, waits: &Waits<'_>) -> Vec<Breach> {
    let Some(ring) = waits.ring() else {
        return Vec::new();
    };
    let hops: Vec<String> = ring
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

/// Follows packets, and adds what they can wait for.
struct Routes<'a> {
    view: &'a FabricView,
    waits: Waits<'a>,
    /// Service channels in which packets to a LID have come in by each port of each node, as bits.
    seen: Vec<u32>,
    /// The first of each node's ports in `seen`.
    first: Vec<usize>,
    /// Ports that have any.
    touched: Vec<usize>,
}

impl<'a> Routes<'a> {
    fn of(view: &'a FabricView) -> Self {
        let (first, ports) = first_ports(view);
        Self {
            view,
            waits: Waits::new(view),
            seen: vec![0; ports],
            first,
            touched: Vec::new(),
        }
    }

    /// Adds what packets to a LID can wait for that are sent in channels, each with where it leads.
    fn follow(&mut self, lid: Lid, mut stack: Leaving) {
        let view = self.view;
        while let Some((sent, at)) = stack.pop() {
            let is_new = self.see(at);
            for (next, behind) in onward(view, lid, at) {
                self.waits.insert(sent, next);
                if is_new {
                    stack.push((next, behind));
                }
            }
        }
        for port in self.touched.drain(..) {
            self.seen[port] = 0;
        }
    }

    /// Whether packets have not come to a switch in this way yet.
    fn see(&mut self, (node, ingress, channel): At) -> bool {
        let port = self.first[node] + usize::from(ingress);
        let before = self.seen[port];
        if before == 0 {
            self.touched.push(port);
        }
        self.seen[port] |= 1 << channel;
        self.seen[port] != before
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
