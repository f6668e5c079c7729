//! Debian's opareport judges our tables: exported snapshots of generated fabrics.
//!
//! opareport exits with 0 whatever it finds, so its text is read. With `WEFT_PEERS=required` a
//! missing opareport fails the test; otherwise that is said and nothing is judged.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use common::{fabric, settings};
use weft_fabric::enums::PortState;
use weft_fabric::export::{SnapshotOptions, write_snapshot};
use weft_fabric::{LinearTables, NodeId, PortGroupTables, PortNum, PortRef, Snapshot, Topology};
use weft_routing::{
    AdaptiveSettings, EngineKind, Finding, Routed, Settings, Tables, certify, route,
};

/// The output of one report, none when there is no opareport.
fn report(file: &Path, report: &str) -> Option<String> {
    let run = Command::new("opareport")
        .arg("-X")
        .arg(file)
        .args(["-o", report])
        .output();
    match run {
        Ok(output) => {
            let text = [output.stdout, output.stderr].concat();
            Some(String::from_utf8_lossy(&text).into_owned())
        }
        Err(why) => {
            let required = std::env::var("WEFT_PEERS").is_ok_and(|value| value == "required");
            assert!(!required, "opareport cannot be run: {why}");
            println!("not run: opareport cannot be run: {why}");
            None
        }
    }
}

fn activate(topology: &mut Topology) {
    let linked = |topology: &Topology| -> Vec<_> {
        let links = topology.links().flat_map(|(a, b)| [a, b]);
        links.collect()
    };
    for end in linked(topology) {
        let port = topology
            .node_mut(end.node)
            .unwrap()
            .port_mut(end.port)
            .unwrap();
        port.info.port_state = PortState::ACTIVE;
    }
}

/// Writes the fabric as routed and has it judged: (validateroutes, validatecreditloops).
fn judged(
    topology: &Topology,
    linear: &LinearTables,
    groups: &PortGroupTables,
) -> Option<[String; 2]> {
    let snapshot = Snapshot {
        generation: 1,
        unix_time: 1_700_000_000,
        topology: Arc::new(topology.clone()),
        linear: Arc::new(linear.clone()),
        groups: Arc::new(groups.clone()),
        multicast: Arc::default(),
        port_tables: Arc::default(),
        sms: Vec::new(),
    };
    let file = tempfile::NamedTempFile::new().unwrap();
    write_snapshot(&snapshot, SnapshotOptions::default(), &file).unwrap();
    let routes = report(file.path(), "validateroutes")?;
    Some([routes, report(file.path(), "validatecreditloops")?])
}

/// Routes a fabric; opareport must find nothing wrong.
fn check(topology: &mut Topology, settings: &Settings, what: &str) {
    activate(topology);
    let routed = route(topology, settings).unwrap();
    let what = format!("{what}, {}", routed.engine());
    assert_eq!(routed.certificate().disconnected(), 0, "{what}");
    let Some([routes, loops]) = judged(topology, routed.linear(), routed.groups()) else {
        return;
    };
    let analysed = routes
        .lines()
        .find_map(|line| line.strip_suffix(" Analyzed Routes"));
    let analysed: u64 = analysed.unwrap_or_default().trim().parse().unwrap_or(0);
    let lids = routed.certificate().lids();
    assert!(
        analysed > lids,
        "{what}: {analysed} routes to {lids} LIDs\n{routes}"
    );
    assert!(
        routes.contains("\n0 Incomplete Route(s)"),
        "{what}\n{routes}"
    );
    assert!(loops.contains(" 0 incomplete routes"), "{what}\n{loops}");
    assert!(
        loops.contains("Routes are deadlock free"),
        "{what}\n{loops}"
    );
    println!("{what}: {analysed} routes judged");
}

#[test]
fn generated_fabrics_are_judged_sound() {
    for (spec, tiers) in [
        ("one-switch:4", 1),
        ("fattree:32,radix=8", 2),
        ("fattree:128,radix=8", 3),
        ("pgft:2;6,4;1,3;1,2;radix=12", 2),
        ("swd06,hosts=2", 2),
        ("swd24,hosts=1", 2),
        ("mesh:3x3", 1),
        ("torus:4x4", 1),
        ("hypercube:4", 1),
    ] {
        for lmc in [0, 2] {
            for engine in [
                EngineKind::Dmodc,
                EngineKind::FatTree,
                EngineKind::ShortestPath,
            ] {
                let mut topology = fabric(spec, lmc);
                check(
                    &mut topology,
                    &settings(engine, tiers),
                    &format!("{spec}, LMC {lmc}"),
                );
            }
        }
    }
}

