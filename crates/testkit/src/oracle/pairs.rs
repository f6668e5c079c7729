//! I6 for traffic: with which P_Keys a host's packets come to another, by the tables of HFIs and of the
//! ports of switches that check them.

use super::partitions::Secured;
use super::{Breach, Invariant};
use crate::view::{FabricView, NodeView};

const FULL: u16 = 0x8000;

/// I6 from every host that is served from `root` to every other, with each key that a host may claim
/// to hold, full or limited: the packet passes if sender and receiver are members of the
/// partition, one of them full, and the sender's claim is true; otherwise not.
pub fn check(view: &FabricView, root: usize, partitions: &[Secured]) -> Vec<Breach> {
    let served = view.served(root);
    let hosts = || (0..view.nodes.len()).filter(|node| served[*node] && !view.nodes[*node].switch);
    let mut breaches = Vec::new();
    for from in hosts() {
        for to in hosts().filter(|to| *to != from) {
            let wrong = partitions
                .iter()
                .filter_map(|one| judge(view, from, to, one));
            breaches.extend(wrong.map(|what| Breach::new(Invariant::Isolated, what)));
        }
    }
    breaches
}

fn judge(view: &FabricView, from: usize, to: usize, partition: &Secured) -> Option<String> {
    let (sender, receiver) = (&view.nodes[from], &view.nodes[to]);
    let claims = [partition.key | FULL, partition.key];
    let wrong = claims.into_iter().find(|claim| {
        let permitted = may_reach(sender, receiver, partition, *claim);
        passes(view, from, to, *claim) != permitted
    })?;
    let passes = passes(view, from, to, wrong);
    Some(format!(
        "a packet of {} with P_Key {wrong:#06x} {} {}",
        sender.guid,
        if passes {
            "comes to"
        } else {
            "does not come to"
        },
        receiver.guid
    ))
}

/// Whether the administrator lets a packet with this claim pass.
fn may_reach(from: &NodeView, to: &NodeView, partition: &Secured, claim: u16) -> bool {
    let is_full = |node: &NodeView| partition.full.contains(&node.guid);
    let is_member = |node: &NodeView| is_full(node) || partition.limited.contains(&node.guid);
    match claim & FULL != 0 {
        true => is_full(from) && is_member(to),
        false => is_member(from) && is_full(to),
    }
}

/// Whether the registers pass it: those of the sender's switch, of the receiver's switch and
/// of the receiver. Two HFIs on one cable have no switch between them: the sender can claim only
/// keys of its own table.
fn passes(view: &FabricView, from: usize, to: usize, claim: u16) -> bool {
    let holds = |node: usize, port: u8, takes: fn(u16, u16) -> bool| {
        let keys = view.nodes[node].keys.get(usize::from(port));
        keys.into_iter().flatten().any(|entry| takes(claim, *entry))
    };
    let switch_port = |host: usize| {
        let peer = view.nodes[host].port(1).and_then(|port| port.peer);
        peer.filter(|(peer, _)| view.nodes[*peer].switch)
    };
    let checks = |(node, port): (usize, u8)| {
        view.nodes[node]
            .port(port)
            .map_or((false, false), |port| port.checks)
    };
    let leaves = match switch_port(from) {
        Some(at) => !checks(at).0 || holds(at.0, at.1, may_send),
        None => holds(from, 1, may_send),
    };
    let comes = switch_port(to).is_none_or(|at| !checks(at).1 || holds(at.0, at.1, may_receive));
    leaves && comes && holds(to, 1, may_receive)
}

/// OPAv1 9.11.7, as `egress_pkey_matches_entry` of `hfi1` has it.
fn may_send(claim: u16, entry: u16) -> bool {
    claim & !FULL == entry & !FULL && (claim & FULL == 0 || entry & FULL != 0)
}

/// OPAv1 9.10.14, as `ingress_pkey_matches_entry` of `hfi1` has it.
fn may_receive(claim: u16, entry: u16) -> bool {
    claim & !FULL == entry & !FULL && (claim | entry) & FULL != 0
}
