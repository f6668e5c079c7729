//! Fabrics that people study, against the closed forms of those who described them; petgraph has the distances and flows.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use crate::common::generate;
use petgraph::algo::{dijkstra, ford_fulkerson};
use petgraph::graph::{DiGraph, NodeIndex, UnGraph};
use weft_fabric::{FabricSpec, NodeId, Topology};

/// Switches and the cables between them.
fn switches(topology: &Topology) -> UnGraph<NodeId, ()> {
    let mut graph = UnGraph::default();
    let ids = topology.switches().iter().copied();
    let places: BTreeMap<NodeId, NodeIndex> = ids.map(|id| (id, graph.add_node(id))).collect();
    for (a, b) in topology.links() {
        if let (Some(a), Some(b)) = (places.get(&a.node), places.get(&b.node)) {
            graph.add_edge(*a, *b, ());
        }
    }
    graph
}

fn has_hosts(topology: &Topology, switch: NodeId) -> bool {
    let peers = topology.node(switch).unwrap().external_ports();
    let mut peers = peers.filter_map(|(_, port)| port.peer);
    peers.any(|peer| topology.switch_index(peer.node).is_none())
}

/// Most cables between two switches with hosts.
fn diameter(topology: &Topology) -> usize {
    let graph = switches(topology);
    let ends: Vec<NodeIndex> = graph
        .node_indices()
        .filter(|place| has_hosts(topology, graph[*place]))
        .collect();
    let farthest = |from: &NodeIndex| {
        let distances = dijkstra(&graph, *from, None, |_| 1_usize);
        ends.iter().map(|to| distances[to]).max().unwrap()
    };
    ends.iter().map(farthest).max().unwrap()
}

/// The numbers of cables to other switches that switches have, and how many cables join two of them at least and at most.
fn degrees(topology: &Topology) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let graph = switches(topology);
    let degrees = graph.node_indices().map(|one| graph.edges(one).count());
    let mut parallel = BTreeMap::new();
    for edge in graph.edge_indices() {
        let (a, b) = graph.edge_endpoints(edge).unwrap();
        assert_ne!(a, b, "a switch is not cabled to itself");
        *parallel.entry((a.min(b), a.max(b))).or_insert(0_usize) += 1;
    }
    (degrees.collect(), parallel.into_values().collect())
}

/// Hosts, switches, degrees of switches, cables between two that have any, diameter.
type Form = (usize, usize, &'static [usize], &'static [usize], usize);

#[test]
fn sizes_degrees_and_diameters_are_those_of_the_closed_forms() {
    let forms: &[(&str, Form)] = &[
        // a·(a·h + 1) switches of degree a - 1 + h; the balanced ones of Kim have a = 2p = 2h, 72 hosts for p = 2.
        ("dragonfly:2,4,2", (72, 36, &[5], &[1], 3)),
        ("dragonfly:1,4,1", (20, 20, &[4], &[1], 3)),
        ("dragonfly:4,8,4", (1_056, 264, &[11], &[1], 3)),
        // Three groups, four cables between each two: each switch has one to each group.
        ("dragonfly:2,4,2,groups=3", (24, 12, &[5], &[1], 2)),
        // Leaves of degree s, spines of l + h; (s·h + 1)·(l + s) switches.
        ("dragonfly-plus:4,4,4,4", (272, 136, &[4, 8], &[1], 3)),
        ("dragonfly-plus:2,3,2,4", (54, 45, &[2, 7], &[1], 3)),
        // The degree is the sum of S - 1, the diameter the number of dimensions.
        ("hyperx:5", (5, 5, &[4], &[1], 1)),
        ("hyperx:4x3,hosts=2,links=2", (24, 12, &[10], &[2], 2)),
        ("hyperx:4x4x4,hosts=4", (256, 64, &[9], &[1], 3)),
        ("hyperx:3x1x2", (6, 6, &[3], &[1], 2)),
        // Besta and Hoefler: 2q² switches of degree (3q - d) / 2. q = 5 is the graph of Hoffman and Singleton; q = 19 their
        // 722 switches of degree 29.
        ("slimfly:3", (54, 18, &[5], &[1], 2)),
        ("slimfly:4", (96, 32, &[6], &[1], 2)),
        ("slimfly:5", (200, 50, &[7], &[1], 2)),
        ("slimfly:7,hosts=1", (98, 98, &[11], &[1], 2)),
        ("slimfly:8,hosts=1", (128, 128, &[12], &[1], 2)),
        ("slimfly:9,hosts=1", (162, 162, &[13], &[1], 2)),
        ("slimfly:11,hosts=1", (242, 242, &[17], &[1], 2)),
        ("slimfly:13,hosts=1", (338, 338, &[19], &[1], 2)),
        ("slimfly:16,hosts=1", (512, 512, &[24], &[1], 2)),
        ("slimfly:17,hosts=1", (578, 578, &[25], &[1], 2)),
        ("slimfly:19,hosts=1", (722, 722, &[29], &[1], 2)),
        // Three tiers with tapers: edges of 16 hosts and 8 uplinks, spines of 16 edges and 8 uplinks.
        (
            "fattree:512,radix=24,tiers=3,oversubscription=2,taper=2",
            (512, 32 + 16 + 8, &[8, 16, 24], &[1, 8], 4),
        ),
    ];
    for (text, (hosts, count, degree, cables, longest)) in forms {
        let topology = generate(text);
        let (degrees, parallel) = degrees(&topology);
        let sizes = (topology.hfis().count(), topology.switches().len());
        assert_eq!(sizes, (*hosts, *count), "{text}");
        assert_eq!(diameter(&topology), *longest, "{text}");
        if !text.starts_with("fattree") {
            assert_eq!(degrees, degree.iter().copied().collect(), "{text}");
            assert_eq!(parallel, cables.iter().copied().collect(), "{text}");
        }
    }
}

