//! I6 for traffic: with which P_Keys a host's packets come to another, by the tables of HFIs and of the
//! ports of switches that check them.

use std::collections::BTreeMap;

use super::partitions::Secured;
use super::{Breach, Invariant};
use crate::view::FabricView;

const FULL: u16 = 0x8000;

/// Most pairs that are told of hosts that are alike.
const TOLD_MAX: usize = 3;

/// I6 from every host that is served from `root` to every other, with each key that a host may claim
/// to hold, full or limited: the packet passes if sender and receiver are members of the
/// partition, one of them full, and the sender's claim is true; otherwise not.
pub fn check(view: &FabricView, root: usize, partitions: &[Secured]) -> Vec<Breach> {
    let served = view.served(root);
    let hosts = (0..view.nodes.len()).filter(|node| served[*node] && !view.nodes[*node].switch);
    let hosts: Vec<usize> = hosts.collect();
    let mut breaches = Vec::new();
    for partition in partitions {
        let mut alike: BTreeMap<Traits, Vec<usize>> = BTreeMap::new();
        for host in &hosts {
            let traits = Traits::of(view, *host, partition);
            alike.entry(traits).or_default().push(*host);
        }
        for (sender, senders) in &alike {
            for (receiver, receivers) in &alike {
                let Some((claim, passes)) = sender.wrong_to(receiver) else {
                    continue;
                };
                let claim = partition.key | claim;
                let pairs = senders.iter().flat_map(|from| {
                    let others = receivers.iter().filter(move |to| *to != from);
                    others.map(move |to| (from, to))
                });
                for (from, to) in pairs.take(TOLD_MAX) {
                    let what = described(view, (*from, *to), claim, passes);
                    breaches.push(Breach::new(Invariant::Isolated, what));
                }
            }
        }
    }
    breaches
}

fn described(view: &FabricView, (from, to): (usize, usize), claim: u16, passes: bool) -> String {
    let comes = match passes {
        true => "comes to",
        false => "does not come to",
    };
    let (from, to) = (view.nodes[from].guid, view.nodes[to].guid);
    format!("a packet of {from} with P_Key {claim:#06x} {comes} {to}")
}

/// Everything about a host that counts for packets of a partition: hosts that agree in it are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Traits {
    is_full: bool,
    is_member: bool,
    /// Whether its packets get into the fabric, that claim full membership, and limited one.
    leaves: [bool; 2],
    /// Whether it gets such packets.
    comes: [bool; 2],
}

impl Traits {
    fn of(view: &FabricView, host: usize, partition: &Secured) -> Self {
        let guid = view.nodes[host].guid;
        let is_full = partition.full.contains(&guid);
        let claims = [partition.key | FULL, partition.key];
        Self {
            is_full,
            is_member: is_full || partition.limited.contains(&guid),
            leaves: claims.map(|claim| leaves(view, host, claim)),
            comes: claims.map(|claim| comes(view, host, claim)),
        }
    }

    /// The first claim with which packets to another host do not do as they should, and whether they come there.
    fn wrong_to(&self, to: &Self) -> Option<(u16, bool)> {
        let permitted = [self.is_full && to.is_member, self.is_member && to.is_full];
        let judged = [FULL, 0].into_iter().zip(permitted).enumerate();
        judged
            .map(|(at, (claim, permitted))| (claim, self.leaves[at] && to.comes[at], permitted))
            .find(|(_, passes, permitted)| passes != permitted)
            .map(|(claim, passes, _)| (claim, passes))
    }
}

/// Whether the registers let a host's packets into the fabric: those of its switch. Two HFIs on one cable have no
/// switch between them: the sender can claim only keys of its own table.
fn leaves(view: &FabricView, host: usize, claim: u16) -> bool {
    match switch_port(view, host) {
        Some(at) => !checks(view, at).0 || holds(view, at, claim, may_send),
        None => holds(view, (host, 1), claim, may_send),
    }
}

/// Whether they let packets come to a host: those of its switch, and its own.
fn comes(view: &FabricView, host: usize, claim: u16) -> bool {
    let at_switch = switch_port(view, host);
    at_switch.is_none_or(|at| !checks(view, at).1 || holds(view, at, claim, may_receive))
        && holds(view, (host, 1), claim, may_receive)
}

fn holds(
    view: &FabricView,
    (node, port): (usize, u8),
    claim: u16,
    takes: fn(u16, u16) -> bool,
) -> bool {
    let keys = view.nodes[node].keys.get(usize::from(port));
    keys.into_iter().flatten().any(|entry| takes(claim, *entry))
}

/// The port at the other end of a host's cable, where that is a switch's.
fn switch_port(view: &FabricView, host: usize) -> Option<(usize, u8)> {
    let peer = view.nodes[host].port(1).and_then(|port| port.peer);
    peer.filter(|(peer, _)| view.nodes[*peer].switch)
}

/// Whether a port checks the keys of received packets, and of sent ones.
fn checks(view: &FabricView, (node, port): (usize, u8)) -> (bool, bool) {
    let port = view.nodes[node].port(port);
    port.map_or((false, false), |port| port.checks)
}

/// OPAv1 9.11.7, as `egress_pkey_matches_entry` of `hfi1` has it.
fn may_send(claim: u16, entry: u16) -> bool {
    claim & !FULL == entry & !FULL && (claim & FULL == 0 || entry & FULL != 0)
}

/// OPAv1 9.10.14, as `ingress_pkey_matches_entry` of `hfi1` has it.
fn may_receive(claim: u16, entry: u16) -> bool {
    claim & !FULL == entry & !FULL && (claim | entry) & FULL != 0
}
