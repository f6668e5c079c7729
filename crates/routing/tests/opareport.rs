//! Debian's opareport judges our tables: exported snapshots of generated fabrics.
//!
//! opareport exits with 0 whatever it finds, so its text is read. With `WEFT_PEERS=required` a
//! missing opareport fails the test; otherwise that is said and nothing is judged.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use common::{fabric, settings};
use weft_fabric::enums::PortState;
use weft_fabric::export::{SnapshotOptions, write_snapshot};
use weft_fabric::{LinearTables, PortGroupTables, PortRef, Snapshot, Topology};
use weft_routing::{AdaptiveSettings, EngineKind, Finding, Settings, Tables, certify, route};

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