/// Any two switches of the graph of Hoffman and Singleton have exactly one way of at most two cables.
#[test]
fn the_smallest_slim_fly_of_diameter_two_is_a_moore_graph() {
    let graph = switches(&generate("slimfly:5"));
    for a in graph.node_indices() {
        let mut ways = BTreeMap::new();
        for b in graph.neighbors(a) {
            *ways.entry(b).or_insert(0) += 1;
            graph
                .neighbors(b)
                .for_each(|c| *ways.entry(c).or_insert(0) += 1);
        }
        ways.remove(&a);
        assert_eq!(ways.len(), 49);
        assert!(ways.values().all(|count| *count == 1), "{ways:?}");
    }
}

/// Most flow between two sets of switches, a unit on each cable and direction.
fn between(topology: &Topology, is_first: impl Fn(&str) -> bool) -> u32 {
    let graph = switches(topology);
    let mut flows: DiGraph<(), u32> = DiGraph::new();
    let places: Vec<_> = graph.node_indices().map(|_| flows.add_node(())).collect();
    for edge in graph.edge_indices() {
        let (a, b) = graph.edge_endpoints(edge).unwrap();
        let [a, b] = [a, b].map(|end| places[end.index()]);
        flows.add_edge(a, b, 1);
        flows.add_edge(b, a, 1);
    }
    let [source, sink] = [flows.add_node(()), flows.add_node(())];
    for one in graph.node_indices() {
        match is_first(&topology.node(graph[one]).unwrap().name()) {
            true => flows.add_edge(source, places[one.index()], 1_000_000),
            false => flows.add_edge(places[one.index()], sink, 1_000_000),
        };
    }
    ford_fulkerson(&flows, source, sink).0
}

#[test]
fn halves_are_joined_by_as_many_cables_as_the_closed_forms_say() {
    let number = |name: &str, prefix: &str| -> u32 {
        let rest = name.strip_prefix(prefix).unwrap();
        rest.split('-').next().unwrap().parse().unwrap()
    };
    // HyperX: K·S·N / 4 across the dimension of size S.
    let hyperx = generate("hyperx:4x6,links=2");
    let cut = between(&hyperx, |name| number(name, "switch-") < 2);
    assert_eq!(cut, 2 * 4 * 24 / 4);
    // Dragonfly of g groups with one cable between each two: g²/4, here of 9 groups 4·5.
    let dragonfly = generate("dragonfly:2,4,2");
    let cut = between(&dragonfly, |name| number(name, "group") <= 4);
    assert_eq!(cut, 4 * 5);
    let plus = generate("dragonfly-plus:2,3,2,4");
    let cut = between(&plus, |name| {
        let group = name.trim_start_matches("leaf").trim_start_matches("spine");
        number(group, "") <= 4
    });
    assert_eq!(cut, 4 * 5);
    // Slim Fly: q cables from each row of one half to each of the other, all q² · q of them between the halves.
    let slim = generate("slimfly:5,hosts=0");
    assert_eq!(between(&slim, |name| name.starts_with('a')), 125);
    // A tree of three tiers: 32 edges with 8 uplinks each; the two pods of 16 have 8 spines with 8 uplinks each.
    let tree = generate("fattree:512,radix=24,tiers=3,oversubscription=2,taper=2");
    let pods = |name: &str| match name.strip_prefix("edge") {
        Some(edge) => edge.parse::<u32>().unwrap() <= 16,
        None => name.starts_with("spine") && number(name, "spine") <= 8,
    };
    assert_eq!(between(&tree, pods), 64);
}

