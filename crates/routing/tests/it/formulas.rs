//! The fat tree engine's placement, entry by entry, against values computed by hand.
//!
//! In the trees below port 1 + c of a switch leads to child c; ports to parents follow. Hosts have
//! LIDs 1, 2, … in order, so host `h` of edge switch `e` has the LID `1 + e·hosts + h`, times 2^LMC.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use crate::common::{fabric, routed, settings};
use weft_fabric::{Lid, NodeId, PortNum, PortRef, SwitchIndex, Topology};
use weft_routing::{EngineKind, EngineUsed, Settings};

/// The ports that switch number `switch` sends LIDs to.
fn ports(
    topology: &Topology,
    settings: &Settings,
    switch: u32,
    lids: std::ops::Range<u32>,
) -> Vec<u8> {
    let routed = routed(topology, settings);
    assert_eq!(routed.engine(), EngineUsed::FatTree, "{:?}", routed.notes());
    let entry = |lid| {
        routed
            .linear()
            .egress(SwitchIndex(switch), Lid(lid))
            .unwrap()
            .0
    };
    lids.map(entry).collect()
}

/// Four edge switches with four hosts, four cores, one link each: ports 5 to 8 go up.
const FLAT: &str = "pgft:2;4,4;1,4;1,1;radix=8";
/// Four edge switches with four hosts, two cores, two links each: up ports 5 and 7 lead to the
/// first core, 6 and 8 to the second.
const TRUNKED: &str = "pgft:2;4,4;1,2;1,2;radix=8";

#[test]
fn routes_up_are_counted_from_the_place_of_the_switch() {
    let topology = fabric(FLAT, 0);
    let settings = settings(EngineKind::FatTree, 2);
    // Edge 1: candidate (count + 1) mod 4, its own hosts are not counted.
    let expected = [6, 7, 8, 5, 1, 2, 3, 4, 6, 7, 8, 5, 6, 7, 8, 5];
    assert_eq!(ports(&topology, &settings, 1, 1..17), expected);
    // Edge 2: (count + 2) mod 4.
    let expected = [7, 8, 5, 6, 7, 8, 5, 6, 1, 2, 3, 4, 7, 8, 5, 6];
    assert_eq!(ports(&topology, &settings, 2, 1..17), expected);
}

#[test]
fn trunks_shift_by_their_width() {
    let topology = fabric(TRUNKED, 0);
    let settings = settings(EngineKind::FatTree, 2);
    // Candidates by neighbour: ports 5, 7, 6, 8. Edge 1: (count + 1 · 2) mod 4.
    assert_eq!(ports(&topology, &settings, 1, 1..5), [6, 8, 5, 7]);
    // Core 1, switch 5, down to edge 0 over ports 1 and 5: (count + 1) mod 2.
    assert_eq!(ports(&topology, &settings, 5, 1..5), [5, 1, 5, 1]);
}

#[test]
fn the_lids_of_a_host_alternate_between_cores() {
    let topology = fabric(TRUNKED, 2);
    let settings = settings(EngineKind::FatTree, 2);
    // Host 0 of edge 1, LIDs 20 to 23, from edge 0: count 0, place 0: 5, then the other core's 6,
    // then the second links 7 and 8. Host 1 starts at the next candidate, 7.
    assert_eq!(
        ports(&topology, &settings, 0, 20..28),
        [5, 6, 7, 8, 7, 8, 5, 6]
    );
}

#[test]
fn pass_through_places_by_the_destination() {
    let topology = fabric(TRUNKED, 0);
    let mut settings = settings(EngineKind::FatTree, 2);
    settings.fat_tree.pass_through = true;
    // An edge switch: the host's number, whatever the edge; candidates are 5, 7, 6, 8.
    assert_eq!(ports(&topology, &settings, 1, 1..5), [5, 7, 6, 8]);
    assert_eq!(ports(&topology, &settings, 1, 9..13), [5, 7, 6, 8]);
    // A core, tier 1: the host's number + the place of its edge switch, mod 2 links.
    assert_eq!(ports(&topology, &settings, 4, 1..5), [1, 5, 1, 5]);
    assert_eq!(ports(&topology, &settings, 4, 5..9), [6, 2, 6, 2]);
}

#[test]
fn converge_joins_the_routes_to_one_edge_switch() {
    let topology = fabric("fattree:16,radix=4", 0);
    let mut settings = settings(EngineKind::FatTree, 3);
    settings.fat_tree.converge = true;
    // Switch 8 is the first of tier 1; edges 2 to 7 are in other pods. Its up ports are 3 and 4;
    // the edge's place mod 2 decides for both of its hosts.
    let expected = [3, 3, 4, 4, 3, 3, 4, 4, 3, 3, 4, 4];
    assert_eq!(ports(&topology, &settings, 8, 5..17), expected);
}

#[test]
fn ports_routed_last_are_left_out_of_the_first_count() {
    let topology = fabric(FLAT, 0);
    let mut settings = settings(EngineKind::FatTree, 2);
    let late = PortRef {
        node: NodeId(1),
        port: PortNum(1),
    };
    settings.fat_tree.route_last = BTreeSet::from([late]);
    // Edge 1: eleven routes first, then LID 2 as the twelfth: (11 + 1) mod 4 = 0, port 5.
    let expected = [6, 5, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8];
    assert_eq!(ports(&topology, &settings, 1, 1..17), expected);
}

#[test]
fn tiers_can_be_counted_down_from_the_cores() {
    let topology = fabric(FLAT, 0);
    let mut settings = settings(EngineKind::FatTree, 2);
    let up = ports(&topology, &settings, 1, 1..17);
    settings.fat_tree.fis_on_same_tier = false;
    settings.fat_tree.core_switches = topology.switches()[4..].iter().copied().collect();
    assert_eq!(ports(&topology, &settings, 1, 1..17), up);
}

#[test]
fn without_tiers_shortestpath_serves() {
    let topology = fabric(FLAT, 0);
    let mut settings = settings(EngineKind::FatTree, 2);
    settings.fat_tree.fis_on_same_tier = false;
    let routed = routed(&topology, &settings);
    assert_eq!(routed.engine(), EngineUsed::ShortestPath);
    assert!(
        routed.notes()[0].to_string().contains("no core switch"),
        "{:?}",
        routed.notes()
    );
}

#[test]
fn switches_are_ordered_by_the_number_in_their_name() {
    let mut topology = fabric(FLAT, 0);
    for (switch, name) in ["edge10", "edge9", "edge1", "core"].iter().enumerate() {
        let node = topology.switches()[switch];
        let description = weft_wire::sm::NodeDescription::from_text(name);
        topology.node_mut(node).unwrap().description = description;
    }
    // Places by name: core, edge1, edge9, edge10; so switch 0 is the fourth: (count + 3) mod 4,
    // and destinations come in the order of switches 3, 2, 1.
    let settings = settings(EngineKind::FatTree, 2);
    assert_eq!(ports(&topology, &settings, 0, 13..17), [8, 5, 6, 7]);
    assert_eq!(ports(&topology, &settings, 2, 13..17), [6, 7, 8, 5]);
}