#[test]
fn degraded_trees_are_judged_sound() {
    for every in [4, 5, 11] {
        let mut topology = fabric("fattree:54,radix=6", 1);
        let between = |(a, b): &(PortRef, PortRef)| {
            [a, b]
                .iter()
                .all(|end| topology.switch_index(end.node).is_some())
        };
        let links: Vec<_> = topology.links().filter(between).collect();
        for (a, _) in links.iter().skip(1).step_by(every) {
            topology.disconnect(*a);
        }
        check(
            &mut topology,
            &settings(EngineKind::FatTree, 3),
            &format!("every {every}th link gone"),
        );
    }
}

#[test]
fn adaptive_groups_are_judged_sound() {
    let mut topology = fabric("fattree:32,radix=8", 0);
    activate(&mut topology);
    let settings = Settings {
        adaptive: Some(AdaptiveSettings::default()),
        ..settings(EngineKind::FatTree, 2)
    };
    let routed = route(&topology, &settings).unwrap();
    assert!(
        routed
            .groups()
            .switches
            .iter()
            .any(|switch| !switch.groups.is_empty())
    );
    check(&mut topology, &settings, "adaptive");
}

/// What the certificate refuses, opareport objects to as well.
#[test]
fn both_object_to_a_credit_cycle() {
    let mut topology = fabric("torus:5", 0);
    activate(&mut topology);
    let linear = common::clockwise(&topology);
    let groups = PortGroupTables::default();
    let tables = Tables {
        linear: &linear,
        groups: &groups,
    };
    let findings = certify(&topology, tables).unwrap_err().findings;
    assert!(
        matches!(findings[..], [Finding::CreditCycle { .. }]),
        "{findings:?}"
    );
    if let Some([_, loops]) = judged(&topology, &linear, &groups) {
        assert!(!loops.contains("Routes are deadlock free"), "{loops}");
        assert!(loops.contains("loop"), "{loops}");
    }
}

/// What can happen to a fabric.
const DAMAGES: [&str; 8] = [
    "intact",
    "1 % of links gone",
    "5 % of links gone",
    "20 % of links gone",
    "two spines dead",
    "leaf cut off",
    "unequal parallel links",
    "links on one tier",
];

/// A tree, or another fabric, after the damage; none where it makes no sense.
fn damaged(spec: &str, damage: &str) -> Option<Topology> {
    let is_tree = spec.starts_with("fattree");
    let mut topology = match damage {
        "unequal parallel links" if is_tree => fabric("pgft:2;6,4;1,3;1,2;radix=12", 0),
        // A dead switch leaves hosts without a cable there, at which opareport ends early.
        "unequal parallel links" | "two spines dead" if !is_tree => return None,
        "links on one tier" if is_tree => with_flat_links(&fabric("pgft:2;4,4;1,2;1,1;radix=8", 0)),
        "links on one tier" => return None,
        _ => fabric(spec, 0),
    };
    let switches = topology.switches().to_vec();
    let mut cut = |node: NodeId, from: u8| {
        for port in from..48 {
            let port = PortNum(port);
            topology.disconnect(PortRef { node, port });
        }
    };
    match damage {
        "two spines dead" => switches[switches.len() - 2..]
            .iter()
            .for_each(|node| cut(*node, 1)),
        // The host ports come first.
        "leaf cut off" => cut(switches[0], if is_tree { 3 } else { 2 }),
        "1 % of links gone" => common::degrade(&mut topology, 3, 10),
        "5 % of links gone" => common::degrade(&mut topology, 4, 50),
        "20 % of links gone" => common::degrade(&mut topology, 5, 200),
        "unequal parallel links" => {
            let links: Vec<_> = topology.links().map(|(a, _)| a).collect();
            let is_switch = |end: &&PortRef| topology.switch_index(end.node).is_some();
            let links: Vec<PortRef> = links.iter().filter(is_switch).copied().collect();
            links.iter().step_by(5).for_each(|end| {
                topology.disconnect(*end);
            });
        }
        _ => {}
    }
    activate(&mut topology);
    Some(topology)
}

