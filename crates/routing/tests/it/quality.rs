//! Congestion on small trees by hand, and on random fabrics compared with a count flow by flow.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::common::{degrade, fabric, home, hops, irregular, routed, settings, walk};
use proptest::prelude::*;
use weft_fabric::{LinearTables, NodeId, PortNum, PortRef, SwitchIndex, Topology};
use weft_routing::EngineKind;
use weft_routing::quality::{Effort, Quality, assess, assess_pattern, assess_with_flows};

/// Two edge switches with two hosts each under two cores.
const SMALL: &str = "pgft:2;2,2;1,2;1,1;radix=4";

fn tables(topology: &Topology, engine: EngineKind) -> LinearTables {
    LinearTables::clone(routed(topology, &settings(engine, 2)).linear())
}

fn small_effort() -> Effort {
    Effort {
        permutations: 50,
        bisections: 50,
        ..Effort::default()
    }
}

#[test]
fn a_whole_tree_is_perfect_under_shifts() {
    for lmc in 0..3 {
        let topology = fabric(SMALL, lmc);
        let found = assess(
            &topology,
            &tables(&topology, EngineKind::Dmodc),
            &small_effort(),
        );
        let all = found.all_to_all;
        assert_eq!((found.hosts, found.unroutable), (4, 0));
        assert_eq!((all.worst, all.mean, all.deviation), (2.0, 2.0, 0.0));
        assert_eq!((all.bound, all.over_bound()), (2.0, 1.0));
        assert_eq!((found.shifts.patterns, found.shifts.worst), (3, 1.0));
        assert_eq!(found.shifts.bandwidth, 1.0);
        // One path: one receiver a link. Several: each link leads to both.
        assert_eq!(all.risk, if lmc == 0 { 1 } else { 2 });
    }
}

#[test]
fn flows_of_links_are_those_of_every_pair() {
    let topology = fabric(SMALL, 0);
    let tables = tables(&topology, EngineKind::Dmodc);
    let (quality, flows) = assess_with_flows(&topology, &tables, &small_effort());
    assert_eq!(quality, assess(&topology, &tables, &small_effort()));
    // Each edge switch has a link to each core; two hosts send to one host over each of the eight directions.
    assert_eq!(flows.len(), 8);
    for (from, flows) in flows {
        assert!(topology.switch_index(from.node).is_some());
        let to = topology.peer(from).unwrap();
        assert!(topology.switch_index(to.node).is_some());
        assert_eq!(flows, 2.0);
    }
}

/// Switches above the edge receive every k-th LID: they must not send these all to one port.
#[test]
fn whole_trees_are_balanced_at_every_tier() {
    let three_tiers = "pgft:3;4,4,4;1,4,4;1,1,1;radix=8";
    let trunks = "pgft:2;8,4;1,2;1,4;radix=32";
    let large = "pgft:2;24,3;1,2;1,12;radix=48";
    let both = "pgft:3;8,4,4;1,4,4;1,2,2;radix=16";
    for (spec, lmc) in [three_tiers, trunks, large, both]
        .into_iter()
        .flat_map(|spec| (0..=3).map(move |lmc| (spec, lmc)))
    {
        let topology = fabric(spec, lmc);
        for engine in [EngineKind::Dmodc, EngineKind::ShortestPath] {
            let found = assess(&topology, &tables(&topology, engine), &small_effort());
            let over = (found.all_to_all.over_bound(), found.shifts.worst);
            assert_eq!(over, (1.0, 1.0), "{engine:?} on {spec}, LMC {lmc}");
        }
    }
}

/// Twelve edge switches with twelve hosts each under twelve spines; the last ones are gone, and the
/// first edge switches lack a link, each another one.
fn damaged(spines: usize, links: usize, lmc: u8) -> Topology {
    let mut topology = fabric("pgft:2;12,12;1,12;1,1;radix=24", lmc);
    let switches = topology.switches().to_vec();
    let (edges, all) = switches.split_at(12);
    for (place, edge) in edges.iter().enumerate() {
        let lost = all.iter().rev().take(spines);
        let lost = lost.chain(all.get(place).filter(|_| place < links));
        for spine in lost {
            let port = crate::common::port_to(&topology, *edge, *spine);
            assert!(topology.disconnect(PortRef { node: *edge, port }));
        }
    }
    topology
}

