//! Links that go down again and again.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::time::Duration;

use crate::common::{World, far_link, settings};
use weft_emulator::io::Control;
use weft_fabric::{Guid, PortNum, PortRef};
use weft_manager::{Command, Event, Input, PortAction, PortOrder, UnusedReason};
use weft_wire::enums::{LinkInitReason, PortState};

/// A port of a node.
pub(crate) type End = (Guid, PortNum);

/// A running fabric that is not swept without a cause for an hour.
pub(crate) fn world() -> World {
    let mut settings = settings();
    settings.sweeps.interval = Duration::from_secs(3600);
    let mut world = World::new("fattree:32,radix=8", settings);
    world.sweep();
    world.run_for(3.0);
    world.events.clear();
    world
}

/// A link goes down every second, for half of it.
pub(crate) fn flap(world: &mut World, (node, port): End, times: usize) {
    for _ in 0..times {
        world.control(Control::LinkDown { node, port });
        world.run_for(0.5);
        world.control(Control::LinkUp { node, port });
        world.run_for(0.5);
    }
}

/// Number of sweeps that began, and of fabrics that they published.
fn effort(world: &World) -> (usize, usize) {
    let begun = |event: &&Event| matches!(event, Event::SweepStarted { .. });
    let published: BTreeSet<u64> = world.reports().iter().map(|one| one.generation).collect();
    (world.events.iter().filter(begun).count(), published.len())
}

pub(crate) fn unused(world: &World) -> Vec<UnusedReason> {
    let report = world.reports().pop().unwrap();
    report.unused.into_iter().map(|link| link.reason).collect()
}

pub(crate) fn init_reason(world: &World, (node, port): End) -> LinkInitReason {
    let network = world.emulator.network();
    let device = network.device(network.find(node).unwrap()).unwrap();
    let info = network.port(device.port(port).unwrap()).info();
    info.link_init_reason
}

