//! Dimension order through meshes and tori, whole and broken.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::{dor, fabric, home, judge_lanes, lids, settings, walk};
use weft_fabric::{Lid, Node, NodeId, PortNum, PortRef, SwitchIndex, Topology, TopologyBuilder};
use weft_routing::{
    EngineKind, EngineUsed, Note, Old, Routed, Settings, Tables, certify_transition,
    certify_transition_over, route,
};

fn routed(topology: &Topology, settings: &Settings) -> Routed {
    let routed = route(topology, settings).unwrap();
    assert_eq!(routed.engine(), EngineUsed::Dor, "{:?}", routed.notes());
    routed
}

/// Coordinates from the generator's names.
fn place(topology: &Topology, node: NodeId) -> Vec<i32> {
    let name = topology.node(node).unwrap().name();
    name.split('-')
        .skip(1)
        .map(|at| at.parse().unwrap())
        .collect()
}

/// Every route corrects one dimension after the other, the first one first.
fn assert_dimension_order(topology: &Topology, routed: &Routed, what: &str) {
    for (lid, end) in lids(topology) {
        for &from in topology.switches() {
            let route = walk(topology, routed.linear(), from, lid, end).unwrap();
            let places: Vec<_> = route.iter().map(|hop| place(topology, hop.0)).collect();
            let turns: Vec<usize> = places
                .windows(2)
                .map(|pair| {
                    (0..pair[0].len())
                        .find(|at| pair[0][*at] != pair[1][*at])
                        .unwrap()
                })
                .collect();
            assert!(turns.is_sorted(), "{what}: {from:?} to {lid}: {places:?}");
        }
    }
}

#[test]
fn whole_grids_are_routed_in_the_fewest_lanes() {
    for (spec, sizes, links, wraps, lanes) in [
        ("mesh:4x3", &[4, 3][..], 1, false, 1),
        ("mesh:5x2x3,links=2", &[5, 2, 3], 2, false, 1),
        ("torus:3x3", &[3, 3], 1, true, 1),
        ("torus:5", &[5], 1, true, 2),
        ("torus:6x5", &[6, 5], 1, true, 2),
        ("torus:8x4,links=2", &[8, 4], 2, true, 2),
        ("torus:5x5x5", &[5, 5, 5], 1, true, 2),
        ("torus:16x3", &[16, 3], 1, true, 3),
    ] {
        let topology = fabric(spec, 0);
        let routed = routed(&topology, &dor(sizes, links, wraps, lanes));
        assert_eq!(routed.notes(), [], "{spec}");
        assert_eq!(routed.lanes().count(), 1, "{spec}");
        assert_eq!(routed.lanes().datelines().is_some(), lanes > 1, "{spec}");
        assert!(routed.covers_answers(), "{spec}");
        judge_lanes(&topology, routed.linear(), routed.lanes(), true).expect(spec);
        assert_dimension_order(&topology, &routed, spec);
    }
}

#[test]
fn too_few_lanes_fall_back_and_say_so() {
    let topology = fabric("torus:6x6", 0);
    let routed = route(&topology, &dor(&[6, 6], 1, true, 1)).unwrap();
    let first = routed.notes().first().unwrap().to_string();
    assert!(first.contains("too few: 2 are needed"), "{first}");
    assert_ne!(routed.engine(), EngineUsed::Dor);
    judge_lanes(&topology, routed.linear(), routed.lanes(), false).unwrap();
}

/// The dateline of every ring stays where it is when the switch that it was counted from goes, and when it
/// comes back.
#[test]
fn datelines_stay_where_they_are() {
    let whole = fabric("torus:6x5", 0);
    let mut settings = dor(&[6, 5], 1, true, 4);
    let first = routed(&whole, &settings);
    let datelines = first.lanes().datelines().unwrap();
    // One of each ring's links, at both of its ends.
    assert_eq!(datelines.crossings().count(), (6 + 5) * 2);
    let switches = || whole.switches().iter().copied();
    let lowest = switches().min_by_key(|node| whole.node(*node).unwrap().guid());
    let mut cut = whole.clone();
    for (port, _) in whole.node(lowest.unwrap()).unwrap().external_ports() {
        let node = lowest.unwrap();
        cut.disconnect(PortRef { node, port });
    }
    let cut = without(&cut, lowest.unwrap());
    let moved = routed(&cut, &settings);
    let agrees = |routed: &Routed| {
        let mut switches = cut.switches().iter();
        switches.all(|node| {
            let guid = cut.node(*node).unwrap().guid();
            routed.lanes().datelines().unwrap().of(guid) == datelines.of(guid)
        })
    };
    assert!(!agrees(&moved));
    settings.dor.crossings = datelines.crossings().collect();
    let stays = routed(&cut, &settings);
    assert!(agrees(&stays));
    let back = routed(&whole, &settings);
    assert_eq!(back.lanes(), first.lanes());
}

