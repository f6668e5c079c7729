//! Engines that follow configured groups and ports.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{fabric, judge, settings};
use weft_fabric::{NodeId, PortNum, PortRef, SwitchIndex, Topology};
use weft_routing::{
    EngineKind, EngineUsed, HypercubeSettings, OrderGroup, PortCost, Routed, Settings, route,
};

fn hfis(topology: &Topology) -> Vec<PortRef> {
    let port = PortNum(1);
    topology
        .hfis()
        .map(|(node, _)| PortRef { node, port })
        .collect()
}

fn with_hypercube(hypercube: HypercubeSettings) -> Settings {
    Settings {
        hypercube,
        ..settings(EngineKind::Hypercube, 1)
    }
}

/// For each uplink of the first switch the ports of a set that it carries.
fn loads(topology: &Topology, routed: &Routed, set: &BTreeSet<PortRef>) -> Vec<usize> {
    let mut loads: BTreeMap<PortNum, usize> = BTreeMap::new();
    for end in set {
        let lid = topology.port(*end).unwrap().info.lid;
        let port = routed.linear().egress(SwitchIndex(0), lid).unwrap();
        *loads.entry(port).or_default() += 1;
    }
    loads.into_values().collect()
}

/// Every fourth host is in the first group: by LID alone all of them would share one uplink.
#[test]
fn each_group_of_dgshortestpath_is_balanced_in_itself() {
    let topology = fabric("pgft:2;4,5;1,4;1,1;radix=12", 0);
    let away: Vec<PortRef> = hfis(&topology).into_iter().skip(4).collect();
    let group: BTreeSet<PortRef> = away.iter().copied().step_by(4).collect();
    let rest: BTreeSet<PortRef> = away
        .iter()
        .copied()
        .filter(|end| !group.contains(end))
        .collect();
    let shortest = route(&topology, &settings(EngineKind::ShortestPath, 2)).unwrap();
    assert_eq!(loads(&topology, &shortest, &group), [4]);
    let named = OrderGroup::Ports(group.clone());
    for order in [
        vec![named.clone()],
        vec![named.clone(), OrderGroup::Others],
        vec![OrderGroup::Others, named],
    ] {
        let settings = Settings {
            routing_order: order,
            ..settings(EngineKind::DgShortestPath, 2)
        };
        let routed = route(&topology, &settings).unwrap();
        assert_eq!(
            routed.engine(),
            EngineUsed::DgShortestPath,
            "{:?}",
            routed.notes()
        );
        judge(&topology, routed.linear(), true).unwrap();
        assert_eq!(loads(&topology, &routed, &group), [1; 4]);
        assert_eq!(loads(&topology, &routed, &rest), [3; 4]);
    }
}

#[test]
fn hypercubes_are_routed_dimension_by_dimension() {
    for (spec, lmc) in [
        ("hypercube:3", 0),
        ("hypercube:5", 1),
        ("mesh:4x4,links=2", 2),
    ] {
        let topology = fabric(spec, lmc);
        let routed = route(&topology, &with_hypercube(HypercubeSettings::default())).unwrap();
        assert_eq!(
            routed.engine(),
            EngineUsed::Hypercube,
            "{:?}",
            routed.notes()
        );
        judge(&topology, routed.linear(), true).unwrap();
    }
}

/// The ports of one switch in reverse order, and one that costs more than a detour.
#[test]
fn orders_and_costs_of_ports_are_heeded() {
    let topology = fabric("hypercube:3", 0);
    let first = topology.switches()[0];
    let far = topology.switches()[7];
    let lid = |switch: NodeId| {
        let of = |end: &PortRef| topology.peer(*end).map(|peer| peer.node) == Some(switch);
        let end = hfis(&topology).into_iter().find(of).unwrap();
        topology.port(end).unwrap().info.lid
    };
    let egress = |ports: BTreeMap<(NodeId, PortNum), PortCost>, to: NodeId| {
        let settings = with_hypercube(HypercubeSettings {
            ports,
            ..HypercubeSettings::default()
        });
        let routed = route(&topology, &settings).unwrap();
        assert_eq!(
            routed.engine(),
            EngineUsed::Hypercube,
            "{:?}",
            routed.notes()
        );
        routed.linear().egress(SwitchIndex(0), lid(to)).unwrap().0
    };
    let port = |port: u8, order: u8, cost: u16| ((first, PortNum(port)), PortCost { order, cost });
    // Port 1 has the host, dimensions follow.
    assert_eq!(egress(BTreeMap::new(), far), 2);
    assert_eq!(egress([port(4, 1, 10)].into(), far), 4);
    assert_eq!(egress([port(2, 2, 11)].into(), far), 3);
    let near = topology.switches()[1];
    assert_eq!(egress([port(2, 2, 29)].into(), near), 2);
    assert_eq!(egress([port(2, 2, 31)].into(), near), 3);
}

#[test]
fn what_is_routed_last_takes_links_in_turn_by_itself() {
    let topology = fabric("mesh:2,hosts=8,links=4", 0);
    let late: BTreeSet<PortRef> = hfis(&topology).into_iter().skip(8).step_by(4).collect();
    for (route_last, expected) in [(BTreeSet::new(), vec![2]), (late.clone(), vec![1, 1])] {
        let settings = with_hypercube(HypercubeSettings {
            route_last,
            ..HypercubeSettings::default()
        });
        let routed = route(&topology, &settings).unwrap();
        assert_eq!(loads(&topology, &routed, &late), expected);
    }
}
