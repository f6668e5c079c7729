//! Disjointness of the paths to hosts' LIDs, on hand-made tables.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use weft_fabric::{
    FabricSpec, Lid, LinearTables, Lmc, NodeId, PortNum, PortRef, Snapshot, SwitchIndex, Topology,
};
use weft_report::{
    Detail, DispersionRow, Point, Sample, Selection, dispersion, dispersion_between,
};

/// Four edge switches with two hosts each and four cores; hosts have four LIDs.
const TREE: &str = "pgft:2;2,4;1,4;1,1;radix=8";

fn tree() -> Topology {
    let mut topology = TREE.parse::<FabricSpec>().unwrap().generate().unwrap();
    let ends: Vec<PortRef> = topology.end_ports().map(|(end, _, _)| end).collect();
    for (end, lid) in ends.into_iter().zip((4..).step_by(4)) {
        let node = topology.node_mut(end.node).unwrap();
        let lmc = Lmc(if node.is_switch() { 0 } else { 2 });
        let port = node.port_mut(end.port).unwrap();
        (port.info.lid, port.info.lmc) = (Lid(lid), lmc);
    }
    topology
}

/// The port of a switch that leads to a node.
fn port_to(topology: &Topology, from: NodeId, to: NodeId) -> Option<u8> {
    let mut ports = topology.node(from).unwrap().external_ports();
    let leads = |port: &weft_fabric::Port| port.peer.is_some_and(|peer| peer.node == to);
    ports.find(|(_, port)| leads(port)).map(|(port, _)| port.0)
}

/// Routes over the core that `core` chooses for an edge switch and a LID.
fn snapshot(topology: Topology, core: impl Fn(usize, u32) -> usize) -> Snapshot {
    let switches = topology.switches().to_vec();
    let mut rows = vec![vec![0xFFu8; 128]; switches.len()];
    for (end, base, lmc) in topology.end_ports() {
        let Some(home) = topology.peer(end).map(|peer| peer.node) else {
            continue;
        };
        for lid in base.0..base.0 + lmc.lids() {
            for (at, row) in rows.iter_mut().enumerate() {
                let direct = port_to(&topology, switches[at], end.node);
                let down = || port_to(&topology, switches[at], home);
                let up = || port_to(&topology, switches[at], switches[4 + core(at, lid)]);
                row[lid as usize] = direct.or_else(down).or_else(up).unwrap_or(0xFF);
            }
        }
    }
    let rows: Vec<Arc<[u8]>> = rows.into_iter().map(Arc::from).collect();
    Snapshot {
        topology: Arc::new(topology),
        linear: Arc::new(LinearTables::new(rows)),
        ..Snapshot::default()
    }
}

fn row(possible: u32, reached: u32, pairs: u64) -> DispersionRow {
    DispersionRow {
        lids: 4,
        possible,
        reached,
        pairs,
    }
}

fn point(snapshot: &Snapshot, text: &str) -> Selection {
    let none = |_: &str| Err("no file".to_owned());
    Point::parse(text, &none).unwrap().select(snapshot).unwrap()
}

#[test]
fn the_fabric_is_counted_by_what_is_reached_and_possible() {
    let spread = |_: usize, lid: u32| lid as usize % 4;
    let report = dispersion(&snapshot(tree(), spread), Sample::default(), Detail::USUAL);
    assert_eq!((report.hosts, report.switches), (8, 4));
    assert_eq!((report.pairs, report.compared, report.seed), (24, 24, None));
    assert_eq!(report.links_disjoint, [row(4, 4, 24)]);
    assert_eq!(report.switches_disjoint, [row(4, 4, 24)]);
    assert!(report.uneven.is_empty());

    // The first edge switch sends all over one core.
    let narrow = |at: usize, lid: u32| if at == 0 { 2 } else { lid as usize % 4 };
    let report = dispersion(&snapshot(tree(), narrow), Sample::default(), Detail::USUAL);
    assert_eq!(report.links_disjoint, [row(4, 1, 6), row(4, 4, 18)]);
    assert_eq!(report.uneven.len(), 6);
    let text = report.to_string();
    assert!(
        text.contains("       4        1          6    25.00"),
        "{text}"
    );
    assert!(text.contains("links 1 of 4, switches 1 of 4"), "{text}");
}

