//! Intact fabrics of every kind with every LMC, judged by the oracle.
#![allow(clippy::unwrap_used)]

use crate::common::{fabric, judge, routed, settings};
use weft_routing::{EngineKind, EngineUsed};

fn check(spec: &str, lmc: u8, engine: EngineKind, tiers: u8, used: EngineUsed) {
    let topology = fabric(spec, lmc);
    let routed = routed(&topology, &settings(engine, tiers));
    let what = format!("{spec}, LMC {lmc}, {engine:?}: {:?}", routed.notes());
    assert_eq!(routed.engine(), used, "{what}");
    let minimal = matches!(
        used,
        EngineUsed::Dmodc | EngineUsed::ShortestPath | EngineUsed::FatTree
    );
    judge(&topology, routed.linear(), minimal).unwrap_or_else(|why| panic!("{what}: {why}"));
    assert_eq!(routed.certificate().disconnected(), 0, "{what}");
}

#[test]
fn trees_are_routed_by_both_engines_with_every_lmc() {
    for (spec, tiers) in [
        ("fattree:16,radix=8", 2),
        ("fattree:16,radix=4", 3),
        ("pgft:2;4,4;1,2;1,2;radix=8", 2),
        ("one-switch:4", 1),
    ] {
        for lmc in 0..=7 {
            check(spec, lmc, EngineKind::Dmodc, tiers, EngineUsed::Dmodc);
            check(spec, lmc, EngineKind::FatTree, tiers, EngineUsed::FatTree);
            check(
                spec,
                lmc,
                EngineKind::ShortestPath,
                tiers,
                EngineUsed::ShortestPath,
            );
        }
    }
}

#[test]
fn directors_are_routed_by_shortest_paths() {
    check(
        "swd06",
        0,
        EngineKind::ShortestPath,
        2,
        EngineUsed::ShortestPath,
    );
    check("swd06", 2, EngineKind::FatTree, 2, EngineUsed::FatTree);
}

#[test]
fn a_torus_falls_back_to_paths_without_credit_cycles() {
    for lmc in [0, 2] {
        check(
            "torus:5x5",
            lmc,
            EngineKind::ShortestPath,
            1,
            EngineUsed::UpDown,
        );
    }
}

#[test]
fn meshes_hypercubes_and_pairs_are_routed() {
    check(
        "mesh:4",
        0,
        EngineKind::ShortestPath,
        1,
        EngineUsed::ShortestPath,
    );
    let topology = fabric("hypercube:3", 1);
    let routed = routed(&topology, &settings(EngineKind::ShortestPath, 1));
    judge(&topology, routed.linear(), false).unwrap();
    let pair = fabric("back-to-back", 0);
    assert!(
        crate::common::routed(&pair, &settings(EngineKind::FatTree, 2))
            .linear()
            .is_empty()
    );
}

#[test]
fn switches_may_have_more_than_64_ports() {
    for (engine, used) in [
        (EngineKind::Dmodc, EngineUsed::Dmodc),
        (EngineKind::FatTree, EngineUsed::FatTree),
        (EngineKind::ShortestPath, EngineUsed::ShortestPath),
    ] {
        check("pgft:2;70,3;1,70;1,1;radix=140", 0, engine, 2, used);
        check("pgft:2;3,100;1,2;1,1;radix=200", 1, engine, 2, used);
    }
}

/// LIDs that a fabric has kept over years are in no order.
#[test]
fn lids_may_be_in_any_order() {
    let mut topology = fabric("fattree:16,radix=4", 0);
    let ends: Vec<_> = topology.end_ports().map(|(end, _, _)| end).collect();
    let count = ends.len();
    for (index, end) in ends.into_iter().enumerate() {
        let node = topology.node_mut(end.node).unwrap();
        let lid = weft_fabric::Lid(100 + ((index * 17) % count) as u32 * 3);
        node.port_mut(end.port).unwrap().info.lid = lid;
    }
    for engine in [
        EngineKind::Dmodc,
        EngineKind::FatTree,
        EngineKind::ShortestPath,
    ] {
        let routed = routed(&topology, &settings(engine, 3));
        assert_eq!(routed.notes(), []);
        judge(&topology, routed.linear(), true).unwrap();
    }
}

#[test]
fn results_are_the_same_with_any_number_of_threads() {
    for (spec, tiers) in [("fattree:128,radix=8", 3), ("torus:5x5", 1)] {
        let topology = fabric(spec, 1);
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let settings = weft_routing::Settings {
                adaptive: Some(weft_routing::AdaptiveSettings::default()),
                ..settings(EngineKind::FatTree, tiers)
            };
            pool.install(|| routed(&topology, &settings))
        };
        let one = with(1);
        for threads in [2, 3, 7] {
            let many = with(threads);
            assert_eq!(one.linear(), many.linear());
            assert_eq!(one.groups(), many.groups());
            assert_eq!(one.certificate(), many.certificate());
            assert_eq!(one.notes(), many.notes());
        }
    }
}
