//! Behaviour of the manager while a plan is being made.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use crate::common::{World, fabric, far_link, latency, settings};
use crate::hostile::{sent, trap_128};
use crate::multicast::{assert_delivers, group, hosts, tell};
use weft_emulator::io::Control;
use weft_fabric::enums::SmState;
use weft_fabric::{Lid, Tick};
use weft_manager::{Command, Event, Input, Planner, SweepPhase, SweepReason};
use weft_routing::EngineKind;
use weft_wire::header::method;
use weft_wire::packet::Packet;
use weft_wire::sm::AttributeId;
use weft_wire::smp::{Smp, SmpView};

/// Longer than anything else here takes.
const LONG: Duration = Duration::from_secs(3_600);

fn up() -> World {
    let mut world = World::new("pgft:2;4,4;1,4;1,1;radix=8", settings());
    world.sweep();
    world.run_for(3.0);
    world.events.clear();
    world
}

fn is_planning(world: &World) -> bool {
    world.manager.status().phase == Some(SweepPhase::Plan)
}

/// Has a sweep begin, with plans that take so long, until a plan is being made.
fn planning(world: &mut World, takes: Duration) {
    world.planner = Planner::new(takes);
    let command = Command::Sweep;
    let input = Input::Command { id: 9, command };
    world.manager.handle(world.now, input);
    until_planning(world);
}

fn until_planning(world: &mut World) {
    let until = world.now + Duration::from_secs(60);
    assert!(world.run(until, is_planning));
}

fn question() -> Packet {
    let mut mad = Vec::new();
    Smp::get(AttributeId::SM_INFO, 0, 9, 0).write_lid_routed(&[0; 32], &mut mad);
    Packet {
        mad,
        ..trap_128(Lid(3))
    }
}

fn method_of(packet: &Packet) -> u8 {
    SmpView::parse(&packet.mad).unwrap().header.method
}

fn writes(world: &World) -> u64 {
    let by_attribute = world.manager.status().totals.by_attribute;
    by_attribute.iter().map(|count| count.sets).sum()
}

#[test]
fn questions_and_traps_are_answered_while_a_plan_is_made() {
    let mut world = up();
    planning(&mut world, LONG);
    for (asked, answer) in [
        (question(), method::GET_RESP),
        (trap_128(Lid(5)), method::TRAP_REPRESS),
    ] {
        world.manager.handle(world.now, Input::Received(asked));
        let answers: Vec<u8> = sent(&mut world.manager).iter().map(method_of).collect();
        assert_eq!(answers, [answer]);
    }
    let next = world.manager.deadline().unwrap();
    assert!(
        next > world.now,
        "it does not ask to be called all the time"
    );
    world.run_for(600.0);
    assert!(is_planning(&world), "and waits as long as it takes");
    assert_eq!(world.manager.status().role, SmState::MASTER);
}

#[test]
fn a_link_that_is_lost_while_a_plan_is_made_is_avoided_afterwards() {
    for takes_ms in [1, 2_000] {
        let mut world = up();
        let (node, port) = far_link(&world);
        planning(&mut world, Duration::from_millis(takes_ms));
        world.control(Control::LinkDown { node, port });
        world.run_for(20.0);
        let reports = world.reports();
        let for_trap = |reason| reason == Some(SweepReason::Trap);
        assert!(reports.iter().any(|report| for_trap(report.reason)));
        assert_eq!(reports.last().unwrap().unfinished, Vec::<String>::new());
        world.assert_all_active();
        world.walk_all();
        world.assert_tables_published();
    }
}

#[test]
fn a_link_that_is_lost_while_the_plan_for_another_is_made_is_avoided_afterwards() {
    let mut world = up();
    let links: Vec<_> = (world.topology.links())
        .filter(|(a, b)| {
            [a, b]
                .iter()
                .all(|end| world.topology.switch_index(end.node).is_some())
        })
        .map(|(a, _)| (world.topology.node(a.node).unwrap().guid(), a.port))
        .collect();
    let (first, second) = (links[5], links[10]);
    world.planner = Planner::new(Duration::from_millis(500));
    world.control(Control::LinkDown {
        node: first.0,
        port: first.1,
    });
    until_planning(&mut world);
    world.control(Control::LinkDown {
        node: second.0,
        port: second.1,
    });
    world.run_for(20.0);
    assert!(world.manager.status().phase.is_none());
    world.assert_all_active();
    world.walk_all();
    world.assert_tables_published();
}

#[test]
fn a_plan_for_other_settings_is_not_written() {
    let mut world = up();
    let (node, port) = far_link(&world);
    world.control(Control::LinkDown { node, port });
    world.planner = Planner::new(LONG);
    until_planning(&mut world);
    let before = writes(&world);
    let mut other = settings();
    other.routing.engine = EngineKind::Layered;
    let stale = world.planner.ready(Tick(u64::MAX)).unwrap();
    world.manager.reconfigure(world.now, other);
    // The plan that takes its place is begun now.
    world.run_for(1.0);
    world.manager.handle(world.now, stale);
    world.run_for(1.0);
    assert!(is_planning(&world));
    assert_eq!(writes(&world), before);
    let planned = world.planner.ready(Tick(u64::MAX)).unwrap();
    world.manager.handle(world.now, planned);
    world.planner = Planner::default();
    let report = world.sweep();
    assert!(report.routing.starts_with("layered"), "{}", report.routing);
    world.run_for(20.0);
    world.assert_all_active();
    world.walk_all();
}

#[test]
fn a_master_that_was_stopped_while_a_plan_was_made_does_not_write_it() {
    let mut world = up();
    let (node, port) = far_link(&world);
    world.control(Control::LinkDown { node, port });
    world.planner = Planner::new(LONG);
    until_planning(&mut world);
    let before = writes(&world);
    let planned = world.planner.ready(Tick(u64::MAX)).unwrap();
    world.now = world.now + Duration::from_secs(30);
    world.manager.handle(world.now, planned);
    let writes_of = |packet: &Packet| method_of(packet) == method::SET;
    assert!(!sent(&mut world.manager).iter().any(writes_of));
    assert_eq!(writes(&world), before);
    assert_eq!(world.manager.status().role, SmState::DISCOVERING);
    // It looks at the fabric anew, and finds that it is alone.
    world.planner = Planner::default();
    world.run_for(60.0);
    assert_eq!(world.manager.status().role, SmState::MASTER);
    world.assert_all_active();
    world.walk_all();
}

#[test]
fn members_that_change_while_a_plan_is_made_are_served_after_the_sweep() {
    let mut world = World::with(
        fabric("pgft:2;4,4;1,4;1,1;radix=8"),
        settings(),
        latency(),
        None,
    );
    let all = hosts(&world);
    tell(&mut world, &[group(0, &all[..4])]);
    world.sweep();
    world.run_for(3.0);
    planning(&mut world, Duration::from_millis(50));
    let now = [group(0, &all[2..9])];
    world
        .manager
        .handle(world.now, Input::Multicast(now.to_vec()));
    world.run_for(3.0);
    assert_delivers(&world, &now[0]);
    let sweeps = |event: &&Event| matches!(event, Event::SweepEnded(_));
    assert_eq!(world.events.iter().filter(sweeps).count(), 2);
}