#[test]
fn one_that_flaps_for_a_minute_moves_routes_three_times_and_comes_back_by_itself() {
    let mut world = world();
    let link = far_link(&world);
    flap(&mut world, link, 60);
    let (sweeps, published) = effort(&world);
    assert!(published <= 3, "{published} fabrics by {sweeps} sweeps");
    assert!(sweeps <= 8, "{sweeps}");
    let told = world.events.iter().filter_map(|event| match event {
        Event::PortQuarantined { losses, .. } => Some(*losses),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [25, 25], "each end once");
    assert_eq!(world.state(link.0, link.1), PortState::INIT);

    world.forced_sweep();
    assert_eq!(unused(&world), [UnusedReason::Quarantined { losses: 25 }]);
    assert_eq!(init_reason(&world, link), LinkInitReason::FLAPPING);
    world.walk_all();
    // A window of fifteen minutes after the last loss.
    world.run_for(14.0 * 60.0);
    assert_eq!(world.state(link.0, link.1), PortState::INIT);
    world.run_for(2.0 * 60.0);
    assert_eq!(world.state(link.0, link.1), PortState::ACTIVE);
    assert_eq!(unused(&world), []);
    world.walk_all();
}

#[test]
fn two_losses_hold_a_link_back_until_it_has_stayed_up_for_two_seconds() {
    let mut world = world();
    let link = far_link(&world);
    flap(&mut world, link, 1);
    world.run_for(5.0);
    assert_eq!(world.state(link.0, link.1), PortState::ACTIVE, "at once");
    flap(&mut world, link, 1);
    world.run_for(1.0);
    assert_eq!(unused(&world), [UnusedReason::HeldBack { losses: 2 }]);
    assert_eq!(world.state(link.0, link.1), PortState::INIT);
    world.run_for(2.0);
    assert_eq!(world.state(link.0, link.1), PortState::ACTIVE);
    assert_eq!(unused(&world), []);
}

#[test]
fn another_change_at_the_same_switch_is_noticed_all_the_same() {
    let mut world = world();
    let (node, port) = far_link(&world);
    flap(&mut world, (node, port), 10);
    let others = world.cabled().into_iter();
    let mut others = others.filter(|end| end.0 == node && end.1 != port);
    let other = others.next_back().unwrap();
    let (node, port) = other;
    world.control(Control::LinkDown { node, port });
    world.run_for(2.0);
    world.control(Control::LinkUp { node, port });
    world.run_for(2.0);
    assert_eq!(world.state(node, port), PortState::ACTIVE);
    world.walk_all();
}

#[test]
fn the_only_link_of_a_host_is_used_until_it_is_in_quarantine() {
    let mut world = world();
    let (_, host) = world.topology.hfis().last().unwrap();
    let link = (host.guid(), PortNum(1));
    flap(&mut world, link, 10);
    world.run_for(5.0);
    assert_eq!(world.state(link.0, link.1), PortState::ACTIVE);
    flap(&mut world, link, 40);
    world.forced_sweep();
    assert!(matches!(
        unused(&world)[..],
        [UnusedReason::Quarantined { .. }]
    ));
    assert_eq!(world.state(link.0, link.1), PortState::INIT);
}

fn assert_commands_do_not_count(world: &mut World, (node, port): End, times: usize) {
    for action in [PortAction::Disable, PortAction::Enable].repeat(times) {
        let command = Command::Port(PortOrder::new((node, port), action));
        let now = world.now;
        world.manager.handle(now, Input::Command { id: 1, command });
        world.run_for(5.0);
    }
    assert_eq!(world.manager.quarantine(world.now), []);
    assert_eq!(world.state(node, port), PortState::ACTIVE);
}

#[test]
fn a_port_that_is_disabled_by_command_does_not_count() {
    let mut world = world();
    let (node, port) = far_link(&world);
    assert_commands_do_not_count(&mut world, (node, port), 4);
}

#[test]
fn a_port_is_listed_and_can_be_released_by_either_end_of_its_link() {
    for far in [false, true] {
        let mut world = world();
        let link = far_link(&world);
        let topology = &world.topology;
        let near = PortRef {
            node: topology.find(link.0).unwrap(),
            port: link.1,
        };
        let peer = topology.peer(near).unwrap();
        let peer = (topology.node(peer.node).unwrap().guid(), peer.port);
        let by = if far { peer } else { link };
        assert!(!world.manager.release(world.now, by), "nothing to release");
        flap(&mut world, link, 30);
        let listed = world.manager.quarantine(world.now);
        let ends: BTreeSet<End> = listed
            .iter()
            .map(|one| (one.port.node, one.port.port))
            .collect();
        assert_eq!(ends, BTreeSet::from([link, peer]));
        assert!(listed.iter().all(|one| one.losses >= 25), "{listed:?}");
        assert!(world.manager.release(world.now, by));
        world.run_for(2.0);
        assert_eq!(world.state(link.0, link.1), PortState::ACTIVE);
        assert_eq!(world.manager.quarantine(world.now), []);
    }
}

#[test]
fn the_end_of_a_hold_starts_no_sweep_for_a_link_that_is_used_anyway() {
    let mut world = world();
    let (_, host) = world.topology.hfis().last().unwrap();
    let link = (host.guid(), PortNum(1));
    flap(&mut world, link, 4);
    world.run_for(1.5);
    assert_eq!(world.state(link.0, link.1), PortState::ACTIVE);
    assert!(!world.manager.quarantine(world.now).is_empty());
    world.events.clear();
    world.run_for(60.0);
    assert_eq!(world.manager.quarantine(world.now), []);
    assert_eq!(effort(&world).0, 0);
}

#[test]
fn a_switch_that_comes_back_over_its_only_link_is_noticed_in_quarantine_too() {
    let mut settings = settings();
    settings.sweeps.interval = Duration::from_secs(3600);
    // Edge switches with one uplink each.
    let mut world = World::new("pgft:2;4,4;1,1;1,1", settings);
    world.sweep();
    world.run_for(3.0);
    let link = far_link(&world);
    flap(&mut world, link, 30);
    world.run_for(5.0);
    let listed = world.manager.quarantine(world.now);
    assert!(
        listed
            .iter()
            .any(|one| matches!(one.reason, UnusedReason::Quarantined { .. }))
    );
    world.walk_all();
    let edge = world.topology.switches().iter();
    let guid = |id| world.topology.node(id).unwrap().guid();
    let edge = edge
        .map(|id| guid(*id))
        .find(|guid| *guid == link.0)
        .unwrap();
    world.control(Control::NodeDown { node: edge });
    world.run_for(5.0);
    world.control(Control::NodeUp { node: edge });
    world.run_for(5.0);
    world.walk_all();
}

#[test]
fn a_port_that_is_watched_and_disabled_by_command_does_not_count_either() {
    let mut world = world();
    let (node, port) = far_link(&world);
    flap(&mut world, (node, port), 1);
    world.run_for(5.0);
    assert_commands_do_not_count(&mut world, (node, port), 3);
}
