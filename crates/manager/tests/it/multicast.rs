//! Multicast tables: in the first sweep, between sweeps, around broken links and after a restart.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use crate::common::{World, fabric, latency, settings};
use weft_emulator::io::Control;
use weft_fabric::enums::{Mtu, PortState};
use weft_fabric::{Guid, Lid, PortNum, PortRef};
use weft_manager::{Event, Input, MulticastLid};
use weft_wire::sm::AttributeId;

const FIRST: u32 = 0xF000_0000;

pub(crate) fn hosts(world: &World) -> Vec<Guid> {
    world.topology.hfis().map(|(_, node)| node.guid()).collect()
}

/// A group of the ports of these hosts, whose GUIDs are their nodes'.
pub(crate) fn group(row: u32, receivers: &[Guid]) -> MulticastLid {
    MulticastLid {
        mlid: Lid(FIRST + row),
        mtu: Mtu::B2048,
        rate: 15,
        receivers: receivers.to_vec(),
        senders: Vec::new(),
    }
}

pub(crate) fn tell(world: &mut World, groups: &[MulticastLid]) {
    world
        .manager
        .handle(world.now, Input::Multicast(groups.to_vec()));
}

/// The ports to which a device sends a LID.
fn ports(world: &World, node: weft_fabric::NodeId, row: u32) -> Vec<PortNum> {
    let network = world.emulator.network();
    let guid = world.topology.node(node).unwrap().guid();
    let switch = network.switch(network.find(guid).unwrap()).unwrap();
    let top = switch.info().multicast_fdb_top;
    if top == 0 || row > top - FIRST {
        return Vec::new();
    }
    let mut ports = Vec::new();
    for position in 0..4_u8 {
        let Ok(block) = switch.multicast_block(position, row / 8) else {
            continue;
        };
        let at = row as usize % 8 * 8;
        let word = u64::from_be_bytes(block[at..at + 8].try_into().unwrap());
        ports.extend(
            (0..64)
                .filter(|bit| word >> bit & 1 == 1)
                .map(|bit| PortNum(position * 64 + bit)),
        );
    }
    ports
}

/// Number of copies of a packet at each host, by the devices' own tables, over active links.
fn flood(world: &World, row: u32, from: Guid) -> BTreeMap<Guid, u32> {
    let topology = &world.topology;
    let node = topology.find(from).unwrap();
    let start = PortRef {
        node,
        port: PortNum(1),
    };
    let mut queue: Vec<PortRef> = topology.peer(start).into_iter().collect();
    let mut got = BTreeMap::new();
    for _ in 0..10_000 {
        let Some(at) = queue.pop() else {
            return got;
        };
        let guid = topology.node(at.node).unwrap().guid();
        if !topology.node(at.node).unwrap().is_switch() {
            *got.entry(guid).or_default() += 1;
            continue;
        }
        for port in ports(world, at.node, row)
            .into_iter()
            .filter(|port| *port != at.port)
        {
            if world.state(guid, port) == PortState::ACTIVE {
                queue.extend(topology.peer(PortRef {
                    node: at.node,
                    port,
                }));
            }
        }
    }
    panic!("a packet of row {row} runs in a circle");
}

pub(crate) fn assert_delivers(world: &World, group: &MulticastLid) {
    for from in &group.receivers {
        let others = group.receivers.iter().filter(|to| *to != from);
        let expected: BTreeMap<Guid, u32> = others.map(|to| (*to, 1)).collect();
        assert_eq!(
            flood(world, group.mlid.0 - FIRST, *from),
            expected,
            "from {from}"
        );
    }
}

/// Checks that the published tables equal the devices'.
fn assert_published(world: &World, rows: u32) {
    let snapshot = world.manager.snapshot();
    for node in world.topology.switches() {
        let guid = world.topology.node(*node).unwrap().guid();
        let index = snapshot
            .topology
            .switch_index(snapshot.topology.find(guid).unwrap());
        for row in 0..rows {
            let told: Vec<PortNum> = snapshot
                .multicast
                .ports(index.unwrap(), Lid(FIRST + row))
                .iter()
                .collect();
            assert_eq!(told, ports(world, *node, row), "row {row} of {guid}");
        }
    }
}

