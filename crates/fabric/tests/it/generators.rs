//! The structure of every generated family: sizes, degrees, connectivity, bisection, wiring.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use crate::common::generate;
use petgraph::algo::{connected_components, ford_fulkerson};
use petgraph::graph::{DiGraph, UnGraph};
use weft_fabric::enums::{LinkWidth, PhysState, PortState, PortType};
use weft_fabric::{FabricSpec, GenerateError, NodeId, PortNum, Topology};

/// Hosts, switches, cables between switches.
fn size(topology: &Topology) -> (usize, usize, usize) {
    let isls = topology
        .links()
        .filter(|(a, b)| [a, b].iter().all(|end| is_switch(topology, end.node)));
    (
        topology.hfis().count(),
        topology.switches().len(),
        isls.count(),
    )
}

fn is_switch(topology: &Topology, id: NodeId) -> bool {
    topology.node(id).unwrap().is_switch()
}

/// Cables between each pair of switches that has any.
fn parallel(topology: &Topology) -> BTreeMap<(NodeId, NodeId), usize> {
    let mut count = BTreeMap::new();
    for (a, b) in topology.links() {
        if is_switch(topology, a.node) && is_switch(topology, b.node) {
            *count.entry((a.node, b.node)).or_default() += 1;
        }
    }
    count
}

/// Most cables that can be used at once between the first half of the hosts and the second.
fn bisection(topology: &Topology) -> u32 {
    let mut graph: DiGraph<(), u32> = DiGraph::new();
    let nodes: Vec<_> = topology.nodes().map(|_| graph.add_node(())).collect();
    for (a, b) in topology.links() {
        let [a, b] = [a, b].map(|end| nodes[end.node.0 as usize]);
        graph.add_edge(a, b, 1);
        graph.add_edge(b, a, 1);
    }
    let [source, sink] = [graph.add_node(()), graph.add_node(())];
    let hosts: Vec<_> = topology
        .hfis()
        .map(|(id, _)| nodes[id.0 as usize])
        .collect();
    for (index, host) in hosts.iter().enumerate() {
        if index < hosts.len() / 2 {
            graph.add_edge(source, *host, 1);
        } else {
            graph.add_edge(*host, sink, 1);
        }
    }
    ford_fulkerson(&graph, source, sink).0
}

#[test]
fn sizes_are_those_of_the_family() {
    for (text, hosts, switches, isls) in [
        ("one-switch:4", 4, 1, 0),
        ("one-switch:48", 48, 1, 0),
        ("back-to-back", 2, 0, 0),
        ("fattree:1152", 1152, 48 + 24, 1152),
        ("fattree:128", 128, 6 + 3, 144),
        ("fattree:768,oversubscription=3", 768, 22 + 6, 22 * 12),
        ("fattree:1152,tiers=3", 1152, 24 * 2 + 24 * 2 + 24, 2304),
        ("fattree:3456,radix=24", 3456, 288 + 288 + 144, 2 * 3456),
        ("fattree:11664,radix=36", 11664, 648 + 648 + 324, 2 * 11664),
        ("fattree:27648", 27648, 1152 + 1152 + 576, 2 * 27648),
        ("pgft:1;8;1;1", 8, 1, 0),
        ("pgft:2;4,6;1,2;1,3", 24, 6 + 2, 36),
        ("pgft:3;4,3,2;1,2,3;1,2,1", 24, 6 + 2 * 2 + 6, 24 + 12),
        ("pgft:4;2,2,2,2;1,2,2,2;1,1,1,1", 16, 8 * 4, 3 * 16),
        ("mesh:4x4,hosts=2", 32, 16, 24),
        ("mesh:3x1x2", 6, 6, 7),
        ("torus:4x4x4", 64, 64, 192),
        ("torus:2x3,links=2", 6, 6, 2 * (3 + 6)),
        ("hypercube:6", 64, 64, 192),
        ("swd06", 192, 12 + 6, 288),
        ("swd24", 768, 48 + 24, 1152),
    ] {
        let topology = generate(text);
        assert_eq!(size(&topology), (hosts, switches, isls), "{text}");
    }
}