/// A topology without one of its switches and its host.
fn without(topology: &Topology, gone: NodeId) -> Topology {
    let mut builder = TopologyBuilder::new();
    let stays = |(id, node): &(NodeId, &Node)| {
        *id != gone && node.external_ports().any(|(_, port)| port.peer.is_some())
    };
    let mut number = BTreeMap::new();
    for (id, node) in topology.nodes().filter(stays) {
        let mut node = node.clone();
        let ports: Vec<PortNum> = node.ports().map(|(port, _)| port).collect();
        for port in ports {
            node.port_mut(port).unwrap().peer = None;
        }
        number.insert(id, builder.add(node).unwrap());
    }
    for (a, b) in topology.links() {
        let [a, b] = [a, b].map(|end| PortRef {
            node: number[&end.node],
            ..end
        });
        builder.connect(a, b).unwrap();
    }
    builder.build().unwrap()
}

/// From lanes with halves to whole ones and back: what a switch sends on in another half may not meet
/// packets of before. Entries of switches' LIDs go as far as old and new ones together would lead round.
#[test]
fn all_data_is_drained_where_datelines_come_and_go() {
    let topology = fabric("torus:5x5", 0);
    let mut of_switches = 0;
    let halves = routed(&topology, &dor(&[5, 5], 1, true, 8));
    let whole = Settings {
        lanes: 8,
        ..settings(EngineKind::Layered, 1)
    };
    let whole = route(&topology, &whole).unwrap();
    let tables = |routed: &'_ Routed| (Arc::clone(routed.linear()), Arc::clone(routed.groups()));
    // The long way round, where a link of a ring is gone.
    let mut cut = topology.clone();
    let (lost, _) = topology
        .links()
        .find(|(a, b)| {
            [a, b]
                .iter()
                .all(|end| topology.switch_index(end.node).is_some())
        })
        .unwrap();
    cut.disconnect(lost);
    let around = routed(&cut, &dor(&[5, 5], 1, true, 8));
    for (old, new) in [(&halves, &whole), (&whole, &halves), (&around, &halves)] {
        let [(before, groups), (after, _)] = [tables(old), tables(new)];
        let [old, new] = [&before, &after].map(|linear| Tables {
            linear,
            groups: &groups,
        });
        let held = Old {
            moves_halves: true,
            ..Old::of(old)
        };
        let way = certify_transition_over(&topology, &topology, held, new).unwrap();
        assert!(way.plan.settle_drained && !way.plan.pause_adaptive);
        let middle = way.middle.unwrap();
        let hosts = lids(&topology)
            .into_iter()
            .filter(|(_, end)| end.port.0 != 0);
        for (lid, end) in hosts {
            let home = topology
                .switch_index(home(&topology, end).unwrap())
                .unwrap();
            for switch in (0..25).map(SwitchIndex) {
                let left = middle.egress(switch, lid);
                assert_eq!(left.is_some(), switch == home, "{switch:?} to {lid}");
            }
        }
        let usual = certify_transition(&topology, old, new)
            .unwrap()
            .middle
            .unwrap();
        for (lid, _) in lids(&topology)
            .into_iter()
            .filter(|(_, end)| end.port.0 == 0)
        {
            let goes = |switch: &SwitchIndex| {
                before.egress(*switch, lid).is_some() && usual.egress(*switch, lid).is_none()
            };
            for switch in (0..25).map(SwitchIndex).filter(goes) {
                assert_eq!(middle.egress(switch, lid), None, "{switch:?} to {lid}");
                of_switches += 1;
            }
        }
        let stays = certify_transition(&topology, new, new).unwrap();
        assert!(stays.plan.phases.is_empty() && !stays.plan.pause_adaptive);
    }
    assert!(of_switches > 0, "old and new routes to switches lead round");
}

#[test]
fn a_broken_ring_is_gone_round_the_long_way() {
    let mut topology = fabric("torus:6x5", 0);
    let whole = topology
        .links()
        .find(|(a, b)| a.node.0 >= 30 && b.node.0 >= 30);
    topology.disconnect(whole.unwrap().0);
    let routed = routed(&topology, &dor(&[6, 5], 1, true, 4));
    assert_eq!(routed.notes(), []);
    judge_lanes(&topology, routed.linear(), routed.lanes(), false).unwrap();
    assert_dimension_order(&topology, &routed, "broken ring");
}

