//! A program that answers on the service level of the request sends in the lane of its own
//! LID. An independent walk of every route checks whether that is covered.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use crate::common::{
    Waits, degrade, dor, fabric, has_cycle, home, in_halves, lids, settings, walk,
};
use weft_fabric::{Lid, PortRef, Topology};
use weft_routing::{EngineKind, Routed, Settings, route};

/// Adds the links that a packet from the switch of `from` to `to` holds while it waits.
fn add(topology: &Topology, routed: &Routed, from: PortRef, to: (Lid, PortRef), waits: &mut Waits) {
    let (lid, end) = to;
    // Where no cables lead, nothing goes; the certificate has seen to the rest.
    let start = home(topology, from);
    let hops = start.map(|start| walk(topology, routed.linear(), start, lid, end));
    let Some(Ok(hops)) = hops else { return };
    // The last hop is to the HFI, which accepts everything.
    let links = hops.len().saturating_sub(1);
    let links = in_halves(topology, routed.lanes(), &hops[..links]);
    for pair in links.windows(2) {
        waits.entry(pair[0]).or_default().insert(pair[1]);
    }
}

/// Whether requests, and with `answers` the answers on their level, close a cycle in any lane.
fn closes(topology: &Topology, routed: &Routed, answers: bool) -> bool {
    let all = lids(topology).into_iter();
    let hosts: Vec<(Lid, PortRef)> = all.filter(|(_, end)| end.port.0 != 0).collect();
    let mut lanes: BTreeMap<u8, Waits> = BTreeMap::new();
    for &to in &hosts {
        let waits = lanes.entry(routed.lanes().of(to.0)).or_default();
        for &from in hosts.iter().filter(|from| from.1 != to.1) {
            add(topology, routed, from.1, to, waits);
            if answers {
                add(topology, routed, to.1, from, waits);
            }
        }
    }
    lanes.values().any(has_cycle)
}

fn layered(lanes: u8) -> Settings {
    Settings {
        lanes,
        ..settings(EngineKind::Layered, 1)
    }
}

#[test]
fn answers_are_covered_where_no_route_of_theirs_closes_a_cycle() {
    let mut seen = [0, 0];
    for (spec, settings) in [
        ("torus:3x3", dor(&[3, 3], 1, true, 1)),
        ("torus:5", dor(&[5], 1, true, 2)),
        ("torus:6x5", dor(&[6, 5], 1, true, 4)),
        ("torus:8x8", dor(&[8, 8], 1, true, 2)),
        ("torus:5", layered(1)),
        ("torus:5", layered(3)),
        ("torus:4x4", layered(6)),
        ("hypercube:4", layered(5)),
        ("mesh:4x4", layered(5)),
        ("mesh:3x2", layered(2)),
        ("hypercube:3", layered(2)),
        ("torus:4", layered(2)),
        ("torus:5x5", layered(3)),
        ("mesh:5x5", layered(8)),
    ] {
        let topology = fabric(spec, 0);
        let routed = route(&topology, &settings).unwrap();
        let lanes = routed.lanes().count();
        assert!(
            !closes(&topology, &routed, false),
            "{spec}: questions alone"
        );
        let covered = routed.covers_answers();
        println!("{spec}, {} in {lanes} lanes: {covered}", routed.engine());
        assert_eq!(covered, !closes(&topology, &routed, true), "{spec}");
        seen[usize::from(covered)] += usize::from(lanes > 1);
    }
    assert!(seen[0] > 0, "no fabric with several lanes closes a cycle");
}

/// LIDs are assigned to lanes such that answers are covered, where there are lanes enough.
#[test]
fn tori_and_damaged_trees_cover_answers() {
    for (spec, lmc, lost_per_mille, settings) in [
        ("torus:8", 0, 0, dor(&[8], 1, true, 8)),
        ("torus:8", 1, 0, dor(&[8], 1, true, 8)),
        ("torus:16", 0, 0, dor(&[16], 1, true, 8)),
        ("torus:7x7", 0, 40, dor(&[7, 7], 1, true, 8)),
        ("torus:6x6x6", 0, 0, dor(&[6, 6, 6], 1, true, 2)),
        ("torus:4x4", 0, 0, dor(&[4, 4], 1, true, 4)),
        ("torus:6x5", 1, 0, dor(&[6, 5], 1, true, 8)),
        ("torus:4x4x4", 0, 0, dor(&[4, 4, 4], 1, true, 8)),
        ("torus:4x4", 0, 0, layered(8)),
        ("hypercube:5", 0, 0, layered(8)),
        ("fattree:128,radix=8", 0, 150, layered(8)),
        ("fattree:128,radix=8", 0, 250, layered(8)),
    ] {
        let mut topology = fabric(spec, lmc);
        degrade(&mut topology, 7, lost_per_mille);
        let routed = route(&topology, &settings).unwrap();
        let what = format!("{spec}, LMC {lmc}: {:?}", routed.notes());
        assert!(routed.covers_answers(), "{what}");
        assert!(!closes(&topology, &routed, true), "{what}");
    }
}
