//! Links that take their time to come up, fail on the way, or are up at one end first.
#![allow(clippy::unwrap_used)]

use weft_dataplane::training::{LinkTraining, Stuck};
use weft_emulator::io::Control;
use weft_fabric::enums::PortState;
use weft_fabric::{Guid, PortNum};
use weft_manager::Event;

use crate::common::{World, far_link};

const TREE: &str = "pgft:2;4,4;1,2;1,2;radix=8";
const MS: u64 = 1_000_000;

fn train(world: &mut World, at: Option<(Guid, PortNum)>, how: LinkTraining) {
    world.control(Control::LinkTraining { at, how });
}

fn slow() -> LinkTraining {
    LinkTraining {
        polling_ns: 500 * MS,
        training_ns: 3_000 * MS,
        jitter_ns: 1_000 * MS,
        ..LinkTraining::default()
    }
}

#[test]
fn a_fabric_that_trains_for_seconds_comes_up_whole_and_keeps_its_lids() {
    let mut world = World::settled(TREE);
    let before = world.lids();
    train(&mut world, None, slow());
    for id in world.topology.switches().to_vec() {
        let node = world.topology.node(id).unwrap().guid();
        world.control(Control::NodeDown { node });
        world.control(Control::NodeUp { node });
    }
    world.run_for(60.0);
    world.assert_all_active();
    world.walk_all();
    assert_eq!(world.lids(), before);
    assert_eq!(world.forced_sweep().sets, 0);
}

#[test]
fn a_link_that_fails_twice_is_used_when_it_is_up_and_told_once() {
    let mut world = World::settled(TREE);
    let (node, port) = far_link(&world);
    let how = LinkTraining {
        polling_ns: 100 * MS,
        training_ns: 500 * MS,
        failing: 700_000,
        ..LinkTraining::default()
    };
    train(&mut world, Some((node, port)), how);
    world.control(Control::LinkDown { node, port });
    world.run_for(5.0);
    world.events.clear();
    world.control(Control::LinkUp { node, port });
    world.run_for(60.0);
    world.assert_all_active();
    world.walk_all();
    let appeared = world
        .events
        .iter()
        .filter(|event| matches!(event, Event::LinkAppeared { .. }));
    assert_eq!(appeared.count(), 1);
}

/// A host's HFI comes up later than its switch's port: the switch has told of it by then, and an HFI tells nothing.
#[test]
fn a_host_that_is_up_later_than_its_switch_is_found_soon() {
    for lag_ms in [1, 200, 2_000, 8_000] {
        let mut world = World::settled(TREE);
        let (_, host) = world.topology.hfis().nth(9).unwrap();
        let node = host.guid();
        let how = LinkTraining {
            training_ns: 500 * MS,
            lag_ns: lag_ms * MS,
            ..LinkTraining::default()
        };
        train(&mut world, None, how);
        world.control(Control::NodeDown { node });
        world.run_for(5.0);
        world.control(Control::NodeUp { node });
        // Within a sweep interval at the latest, and long before it where the lag is short.
        world.run_for(10.0 + lag_ms as f64 / 1_000.0);
        assert_eq!(
            world.state(node, PortNum(1)),
            PortState::ACTIVE,
            "{lag_ms} ms"
        );
        world.assert_all_active();
        world.walk_all();
    }
}

#[test]
fn a_link_that_is_stuck_is_routed_around_and_harms_nothing() {
    for stuck in [Stuck::Offline, Stuck::Polling, Stuck::Training] {
        let mut world = World::settled(TREE);
        let (node, port) = far_link(&world);
        let how = LinkTraining {
            stuck: Some(stuck),
            ..slow()
        };
        train(&mut world, Some((node, port)), how);
        world.control(Control::LinkDown { node, port });
        world.control(Control::LinkUp { node, port });
        world.run_for(20.0);
        world.walk_all();
        assert_eq!(world.forced_sweep().sets, 0);
        train(&mut world, Some((node, port)), LinkTraining::default());
        world.run_for(10.0);
        world.assert_all_active();
        world.walk_all();
    }
}
