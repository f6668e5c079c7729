//! `LidStrategy` topology: LIDs and LMCs are those of the topology file.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use weft_fabric::import::import_topology_with_lids;
use weft_fabric::intended::{Look, Rules};
use weft_fabric::{Lid, Lmc, PortRef, Topology};
use weft_manager::sm::settings::TopologySettings;
use weft_manager::{Settings, UnusedReason};

use crate::common::{World, fabric, settings};
use crate::unintended::file;

/// Two edge switches with two hosts each, and a link to each of two cores.
const TREE: &str = "pgft:2;2,2;1,2;1,1;radix=4";

/// The fabric with LIDs from 101 on for switches, and four LIDs for each host from 404 on.
pub(crate) fn with_lids(topology: &Topology) -> Topology {
    let mut topology = topology.clone();
    let (mut switch, mut host) = (100, 400);
    let ends: Vec<PortRef> = topology.end_ports().map(|(end, ..)| end).collect();
    for end in ends {
        let (next, lmc) = match topology.switch_index(end.node) {
            Some(_) => (&mut switch, Lmc(0)),
            None => (&mut host, Lmc(2)),
        };
        *next += lmc.lids();
        let node = topology.node_mut(end.node).unwrap();
        let info = &mut node.port_mut(end.port).unwrap().info;
        (info.lid, info.lmc) = (Lid(*next), lmc);
    }
    topology
}

fn prescribed(text: &str) -> Settings {
    let mut settings = settings();
    settings.lids.by_topology = true;
    let intended = import_topology_with_lids(text.as_bytes(), settings.lids.highest).unwrap();
    settings.topology = Some(TopologySettings {
        intended: Arc::new(intended),
        rules: Rules::all(Look::Off),
        messages_max: 0,
    });
    settings
}

/// LIDs and LMCs of all end ports, switches first.
fn held(world: &World) -> Vec<(String, Lid, Lmc)> {
    let topology = &world.manager.snapshot().topology;
    let mut held: Vec<(bool, String, Lid, Lmc)> = topology
        .end_ports()
        .map(|(port, lid, lmc)| {
            let node = topology.node(port.node).unwrap();
            (!node.is_switch(), node.name().to_string(), lid, lmc)
        })
        .collect();
    held.sort_unstable();
    let all = held.into_iter();
    all.map(|(_, name, lid, lmc)| (name, lid, lmc)).collect()
}

fn lids(world: &World) -> Vec<(u32, u8)> {
    let held = held(world).into_iter();
    held.map(|(_, lid, lmc)| (lid.0, lmc.0)).collect()
}

const AS_IN_THE_FILE: [(u32, u8); 8] = [
    (101, 0),
    (102, 0),
    (103, 0),
    (104, 0),
    (404, 2),
    (408, 2),
    (412, 2),
    (416, 2),
];

#[test]
fn lids_are_those_of_the_file_whatever_was_there_before() {
    let text = file(&with_lids(&fabric(TREE)));
    let mut world = World::new(TREE, prescribed(&text));
    world.sweep();
    let mut given = lids(&world);
    given.sort_unstable();
    assert_eq!(given, AS_IN_THE_FILE);
    world.assert_all_active();
    assert_eq!(world.walk_all(), 8 * 20);
}

/// The file with another device in the place of a node.
fn without(text: &str, name: &str, guid: &str) -> String {
    let text = text.replace(guid, &guid.replace("00117501", "00117502"));
    text.replace(&format!(">{name}<"), ">another<")
}

#[test]
fn what_the_file_lacks_carries_nothing() {
    let text = file(&with_lids(&fabric(TREE)));
    let text = without(&text, "node4 hfi1_0", "0x0011750101000004");
    let mut world = World::new(TREE, prescribed(&text));
    let report = world.sweep();
    let without: Vec<String> = held(&world)
        .into_iter()
        .filter_map(|(name, lid, _)| (lid.0 == 0).then_some(name))
        .collect();
    assert_eq!(without, ["node4 hfi1_0"]);
    assert_eq!(report.unfinished, Vec::<String>::new());
    assert_eq!(report.unused_links, 1);
    assert_eq!(report.unused[0].reason, UnusedReason::NoLid);
    let guid = weft_fabric::Guid(0x0011_7501_0100_0004);
    let state = world.state(guid, weft_fabric::PortNum(1));
    assert_eq!(state, weft_wire::enums::PortState::INIT);
}

/// It could not answer hosts without one.
#[test]
fn the_manager_s_own_port_has_a_lid_that_the_file_gives_to_nobody() {
    let text = file(&with_lids(&fabric(TREE)));
    let text = without(&text, "node1 hfi1_0", "0x0011750101000001");
    let mut world = World::new(TREE, prescribed(&text));
    world.sweep();
    let own = held(&world)
        .into_iter()
        .find(|(name, ..)| name == "node1 hfi1_0");
    assert_eq!(own.unwrap().1, Lid(1));
    world.assert_all_active();
}

/// As at a reload: LIDs that were given before make way.
#[test]
fn a_file_moves_lids_that_were_given_before() {
    let text = file(&with_lids(&fabric(TREE)));
    let mut world = World::new(TREE, settings());
    world.sweep();
    let stored = world.persisted.clone();
    world.restart(prescribed(&text), stored.as_deref());
    world.sweep();
    let mut given = lids(&world);
    given.sort_unstable();
    assert_eq!(given, AS_IN_THE_FILE);
    world.assert_all_active();
}