#[test]
fn every_fabric_is_connected_and_consistent() {
    for text in [
        "one-switch:4",
        "back-to-back",
        "fattree:1152",
        "fattree:500,tiers=3",
        "pgft:3;4,3,2;1,2,3;1,2,1",
        "mesh:4x4x2",
        "torus:5x3",
        "hypercube:5",
        "swd06",
        "swd24",
    ] {
        let topology = generate(text);
        let edges = topology.links().map(|(a, b)| (a.node.0, b.node.0));
        let graph = UnGraph::<(), ()>::from_edges(edges);
        assert_eq!(graph.node_count(), topology.len(), "{text}");
        assert_eq!(connected_components(&graph), 1, "{text}");
        check_ports(&topology, text);
    }
}

/// Both ends of a cable know each other as the subnet manager will check it; ports without one are
/// down.
fn check_ports(topology: &Topology, text: &str) {
    for (id, node) in topology.nodes() {
        assert_eq!(node.guid().0 >> 40, 0x00_1175, "{text}");
        assert_eq!(node.guid().0 >> 30 & 3, 0, "{text}");
        for (number, port) in node.external_ports() {
            let Some(peer) = port.peer else {
                assert_eq!(port.info.port_state, PortState::DOWN);
                assert_eq!(port.info.phys_state, PhysState::POLLING);
                continue;
            };
            let other = topology.node(peer.node).unwrap();
            assert_eq!(port.info.port_state, PortState::INIT);
            assert_eq!(port.info.neighbor_node_guid, other.guid());
            assert_eq!(port.info.neighbor_port_num, peer.port);
            assert_eq!(port.info.neighbor_node_type, u8::from(other.is_switch()));
            assert_eq!(port.info.local_port_num, number);
            assert_eq!(port.info.link_width_active, LinkWidth::X4);
            assert_eq!(topology.peer(peer).unwrap().node, id);
        }
    }
}

#[test]
fn fat_trees_have_the_bisection_that_they_promise() {
    for (text, links) in [
        ("fattree:128", 64),
        ("fattree:192,radix=12,tiers=3", 96),
        ("fattree:96,radix=16,oversubscription=3", 16),
        ("mesh:4x4,hosts=4", 4),
        ("torus:4x4,hosts=4", 8),
        ("hypercube:4,hosts=2", 8),
        ("swd06,hosts=16", 96),
    ] {
        assert_eq!(bisection(&generate(text)), links, "{text}");
    }
}

#[test]
fn pairs_of_switches_have_the_asked_number_of_cables() {
    for (text, cables) in [
        ("fattree:1152", 1),
        ("fattree:128,links=2", 2),
        ("pgft:2;4,6;1,2;1,3", 3),
        ("torus:4x4,links=3", 3),
        ("swd06,hosts=0", 4),
        ("swd24,hosts=0", 1),
    ] {
        let counts = parallel(&generate(text));
        assert!(
            counts.values().all(|count| *count == cables),
            "{text}: {counts:?}"
        );
    }
}

#[test]
fn a_chassis_is_one_system_with_fixed_ports_inside() {
    let topology = generate("swd06");
    let systems = topology.switches().iter();
    let systems = systems.map(|id| topology.node(*id).unwrap().info.system_image_guid);
    assert!(
        systems
            .collect::<Vec<_>>()
            .windows(2)
            .all(|pair| pair[0] == pair[1])
    );
    for (a, b) in topology.links() {
        let inside = is_switch(&topology, a.node) && is_switch(&topology, b.node);
        for end in [a, b] {
            let kind = topology.port(end).unwrap().info.port_type;
            assert_eq!(kind == PortType::FIXED, inside);
        }
    }
}

/// The vendor's list of links: `rate;mtu;internal;length;label;details;port;type;name;port;type;name`.
#[test]
fn the_wiring_of_a_chassis_is_the_vendors() {
    for (kind, links) in [("swd06", 288), ("swd24", 1152)] {
        let Some(csv) = crate::common::public_data(&format!("linksum_{kind}.csv")) else {
            continue;
        };
        let topology = generate(kind);
        let ours = wires(&topology);
        let mut compared = 0;
        for line in csv.lines() {
            let fields: Vec<&str> = line.split(';').collect();
            let end = |port: usize, name: usize| {
                let chip = fields[name].split_whitespace().last().unwrap().to_owned();
                (chip, fields[port].parse::<u8>().unwrap())
            };
            assert_eq!(ours.get(&end(6, 8)), Some(&end(9, 11)), "{kind}: {line}");
            compared += 1;
        }
        assert_eq!((compared, ours.len()), (links, 2 * links), "{kind}");
    }
}