#[test]
fn a_lost_cable_makes_less_possible_and_routes_over_it_incomplete() {
    let mut topology = tree();
    let switches = topology.switches().to_vec();
    let port = PortNum(port_to(&topology, switches[0], switches[4]).unwrap());
    topology.disconnect(PortRef {
        node: switches[0],
        port,
    });
    let around = |at: usize, lid: u32| match lid as usize % 4 {
        0 if at == 0 || (4..12).contains(&lid) => 1,
        core => core,
    };
    let spread = |_: usize, lid: u32| lid as usize % 4;
    let report = dispersion(
        &snapshot(topology.clone(), around),
        Sample::default(),
        Detail::USUAL,
    );
    assert_eq!(report.links_disjoint, [row(3, 3, 12), row(4, 4, 12)]);
    assert_eq!((report.incomplete, report.uneven.len()), (0, 0));
    let report = dispersion(
        &snapshot(topology, spread),
        Sample::default(),
        Detail::USUAL,
    );
    assert_eq!(report.links_disjoint, [row(3, 3, 12), row(4, 4, 12)]);
    assert_eq!(report.incomplete, 12);
    assert!(
        report
            .to_string()
            .contains("12 Pairs with Routes that are Incomplete")
    );
}

#[test]
fn a_sample_is_the_same_for_a_seed() {
    let narrow = |at: usize, lid: u32| if at == 0 { 2 } else { lid as usize % 4 };
    let snapshot = snapshot(tree(), narrow);
    let made =
        |pairs, seed| dispersion(&snapshot, Sample { pairs, seed }, Detail::USUAL).to_string();
    assert_eq!(made(12, 3), made(12, 3));
    assert!((0..20).any(|seed| made(12, seed) != made(12, 3)));
    let report = dispersion(&snapshot, Sample { pairs: 12, seed: 3 }, Detail::USUAL);
    assert_eq!(
        (report.compared, report.pairs, report.seed),
        (12, 24, Some(3))
    );
    assert_eq!(
        report
            .links_disjoint
            .iter()
            .map(|row| row.pairs)
            .sum::<u64>(),
        12
    );
    assert!(
        report
            .to_string()
            .contains("12 of 24 Pairs of a Switch and a Host, chosen at random by seed 3")
    );
}

#[test]
fn a_pair_shows_where_its_paths_meet() {
    // LIDs 0 and 2 of each host over core 0, 1 and 3 over core 1.
    let snapshot = snapshot(tree(), |_, lid| lid as usize % 2);
    let hosts: Vec<NodeId> = snapshot.topology.hfis().map(|(id, _)| id).collect();
    let name = |id: NodeId| format!("node:{}", snapshot.topology.node(id).unwrap().name());
    let [from, near, far] = [hosts[0], hosts[1], hosts[7]].map(|id| point(&snapshot, &name(id)));
    let report = dispersion_between(&snapshot, &from, &far, Detail::USUAL).unwrap();
    let [pair] = &report.pairs[..] else {
        panic!("{report}");
    };
    assert_eq!(
        (pair.spread.reached.links, pair.spread.possible.links),
        (2, 4)
    );
    assert_eq!(
        (pair.spread.reached.switches, pair.spread.possible.switches),
        (2, 4)
    );
    let base = pair.paths[0].lid;
    assert!(
        pair.paths
            .iter()
            .all(|path| path.complete && path.hops.len() == 2)
    );
    // Two links up, two down, two cores, each for two LIDs.
    let lids: Vec<_> = pair
        .shared_links
        .iter()
        .map(|shared| &shared.lids[..])
        .collect();
    let (even, odd) = ([base, base + 2], [base + 1, base + 3]);
    assert_eq!(lids, [&even[..], &odd, &even, &odd]);
    let lids: Vec<_> = pair
        .shared_switches
        .iter()
        .map(|shared| &shared.lids[..])
        .collect();
    assert_eq!(lids, [&even[..], &odd]);
    let text = report.to_string();
    assert!(
        text.contains("4 Paths: 2 of 4 possible share no link, 2 of 4 no switch in between"),
        "{text}"
    );
    let data = serde_json::to_value(&report).unwrap();
    assert_eq!(data["pairs"][0]["reached"]["links"], 2);
    assert_eq!(data["pairs"][0]["shared_switches"][1]["lids"][0], base + 1);

    let report = dispersion_between(&snapshot, &from, &near, Detail::USUAL).unwrap();
    assert_eq!(report.pairs[0].spread.possible.links, 0);
    assert!(
        report
            .to_string()
            .contains("4 Paths, no Link between Switches")
    );
}

#[test]
fn routes_that_run_in_circles_or_go_nowhere_are_incomplete() {
    let mut snapshot = snapshot(tree(), |_, lid| lid as usize % 4);
    let rows = snapshot.topology.switches().iter();
    let rows = rows.map(|node| {
        let index = snapshot.topology.switch_index(*node).unwrap();
        let mut row = snapshot.linear.row(index).to_vec();
        // All cores send everything to the first edge switch.
        if index >= SwitchIndex(4) {
            row.fill(1);
        }
        Arc::from(row)
    });
    snapshot.linear = Arc::new(LinearTables::new(rows.collect()));
    let report = dispersion(&snapshot, Sample::default(), Detail::USUAL);
    assert_eq!((report.compared, report.incomplete), (24, 18));
    assert_eq!(report.links_disjoint, [row(4, 0, 18), row(4, 4, 6)]);
}
