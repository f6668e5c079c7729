//! Fabrics come up whole, and stay as they are.
#![allow(clippy::unwrap_used)]

use crate::common::{World, far_link, settings, with_lmc};
use weft_emulator::io::Control;
use weft_fabric::{Lid, PortNum, Tick};
use weft_manager::SweepPhase;

const FABRICS: [&str; 5] = [
    "one-switch:6",
    "back-to-back",
    "fattree:16,radix=8",
    "fattree:32,radix=8,tiers=3",
    "torus:3x3",
];

#[test]
fn fabrics_come_up_and_every_pair_can_talk() {
    for spec in FABRICS {
        for lmc in [0, 2] {
            let mut world = World::new(spec, with_lmc(lmc));
            let report = world.sweep();
            println!("{spec} lmc {lmc}: {report:?}");
            assert_eq!(report.unfinished, Vec::<String>::new(), "{spec}");
            assert_eq!(world.faults(), Vec::<String>::new(), "{spec}");
            world.assert_all_active();
            world.assert_tables_published();
            assert!(world.walk_all() > 0, "{spec}");
        }
    }
}

#[test]
fn a_fabric_that_has_not_changed_is_not_written_to() {
    for spec in FABRICS {
        let mut world = World::new(spec, settings());
        world.sweep();
        world.run_for(5.0);
        let generation = world.manager.snapshot().generation;
        let before = world.emulator.stats().sets_total();
        let report = world.forced_sweep();
        assert_eq!(report.sets, 0, "{spec}: {report:?}");
        assert_eq!(world.emulator.stats().sets_total(), before, "{spec}");
        assert_eq!(world.manager.snapshot().generation, generation, "{spec}");
    }
}

/// The devices' adaptive routing is on, not suspended, and their group tables are those published.
fn assert_adaptive(world: &World) {
    let snapshot = world.manager.snapshot();
    let network = world.emulator.network();
    let mut grouped = 0;
    for (index, node) in snapshot.topology.switches().iter().enumerate() {
        let guid = snapshot.topology.node(*node).unwrap().guid();
        let switch = network.switch(network.find(guid).unwrap()).unwrap();
        assert!(switch.info().ar_enable && !switch.info().ar_pause, "{guid}");
        let tables = &snapshot.groups.switches[index];
        for (lid, group) in tables.fdb.iter().enumerate() {
            let block = switch.port_group_fdb_block(lid as u32 / 64).unwrap();
            assert_eq!(block[lid % 64], *group, "LID {lid} at {guid}");
            grouped += usize::from(*group != 0xFF);
        }
        for (number, mask) in tables.groups.iter().enumerate() {
            let block = switch.port_group_block(0, number as u8 / 8).unwrap();
            let at = number % 8 * 8;
            let word = u64::from_be_bytes(block[at..at + 8].try_into().unwrap());
            let ports: Vec<u8> = (0..64)
                .filter(|bit| word >> bit & 1 == 1)
                .map(|bit| bit + 1)
                .collect();
            assert_eq!(
                ports,
                mask.iter().map(|port| port.0).collect::<Vec<_>>(),
                "{guid}"
            );
        }
    }
    assert!(grouped > 0);
}

#[test]
fn adaptive_groups_are_written_and_follow_changes() {
    let mut with_groups = settings();
    with_groups.routing.adaptive = Some(weft_routing::AdaptiveSettings::default());
    let mut world = World::new("fattree:32,radix=8", with_groups);
    let report = world.sweep();
    assert_eq!(report.unfinished, Vec::<String>::new());
    assert_adaptive(&world);
    world.run_for(3.0);
    assert_eq!(world.forced_sweep().sets, 0);
    let spine = *world.topology.switches().last().unwrap();
    let node = world.topology.node(spine).unwrap().guid();
    let port = weft_fabric::PortNum(3);
    world.control(Control::LinkDown { node, port });
    world.run_for(5.0);
    world.walk_all();
    assert_adaptive(&world);
    assert_eq!(world.forced_sweep().sets, 0);
}

/// The linear tables of all switches, as the devices have them.
fn linear(world: &World) -> Vec<Vec<Option<PortNum>>> {
    let network = world.emulator.network();
    let switches = world.topology.switches().iter();
    let row = |node: &weft_fabric::NodeId| {
        let guid = world.topology.node(*node).unwrap().guid();
        let switch = network.switch(network.find(guid).unwrap()).unwrap();
        (0..128).map(|lid| switch.egress(Lid(lid))).collect()
    };
    switches.map(row).collect()
}

/// Number of switches with adaptive routing on, not suspended.
fn adaptive(world: &World) -> usize {
    let network = world.emulator.network();
    let switches = network.devices().filter(|(_, device)| device.is_switch());
    let infos = switches.map(|(id, _)| network.switch(id).unwrap().info());
    infos
        .filter(|info| info.ar_enable && !info.ar_pause)
        .count()
}