/// A switch off: its column is not reached in dimension order, all else is.
#[test]
fn a_dead_switch_makes_detours_for_its_column_only() {
    let mut topology = fabric("torus:5x4", 0);
    let dead = topology.switches()[7];
    let ports: Vec<_> = topology
        .node(dead)
        .unwrap()
        .external_ports()
        .map(|(port, _)| port)
        .collect();
    for port in ports {
        topology.disconnect(PortRef { node: dead, port });
    }
    let routed = routed(&topology, &dor(&[5, 4], 1, true, 5));
    let [
        Note::Detours {
            lids: 3, of: 19, ..
        },
    ] = routed.notes()
    else {
        panic!("{:?}", routed.notes());
    };
    judge_lanes(&topology, routed.linear(), routed.lanes(), false).unwrap();
    let column = place(&topology, dead)[0];
    let hosts = lids(&topology)
        .into_iter()
        .filter(|(_, end)| end.port.0 != 0);
    let homes = hosts.filter_map(|(_, end)| home(&topology, end));
    let beside = homes.filter(|home| place(&topology, *home)[0] == column);
    assert_eq!(beside.count(), 3);
}

/// A switch that lacks a neighbour along both dimensions: of detours that are equally short, those that do not go
/// over it are taken with `UseFaultRegions`, some others without.
#[test]
fn detours_avoid_a_fault_region() {
    let mut topology = fabric("mesh:4x4", 0);
    let at = |name: &str| {
        let mut nodes = topology.nodes();
        nodes.find(|(_, node)| node.name() == name).unwrap().0
    };
    let [fault, beside] = ["switch-1-1", "switch-0-1"].map(at);
    let beyond = ["switch-2-2", "switch-3-2", "switch-2-3", "switch-3-3"].map(at);
    let cuts = ["switch-2-1", "switch-1-0"].map(|name| port_to(&topology, fault, at(name)));
    for cut in cuts {
        topology.disconnect(cut);
    }
    let ends = lids(&topology).into_iter();
    let is_beyond = |end: PortRef| home(&topology, end).is_some_and(|home| beyond.contains(&home));
    let ends = ends.filter(|(_, end)| end.port.0 != 0 && is_beyond(*end));
    let ends: Vec<_> = ends.collect();
    let over = |fault_regions| {
        let mut settings = dor(&[4, 4], 1, false, 8);
        settings.dor.fault_regions = fault_regions;
        let routed = routed(&topology, &settings);
        judge_lanes(&topology, routed.linear(), routed.lanes(), false).unwrap();
        let second = |(lid, end): &(Lid, PortRef)| {
            let route = walk(&topology, routed.linear(), beside, *lid, *end).unwrap();
            route[1].0
        };
        ends.iter().filter(|end| second(end) == fault).count()
    };
    assert_eq!(ends.len(), 4);
    assert_eq!(over(true), 0);
    assert!(over(false) > 0);
}

/// The port of a switch that leads to another one.
fn port_to(topology: &Topology, from: NodeId, to: NodeId) -> PortRef {
    let mut ports = topology.node(from).unwrap().external_ports();
    let leads = |peer: PortRef| peer.node == to;
    let (port, _) = ports
        .find(|(_, port)| port.peer.is_some_and(leads))
        .unwrap();
    PortRef { node: from, port }
}

#[test]
fn a_wrong_cable_is_left_unused_and_told() {
    let mut topology = fabric("mesh:4x4,links=2", 0);
    // One row's links of the first dimension are taken for another grid's.
    let mut settings = dor(&[4, 4], 2, false, 1);
    settings.dor.dimensions[0].pairs.pop();
    let routed = routed(&topology, &settings);
    let [Note::LinksIgnored { links: 12, first }] = routed.notes() else {
        panic!("{:?}", routed.notes());
    };
    assert!(first.contains(" port 3 to "), "{first}");
    judge_lanes(&topology, routed.linear(), routed.lanes(), true).unwrap();
    // Used up to the last link of a step.
    let any = topology
        .links()
        .find(|(a, b)| a.node.0 >= 16 && b.node.0 >= 16)
        .unwrap();
    topology.disconnect(any.0);
    let again = route(&topology, &settings).unwrap();
    judge_lanes(&topology, again.linear(), again.lanes(), false).unwrap();
}

#[test]
fn a_grid_that_is_longer_than_told_does_not_fit() {
    let topology = fabric("mesh:5x3", 0);
    let routed = route(&topology, &dor(&[4, 3], 1, false, 1)).unwrap();
    let first = routed.notes().first().unwrap().to_string();
    assert!(first.contains("longer than its Length 4"), "{first}");
}
