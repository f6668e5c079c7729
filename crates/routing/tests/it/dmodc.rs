//! The closed form: as good as d-mod-k on whole trees, and calm when links are lost.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use crate::common::{fabric, judge, owner, routed, settings, walk};
use weft_fabric::{Lid, NodeId, PortNum, PortRef, Topology};
use weft_routing::{EngineKind, EngineUsed, Routed, Settings};

fn dmodc(topology: &Topology) -> Routed {
    let routed = routed(topology, &settings(EngineKind::Dmodc, 3));
    assert_eq!(routed.engine(), EngineUsed::Dmodc, "{:?}", routed.notes());
    routed
}

/// Base LIDs of the HFIs in order of nodes, which is their order in a generated tree.
fn hosts(topology: &Topology) -> Vec<(Lid, NodeId)> {
    let lid = |node: &weft_fabric::Node| node.port(PortNum(1)).unwrap().info.lid;
    topology.hfis().map(|(id, node)| (lid(node), id)).collect()
}

fn hfi_lids(topology: &Topology) -> Vec<(Lid, PortRef)> {
    let lids = crate::common::lids(topology).into_iter();
    lids.filter(|(_, end)| topology.switch_index(end.node).is_none())
        .collect()
}

/// Most flows over one link between switches when every host sends to the one `shift` further.
fn worst_link(topology: &Topology, routed: &Routed, shift: usize) -> usize {
    let hosts = hosts(topology);
    let mut load: BTreeMap<(NodeId, PortNum), usize> = BTreeMap::new();
    for (index, (_, from)) in hosts.iter().enumerate() {
        let (lid, _) = hosts[(index + shift) % hosts.len()];
        let end = owner(topology, lid).unwrap();
        let first = topology
            .peer(weft_fabric::PortRef {
                node: *from,
                port: PortNum(1),
            })
            .unwrap();
        let route = walk(topology, routed.linear(), first.node, lid, end).unwrap();
        for hop in &route[..route.len() - 1] {
            *load.entry(*hop).or_default() += 1;
        }
    }
    load.into_values().max().unwrap_or(0)
}

#[test]
fn no_shift_makes_two_flows_share_a_link_of_a_whole_tree() {
    for spec in [
        "fattree:32,radix=8",
        "fattree:54,radix=6",
        "fattree:128,radix=8",
        "pgft:2;4,4;1,2;1,2;radix=8",
    ] {
        let topology = fabric(spec, 0);
        let routed = dmodc(&topology);
        judge(&topology, routed.linear(), true).unwrap();
        for shift in 1..hosts(&topology).len() {
            assert_eq!(
                worst_link(&topology, &routed, shift),
                1,
                "{spec}, shift {shift}"
            );
        }
    }
}

#[test]
fn a_lost_link_moves_only_routes_of_switches_that_had_it_as_a_candidate() {
    let whole = fabric("fattree:128,radix=8", 0);
    let before = dmodc(&whole);
    let between = |topology: &Topology| -> Vec<_> {
        let is_switch = |end: &weft_fabric::PortRef| topology.switch_index(end.node).is_some();
        let links = topology.links();
        links
            .filter(|(a, b)| is_switch(a) && is_switch(b))
            .collect()
    };
    for (a, b) in between(&whole).into_iter().step_by(7) {
        let mut degraded = whole.clone();
        degraded.disconnect(a);
        let after = dmodc(&degraded);
        judge(&degraded, after.linear(), true).unwrap();
        let moved: usize = whole
            .switches()
            .iter()
            .map(|node| {
                let switch = crate::common::index(&whole, *node);
                let rows = [before.linear().row(switch), after.linear().row(switch)];
                rows[0].iter().zip(rows[1]).filter(|(a, b)| a != b).count()
            })
            .sum();
        // What used the link must move; what changes by new quotients stays below a few percent.
        let entries: usize = whole.switches().len() * hosts(&whole).len();
        assert!(moved > 0, "{a:?} {b:?}");
        assert!(moved * 20 < entries, "{a:?} {b:?}: {moved} of {entries}");
    }
}

/// Links between switches, by the ports at their lower ends.
fn links_between_switches(topology: &Topology) -> Vec<PortRef> {
    let is_switch = |end: &PortRef| topology.switch_index(end.node).is_some();
    let links = topology.links();
    let links = links.filter(|(a, b)| is_switch(a) && is_switch(b));
    links.map(|(a, _)| a).collect()
}

#[test]
fn a_lost_link_moves_only_routes_over_it() {
    for (spec, lmc) in [
        ("pgft:2;8,8;1,8;1,1;radix=16", 0),
        ("pgft:2;8,8;1,8;1,1;radix=16", 2),
        ("pgft:3;4,4,4;1,4,4;1,1,1;radix=8", 0),
        ("pgft:3;4,4,4;1,4,4;1,1,1;radix=8", 1),
    ] {
        let whole = fabric(spec, lmc);
        let before = dmodc(&whole);
        for lost in links_between_switches(&whole).into_iter().step_by(5) {
            let ends = [lost, whole.peer(lost).unwrap()].map(|end| (end.node, end.port));
            let mut degraded = whole.clone();
            degraded.disconnect(lost);
            let after = dmodc(&degraded);
            for (lid, end) in hfi_lids(&whole) {
                for switch in whole.switches() {
                    let index = crate::common::index(&whole, *switch);
                    if before.linear().egress(index, lid) == after.linear().egress(index, lid) {
                        continue;
                    }
                    let route = walk(&whole, before.linear(), *switch, lid, end).unwrap();
                    let took_it = route.iter().any(|hop| ends.contains(hop));
                    assert!(
                        took_it,
                        "{spec}, {lost:?}: {switch:?} to {lid:?}, {route:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_returned_link_gives_the_same_tables_again() {
    let whole = fabric("fattree:54,radix=6", 1);
    let before = dmodc(&whole);
    let again = dmodc(&whole.clone());
    assert_eq!(before.linear(), again.linear());
}

#[test]
fn it_is_the_choice_for_trees_where_nothing_is_chosen() {
    for (spec, used) in [
        ("fattree:32,radix=8", EngineUsed::Dmodc),
        ("fattree:128,radix=8", EngineUsed::Dmodc),
        ("swd06,hosts=2", EngineUsed::Dmodc),
        ("one-switch:4", EngineUsed::Dmodc),
        ("mesh:4", EngineUsed::ShortestPath),
    ] {
        let routed = routed(&fabric(spec, 0), &Settings::default());
        assert_eq!(routed.engine(), used, "{spec}: {:?}", routed.notes());
        assert!(routed.notes().is_empty(), "{spec}: {:?}", routed.notes());
    }
}

#[test]
fn a_torus_is_no_tree() {
    let torus = fabric("torus:4x4", 0);
    let routed = routed(&torus, &settings(EngineKind::Dmodc, 3));
    let first = routed.notes().first().unwrap().to_string();
    assert!(first.contains("as in no tree"), "{first}");
    assert_ne!(routed.engine(), EngineUsed::Dmodc);
    judge(&torus, routed.linear(), false).unwrap();
}
