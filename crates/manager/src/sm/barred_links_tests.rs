//! Which links that went down too often stay in use all the same.
#![allow(clippy::unwrap_used)]

use weft_fabric::FabricSpec;

use super::*;

const HELD: UnusedReason = UnusedReason::HeldBack { losses: 2 };
const QUARANTINED: UnusedReason = UnusedReason::Quarantined { losses: 25 };

fn tree() -> Topology {
    let spec = "fattree:32,radix=8".parse::<FabricSpec>().unwrap();
    spec.generate().unwrap()
}

fn out_of(topology: &Topology, barred: &Barred) -> Barred {
    left_out(topology, barred, &Drains::new())
}

fn is_switch(topology: &Topology, end: PortRef) -> bool {
    topology.switch_index(end.node).is_some()
}

/// The links between switches, or those of hosts, with an end at `node` if one is given.
fn links(topology: &Topology, between: bool, node: Option<NodeId>) -> Vec<(PortRef, PortRef)> {
    let kind = |end| is_switch(topology, end);
    let links = topology.links();
    let links = links.filter(|(a, b)| (kind(*a) && kind(*b)) == between);
    let at = links.filter(|(a, b)| node.is_none_or(|node| a.node == node || b.node == node));
    at.collect()
}

/// The switch of the second host.
fn leaf(topology: &Topology) -> NodeId {
    let (a, b) = links(topology, false, None)[1];
    if is_switch(topology, a) {
        a.node
    } else {
        b.node
    }
}

#[test]
fn a_link_is_left_out_where_others_lead_to_both_its_ends() {
    let topology = tree();
    let (a, b) = links(&topology, true, None)[3];
    let out = out_of(&topology, &Barred::from([(b, HELD)]));
    assert_eq!(out, Barred::from([(a, HELD), (b, HELD)]));
    assert_eq!(out_of(&topology, &Barred::new()), Barred::new());
}

#[test]
fn of_all_links_of_a_switch_the_steadiest_stays_in_use() {
    let topology = tree();
    let leaf = leaf(&topology);
    let uplinks = links(&topology, true, Some(leaf));
    let losses = |index: usize| UnusedReason::HeldBack {
        losses: 9 - index as u32,
    };
    let barred = uplinks.iter().enumerate();
    let barred: Barred = barred.map(|(index, (a, _))| (*a, losses(index))).collect();
    let out = out_of(&topology, &barred);
    let (kept, left) = uplinks.split_last().unwrap();
    assert!(
        left.iter()
            .all(|(a, b)| out.contains_key(a) && out.contains_key(b))
    );
    assert!(!out.contains_key(&kept.0));
    assert_eq!(parts(&topology), 1);
}

#[test]
fn hosts_are_cut_off_by_quarantine_alone_and_the_manager_never() {
    let topology = tree();
    let own = links(&topology, false, Some(NodeId(0)))[0];
    let other = links(&topology, false, None);
    let other = *other.iter().find(|link| **link != own).unwrap();
    let barred = |reason| Barred::from([(own.1, reason), (other.1, reason)]);
    assert_eq!(out_of(&topology, &barred(HELD)), Barred::new());
    let out = out_of(&topology, &barred(QUARANTINED));
    assert_eq!(out.keys().collect::<Vec<_>>(), [&other.0, &other.1]);
}

/// Else the drain would have no effect, as it cut parts off, and routes would change twice.
#[test]
fn a_link_is_used_where_only_drained_switches_lead_round_it() {
    let topology = tree();
    let leaf = leaf(&topology);
    let uplinks = links(&topology, true, Some(leaf));
    let (a, b) = uplinks[0];
    let barred = Barred::from([(a, HELD)]);
    assert_eq!(out_of(&topology, &barred).len(), 2);
    let cores = uplinks.iter().flat_map(|(a, b)| [a.node, b.node]);
    let cores = cores.filter(|node| *node != leaf && *node != a.node && *node != b.node);
    let guid = |node| topology.node(node).unwrap().guid();
    let drains: Drains = cores
        .map(|node| drains::Drain::Switch(guid(node)))
        .collect();
    assert!(!drains.is_empty());
    assert_eq!(left_out(&topology, &barred, &drains), Barred::new());
}

/// The drain has no effect, as it would cut the leaf off.
#[test]
fn the_last_link_is_used_even_to_a_drained_switch() {
    let topology = tree();
    let leaf = leaf(&topology);
    let uplinks = links(&topology, true, Some(leaf));
    let (last, others) = uplinks.split_last().unwrap();
    let mut rest = topology.clone();
    for (end, _) in others {
        rest.disconnect(*end);
    }
    let core = if last.0.node == leaf { last.1 } else { last.0 };
    let guid = topology.node(core.node).unwrap().guid();
    let drains = Drains::from([drains::Drain::Switch(guid)]);
    let barred = Barred::from([(last.0, HELD)]);
    assert_eq!(left_out(&rest, &barred, &drains), Barred::new());
}