/// Destinations that lose their path are spread over the others, and only they: two that meet on
/// the way up then meet on the way down, too, and all others meet nobody.
#[test]
fn shifts_keep_their_bandwidth_on_damaged_trees() {
    // Two of twelve share a spine with another one, or a lost link makes one do so at both ends.
    let of_four = (8.0 + 4.0 / 2.0) / 12.0;
    for (spines, links, lmc, least, most) in [
        (2, 0, 0, of_four, 2.0),
        (2, 0, 1, of_four, 1.5),
        (2, 0, 2, of_four, 1.25),
        (0, 1, 0, 0.97, 2.0),
        (0, 4, 0, 0.90, 3.0),
        (0, 4, 1, 0.90, 3.0),
        (0, 12, 0, 0.74, 3.0),
    ] {
        let topology = damaged(spines, links, lmc);
        let linear = tables(&topology, EngineKind::Dmodc);
        let found = assess(&topology, &linear, &small_effort());
        let bandwidth = found.shifts.bandwidth;
        assert!(
            bandwidth >= least && found.shifts.worst <= most,
            "{spines} spines, {links} links, LMC {lmc}: {bandwidth} of {least}, {:?}",
            found.shifts
        );
    }
}

/// With four LIDs for each of 24 hosts and as many links, six adjacent hosts meet nowhere:
/// traffic to one of them does not wait for traffic to the next.
#[test]
fn hosts_next_to_each_other_share_no_link_of_a_trunk() {
    let topology = fabric("pgft:2;24,3;1,2;1,12;radix=48", 2);
    let linear = tables(&topology, EngineKind::Dmodc);
    let hosts = order(&topology);
    let (from, there) = (hosts[0], &hosts[24..]);
    for six in there.chunks(6) {
        let routes = six
            .iter()
            .flat_map(|to| routes(&topology, &linear, from, *to));
        let hops: Vec<_> = routes.flat_map(Option::unwrap).collect();
        let links: BTreeSet<_> = hops.iter().collect();
        assert_eq!((hops.len(), links.len()), (48, 48), "{six:?}");
    }
}

/// All routes from the first edge switch to the other take its first uplink.
fn lopsided(topology: &Topology) -> LinearTables {
    let good = tables(topology, EngineKind::Dmodc);
    let first = topology.switches()[0];
    let up = |port: &(PortNum, &weft_fabric::Port)| {
        let far = port.1.peer.map(|peer| peer.node);
        far.is_some_and(|far| topology.switch_index(far).is_some())
    };
    let up = topology
        .node(first)
        .unwrap()
        .external_ports()
        .find(up)
        .unwrap()
        .0;
    let mut rows: Vec<Arc<[u8]>> = (0..good.len() as u32)
        .map(|switch| Arc::from(good.row(SwitchIndex(switch))))
        .collect();
    let mut row = rows[0].to_vec();
    for (lid, end) in crate::common::lids(topology) {
        let is_far = home(topology, end) == Some(topology.switches()[1]) && end.port.0 != 0;
        if is_far && topology.switch_index(end.node).is_none() {
            row[lid.0 as usize] = up.0;
        }
    }
    rows[0] = Arc::from(row);
    LinearTables::new(rows)
}

#[test]
fn flows_that_share_a_link_are_counted() {
    let topology = fabric(SMALL, 0);
    let found = assess(&topology, &lopsided(&topology), &small_effort());
    // Four flows on one uplink, none on the other; the reverse direction stays two and two. Cores: each
    // sends down the flows through it, four and none to the second edge switch.
    let all = found.all_to_all;
    assert_eq!((all.worst, all.mean, all.bound), (4.0, 2.0, 2.0));
    assert_eq!(all.deviation, 2f64.sqrt());
    assert_eq!(all.risk, 2);
    // Shift 2 alone sends both hosts of an edge switch to the other: two flows of four get a half.
    assert_eq!((found.shifts.worst, found.shifts.mean), (2.0, 4.0 / 3.0));
    assert!((found.shifts.bandwidth - (1.0 + 0.75 + 1.0) / 3.0).abs() < 1e-12);
}