/// Number of times that the port of each host was asked to register again.
fn registered(world: &World, hosts: &[Guid]) -> Vec<u32> {
    hosts
        .iter()
        .map(|host| world.reregistrations(*host))
        .collect()
}

fn writes(world: &World) -> u64 {
    world.emulator.stats().total(AttributeId::MULTICAST_FDB).1
}

#[test]
fn groups_come_up_with_the_fabric_and_an_unchanged_one_is_not_written_to() {
    for spec in [
        "fattree:32,radix=8",
        "fattree:128,radix=128",
        "torus:3x3,hosts=2",
    ] {
        for pruning in [false, true] {
            let mut settings = settings();
            settings.multicast.pruning = pruning;
            let mut world = World::new(spec, settings);
            let hosts = hosts(&world);
            let groups = [
                group(0, &hosts),
                group(1, &hosts[1..4]),
                group(20, &hosts[..2]),
            ];
            tell(&mut world, &groups);
            world.sweep();
            world.run_for(3.0);
            groups
                .iter()
                .for_each(|group| assert_delivers(&world, group));
            assert_published(&world, 24);
            assert_eq!(world.forced_sweep().sets, 0, "{spec}");
        }
    }
}

#[test]
fn a_join_needs_no_sweep_and_few_writes() {
    let mut world = World::new("fattree:32,radix=8", settings());
    let hosts = hosts(&world);
    tell(&mut world, &[group(0, &hosts[..4])]);
    world.sweep();
    world.run_for(3.0);
    let (sweeps, before, published) = (world.reports().len(), writes(&world), world.published);
    let started = world.now;
    let groups = [group(0, &hosts[..5])];
    tell(&mut world, &groups);
    let until = weft_fabric::Tick(started.0 + 1_000_000);
    assert!(
        world.run(until, |world| world.published > published),
        "not within a millisecond"
    );
    assert_delivers(&world, &groups[0]);
    assert_published(&world, 1);
    assert_eq!(writes(&world) - before, 1, "one block of one switch");
    let groups = [group(0, &hosts[..2]), group(9, &hosts[3..])];
    tell(&mut world, &groups);
    world.run_for(0.5);
    groups
        .iter()
        .for_each(|group| assert_delivers(&world, group));
    assert_published(&world, 10);
    tell(&mut world, &[]);
    world.run_for(0.5);
    assert!(
        world
            .topology
            .switches()
            .iter()
            .all(|node| ports(&world, *node, 0).is_empty())
    );
    assert_eq!(world.reports().len(), sweeps, "a sweep was made");
    assert_eq!(world.forced_sweep().sets, 0);
}

#[test]
fn members_that_change_during_a_sweep_are_served_after_it() {
    let mut world = World::new("fattree:32,radix=8", settings());
    let hosts = hosts(&world);
    let late = [group(0, &hosts[2..9])];
    let until = weft_fabric::Tick(u64::MAX);
    world.run(until, |world| {
        world.manager.status().phase == Some(weft_manager::SweepPhase::Activate)
    });
    tell(&mut world, &late);
    world.run_for(3.0);
    assert_delivers(&world, &late[0]);
    assert_eq!(world.forced_sweep().sets, 0);
}

