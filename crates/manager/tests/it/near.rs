//! Sweeps that look only where a trap reports something.
#![allow(clippy::unwrap_used)]

use crate::common::{World, settings};
use weft_emulator::io::Control;
use weft_fabric::{Guid, PortNum, PortRef};
use weft_manager::{Event, Input, SweepReason, SweepReport};
use weft_wire::Layout;
use weft_wire::header::method;
use weft_wire::id::Lid;
use weft_wire::packet::Packet;
use weft_wire::sm::{AttributeId, Notice, Trap, TrapPortChangeState};
use weft_wire::smp::Smp;

const FABRIC: &str = "pgft:3;4,4,4;1,4,4;1,1,1;radix=8";

fn settled(spec: &str) -> World {
    let mut world = World::new(spec, settings());
    world.sweep();
    world.run_for(3.0);
    world.events.clear();
    world
}

/// Cables between switches, by one of their ends.
fn inter_switch_links(world: &World) -> Vec<(Guid, PortNum)> {
    let topology = &world.topology;
    let is_switch = |end: PortRef| topology.node(end.node).unwrap().is_switch();
    let links = topology.links();
    let links = links.filter(|(a, b)| is_switch(*a) && is_switch(*b));
    links
        .map(|(a, _)| (topology.node(a.node).unwrap().guid(), a.port))
        .collect()
}

/// Lets the sweeps for what has just happened end.
fn sweeps(world: &mut World) -> Vec<SweepReport> {
    world.events.clear();
    world.run_for(5.0);
    let reports = world.reports();
    for report in &reports {
        assert_eq!(report.reason, Some(SweepReason::Trap));
        assert_eq!(report.unfinished, Vec::<String>::new());
    }
    world.assert_all_active();
    reports
}

#[test]
fn a_link_that_comes_or_goes_is_looked_at_alone_and_the_whole_fabric_later() {
    let mut world = settled(FABRIC);
    let nodes = world.topology.len() as u32;
    for (node, port) in inter_switch_links(&world) {
        for control in [
            Control::LinkDown { node, port },
            Control::LinkUp { node, port },
        ] {
            world.control(control.clone());
            let first = world.sweep();
            let few = first.asked <= 10;
            assert!(few, "{control:?}: {} nodes were asked", first.asked);
            assert!(first.sets > 0, "{control:?}");
            if matches!(control, Control::LinkDown { .. }) {
                world.walk_all();
            }
            let later = sweeps(&mut world);
            assert_eq!(later.len(), 1, "{control:?}");
            assert_eq!((later[0].asked, later[0].sets), (nodes, 0), "{control:?}");
            world.walk_all();
            world.assert_tables_published();
        }
    }
}

#[test]
fn a_host_that_restarts_is_set_up_by_a_look_at_its_switch() {
    let mut world = settled(FABRIC);
    let (_, host) = world.topology.hfis().nth(9).unwrap();
    let node = host.guid();
    world.control(Control::NodeDown { node });
    let gone = world.sweep();
    assert!(gone.asked <= 4, "{} nodes were asked", gone.asked);
    assert_eq!(gone.hfis, 63);
    sweeps(&mut world);
    world.control(Control::NodeUp { node });
    let back = world.sweep();
    assert!(back.asked <= 4, "{} nodes were asked", back.asked);
    assert_eq!(back.hfis, 64);
    world.assert_all_active();
    world.walk_all();
    sweeps(&mut world);
}

#[test]
fn a_switch_that_goes_is_looked_for_and_then_everything() {
    let mut world = settled(FABRIC);
    let nodes = world.topology.len() as u32;
    let far = *world.topology.switches().last().unwrap();
    let node = world.topology.node(far).unwrap().guid();
    world.control(Control::NodeDown { node });
    let gone = world.sweep();
    assert!(gone.asked >= nodes - 1, "{} nodes were asked", gone.asked);
    assert_eq!(gone.unfinished, Vec::<String>::new());
    let vanished = |event: &&Event| matches!(event, Event::NodeVanished { .. });
    assert_eq!(world.events.iter().filter(vanished).count(), 1);
    world.control(Control::NodeUp { node });
    world.run_for(10.0);
    world.assert_all_active();
    world.walk_all();
    assert_eq!(world.forced_sweep().sets, 0);
}

#[test]
fn a_silent_switch_near_a_lost_link_does_not_hold_up_the_rest() {
    let mut world = settled(FABRIC);
    let (node, port) = *inter_switch_links(&world).last().unwrap();
    world.control(Control::Silence { node, silent: true });
    world.control(Control::LinkDown { node, port });
    world.run_for(30.0);
    let whole = world.topology.len() as u32;
    assert!(world.reports().iter().any(|report| report.asked >= whole));
    world.control(Control::Silence {
        node,
        silent: false,
    });
    world.run_for(60.0);
    world.assert_all_active();
    world.walk_all();
}

#[test]
fn a_trap_beside_a_command_is_answered_by_a_whole_sweep() {
    let mut world = settled(FABRIC);
    let (node, port) = inter_switch_links(&world)[3];
    world.control(Control::LinkDown { node, port });
    let report = world.forced_sweep();
    assert_eq!(report.reason, Some(SweepReason::Forced));
    assert_eq!(report.asked, world.topology.len() as u32);
    world.walk_all();
}

/// A trap that says that a switch's ports changed.
fn trap(lid: Lid, transaction_id: u64) -> Packet {
    let trap = Trap::PortChangeState(TrapPortChangeState { lid });
    let smp = Smp {
        method: method::TRAP,
        attribute: AttributeId::NOTICE,
        modifier: 0,
        transaction_id,
        m_key: 0,
    };
    let mut mad = Vec::new();
    let notice = Notice::of(&trap, Notice::PRODUCER_SWITCH, lid);
    smp.write_lid_routed(&notice.to_bytes(), &mut mad);
    Packet::lid_routed(lid, Lid(1), mad)
}

#[test]
fn a_trap_that_is_repeated_starts_no_further_sweeps() {
    let mut world = settled(FABRIC);
    let snapshot = world.manager.snapshot();
    let switch = *snapshot.topology.switches().last().unwrap();
    let switch = snapshot.topology.node(switch).unwrap();
    let lid = switch.port(PortNum(0)).unwrap().info.lid;
    for (transaction_id, sweeps) in [(7, 2), (7, 0), (7, 0), (8, 2)] {
        world.events.clear();
        let packet = trap(lid, transaction_id);
        world.manager.handle(world.now, Input::Received(packet));
        world.run_for(3.0);
        assert_eq!(world.reports().len(), sweeps);
    }
    // An agent does not repeat a trap for so long: this one is another.
    world.run_for(10.0);
    world.events.clear();
    world
        .manager
        .handle(world.now, Input::Received(trap(lid, 8)));
    world.run_for(3.0);
    assert_eq!(world.reports().len(), 2);
}
