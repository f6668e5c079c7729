//! With LMC n the 2^n LIDs of a host take different cores, as many as there are, and altogether as
//! many disjoint paths as max-flow finds among those that the engine may take.
#![allow(clippy::unwrap_used)]

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::common::{degrade, fabric, home, routed, settings, walk};
use petgraph::algo::ford_fulkerson;
use petgraph::graph::{DiGraph, NodeIndex};
use proptest::prelude::*;
use weft_fabric::{Lid, NodeId, PortRef, Topology};
use weft_routing::{EngineKind, EngineUsed, Routed, Settings};

/// A directed link between two switches by its sending port, and the switch that it leads to.
type Step = (PortRef, NodeId);

/// The links between switches.
fn steps(topology: &Topology) -> Vec<Step> {
    let both = topology.links().flat_map(|(a, b)| [(a, b), (b, a)]);
    let is_switch = |end: &PortRef| topology.switch_index(end.node).is_some();
    let inner = both.filter(|(a, b)| is_switch(a) && is_switch(b));
    inner.map(|(a, b)| (a, b.node)).collect()
}

/// Hops to a switch over some of the links.
fn hops_to(steps: &[Step], to: NodeId, known: BTreeMap<NodeId, usize>) -> BTreeMap<NodeId, usize> {
    let mut far = known;
    far.insert(to, 0);
    let most = far.values().max().copied().unwrap_or(0);
    let mut round = 0;
    loop {
        let near: Vec<NodeId> = steps
            .iter()
            .filter(|(from, to)| far.get(to) == Some(&round) && !far.contains_key(&from.node))
            .map(|(from, _)| from.node)
            .collect();
        if near.is_empty() && round >= most {
            return far;
        }
        far.extend(near.into_iter().map(|at| (at, round + 1)));
        round += 1;
    }
}

/// Height of each switch above those with hosts, before any loss.
fn levels(topology: &Topology) -> BTreeMap<NodeId, usize> {
    let hosts = crate::common::lids(topology)
        .into_iter()
        .filter(|(_, end)| end.port.0 != 0);
    let mut level: BTreeMap<NodeId, usize> = BTreeMap::new();
    let leaves = hosts.filter_map(|(_, end)| home(topology, end));
    let mut queue: VecDeque<(NodeId, usize)> = leaves.map(|leaf| (leaf, 0)).collect();
    let steps = steps(topology);
    while let Some((at, height)) = queue.pop_front() {
        if let Entry::Vacant(slot) = level.entry(at) {
            slot.insert(height);
            let next = steps.iter().filter(|(from, _)| from.node == at);
            queue.extend(next.map(|(_, to)| (*to, height + 1)));
        }
    }
    level
}

/// The links that routes to a switch may take: on paths of fewest hops, or of fewest hops up and
/// then down.
fn ways(steps: &[Step], to: NodeId, levels: Option<&BTreeMap<NodeId, usize>>) -> Vec<Step> {
    let nearer = |steps: &[Step], far: &BTreeMap<NodeId, usize>| -> Vec<Step> {
        let far = |at: &NodeId| far.get(at).copied();
        let is_nearer = |step: &&Step| {
            far(&step.0.node)
                .is_some_and(|here| far(&step.1).is_some_and(|there| there + 1 == here))
        };
        steps.iter().filter(is_nearer).copied().collect()
    };
    let Some(levels) = levels else {
        return nearer(steps, &hops_to(steps, to, BTreeMap::new()));
    };
    let (up, down): (Vec<Step>, Vec<Step>) = steps
        .iter()
        .partition(|(from, to)| levels[to] > levels[&from.node]);
    let below = hops_to(&down, to, BTreeMap::new());
    let all = hops_to(&up, to, below.clone());
    let up: Vec<Step> = up
        .into_iter()
        .filter(|step| !below.contains_key(&step.0.node))
        .collect();
    [nearer(&down, &below), nearer(&up, &all)].concat()
}

/// Whether the shortest path from one switch to another leads down and up again: no path goes up first and
/// then down in as few hops.
fn is_zigzag(steps: &[Step], from: NodeId, to: NodeId, levels: &BTreeMap<NodeId, usize>) -> bool {
    let hops = |ways: &[Step]| hops_to(ways, to, BTreeMap::new()).get(&from).copied();
    hops(&ways(steps, to, Some(levels))) != hops(steps)
}

