//! Hosts that are asked to register again, and for how long.
#![allow(clippy::unwrap_used)]

use crate::common::{World, settings};
use weft_emulator::io::Control;
use weft_fabric::{Guid, Lid, PortNum};
use weft_manager::sm::settings::{Members, Partition, Selector};
use weft_manager::{Input, SweepReport};

fn hosts(world: &World) -> Vec<Guid> {
    world.topology.hfis().map(|(_, node)| node.guid()).collect()
}

/// Number of requests to register again, by host.
fn asked(world: &World) -> Vec<u32> {
    let hosts = hosts(world).into_iter();
    hosts.map(|host| world.reregistrations(host)).collect()
}

/// A fabric that is up, whose manager knows that there are no members.
fn up() -> World {
    let mut world = World::new("fattree:32,radix=8", settings());
    world
        .manager
        .handle(world.now, Input::Multicast(Vec::new()));
    world.sweep();
    world.run_for(3.0);
    assert_eq!(asked(&world), [0; 32], "who comes up registers by itself");
    world
}

/// Ends the manager and starts another that holds the registrations.
fn restarted(world: &mut World) -> SweepReport {
    let bytes = world.persisted.clone();
    world.restart(settings(), bytes.as_deref());
    world.lost.clear();
    world
        .manager
        .handle(world.now, Input::Multicast(Vec::new()));
    world.sweep()
}

/// Makes ports name another manager as their master, as that one does while it runs the fabric.
fn name_other_master(world: &mut World, hosts: &[Guid]) {
    for host in hosts {
        let network = world.emulator.network_mut();
        let at = network.find(*host).unwrap();
        let port = network.device(at).unwrap().port(PortNum(1)).unwrap();
        let mut info = *network.port(port).info();
        info.master_sm_lid = Lid(9);
        info.port_state = weft_fabric::enums::PortState::NOP;
        info.phys_state = weft_wire::enums::PhysState::NOP;
        network.set_port_info(port, &info).unwrap();
    }
}

/// Ports 0 of switches that were just switched on are active, and have registered nowhere.
#[test]
fn a_fabric_that_was_just_switched_on_has_nobody_to_ask() {
    let mut world = World::new("fattree:32,radix=8", settings());
    world.sweep();
    assert_eq!(world.lost, [0], "members count as known at once");
}

#[test]
fn registrations_do_not_count_once_another_manager_was_master() {
    let mut world = up();
    let all = hosts(&world);
    name_other_master(&mut world, &all);
    restarted(&mut world);
    assert_eq!(world.lost, [32 + 12], "with port 0 of the switches");
    assert_eq!(asked(&world), [1; 32]);
    assert_eq!(world.forced_sweep().sets, 0);
}

#[test]
fn a_port_that_names_another_master_is_asked_alone() {
    let mut world = up();
    let all = hosts(&world);
    name_other_master(&mut world, &all[4..5]);
    restarted(&mut world);
    assert!(world.lost.is_empty());
    let expected: Vec<u32> = (0..32).map(|host| u32::from(host == 4)).collect();
    assert_eq!(asked(&world), expected);
}

#[test]
fn hosts_that_were_cut_off_and_come_back_active_are_asked() {
    let mut world = World::new("torus:3,hosts=2", settings());
    world.sweep();
    world.run_for(3.0);
    let far = world.topology.switches()[1];
    let guid = world.topology.node(far).unwrap().guid();
    let links: Vec<PortNum> = world
        .topology
        .links()
        .flat_map(|(a, b)| [(a, b), (b, a)])
        .filter(|(a, b)| a.node == far && world.topology.node(b.node).unwrap().is_switch())
        .map(|(a, _)| a.port)
        .collect();
    assert!(!links.is_empty());
    for port in &links {
        let (node, port) = (guid, *port);
        world.control(Control::LinkDown { node, port });
    }
    world.run_for(10.0);
    assert_eq!(world.manager.snapshot().topology.hfis().count(), 4);
    for port in &links {
        let (node, port) = (guid, *port);
        world.control(Control::LinkUp { node, port });
    }
    world.run_for(10.0);
    assert_eq!(world.manager.snapshot().topology.hfis().count(), 6);
    let expected: Vec<u32> = hosts(&world)
        .iter()
        .map(|host| {
            let node = world.topology.find(*host).unwrap();
            let mut peers = world.topology.links().flat_map(|(a, b)| [(a, b), (b, a)]);
            u32::from(peers.any(|(a, b)| a.node == node && b.node == far))
        })
        .collect();
    assert_eq!(expected.iter().sum::<u32>(), 2);
    assert_eq!(asked(&world), expected);
}

#[test]
fn a_port_whose_partitions_change_is_asked() {
    let mut world = up();
    let member = hosts(&world)[7];
    let mut other = settings();
    other.partitions.push(Partition {
        key: 5,
        secured: true,
        full: Members::of([Selector::NodeGuid(member)]),
        limited: Members::default(),
    });
    let now = world.now;
    world.manager.reconfigure(now, other);
    world.sweep();
    world.run_for(3.0);
    let expected: Vec<u32> = (0..32).map(|host| u32::from(host == 7)).collect();
    assert_eq!(asked(&world), expected);
    assert_eq!(world.forced_sweep().sets, 0);
}

#[test]
fn a_host_is_asked_until_it_confirms() {
    let mut world = up();
    let bytes = world.persisted.clone();
    world.restart(settings(), bytes.as_deref());
    let silent = hosts(&world)[20];
    let node = silent;
    // It answers until the request is due, and not again for a while.
    let until = weft_fabric::Tick(u64::MAX);
    world.run(until, |world| {
        world.manager.status().phase == Some(weft_manager::SweepPhase::Activate)
    });
    world.control(Control::Silence { node, silent: true });
    let report = world.sweep();
    assert!(
        report
            .unfinished
            .iter()
            .any(|what| what.contains("by 1 port")),
        "{:?}",
        report.unfinished
    );
    assert_eq!(world.reregistrations(silent), 0);
    let node = silent;
    world.control(Control::Silence {
        node,
        silent: false,
    });
    world.run_for(60.0);
    assert_eq!(asked(&world), [1; 32], "each once");
}