#[test]
fn lost_routes_are_counted() {
    let mut topology = fabric(SMALL, 0);
    let linear = tables(&topology, EngineKind::Dmodc);
    let (a, b) = topology
        .links()
        .find(|(a, b)| {
            [a, b]
                .iter()
                .all(|end| topology.switch_index(end.node).is_some())
        })
        .unwrap();
    assert!(topology.disconnect(a), "{b:?}");
    // With the old tables, in either direction one receiver of each side is lost to two senders.
    let found = assess(&topology, &linear, &small_effort());
    assert_eq!(found.unroutable, 4);
    assert!(found.shifts.bandwidth < 1.0);
}

#[test]
fn nothing_is_looked_at_where_there_is_nothing() {
    let found = assess(
        &Topology::default(),
        &LinearTables::default(),
        &small_effort(),
    );
    assert_eq!(
        (
            found.hosts,
            found.shifts.patterns,
            found.all_to_all.over_bound()
        ),
        (0, 0, 1.0)
    );
}

#[test]
fn few_shifts_are_spread_over_all() {
    let topology = fabric("fattree:32,radix=8", 0);
    let linear = tables(&topology, EngineKind::Dmodc);
    let effort = Effort {
        shifts: 5,
        ..small_effort()
    };
    assert_eq!(assess(&topology, &linear, &effort).shifts.patterns, 5);
}

/// Host ports in the order that shifts go by.
fn order(topology: &Topology) -> Vec<PortRef> {
    let hops = hops(topology);
    let hosts = topology.end_ports().map(|(at, _, _)| at);
    let hosts = hosts.filter(|at| topology.switch_index(at.node).is_none());
    let mut on: BTreeMap<NodeId, Vec<(PortNum, PortRef)>> = BTreeMap::new();
    for at in hosts {
        let far = topology.peer(at).unwrap();
        on.entry(far.node).or_default().push((far.port, at));
    }
    let mut left: BTreeSet<NodeId> = on.keys().copied().collect();
    let mut ordered = Vec::new();
    while let Some(first) = left.pop_first() {
        let far = |to: &NodeId| hops.get(&(first, *to)).copied().unwrap_or(usize::MAX);
        let nearest = left.iter().map(far).min();
        let near = left.iter().copied().filter(|to| Some(far(to)) == nearest);
        let near: Vec<NodeId> = std::iter::once(first).chain(near).collect();
        for leaf in &near {
            on.get_mut(leaf).unwrap().sort();
            ordered.extend(on[leaf].iter().map(|(_, at)| *at));
            left.remove(leaf);
        }
    }
    ordered
}

/// Links of each LID's route from one host to another, and the host's number of LIDs.
fn routes(
    topology: &Topology,
    linear: &LinearTables,
    from: PortRef,
    to: PortRef,
) -> Vec<Option<Vec<(NodeId, PortNum)>>> {
    let start = home(topology, from).unwrap();
    let (_, lid, lmc) = topology.end_ports().find(|end| end.0 == to).unwrap();
    let lids = lid.0..lid.0 + lmc.lids();
    lids.map(|lid| {
        let mut hops = walk(topology, linear, start, weft_fabric::Lid(lid), to).ok()?;
        hops.pop();
        Some(hops)
    })
    .collect()
}

