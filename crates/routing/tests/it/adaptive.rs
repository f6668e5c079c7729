//! Adaptive port groups: their contents, selection on a switch with small tables, and that
//! none can close a cycle.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use crate::common::{fabric, home, routed, settings};
use weft_fabric::{Lid, PortMask, PortNum, SwitchIndex, Topology, UNREACHABLE};
use weft_routing::{
    AdaptiveAlgorithm, AdaptiveRegister, AdaptiveSettings, EngineKind, Note, Settings, Tables,
    certify,
};
use weft_wire::sm::SwitchInfo;

fn adaptive(engine: EngineKind, tiers: u8) -> Settings {
    Settings {
        adaptive: Some(AdaptiveSettings::default()),
        ..settings(engine, tiers)
    }
}

fn limit(topology: &mut Topology, change: impl Fn(&mut SwitchInfo)) {
    for node in topology.switches().to_vec() {
        change(topology.node_mut(node).unwrap().switch.as_mut().unwrap());
    }
}

fn mask(ports: &[u8]) -> PortMask {
    ports.iter().map(|port| PortNum(*port)).collect()
}

#[test]
fn an_edge_switch_may_use_all_uplinks() {
    let topology = fabric("pgft:2;4,4;1,4;1,1;radix=8", 0);
    for engine in [EngineKind::FatTree, EngineKind::ShortestPath] {
        let routed = routed(&topology, &adaptive(engine, 2));
        assert_eq!(routed.notes(), []);
        for edge in 0..4 {
            for (lid, end) in crate::common::lids(&topology) {
                let group = routed.groups().group(SwitchIndex(edge), lid);
                let at = home(&topology, end).unwrap();
                let own = topology.switch_index(at) == Some(SwitchIndex(edge));
                let is_core = topology.switch_index(at) > Some(SwitchIndex(3));
                let expected = (!own && !is_core).then(|| mask(&[5, 6, 7, 8]));
                assert_eq!(group.copied(), expected, "edge {edge} {lid}");
            }
        }
    }
}

#[test]
fn the_entry_is_one_of_its_group() {
    for spec in [
        "fattree:16,radix=4",
        "pgft:2;4,4;1,2;1,2;radix=8",
        "hypercube:3",
    ] {
        let topology = fabric(spec, 1);
        let routed = routed(&topology, &adaptive(EngineKind::ShortestPath, 3));
        let groups = routed.groups();
        let mut seen = 0;
        for switch in (0..topology.switches().len() as u32).map(SwitchIndex) {
            for (lid, _) in crate::common::lids(&topology) {
                if let Some(group) = groups.group(switch, lid) {
                    seen += 1;
                    let entry = routed.linear().egress(switch, lid).unwrap();
                    assert!(
                        group.len() > 1 && group.contains(entry),
                        "{spec} {switch:?} {lid}"
                    );
                }
            }
        }
        assert!(seen > 0 || !routed.notes().is_empty(), "{spec}");
        let tables = Tables {
            linear: routed.linear(),
            groups,
        };
        assert_eq!(
            certify(&topology, tables).as_ref(),
            Ok(routed.certificate()),
            "{spec}"
        );
    }
}

#[test]
fn few_groups_serve_the_most_hosts() {
    let mut topology = fabric("pgft:2;4,4;1,4;1,1;radix=8", 0);
    // The link from edge 0 to its last core is gone: two sets on the other edges.
    let edge = topology.switches()[0];
    topology.disconnect(weft_fabric::PortRef {
        node: edge,
        port: PortNum(8),
    });
    limit(&mut topology, |info| info.port_group_cap = 1);
    let routed = routed(&topology, &adaptive(EngineKind::FatTree, 2));
    let groups = &routed.groups().switches[1];
    // Towards edges 2 and 3 all four uplinks serve, towards edge 0 three, which have no room.
    assert_eq!(groups.groups, [mask(&[5, 6, 7, 8])]);
    assert_eq!(groups.fdb[1], UNREACHABLE);
    assert_eq!(groups.fdb[9], 0);
    let limited = routed.notes().iter().any(|note| {
        matches!(note,
        Note::GroupsLimited { switches, pairs, alone } if *switches > 0 && pairs == alone && *pairs > 0)
    });
    assert!(limited, "{:?}", routed.notes());
}

#[test]
fn groups_stay_within_the_tables() {
    let mut topology = fabric("pgft:2;4,4;1,4;1,1;radix=8", 0);
    limit(&mut topology, |info| info.port_group_fdb_cap = 10);
    let routed = routed(&topology, &adaptive(EngineKind::FatTree, 2));
    let lengths: BTreeSet<usize> = routed
        .groups()
        .switches
        .iter()
        .map(|groups| groups.fdb.len())
        .collect();
    assert!(lengths.iter().all(|len| *len <= 10), "{lengths:?}");
    assert!(routed.groups().group(SwitchIndex(0), Lid(9)).is_some());
    assert!(routed.groups().group(SwitchIndex(0), Lid(10)).is_none());
    limit(&mut topology, |info| {
        info.is_adaptive_routing_supported = false
    });
    let without = crate::common::routed(&topology, &adaptive(EngineKind::FatTree, 2));
    assert!(
        without
            .groups()
            .switches
            .iter()
            .all(|groups| groups.groups.is_empty())
    );
}

#[test]
fn the_register_says_what_is_set() {
    let settings = AdaptiveSettings {
        lost_route_only: true,
        algorithm: AdaptiveAlgorithm::Greedy,
        frequency: 4,
        threshold: 6,
    };
    let mut info = SwitchInfo {
        is_adaptive_routing_supported: true,
        ..SwitchInfo::default()
    };
    let wanted = AdaptiveRegister::wanted(Some(&settings), &info);
    wanted.paused().store(&mut info);
    let read = (
        info.ar_enable,
        info.ar_pause,
        info.ar_algorithm,
        info.ar_frequency,
    );
    assert_eq!(read, (true, true, 1, 4));
    assert_eq!((info.ar_lost_routes_only, info.ar_threshold), (true, 6));
    wanted.store(&mut info);
    assert!(!info.ar_pause);
    let off = SwitchInfo::default();
    assert_eq!(
        AdaptiveRegister::wanted(Some(&settings), &off),
        AdaptiveRegister::default()
    );
    assert_eq!(
        AdaptiveRegister::wanted(None, &info),
        AdaptiveRegister::default()
    );
}
