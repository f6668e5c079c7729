//! With LMC n the 2^n LIDs of a host take different cores, as many as there are.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{fabric, home, routed, settings, walk};
use weft_fabric::{Lid, NodeId, PortRef};
use weft_routing::EngineKind;

/// For every pair of edge switches apart and every host: the second switches of its LIDs' routes.
fn check(spec: &str, tiers: u8, lmc: u8, engine: EngineKind) {
    let topology = fabric(spec, lmc);
    let routed = routed(&topology, &settings(engine, tiers));
    let uppers = |node: NodeId| -> usize {
        let ports = topology.node(node).unwrap().external_ports();
        let far = ports
            .filter_map(|(_, port)| port.peer)
            .map(|peer| peer.node);
        let far: BTreeSet<NodeId> = far
            .filter(|far| topology.switch_index(*far).is_some())
            .collect();
        far.len()
    };
    let mut lids: BTreeMap<PortRef, Vec<Lid>> = BTreeMap::new();
    for (lid, end) in common::lids(&topology)
        .into_iter()
        .filter(|(_, end)| end.port.0 != 0)
    {
        lids.entry(end).or_default().push(lid);
    }
    let edges: BTreeSet<NodeId> = lids
        .keys()
        .map(|end| home(&topology, *end).unwrap())
        .collect();
    for &from in &edges {
        for (end, lids) in lids
            .iter()
            .filter(|(end, _)| home(&topology, **end) != Some(from))
        {
            let first =
                |lid: &Lid| walk(&topology, routed.linear(), from, *lid, *end).unwrap()[1].0;
            let used: BTreeSet<NodeId> = lids.iter().map(first).collect();
            let expected = uppers(from).min(1 << lmc);
            assert_eq!(
                used.len(),
                expected,
                "{spec} LMC {lmc} {engine:?} {from:?} to {end:?}"
            );
        }
    }
}

#[test]
fn lids_of_a_host_take_different_cores() {
    for lmc in 0..=7 {
        for engine in [
            EngineKind::Dmodc,
            EngineKind::FatTree,
            EngineKind::ShortestPath,
        ] {
            check("pgft:2;4,4;1,4;1,1;radix=8", 2, lmc, engine);
            check("pgft:2;6,4;1,3;1,2;radix=12", 2, lmc, engine);
        }
    }
}

#[test]
fn host_lids_load_the_uplinks_evenly() {
    for (engine, lmc) in [
        (EngineKind::Dmodc, 0),
        (EngineKind::Dmodc, 2),
        (EngineKind::FatTree, 0),
        (EngineKind::ShortestPath, 0),
        (EngineKind::ShortestPath, 2),
        (EngineKind::FatTree, 2),
    ] {
        let topology = fabric("pgft:2;4,4;1,4;1,1;radix=8", lmc);
        let routed = routed(&topology, &settings(engine, 2));
        for edge in 0..4u32 {
            let mut load: BTreeMap<u8, usize> = BTreeMap::new();
            for (lid, end) in common::lids(&topology)
                .into_iter()
                .filter(|(_, end)| end.port.0 != 0)
            {
                let entry = routed
                    .linear()
                    .egress(weft_fabric::SwitchIndex(edge), lid)
                    .unwrap()
                    .0;
                if entry > 4 && home(&topology, end).is_some() {
                    *load.entry(entry).or_default() += 1;
                }
            }
            let loads: BTreeSet<usize> = load.values().copied().collect();
            assert_eq!(
                (load.len(), loads),
                (4, BTreeSet::from([3 << lmc])),
                "{engine:?} {lmc}"
            );
        }
    }
}