#[test]
fn a_cut_link_of_the_tree_is_routed_around_and_never_closes_a_circle() {
    let mut world = World::new("torus:3x3,hosts=1", settings());
    let hosts = hosts(&world);
    let groups = [group(0, &hosts)];
    tell(&mut world, &groups);
    world.sweep();
    world.run_for(3.0);
    let is_switch = |end: &PortRef| world.topology.node(end.node).unwrap().is_switch();
    let cables: Vec<(Guid, PortNum)> = world
        .topology
        .links()
        .filter(|(a, b)| is_switch(a) && is_switch(b))
        .map(|(a, _)| (world.topology.node(a.node).unwrap().guid(), a.port))
        .collect();
    for (node, port) in cables {
        for change in [
            Control::LinkDown { node, port },
            Control::LinkUp { node, port },
        ] {
            world.control(change);
            for _ in 0..2_000 {
                world.run_for(0.001);
                // Says so when it runs in a circle.
                flood(&world, 0, hosts[0]);
            }
            world.run_for(3.0);
            assert_delivers(&world, &groups[0]);
        }
    }
    assert_eq!(world.forced_sweep().sets, 0);
}

#[test]
fn a_restarted_manager_that_is_told_the_members_writes_nothing() {
    let mut world = World::new("fattree:32,radix=8", settings());
    let hosts = hosts(&world);
    let groups = [group(0, &hosts), group(12, &hosts[..3])];
    tell(&mut world, &groups);
    world.sweep();
    world.run_for(3.0);
    let before = writes(&world);
    let bytes = world.persisted.clone();
    world.restart(settings(), bytes.as_deref());
    world.lost.clear();
    tell(&mut world, &groups);
    let report = world.sweep();
    assert_eq!((report.sets, writes(&world) - before), (0, 0), "{report:?}");
    assert!(world.lost.is_empty(), "it holds what was registered");
    assert_published(&world, 16);
}

#[test]
fn a_manager_without_members_leaves_the_tables_and_asks_every_host_to_register_again() {
    let mut world = World::new("fattree:32,radix=8", settings());
    let hosts = hosts(&world);
    let groups = [group(0, &hosts), group(12, &hosts[..3])];
    tell(&mut world, &groups);
    world.sweep();
    world.run_for(3.0);
    let (before, bytes) = (writes(&world), world.persisted.clone());
    world.restart(settings(), bytes.as_deref());
    world.lost.clear();
    let report = world.sweep();
    // Port 0 of these switches is an enhanced one, which may have clients too.
    let ends = hosts.len() + world.topology.switches().len();
    assert_eq!(report.sets, ends as u64, "one request each: {report:?}");
    assert_eq!(world.lost, [ends]);
    assert_eq!(registered(&world, &hosts), vec![1; hosts.len()]);
    assert_eq!(writes(&world), before, "tables stay as they are found");
    groups
        .iter()
        .for_each(|group| assert_delivers(&world, group));
    assert_eq!(world.forced_sweep().sets, 0, "nobody is asked twice");
    // Unchanged members change nothing; missing ones are then removed.
    tell(&mut world, &groups);
    world.run_for(0.5);
    assert_eq!(writes(&world), before);
    tell(&mut world, &[]);
    world.run_for(0.5);
    let mut switches = world.topology.switches().iter();
    assert!(switches.all(|node| ports(&world, *node, 0).is_empty()));
    assert_eq!(world.forced_sweep().sets, 0);
}

#[test]
fn limits_are_told_once() {
    let mut topology = fabric("fattree:32,radix=8");
    for id in topology.switches().to_vec() {
        let node = topology.node_mut(id).unwrap();
        node.switch.as_mut().unwrap().multicast_fdb_cap = 8;
    }
    let mut world = World::with(topology, settings(), latency(), None);
    let hosts = hosts(&world);
    let groups = [group(7, &hosts), group(8, &hosts), group(5_000, &hosts)];
    tell(&mut world, &groups);
    world.sweep();
    world.run_for(3.0);
    assert_delivers(&world, &groups[0]);
    world.forced_sweep();
    let faults = world.faults();
    for said in ["only the first 1024", "do not all reach", "hold less than"] {
        let times = faults.iter().filter(|fault| fault.contains(said)).count();
        assert_eq!(times, 1, "{said}: {faults:?}");
    }
    let silent = world
        .events
        .iter()
        .any(|event| matches!(event, Event::NodeSilent { .. }));
    assert!(!silent);
}
