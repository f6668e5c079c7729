//! Loops for the test of links, judged by their certificate and by a search that shares no code with theirs.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::common::{degrade, fabric, give_lids, irregular, lids, routed, settings};
use proptest::prelude::*;
use weft_fabric::{Lid, LinearTables, Lmc, NodeId, PortRef, SwitchIndex, Topology};
use weft_routing::{EngineKind, LoopFault, LoopPath, LoopPaths, LoopSettings, certify_loops};

const ALL: LoopSettings = LoopSettings {
    length_max: 3,
    fast: false,
    redundancy: 4,
};

/// Cables between different switches by their two ends.
fn cables(topology: &Topology) -> Vec<(PortRef, PortRef)> {
    let is_switch = |end: PortRef| topology.switch_index(end.node).is_some();
    let links = topology.links();
    links
        .filter(|(a, b)| is_switch(*a) && is_switch(*b) && a.node != b.node)
        .collect()
}

/// All loops by their sending ports: any set of cables that joins its switches in one circle.
fn circles(topology: &Topology, length_max: usize) -> BTreeSet<BTreeSet<PortRef>> {
    let mut out: BTreeMap<NodeId, Vec<(PortRef, PortRef)>> = BTreeMap::new();
    for (a, b) in cables(topology) {
        out.entry(a.node).or_default().push((a, b));
        out.entry(b.node).or_default().push((b, a));
    }
    let mut found = BTreeSet::new();
    let mut walks: Vec<Vec<(PortRef, PortRef)>> =
        out.values().flatten().map(|link| vec![*link]).collect();
    while let Some(walk) = walks.pop() {
        let (first, last) = (walk[0].0, walk[walk.len() - 1].1);
        let mut nodes: BTreeSet<NodeId> = walk.iter().map(|(port, _)| port.node).collect();
        if first.node == last.node {
            let used: BTreeSet<PortRef> = walk.iter().map(|(a, b)| *a.min(b)).collect();
            if used.len() == walk.len() {
                found.insert(walk.iter().map(|(port, _)| *port).collect());
            }
        } else if walk.len() < length_max && nodes.insert(last.node) {
            walks.extend(out[&last.node].iter().map(|link| {
                let mut longer = walk.clone();
                longer.push(*link);
                longer
            }));
        }
    }
    found
}

fn first_switch(topology: &Topology) -> NodeId {
    topology.switches()[0]
}

fn tables(topology: &Topology) -> Arc<LinearTables> {
    Arc::clone(routed(topology, &settings(EngineKind::ShortestPath, 2)).linear())
}

fn top(topology: &Topology) -> u32 {
    lids(topology).last().map_or(0, |(lid, _)| lid.0)
}

fn find(topology: &Topology, settings: LoopSettings) -> LoopPaths {
    let first = (top(topology) + 64) / 64 * 64;
    LoopPaths::find(topology, settings, first_switch(topology), first..40_000)
}

/// The number of loops over each cable, by its lower end.
fn shares(topology: &Topology, loops: &[BTreeSet<PortRef>]) -> BTreeMap<PortRef, u32> {
    let mut shares: BTreeMap<PortRef, u32> = cables(topology)
        .into_iter()
        .map(|(a, b)| (a.min(b), 0))
        .collect();
    for port in loops.iter().flatten() {
        let far = topology.peer(*port).unwrap();
        *shares.get_mut(&far.min(*port)).unwrap() += 1;
    }
    shares
}

fn ports(path: &LoopPath) -> BTreeSet<PortRef> {
    path.hops.iter().copied().collect()
}

/// Finds the loops of a connected fabric, and checks that they are all there are, or as few as do.
fn check(topology: &Topology, settings: LoopSettings) {
    let from = first_switch(topology);
    let found = find(topology, settings);
    assert!(!found.is_cut_short);
    let before = tables(topology);
    let with = found.written_into(topology, &before, from);
    let coverage = certify_loops(topology, (&before, &with), &found.paths, from).unwrap();
    let all = circles(topology, usize::from(settings.length_max));
    let taken: Vec<BTreeSet<PortRef>> = found.paths.iter().map(ports).collect();
    let distinct: BTreeSet<_> = taken.iter().cloned().collect();
    assert_eq!(distinct.len(), taken.len(), "each loop once");
    assert_eq!(coverage.links(), cables(topology).len());
    if !settings.fast {
        assert_eq!(distinct, all);
        return;
    }
    assert!(distinct.is_subset(&all));
    // `all` has each loop in both directions.
    let all: Vec<_> = all.into_iter().collect();
    let there_are = shares(topology, &all);
    for (cable, share) in shares(topology, &taken) {
        let wanted = settings.redundancy.min(there_are[&cable] / 2);
        assert!(share >= wanted, "{cable:?} is in {share} of {wanted} loops");
        let both = [cable, topology.peer(cable).unwrap()];
        assert_eq!(both.map(|port| coverage.circles[&port]), [share; 2]);
    }
}

#[test]
fn each_pair_of_parallel_cables_is_a_loop() {
    // Two edges under two cores, three cables between each two of them.
    let topology = fabric("pgft:2;2,2;1,2;1,3", 0);
    let found = find(&topology, ALL);
    // Three pairs in both directions for each of four pairs of switches.
    assert_eq!(found.paths.len(), 3 * 2 * 4);
    assert!(found.paths.iter().all(|path| path.hops.len() == 2));
    check(&topology, ALL);
}