/// A new manager does not know the groups by which switches route adaptively: its new entries are not
/// proved together with them.
#[test]
fn a_new_manager_suspends_adaptive_routing_before_it_changes_tables() {
    for stays in [false, true] {
        let mut with_groups = settings();
        with_groups.routing.adaptive = Some(weft_routing::AdaptiveSettings::default());
        let mut world = World::new("fattree:32,radix=8", with_groups.clone());
        world.sweep();
        world.run_for(3.0);
        let switches = world.topology.switches().len();
        assert_eq!(adaptive(&world), switches);
        let after = if stays { with_groups } else { settings() };
        world.restart(after, None);
        let (node, port) = far_link(&world);
        world.control(Control::LinkDown { node, port });
        // One of them falls silent before it can be told.
        let until = Tick(world.now.0 + 60_000_000_000);
        let programs = |world: &World| world.manager.status().phase == Some(SweepPhase::Program);
        assert!(world.run(until, programs));
        let last = *world.topology.switches().last().unwrap();
        let node = world.topology.node(last).unwrap().guid();
        world.control(Control::Silence { node, silent: true });
        let before = linear(&world);
        let silent = Tick(world.now.0 + 5_000_000_000);
        world.run(silent, |world| linear(world) != before);
        if linear(&world) != before {
            assert_eq!(adaptive(&world), 0, "adaptive routing goes on: {stays}");
        }
        let silent = false;
        world.control(Control::Silence { node, silent });
        assert!(world.run(until, |world| linear(world) != before));
        assert_eq!(adaptive(&world), 0, "adaptive routing goes on: {stays}");
        world.run_for(30.0);
        world.walk_all();
        let expected = if stays { switches } else { 0 };
        assert_eq!(adaptive(&world), expected);
        assert_eq!(world.forced_sweep().sets, 0);
    }
}

#[test]
fn a_director_comes_up() {
    let mut world = World::new("swd06", settings());
    let report = world.sweep();
    assert_eq!(report.unfinished, Vec::<String>::new());
    world.assert_all_active();
    world.assert_tables_published();
    assert!(world.walk_all() > 0);
}

#[test]
fn datagrams_stay_far_below_one_for_each_attribute() {
    let mut world = World::new("fattree:1152", settings());
    let report = world.sweep();
    world.assert_all_active();
    assert_eq!(
        (report.switches, report.hfis, report.retries),
        (72, 1152, 0)
    );
    // 3 for each HFI; the vendor's manager sends 28,189.
    assert!(report.sent < 5_000, "{report:?}");
    let again = world.forced_sweep();
    assert!(again.sent < 1_400 && again.sets == 0, "{again:?}");
}

#[test]
fn a_key_protects_the_fabric_and_opens_it_again() {
    let mut keyed = settings();
    keyed.m_key = 0x1234_5678_9ABC_DEF0;
    let mut world = World::new("fattree:16,radix=8", keyed.clone());
    let report = world.sweep();
    assert_eq!(report.unfinished, Vec::<String>::new());
    world.assert_all_active();
    let network = world.emulator.network();
    for (end, ..) in world.topology.end_ports() {
        let port = network.device(end.node).unwrap().port(end.port).unwrap();
        assert_eq!(network.port(port).info().m_key, keyed.m_key);
    }
    world.run_for(3.0);
    assert_eq!(world.forced_sweep().sets, 0);
    let now = world.now;
    world.manager.reconfigure(now, settings());
    world.run_for(5.0);
    let network = world.emulator.network();
    for (end, ..) in world.topology.end_ports() {
        let port = network.device(end.node).unwrap().port(end.port).unwrap();
        assert_eq!(network.port(port).info().m_key, 0);
    }
}

#[test]
fn without_aggregates_the_fabric_comes_up_all_the_same() {
    let mut single = settings();
    single.requests.aggregates = false;
    let mut world = World::new("fattree:16,radix=8", single);
    let report = world.sweep();
    assert_eq!(report.unfinished, Vec::<String>::new());
    assert_eq!(
        world
            .emulator
            .stats()
            .total(weft_wire::sm::AttributeId::AGGREGATE),
        (0, 0)
    );
    world.assert_all_active();
    world.walk_all();
    assert_eq!(world.forced_sweep().sets, 0);
}

/// The configuration that comes with this repository, as `weftd` reads it.
#[test]
fn the_shipped_configuration_brings_a_fabric_up() {
    let text = include_str!("../../../../config/opafm.xml");
    let config = weft_config::check(text, "config/opafm.xml").config.unwrap();
    let shipped = weft_manager::ManagerSettings::from_config(&config.instances[0])
        .unwrap()
        .sm;
    for spec in ["fattree:32,radix=8", "swd06"] {
        let mut world = World::new(spec, shipped.clone());
        let report = world.sweep();
        assert_eq!(report.unfinished, Vec::<String>::new(), "{spec}");
        world.assert_all_active();
        world.walk_all();
        assert_eq!(world.forced_sweep().sets, 0, "{spec}");
    }
}