/// The same with cables from each leaf to the next one, on ports that are free.
fn with_flat_links(tree: &Topology) -> Topology {
    let mut builder = weft_fabric::TopologyBuilder::new();
    for (node, _) in tree.nodes() {
        builder
            .add(Arc::clone(tree.node_shared(node).unwrap()))
            .unwrap();
    }
    let free = |topology: &Topology, node: NodeId| {
        let mut ports = topology.node(node).unwrap().external_ports();
        let open = ports.find(|(_, port)| port.peer.is_none());
        open.map(|(port, _)| PortRef { node, port })
    };
    let leaves: Vec<NodeId> = tree.switches()[..4].to_vec();
    for pair in leaves.chunks(2) {
        let [Some(a), Some(b)] = [pair[0], pair[1]].map(|leaf| free(builder.topology(), leaf))
        else {
            panic!("no free port");
        };
        builder.connect(a, b).unwrap();
    }
    builder.build().unwrap()
}

/// The tables with the HFIs of all lanes but one dropped.
fn in_lane(topology: &Topology, routed: &Routed, lane: u8) -> LinearTables {
    let rows = (0..routed.linear().len() as u32).map(|switch| {
        let mut row = routed
            .linear()
            .row(weft_fabric::SwitchIndex(switch))
            .to_vec();
        for (lid, end) in common::lids(topology) {
            if end.port.0 != 0 && routed.lanes().of(lid) != lane {
                row[lid.0 as usize] = 0xFF;
            }
        }
        Arc::from(row)
    });
    LinearTables::new(rows.collect())
}

fn incomplete(routes: &str) -> u64 {
    let mut lines = routes.lines();
    let count = lines.find_map(|line| line.strip_suffix(" Incomplete Route(s)"));
    let count = count.unwrap_or_else(|| panic!("{routes}"));
    count.trim().parse().unwrap()
}

/// Every engine on every damage: reached is what cables lead to, and in each lane nothing waits
/// for itself.
#[test]
fn every_engine_is_judged_sound_on_every_damage() {
    let tree = |engine| settings(engine, 3);
    let lanes = |settings: Settings| Settings {
        lanes: 8,
        ..settings
    };
    let mut judged_ones = 0;
    for (spec, settings) in [
        ("fattree:16,radix=4", tree(EngineKind::Dmodc)),
        ("fattree:16,radix=4", tree(EngineKind::FatTree)),
        ("fattree:16,radix=4", tree(EngineKind::ShortestPath)),
        ("fattree:16,radix=4", tree(EngineKind::DgShortestPath)),
        ("fattree:16,radix=4", lanes(tree(EngineKind::Layered))),
        ("hypercube:3", tree(EngineKind::Hypercube)),
        ("torus:4x3", common::dor(&[4, 3], 1, true, 8)),
    ] {
        for damage in DAMAGES {
            let Some(topology) = damaged(spec, damage) else {
                continue;
            };
            let routed = route(&topology, &settings).unwrap();
            let what = format!(
                "{spec}, {damage}, {:?}: {}",
                settings.engine,
                routed.engine()
            );
            let Some([routes, _]) = judged(&topology, routed.linear(), routed.groups()) else {
                return;
            };
            let whole = routed.certificate().disconnected() == 0;
            assert_eq!(incomplete(&routes) == 0, whole, "{what}\n{routes}");
            let lids = common::lids(&topology);
            let hfis = lids.iter().filter(|(_, end)| end.port.0 != 0);
            let in_use: BTreeSet<u8> = hfis.map(|(lid, _)| routed.lanes().of(*lid)).collect();
            assert_eq!(in_use.len(), usize::from(routed.lanes().count()), "{what}");
            for lane in in_use {
                let tables = in_lane(&topology, &routed, lane);
                let Some([_, loops]) = judged(&topology, &tables, routed.groups()) else {
                    return;
                };
                let free = loops.contains("Routes are deadlock free");
                assert!(free, "{what}, lane {lane}\n{loops}");
            }
            judged_ones += 1;
        }
    }
    println!("{judged_ones} fabrics judged");
}