#[test]
fn a_tree_has_loops_of_four_links_only() {
    let topology = fabric("pgft:2;2,4;1,3;1,1", 1);
    assert_eq!(find(&topology, ALL).paths, []);
    let fast = LoopSettings {
        length_max: 4,
        fast: true,
        redundancy: 4,
    };
    check(
        &topology,
        LoopSettings {
            length_max: 4,
            ..ALL
        },
    );
    check(&topology, fast);
    let found = find(&topology, fast);
    let every = circles(&topology, 4).len() / 2;
    assert!(
        found.paths.len() < every,
        "{} of {every}",
        found.paths.len()
    );
    // Nobody else's LIDs, from the next multiple of 64 on.
    let first = (top(&topology) + 64) / 64 * 64;
    let taken: Vec<u32> = found.lids().map(|lid| lid.0).collect();
    let wanted: Vec<u32> = (first..first + 2 * found.paths.len() as u32).collect();
    assert_eq!(taken, wanted);
}

#[test]
fn lids_bound_the_loops() {
    let topology = fabric("fattree:16,radix=8", 0);
    let settings = LoopSettings {
        length_max: 4,
        fast: true,
        redundancy: 9,
    };
    let from = first_switch(&topology);
    let found = LoopPaths::find(&topology, settings, from, 100..105);
    assert!(found.is_cut_short);
    assert_eq!((found.paths.len(), found.top()), (2, Some(Lid(103))));
    // An HFI is no switch at which packets could start.
    let (hfi, _) = topology.hfis().next().unwrap();
    let none = LoopPaths::find(&topology, settings, hfi, 100..200);
    assert_eq!(none, LoopPaths::default());
}

fn with_entry(tables: &LinearTables, switch: SwitchIndex, lid: Lid, entry: u8) -> LinearTables {
    let rows = (0..tables.len() as u32).map(SwitchIndex);
    let rows = rows.map(|at| {
        let mut row = tables.row(at).to_vec();
        if at == switch {
            row.resize(row.len().max(lid.0 as usize + 1), 0xFF);
            row[lid.0 as usize] = entry;
        }
        row.into()
    });
    LinearTables::new(rows.collect())
}

#[test]
fn wrong_entries_and_lids_are_found() {
    let topology = fabric("pgft:2;2,2;1,2;1,2", 0);
    let from = first_switch(&topology);
    let found = find(&topology, ALL);
    let before = tables(&topology);
    let good = found.written_into(&topology, &before, from);
    let judge = |with: &LinearTables, paths: &[LoopPath]| {
        certify_loops(&topology, (&before, with), paths, from)
    };
    judge(&good, &found.paths).unwrap();
    let path = &found.paths[0];
    let (lid, hop) = (path.lid, path.hops[1]);
    let switch = topology.switch_index(hop.node).unwrap();
    let host = with_entry(&good, switch, lid, 1);
    let drops = with_entry(&good, switch, lid, 0xFF);
    for wrong in [host, drops] {
        let fault = judge(&wrong, &found.paths).unwrap_err();
        assert!(matches!(fault, LoopFault::NotCircling { .. }), "{fault}");
    }
    let elsewhere = topology.switches().iter();
    let other = elsewhere
        .copied()
        .find(|node| !path.leads_through(*node) && *node != from);
    let other = topology.switch_index(other.unwrap()).unwrap();
    let fault = judge(&with_entry(&good, other, lid, 2), &found.paths).unwrap_err();
    assert!(matches!(fault, LoopFault::Astray { .. }), "{fault}");
    let fault = judge(&with_entry(&good, other, Lid(1), 0xFF), &found.paths).unwrap_err();
    assert!(matches!(fault, LoopFault::OtherEntry { .. }), "{fault}");
    let mut paths = found.paths.clone();
    paths[1].lid = lid;
    let fault = judge(&good, &paths).unwrap_err();
    assert_eq!(fault, LoopFault::LidTwice(lid));
    paths[1].lid = Lid(1);
    let fault = judge(&good, &paths).unwrap_err();
    assert!(matches!(fault, LoopFault::LidInUse { .. }), "{fault}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn loops_of_any_fabric_circle(
        switches in 2usize..7,
        links in proptest::collection::vec((0usize..7, 0usize..7), 1..14),
        length_max in 2u8..5,
        redundancy in 1u32..6,
    ) {
        // A chain of all switches keeps them connected.
        let chain = (1..switches).map(|at| (at - 1, at));
        let links: Vec<(usize, usize)> = chain.chain(links).collect();
        let mut topology = irregular(switches, &links, &[0, 1]);
        give_lids(&mut topology, Lmc(0));
        for fast in [false, true] {
            check(&topology, LoopSettings { length_max, fast, redundancy });
        }
    }

    #[test]
    fn loops_of_broken_trees_circle(seed in any::<u64>(), per_mille in 0u64..300) {
        let mut topology = fabric("pgft:2;2,3;1,2;1,2", 0);
        degrade(&mut topology, seed, per_mille);
        let from = first_switch(&topology);
        let found = find(&topology, LoopSettings { length_max: 4, fast: true, redundancy: 2 });
        let before = tables(&topology);
        let with = found.written_into(&topology, &before, from);
        certify_loops(&topology, (&before, &with), &found.paths, from).unwrap();
    }
}
