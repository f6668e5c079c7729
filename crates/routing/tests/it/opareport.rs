//! Debian's opareport judges our tables: exported snapshots of generated fabrics.
//!
//! opareport exits with 0 whatever it finds, so its text is read. With `WEFT_PEERS=required` a
//! missing opareport fails the test; otherwise that is said and nothing is judged.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::common::damage::{activate, routed_damages};
use crate::common::judges::opareport as judged;
use crate::common::{fabric, settings};
use weft_fabric::{LinearTables, PortGroupTables, PortRef, Topology};
use weft_routing::{
    AdaptiveSettings, EngineKind, Finding, Routed, Settings, Tables, certify, route,
};

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

/// opareport objects to tables that the certificate refuses.
#[test]
fn both_object_to_a_credit_cycle() {
    let mut topology = fabric("torus:5", 0);
    activate(&mut topology);
    let linear = crate::common::clockwise(&topology);
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

/// The tables with the HFIs of all lanes but one dropped.
fn in_lane(topology: &Topology, routed: &Routed, lane: u8) -> LinearTables {
    let rows = (0..routed.linear().len() as u32).map(|switch| {
        let mut row = routed
            .linear()
            .row(weft_fabric::SwitchIndex(switch))
            .to_vec();
        for (lid, end) in crate::common::lids(topology) {
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
    let mut judged_ones = 0;
    for (what, topology, routed) in routed_damages() {
        let Some([routes, _]) = judged(&topology, routed.linear(), routed.groups()) else {
            return;
        };
        let whole = routed.certificate().disconnected() == 0;
        assert_eq!(incomplete(&routes) == 0, whole, "{what}\n{routes}");
        let lids = crate::common::lids(&topology);
        let hfis = lids.iter().filter(|(_, end)| end.port.0 != 0);
        let in_use: BTreeSet<u8> = hfis.map(|(lid, _)| routed.lanes().of(*lid)).collect();
        assert_eq!(in_use.len(), usize::from(routed.lanes().count()), "{what}");
        for lane in in_use {
            let tables = in_lane(&topology, &routed, lane);
            let Some([_, loops]) = judged(&topology, &tables, routed.groups()) else {
                return;
            };
            // The file has no SCtoSC tables, and so no halves of lanes: a running fabric has.
            let free = loops.contains("Routes are deadlock free");
            let has_halves = routed.lanes().datelines().is_some();
            assert!(free || has_halves, "{what}, lane {lane}\n{loops}");
        }
        judged_ones += 1;
    }
    println!("{judged_ones} fabrics judged");
}