/// Worst link and mean bandwidth of a pattern, counted in maps.
fn naive(topology: &Topology, linear: &LinearTables, pairs: &[(PortRef, PortRef)]) -> (f64, f64) {
    let mut load: BTreeMap<(NodeId, PortNum), f64> = BTreeMap::new();
    let mut flows = Vec::new();
    for (from, to) in pairs {
        let routes = routes(topology, linear, *from, *to);
        let part = 1.0 / routes.len() as f64;
        for route in routes.into_iter().flatten() {
            route
                .iter()
                .for_each(|hop| *load.entry(*hop).or_default() += part);
            flows.push((part, route));
        }
    }
    let rates = flows.iter().map(|(part, route)| {
        let busiest = route.iter().map(|hop| load[hop]).fold(1.0, f64::max);
        part / busiest
    });
    let sum: f64 = rates.sum();
    let worst = load.values().copied().fold(0.0, f64::max);
    (worst, sum / pairs.len().max(1) as f64)
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

fn check_shifts(topology: &Topology, linear: &LinearTables, found: &Quality) {
    let order = order(topology);
    let count = order.len();
    let shift = |k: usize| -> Vec<(PortRef, PortRef)> {
        let to = order.iter().cycle().skip(k);
        order.iter().copied().zip(to.copied()).collect()
    };
    let judged: Vec<(f64, f64)> = (1..count)
        .map(|k| naive(topology, linear, &shift(k)))
        .collect();
    let patterns = judged.len().max(1) as f64;
    assert_eq!(found.shifts.patterns as usize, judged.len());
    let worst = judged.iter().map(|one| one.0).fold(0.0, f64::max);
    assert!(near(found.shifts.worst, worst), "{found:?} {worst}");
    let mean = judged.iter().map(|one| one.0).sum::<f64>() / patterns;
    assert!(near(found.shifts.mean, mean), "{found:?} {mean}");
    let bandwidth = judged.iter().map(|one| one.1).sum::<f64>() / patterns;
    assert!(
        near(found.shifts.bandwidth, bandwidth),
        "{found:?} {bandwidth}"
    );
    if count > 2 {
        let pairs = shift(2);
        let one = assess_pattern(topology, linear, &pairs);
        assert!(near(one.worst, judged[1].0) && near(one.bandwidth, judged[1].1));
    }
}

fn check_all_to_all(topology: &Topology, linear: &LinearTables, found: &Quality) {
    let order = order(topology);
    let mut load: BTreeMap<(NodeId, PortNum), f64> = BTreeMap::new();
    let mut ends: BTreeMap<(NodeId, PortNum), [BTreeSet<PortRef>; 2]> = BTreeMap::new();
    for from in &order {
        for to in &order {
            let routes = routes(topology, linear, *from, *to);
            let part = 1.0 / routes.len() as f64;
            for hop in routes.into_iter().flatten().flatten() {
                *load.entry(hop).or_default() += part;
                let [senders, receivers] = ends.entry(hop).or_default();
                senders.insert(*from);
                receivers.insert(*to);
            }
        }
    }
    let worst = load.values().copied().fold(0.0, f64::max);
    assert!(near(found.all_to_all.worst, worst), "{found:?} {worst}");
    let risk = ends.values().map(|[a, b]| a.len().min(b.len())).max();
    assert_eq!(found.all_to_all.risk as usize, risk.unwrap_or(0));
    assert!(worst + 1e-9 >= found.all_to_all.bound, "{found:?}");
}

fn check(topology: &Topology, engine: EngineKind) {
    let linear = tables(topology, engine);
    let found = assess(topology, &linear, &small_effort());
    check_all_to_all(topology, &linear, &found);
    check_shifts(topology, &linear, &found);
    for pattern in [found.shifts, found.permutations, found.bisection] {
        assert!(pattern.worst >= pattern.mean && pattern.worst >= pattern.median);
        assert!((0.0..=1.0 + 1e-12).contains(&pattern.bandwidth));
    }
    let one = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    assert_eq!(
        one.install(|| assess(topology, &linear, &small_effort())),
        found
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn degraded_trees(seed in any::<u64>(), per_mille in 0u64..200, lmc in 0u8..3, which in 0usize..2) {
        let spec = [SMALL, "pgft:3;2,3,2;1,2,3;1,1,2;radix=12"][which];
        let mut topology = fabric(spec, lmc);
        degrade(&mut topology, seed, per_mille);
        prop_assume!(weft_routing::route(&topology, &settings(EngineKind::Dmodc, 3))
            .is_ok_and(|routed| routed.certificate().disconnected() == 0));
        check(&topology, EngineKind::Dmodc);
    }

    #[test]
    fn irregular_fabrics(
        links in prop::collection::vec((0usize..8, 0usize..8), 12..30),
        hosts in prop::collection::vec(0usize..8, 2..12),
    ) {
        let topology = irregular(8, &links, &hosts);
        prop_assume!(weft_routing::route(&topology, &settings(EngineKind::ShortestPath, 3))
            .is_ok_and(|routed| routed.certificate().disconnected() == 0));
        check(&topology, EngineKind::ShortestPath);
    }
}