#[test]
fn a_jellyfish_is_regular_connected_and_of_its_seed() {
    let wires = |text: &str| {
        let topology = generate(text);
        let ends = topology
            .links()
            .map(|(a, b)| (a.node, a.port, b.node, b.port));
        ends.collect::<Vec<_>>()
    };
    let mut known = BTreeSet::new();
    for seed in 0..20 {
        let text = format!("jellyfish:50,7,hosts=2,seed={seed}");
        let topology = generate(&text);
        assert_eq!(degrees(&topology), ([7].into(), [1].into()), "{text}");
        // A random graph of 50 switches with 7 cables each is not farther across than four.
        assert!((2..=4).contains(&diameter(&topology)), "{text}");
        assert_eq!(wires(&text), wires(&text));
        assert!(known.insert(wires(&text)), "{text}: that of another seed");
    }
    // The densest, and one with a port to spare.
    assert_eq!(
        degrees(&generate("jellyfish:20,10")),
        ([10].into(), [1].into())
    );
    assert_eq!(degrees(&generate("jellyfish:21,5")).0, [4, 5].into());
    assert_eq!(
        degrees(&generate("jellyfish:2000,24")),
        ([24].into(), [1].into())
    );
}

#[test]
fn what_does_not_exist_is_refused() {
    for (text, message) in [
        (
            "dragonfly:2,4,2,groups=10",
            "number of groups is 10, allowed are 2 to 9",
        ),
        (
            "dragonfly:40,4,9",
            "ports that a switch needs is 52, allowed are 0 to 48",
        ),
        (
            "dragonfly:1,48,20,groups=3",
            "ports that a switch needs is 68, allowed are 0 to 48",
        ),
        (
            "dragonfly-plus:1,0,2,2",
            "leaves of a group is 0, allowed are 1 to 48",
        ),
        (
            "hyperx:0x4",
            "size of a dimension is 0, allowed are 1 to 100000",
        ),
        (
            "hyperx:60",
            "ports that a switch needs is 60, allowed are 0 to 48",
        ),
        ("slimfly:2", "q is 2, allowed are 3 to 169"),
        (
            "slimfly:15",
            "q is 15, allowed are powers of primes of the form 4w - 1, 4w and 4w + 1",
        ),
        (
            "slimfly:5,hosts=42",
            "ports that a switch needs is 49, allowed are 0 to 48",
        ),
        (
            "jellyfish:20,11",
            "cables of a switch to others is 11, allowed are 3 to 10",
        ),
        (
            "fattree:1152,taper=2",
            "taper of two tiers is 2, allowed are 1",
        ),
        ("dragonfly:4294967295,4294967295,4294967295", ""),
        ("dragonfly-plus:4294967295,48,48,48,groups=4294967295", ""),
        ("hyperx:4294967295x4294967295,hosts=4294967295", ""),
        ("hyperx:100000,links=48", ""),
        ("slimfly:4294967295,hosts=4294967295", ""),
        ("slimfly:167,hosts=4294967295,radix=254", ""),
        ("jellyfish:4294967295,4294967295,hosts=4294967295", ""),
        ("jellyfish:100000,47,hosts=4294967295", ""),
    ] {
        let spec: FabricSpec = text.parse().unwrap();
        let error = spec.generate().unwrap_err().to_string();
        assert!(error == message || message.is_empty(), "{text}: {error}");
    }
}
