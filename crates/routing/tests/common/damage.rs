//! Fabrics that something has happened to, and the engines that route them.

use std::sync::Arc;

use weft_fabric::enums::PortState;
use weft_fabric::{NodeId, PortNum, PortRef, Topology};
use weft_routing::{EngineKind, Routed, Settings, route};

use super::{degrade, dor, fabric, settings};

/// Every engine with a fabric that it is for.
fn engines() -> Vec<(&'static str, Settings)> {
    let tree = |engine| settings(engine, 3);
    let lanes = |settings: Settings| Settings {
        lanes: 8,
        ..settings
    };
    vec![
        ("fattree:16,radix=4", tree(EngineKind::Dmodc)),
        ("fattree:16,radix=4", tree(EngineKind::FatTree)),
        ("fattree:16,radix=4", tree(EngineKind::ShortestPath)),
        ("fattree:16,radix=4", tree(EngineKind::DgShortestPath)),
        ("fattree:16,radix=4", lanes(tree(EngineKind::Layered))),
        ("hypercube:3", tree(EngineKind::Hypercube)),
        ("torus:4x3", dor(&[4, 3], 1, true, 8)),
    ]
}

/// Sets all cabled ports to Active.
pub fn activate(topology: &mut Topology) {
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

/// Kinds of damage.
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

/// Every engine's routes on every damage that makes sense, each with words for it.
pub fn routed_damages() -> impl Iterator<Item = (String, Topology, Routed)> {
    let each = engines().into_iter();
    each.flat_map(|(spec, settings)| {
        DAMAGES.iter().filter_map(move |damage| {
            let topology = damaged(spec, damage)?;
            let routed = route(&topology, &settings).unwrap();
            let (asked, used) = (settings.engine, routed.engine());
            let what = format!("{spec}, {damage}, {asked:?}: {used}");
            Some((what, topology, routed))
        })
    })
}

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
        "1 % of links gone" => degrade(&mut topology, 3, 10),
        "5 % of links gone" => degrade(&mut topology, 4, 50),
        "20 % of links gone" => degrade(&mut topology, 5, 200),
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

/// The tree with additional cables from each leaf to the next one, on free ports.
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
