//! The manager's own port goes away and comes back: what lies behind it is as it was.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;

use common::{World, settings};
use weft_emulator::io::Control;
use weft_fabric::{Snapshot, Tick};
use weft_manager::{Command, Event, Input, SweepPhase};

const FABRIC: &str = "fattree:32,radix=8";
/// Sweeps without the port: more than a silent node is kept for.
const SWEEPS: u64 = 6;

fn brought_up() -> (World, Arc<Snapshot>) {
    let mut world = World::new(FABRIC, settings());
    world.sweep();
    world.run_for(3.0);
    let snapshot = world.manager.snapshot();
    assert_eq!(snapshot.topology.len(), world.topology.len());
    world.events.clear();
    (world, snapshot)
}

/// Nodes, links, LIDs and tables are unchanged, without events to the contrary.
fn assert_nothing_forgotten(world: &World, before: &Snapshot) {
    let after = world.manager.snapshot();
    let gone = world.events.iter().filter(|event| {
        matches!(
            event,
            Event::NodeVanished { .. } | Event::LinkVanished { .. }
        )
    });
    assert_eq!(gone.collect::<Vec<&Event>>(), Vec::<&Event>::new());
    assert_eq!(after.topology, before.topology);
    assert_eq!(after.linear, before.linear);
}

fn assert_back_as_it_was(world: &mut World, before: &Snapshot) {
    world.port_is_gone = false;
    let sets = world.emulator.stats().sets_total();
    let report = world.forced_sweep();
    assert_eq!(report.unfinished, Vec::<String>::new());
    assert_nothing_forgotten(world, before);
    assert_eq!(world.emulator.stats().sets_total(), sets, "{report:?}");
    world.walk_all();
}

#[test]
fn a_port_that_is_gone_before_a_sweep_costs_no_node() {
    let (mut world, before) = brought_up();
    world.port_is_gone = true;
    for _ in 0..SWEEPS {
        let report = world.forced_sweep();
        assert_eq!(
            report.unfinished,
            ["the manager's own port does not answer"]
        );
        assert_nothing_forgotten(&world, &before);
    }
    assert_back_as_it_was(&mut world, &before);
}

#[test]
fn a_port_that_goes_during_discovery_costs_no_node() {
    let (mut world, before) = brought_up();
    for _ in 0..SWEEPS {
        world.port_is_gone = false;
        let (asked, command) = (world.reports().len(), Command::Sweep);
        let now = world.now;
        world.manager.handle(now, Input::Command { id: 1, command });
        // The leaf has answered, and requests to the nodes behind it have been sent.
        let some = world.manager.status().totals.received + 5;
        let far = Tick(now.0 + 1_000_000_000);
        let discovering = world.run(far, |world| world.manager.status().totals.received >= some);
        let phase = world.manager.status().phase;
        assert!(discovering && phase == Some(SweepPhase::Discover));
        world.port_is_gone = true;
        let ended = Tick(now.0 + 600_000_000_000);
        assert!(world.run(ended, |world| world.reports().len() > asked));
        let report = world.reports().last().unwrap().clone();
        assert_eq!(
            report.unfinished,
            ["the manager's own port does not answer"]
        );
        assert_nothing_forgotten(&world, &before);
    }
    assert_back_as_it_was(&mut world, &before);
}

#[test]
fn a_silent_node_is_still_given_up_while_the_own_port_answers() {
    let (mut world, before) = brought_up();
    let (_, hfi) = world.topology.hfis().last().unwrap();
    let node = hfi.guid();
    world.control(Control::Silence { node, silent: true });
    for _ in 0..SWEEPS {
        let report = world.forced_sweep();
        assert_ne!(
            report.unfinished,
            ["the manager's own port does not answer"]
        );
    }
    let after = world.manager.snapshot();
    assert_eq!(after.topology.len(), before.topology.len() - 1);
}

/// The manager's own switch.
fn own_switch(world: &World) -> weft_fabric::Guid {
    let (node, _) = world.topology.hfis().next().unwrap();
    let port = weft_fabric::PortNum(1);
    let switch = world
        .topology
        .peer(weft_fabric::PortRef { node, port })
        .unwrap()
        .node;
    world.topology.node(switch).unwrap().guid()
}

#[test]
fn a_switch_that_restarts_before_the_managers_port_is_brought_up_again_without_a_trap() {
    let (mut world, before) = brought_up();
    let node = own_switch(&world);
    world.control(Control::NodeDown { node });
    world.run_for(0.5);
    world.control(Control::NodeUp { node });
    world.run_for(20.0);
    world.assert_all_active();
    world.walk_all();
    assert_eq!(world.manager.snapshot().linear, before.linear);
}

#[test]
fn a_host_back_to_back_that_restarts_is_brought_up_again() {
    let mut world = World::new("back-to-back", settings());
    world.sweep();
    world.run_for(3.0);
    let (_, other) = world.topology.hfis().last().unwrap();
    let node = other.guid();
    for pause in [0.5, 9.0] {
        world.control(Control::NodeDown { node });
        world.run_for(pause);
        world.control(Control::NodeUp { node });
        world.run_for(20.0);
        world.assert_all_active();
    }
}

#[test]
fn a_port_that_stays_as_it_is_starts_no_sweep() {
    let (mut world, _) = brought_up();
    let sweeps = world.reports().len();
    world.run_for(300.0);
    assert_eq!(world.reports().len(), sweeps);
}
