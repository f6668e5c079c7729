//! Cables that someone moves, plugs in as a loop, or adds.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use weft_emulator::io::Control;
use weft_fabric::enums::PortState;
use weft_fabric::{Guid, NodeId, PortNum, PortRef};
use weft_manager::Event;

use crate::common::World;

/// Four edge switches with four hosts each, two links to each of two cores; switches have free ports.
const TREE: &str = "pgft:2;4,4;1,2;1,1;radix=12";

/// A change of cables, after which the manager has had its time.
fn change(world: &mut World, control: Control) {
    world.control(control);
    world.topology = Arc::clone(world.emulator.network().topology());
    world.run_for(10.0);
}

fn at(world: &World, end: PortRef) -> (Guid, PortNum) {
    (world.topology.node(end.node).unwrap().guid(), end.port)
}

/// A switch's ports without a cable.
fn free(world: &World, id: NodeId) -> Vec<PortRef> {
    let node = world.topology.node(id).unwrap();
    let free = node
        .external_ports()
        .filter(|(_, data)| data.peer.is_none());
    free.map(|(port, _)| PortRef { node: id, port }).collect()
}

/// The switch end of the link of the last host, and another edge switch.
fn host_and_other_edge(world: &World) -> (PortRef, NodeId) {
    let topology = &world.topology;
    let edge = |id| {
        topology.peer(PortRef {
            node: id,
            port: PortNum(1),
        })
    };
    let hosts: Vec<NodeId> = topology.hfis().map(|(id, _)| id).collect();
    let near = edge(*hosts.last().unwrap()).unwrap();
    (near, edge(hosts[0]).unwrap().node)
}

#[test]
fn a_host_at_another_switch_keeps_its_lid_and_is_reached() {
    let mut world = World::settled(TREE);
    let before = world.lids();
    let (near, other) = host_and_other_edge(&world);
    let (from, to) = (at(&world, near), at(&world, free(&world, other)[0]));
    change(&mut world, Control::MoveCable { from, to });
    world.assert_all_active();
    world.walk_all();
    assert_eq!(world.lids(), before);
    assert_eq!(world.forced_sweep().sets, 0);
    let links = world.manager.snapshot().topology.links().count();
    assert_eq!(links, world.topology.links().count());
    let told = |is: &dyn Fn(&Event) -> bool| world.events.iter().any(is);
    assert!(told(&|event| matches!(event, Event::LinkVanished { .. })));
    assert!(told(&|event| matches!(event, Event::LinkAppeared { .. })));
}

#[test]
fn a_loop_carries_nothing_and_is_told_of() {
    let mut world = World::settled(TREE);
    let (_, edge) = host_and_other_edge(&world);
    let ends = free(&world, edge);
    let ports = [at(&world, ends[0]), at(&world, ends[1])];
    let before = world.manager.snapshot().topology.links().count();
    change(&mut world, Control::PlugCable { ports });
    world.walk_all();
    assert_eq!(world.forced_sweep().sets, 0);
    let snapshot = world.manager.snapshot();
    assert_eq!(snapshot.topology.links().count(), before);
    let loops: Vec<_> = snapshot.topology.loops().collect();
    assert_eq!(loops.len(), 1);
    let (node, port) = ports[0];
    change(&mut world, Control::PullCable { node, port });
    world.assert_all_active();
    assert_eq!(world.manager.snapshot().topology.loops().count(), 0);
}

#[test]
fn a_new_link_between_switches_is_used() {
    let mut world = World::settled(TREE);
    let topology = &world.topology;
    let links = topology.links();
    let is_switch = |end: &PortRef| topology.switch_index(end.node).is_some();
    let between = links.filter(|(a, b)| is_switch(a) && is_switch(b));
    let (edge, core) = between.last().unwrap();
    let ports = [edge.node, core.node].map(|id| at(&world, free(&world, id)[0]));
    change(&mut world, Control::PlugCable { ports });
    world.assert_all_active();
    world.walk_all();
    for (node, port) in ports {
        assert_eq!(world.state(node, port), PortState::ACTIVE);
    }
    // The switch has it in its tables: the old link gone, it still reaches everything.
    let (node, port) = at(&world, edge);
    change(&mut world, Control::PullCable { node, port });
    world.assert_all_active();
    world.walk_all();
    assert_eq!(world.forced_sweep().sets, 0);
}