/// The other end of each internal port, by chip and number.
fn wires(topology: &Topology) -> BTreeMap<(String, u8), (String, u8)> {
    let chip = |id: NodeId| {
        let name = topology.node(id).unwrap().name();
        name.split_whitespace().last().unwrap().to_owned()
    };
    let internal = topology
        .links()
        .filter(|(a, b)| is_switch(topology, a.node) && is_switch(topology, b.node));
    internal
        .flat_map(|(a, b)| [(a, b), (b, a)])
        .map(|(a, b)| ((chip(a.node), a.port.0), (chip(b.node), b.port.0)))
        .collect()
}

#[test]
fn ports_are_where_the_documentation_says() {
    let tree = generate("fattree:1152");
    let edge = tree.switches()[1];
    let first_host = tree
        .node(edge)
        .unwrap()
        .port(PortNum(1))
        .unwrap()
        .peer
        .unwrap();
    assert_eq!(first_host.node, NodeId(24));
    let up = tree
        .node(edge)
        .unwrap()
        .port(PortNum(25))
        .unwrap()
        .peer
        .unwrap();
    assert_eq!(tree.node(up.node).unwrap().name(), "core1");
    assert_eq!(up.port, PortNum(2));
}

#[test]
fn what_does_not_fit_is_refused() {
    for (text, message) in [
        (
            "one-switch:49",
            "number of hosts is 49, allowed are 0 to 48",
        ),
        (
            "fattree:600001,radix=250",
            "number of hosts is 600001, allowed are 1 to 600000",
        ),
        (
            "fattree:27649",
            "number of hosts in three tiers is 27649, allowed are 1 to 27648",
        ),
        (
            "fattree:1153,tiers=2",
            "number of hosts in two tiers is 1153, allowed are 1 to 1152",
        ),
        (
            "fattree:9,tiers=4",
            "number of tiers is 4, allowed are 2 to 3",
        ),
        (
            "fattree:128,links=5",
            "uplinks left over by links is 4, allowed are 0",
        ),
        ("fattree:0", "number of hosts is 0, allowed are 1 to 600000"),
        (
            "pgft:1;49;1;1",
            "ports that a switch needs is 49, allowed are 1 to 48",
        ),
        ("pgft:1;4;2;1", "parents of a host is 2, allowed are 1"),
        (
            "pgft:9;1,1,1,1,1,1,1,1,1;1,1,1,1,1,1,1,1,1;1,1,1,1,1,1,1,1,1",
            "height of the tree is 9, allowed are 1 to 8",
        ),
        (
            "mesh:48x48x48",
            "number of switches is 110592, allowed are 1 to 100000",
        ),
        (
            "mesh:40x50x50,hosts=0,links=8",
            "number of links is 2400000, allowed are 0 to 2000000",
        ),
        (
            "pgft:3;1,127,254;1,127,127;1,1,1;radix=254",
            "number of links is 8225790, allowed are 1 to 2000000",
        ),
        (
            "mesh:4x4,hosts=45",
            "ports that a switch needs is 49, allowed are 0 to 48",
        ),
        (
            "hypercube:17",
            "number of dimensions is 17, allowed are 1 to 16",
        ),
        (
            "swd06,hosts=17",
            "hosts on a leaf chip is 17, allowed are 0 to 16",
        ),
    ] {
        let spec: Result<FabricSpec, _> = text.parse();
        let error = spec
            .map_err(|error| error.to_string())
            .and_then(|spec| spec.generate().map_err(|error| error.to_string()));
        assert_eq!(error.unwrap_err(), message, "{text}");
    }
    let file: FabricSpec = "file:x".parse().unwrap();
    assert!(matches!(file.generate(), Err(GenerateError::IsFile { .. })));
}

/// Numbers for every parameter at the edge of its type are refused or generated, never more.
#[test]
fn extreme_numbers_do_no_harm() {
    for text in [
        "fattree:18446744073709551615",
        "fattree:1,radix=255,oversubscription=255",
        "fattree:1,radix=0",
        "fattree:1,radix=1",
        "fattree:5,radix=3,tiers=3,oversubscription=2",
        "fattree:1,oversubscription=0",
        "fattree:1,links=0",
        "mesh:4294967295x4294967295,hosts=4294967295,links=4294967295",
        "mesh:2,hosts=4294967295",
        "mesh:0",
        "pgft:2;4294967295,4294967295;1,4294967295;1,4294967295",
        "one-switch:0,radix=255",
        "hypercube:255",
    ] {
        let spec: FabricSpec = text.parse().unwrap();
        if let Ok(topology) = spec.generate() {
            assert!(topology.len() < 100, "{text}");
        }
    }
}
