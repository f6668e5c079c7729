//! Switches in the place of others, and hosts that reboot in a wave.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use weft_emulator::io::Control;
use weft_fabric::{Guid, Lid, NodeId, PortNum};
use weft_manager::Event;

use crate::common::World;

const TREE: &str = "pgft:2;4,4;1,2;1,1;radix=8";

/// LIDs of the hosts.
fn lids(world: &World) -> Vec<Lid> {
    let network = world.emulator.network();
    let hosts = world.topology.hfis().map(|(id, _)| id);
    hosts
        .map(|id| {
            let device = network.device(id).unwrap();
            network.port(device.port(PortNum(1)).unwrap()).info().lid
        })
        .collect()
}

#[test]
fn another_switch_in_the_place_of_one_carries_what_that_did() {
    let mut world = World::settled(TREE);
    let before = lids(&world);
    // Not the switch of the manager's host.
    let id: NodeId = *world.topology.switches().last().unwrap();
    for id in [id, world.topology.switches()[1]] {
        let node = world.topology.node(id).unwrap().guid();
        let new = Guid(node.0 | 0xf000);
        world.control(Control::Replace { node, new });
        world.topology = Arc::clone(world.emulator.network().topology());
        world.run_for(10.0);
        world.assert_all_active();
        world.walk_all();
        assert_eq!(lids(&world), before);
        let found = &world.manager.snapshot().topology;
        assert!(found.find(new).is_some() && found.find(node).is_none());
        assert_eq!(world.forced_sweep().sets, 0);
    }
    let told = |is: &dyn Fn(&Event) -> bool| world.events.iter().filter(|event| is(event)).count();
    assert_eq!(
        told(&|event| matches!(event, Event::NodeVanished { .. })),
        2
    );
    assert_eq!(
        told(&|event| matches!(event, Event::NodeAppeared { .. })),
        2
    );
}

#[test]
fn hosts_that_reboot_in_a_wave_get_the_lids_that_they_had() {
    let mut world = World::settled(TREE);
    let before = lids(&world);
    let hosts: Vec<Guid> = world.topology.hfis().map(|(_, node)| node.guid()).collect();
    // All but the manager's, each off for another time.
    for (number, node) in hosts.into_iter().enumerate().skip(1) {
        let off_ns = 100_000_000 * number as u64;
        world.control(Control::Reboot { node, off_ns });
    }
    world.run_for(20.0);
    world.assert_all_active();
    world.walk_all();
    assert_eq!(lids(&world), before);
    assert_eq!(world.forced_sweep().sets, 0);
}