/// Most paths from a switch to another that share no link, or neither link nor switch.
fn max_flow(ways: &[Step], from: NodeId, to: NodeId, apart: bool) -> usize {
    let mut graph: DiGraph<(), u32> = DiGraph::new();
    let mut ends: BTreeMap<NodeId, [NodeIndex; 2]> = BTreeMap::new();
    let nodes = ways
        .iter()
        .flat_map(|(a, b)| [a.node, *b])
        .chain([from, to]);
    for node in nodes.collect::<BTreeSet<_>>() {
        let [into, out] = [graph.add_node(()), graph.add_node(())];
        let inner = apart && node != from && node != to;
        graph.add_edge(into, out, if inner { 1 } else { 1000 });
        ends.insert(node, [into, out]);
    }
    for (a, b) in ways {
        graph.add_edge(ends[&a.node][1], ends[b][0], 1);
    }
    ford_fulkerson(&graph, ends[&from][1], ends[&to][0]).0 as usize
}

/// Most of some paths of which no two have anything in common.
fn most_disjoint<T: Ord>(paths: &[BTreeSet<T>]) -> usize {
    let clash = |chosen: usize| {
        let chosen = || (0..paths.len()).filter(move |path| chosen >> path & 1 == 1);
        chosen().any(|a| chosen().any(|b| a < b && !paths[a].is_disjoint(&paths[b])))
    };
    let all = 0..1usize << paths.len();
    let best = all
        .filter(|chosen| !clash(*chosen))
        .map(|chosen| chosen.count_ones());
    best.max().unwrap_or(0) as usize
}

/// All hosts with their LIDs.
fn hosts(topology: &Topology) -> BTreeMap<PortRef, Vec<Lid>> {
    let mut hosts: BTreeMap<PortRef, Vec<Lid>> = BTreeMap::new();
    let ends = crate::common::lids(topology).into_iter();
    for (lid, end) in ends.filter(|(_, end)| end.port.0 != 0) {
        hosts.entry(end).or_default().push(lid);
    }
    hosts
}

/// Disjoint paths of one host's LIDs, used and possible, from a switch.
#[derive(Debug, PartialEq, Eq)]
struct Spread {
    links: usize,
    switches: usize,
}

fn used(topology: &Topology, routed: &Routed, from: NodeId, end: PortRef, lids: &[Lid]) -> Spread {
    let paths = lids
        .iter()
        .map(|lid| walk(topology, routed.linear(), from, *lid, end).unwrap());
    let paths: Vec<Vec<_>> = paths.collect();
    // Without the link to the host.
    let links: Vec<BTreeSet<_>> = paths
        .iter()
        .map(|path| path[..path.len() - 1].iter().collect())
        .collect();
    let inner = |path: &Vec<(NodeId, _)>| path[1..path.len() - 1].iter().map(|hop| hop.0).collect();
    let switches: Vec<BTreeSet<NodeId>> = paths.iter().map(inner).collect();
    Spread {
        links: most_disjoint(&links),
        switches: most_disjoint(&switches),
    }
}

/// Number of disjoint paths that an engine must reach, compared with max-flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Promise {
    /// Disjoint in links and in switches.
    Both,
    /// Disjoint in switches; where switches are joined by several links some of which are gone,
    /// not always in links.
    Switches,
}

/// Compares every host with max-flow from every other switch with hosts; `whole` is the fabric
/// before any loss. Paths that lead down and up again are exempt: no switch above knows which
/// paths meet below. Returns the number of pairs compared.
fn against_flow(
    (whole, topology): (&Topology, &Topology),
    routed: &Routed,
    promise: Promise,
) -> Result<usize, String> {
    let shortest = matches!(
        routed.engine(),
        EngineUsed::ShortestPath | EngineUsed::FatTree
    );
    let levels = levels(whole);
    let steps = steps(topology);
    let ends = hosts(topology);
    let homes: BTreeSet<NodeId> = ends.keys().filter_map(|end| home(topology, *end)).collect();
    let mut compared = 0;
    for (&end, lids) in &ends {
        let to = home(topology, end).unwrap();
        let ways = ways(&steps, to, (!shortest).then_some(&levels));
        for &from in homes.iter().filter(|from| **from != to) {
            if shortest && is_zigzag(&steps, from, to, &levels) {
                continue;
            }
            let most = |apart| max_flow(&ways, from, to, apart).min(lids.len());
            let best = Spread {
                links: most(false),
                switches: most(true),
            };
            if best.links == 0 {
                continue;
            }
            let used = used(topology, routed, from, end, lids);
            let kept = match promise {
                Promise::Both => used == best,
                Promise::Switches => used.switches == best.switches && used.links >= used.switches,
            };
            if !kept {
                let engine = routed.engine();
                return Err(format!(
                    "{engine}, {from:?} to {end:?}: {used:?} of {best:?}"
                ));
            }
            compared += 1;
        }
    }
    Ok(compared)
}

/// Trees, their tiers, and whether any two switches are joined by several links.
const TREES: [(&str, u8, bool); 9] = [
    ("pgft:2;4,4;1,4;1,1;radix=8", 2, false),
    ("pgft:2;6,4;1,3;1,2;radix=12", 2, true),
    ("pgft:2;4,4;1,2;1,2;radix=8", 2, true),
    ("pgft:2;8,4;1,2;1,4;radix=16", 2, true),
    ("fattree:16,radix=4", 3, false),
    ("pgft:3;2,3,2;1,2,3;1,1,1;radix=12", 3, false),
    ("pgft:3;2,3,2;1,2,3;1,1,2;radix=12", 3, true),
    ("pgft:3;2,3,2;1,2,3;1,2,1;radix=12", 3, true),
    ("pgft:3;2,3,2;1,2,2;1,2,2;radix=12", 3, true),
];

const ENGINES: [EngineKind; 3] = [
    EngineKind::Dmodc,
    EngineKind::FatTree,
    EngineKind::ShortestPath,
];

#[test]
fn lids_reach_max_flow_on_whole_trees() {
    for (spec, tiers, _) in TREES {
        for lmc in 1..=3 {
            let topology = fabric(spec, lmc);
            for engine in ENGINES {
                let routed = routed(&topology, &settings(engine, tiers));
                let compared = against_flow((&topology, &topology), &routed, Promise::Both);
                let edges = hosts(&topology).len();
                assert!(
                    compared.as_ref().is_ok_and(|pairs| *pairs >= edges),
                    "{spec} LMC {lmc} {engine:?}: {compared:?}"
                );
            }
        }
    }
}

/// `layered` takes what carries least, by which switches of three tiers send LIDs over different
/// switches: those that come together somewhere may be too many for the links on from there.
#[test]
fn lids_take_different_switches_with_lanes() {
    for (spec, tiers, several) in TREES {
        let promise = if several && tiers > 2 {
            Promise::Switches
        } else {
            Promise::Both
        };
        for lmc in 1..=3 {
            let topology = fabric(spec, lmc);
            let settings = Settings {
                lanes: 8,
                ..settings(EngineKind::Layered, tiers)
            };
            let routed = routed(&topology, &settings);
            assert_eq!(routed.notes(), [], "{spec}");
            let compared = against_flow((&topology, &topology), &routed, promise);
            assert!(compared.is_ok(), "{spec} LMC {lmc}: {compared:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn lids_reach_max_flow_on_damaged_trees(
        seed in any::<u64>(),
        per_mille in 0u64..250,
        tree in 0..TREES.len(),
        lmc in 1u8..4,
    ) {
        let (spec, tiers, several) = TREES[tree];
        let promise = if several { Promise::Switches } else { Promise::Both };
        let whole = fabric(spec, lmc);
        let mut topology = whole.clone();
        degrade(&mut topology, seed, per_mille);
        for engine in ENGINES {
            let routed = routed(&topology, &settings(engine, tiers));
            // The last resort goes up and down by ranks of its own.
            if routed.engine() != EngineUsed::UpDown {
                let compared = against_flow((&whole, &topology), &routed, promise);
                prop_assert!(compared.is_ok(), "{spec} LMC {lmc}: {compared:?}");
            }
        }
    }
}

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
    let lids = hosts(&topology);
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
            for (lid, end) in crate::common::lids(&topology)
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
