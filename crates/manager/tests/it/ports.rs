//! Ports that are switched off and on: by either name, over restarts, and answered by what came back.
#![allow(clippy::unwrap_used)]

use crate::common::{World, far_link, settings};
use weft_emulator::io::{Control, LinkTrap};
use weft_fabric::enums::{PhysState, PortState, SmState};
use weft_fabric::{Guid, PortNum, PortRef, Tick};
use weft_manager::sm::settings::StormSettings;
use weft_manager::{
    Command, CommandError, Event, Input, LinkEnd, MulticastStorm, Output, PortAction, PortOrder,
    Reply,
};
use weft_wire::Layout;
use weft_wire::header::method;
use weft_wire::packet::Packet;
use weft_wire::sm::{AttributeId, PortStateInfo};
use weft_wire::smp::{DIRECTED_HEADER_LEN, SmpView};

fn up(spec: &str) -> World {
    let mut world = World::new(spec, settings());
    world.sweep();
    world.run_for(3.0);
    world
}

fn ask(world: &mut World, id: u64, (node, port): (Guid, PortNum), action: PortAction) {
    let command = Command::Port(PortOrder::new((node, port), action));
    let now = world.now;
    world.manager.handle(now, Input::Command { id, command });
}

/// The answer to a change that is let run for a while.
fn changed(
    world: &mut World,
    at: (Guid, PortNum),
    action: PortAction,
) -> Result<Reply, CommandError> {
    ask(world, 1, at, action);
    world.run_for(5.0);
    world.replies.pop().unwrap().1
}

/// An HFI's port, and the port of the switch at the other end of its cable.
fn cable(world: &World) -> [(Guid, PortNum); 2] {
    let topology = &world.topology;
    let (hfi, node) = topology.hfis().nth(9).unwrap();
    let own = PortRef {
        node: hfi,
        port: PortNum(1),
    };
    let peer = topology.peer(own).unwrap();
    let switch = topology.node(peer.node).unwrap().guid();
    [(node.guid(), own.port), (switch, peer.port)]
}

/// Writes to port states since the emulator was switched on.
fn writes(world: &World) -> u64 {
    world.emulator.stats().total(AttributeId::PORT_STATE_INFO).1
}

#[test]
fn a_disabled_hfi_port_is_enabled_after_a_restart_by_either_end_of_its_cable() {
    for off in 0..2 {
        for on in 0..2 {
            let mut world = up("fattree:16,radix=8");
            let ends = cable(&world);
            let done = changed(&mut world, ends[off], PortAction::Disable);
            assert_eq!(done, Ok(Reply::PortChanged));
            assert_eq!(world.state(ends[0].0, ends[0].1), PortState::DOWN);
            let stored = world.persisted.clone().unwrap();
            world.restart(settings(), Some(&stored));
            world.sweep();
            world.run_for(3.0);
            let gone = world.manager.snapshot().topology.find(ends[0].0);
            assert_eq!(gone, None, "the node is out of the fabric");

            let may = world
                .manager
                .may_change(&[ends[on]], PortAction::Enable, false);
            assert_eq!(may, Ok(vec![Ok(())]), "{off} {on}");
            let done = changed(&mut world, ends[on], PortAction::Enable);
            assert_eq!(done, Ok(Reply::PortChanged), "{off} {on}");
            world.assert_all_active();
            world.walk_all();
        }
    }
}

#[test]
fn what_is_as_wanted_is_not_written() {
    let mut world = up("fattree:16,radix=8");
    let link = far_link(&world);
    for at in [cable(&world)[0], link] {
        let before = writes(&world);
        assert_eq!(
            changed(&mut world, at, PortAction::Enable),
            Ok(Reply::PortChanged)
        );
        assert_eq!(world.state(at.0, at.1), PortState::ACTIVE);
        assert_eq!(writes(&world), before, "a port that is up does not bounce");
        changed(&mut world, at, PortAction::Disable).unwrap();
        let off = writes(&world);
        changed(&mut world, at, PortAction::Disable).unwrap();
        assert_eq!(writes(&world), off);
        changed(&mut world, at, PortAction::Enable).unwrap();
        assert_eq!(world.state(at.0, at.1), PortState::ACTIVE);
    }
    let own = world.own;
    let own = changed(&mut world, own, PortAction::Enable);
    assert_eq!(own, Ok(Reply::PortChanged), "it is up");
}

/// The next request that the manager sends.
fn sent(world: &mut World) -> Packet {
    loop {
        match world.manager.poll().unwrap() {
            Output::Send(packet) => return packet,
            _ => continue,
        }
    }
}

/// An answer of success with this state to a request about a port.
fn answer(world: &mut World, mut packet: Packet, phys_state: PhysState) {
    let held = PortStateInfo {
        phys_state,
        ..PortStateInfo::default()
    };
    packet.mad[3] = method::GET_RESP;
    packet.mad[4] |= 0x80;
    let len = DIRECTED_HEADER_LEN + PortStateInfo::LEN;
    packet.mad.resize(packet.mad.len().max(len), 0);
    held.encode(&mut packet.mad[DIRECTED_HEADER_LEN..DIRECTED_HEADER_LEN + PortStateInfo::LEN]);
    world.manager.handle(world.now, Input::Received(packet));
}

fn method_of(packet: &Packet) -> u8 {
    SmpView::parse(&packet.mad).unwrap().header.method
}

#[test]
fn a_device_that_answers_without_doing_it_is_no_success() {
    for (action, held, done) in [
        (PortAction::Disable, PhysState::LINK_UP, false),
        (PortAction::Disable, PhysState::DISABLED, true),
        (PortAction::Enable, PhysState::DISABLED, false),
        (PortAction::Enable, PhysState::POLLING, true),
        (PortAction::Enable, PhysState::OFFLINE, true),
        (PortAction::Bounce, PhysState::DISABLED, false),
        (PortAction::Bounce, PhysState::POLLING, true),
        (PortAction::Bounce, PhysState::LINK_UP, true),
    ] {
        let mut world = up("fattree:16,radix=8");
        let at = far_link(&world);
        ask(&mut world, 7, at, action);
        let read = sent(&mut world);
        assert_eq!(method_of(&read), method::GET);
        let before = match action {
            PortAction::Disable | PortAction::Bounce => PhysState::LINK_UP,
            _ => PhysState::DISABLED,
        };
        answer(&mut world, read, before);
        let write = sent(&mut world);
        assert_eq!(method_of(&write), method::SET);
        answer(&mut world, write, held);
        world.run_for(0.001);
        let (id, result) = world.replies.pop().unwrap();
        assert_eq!(id, 7);
        match (done, result) {
            (true, result) => assert_eq!(result, Ok(Reply::PortChanged), "{action:?} {held:?}"),
            // The request may name either end of the cable.
            (
                false,
                Err(CommandError::NotDone {
                    held: came_back, ..
                }),
            ) => {
                assert_eq!(came_back, held, "{action:?}");
            }
            (false, other) => panic!("{action:?} {held:?}: {other:?}"),
        }
    }
}

/// A fabric of which two ports are to be disabled: the second one, of a host, and the read of the first.
fn two_asked() -> (World, (Guid, PortNum), Packet) {
    let mut world = up("fattree:16,radix=8");
    let at = far_link(&world);
    ask(&mut world, 1, at, PortAction::Disable);
    let [hfi, _] = cable(&world);
    ask(&mut world, 2, hfi, PortAction::Disable);
    let read = sent(&mut world);
    (world, hfi, read)
}

/// The process is stopped after a change has begun with a read, for so long that another manager may be
/// master when the answer comes.
#[test]
fn a_change_that_is_not_written_when_the_role_of_master_goes_is_refused() {
    let (mut world, hfi, read) = two_asked();
    let before = writes(&world);
    world.now = Tick(world.now.0 + 20_000_000_000);
    answer(&mut world, read, PhysState::LINK_UP);
    ask(&mut world, 3, hfi, PortAction::Disable);
    let role = SmState::DISCOVERING;
    assert_eq!(world.manager.role(), role);
    let may = world.manager.may_change(&[hfi], PortAction::Disable, false);
    assert!(
        matches!(may, Err(CommandError::NotMaster { .. })),
        "{may:?}"
    );
    world.run_for(5.0);
    let refused = Err(CommandError::NotMaster {
        role,
        master: Guid(0),
    });
    world.replies.sort_by_key(|(id, _)| *id);
    let expected = [1, 2, 3].map(|id| (id, refused.clone()));
    assert_eq!(world.replies, expected);
    assert_eq!(writes(&world), before);
    world.assert_all_active();
}

#[test]
fn what_was_asked_of_a_lost_fabric_is_not_sent_when_it_is_back() {
    let (mut world, _, read) = two_asked();
    answer(&mut world, read, PhysState::LINK_UP);
    assert_eq!(method_of(&sent(&mut world)), method::SET);
    let command = Command::Sweep;
    let now = world.now;
    world.manager.handle(now, Input::Command { id: 3, command });
    // All datagrams in flight are lost with the fabric.
    let before = writes(&world);
    world.manager.handle(world.now, Input::Detached);
    while let Some(output) = world.manager.poll() {
        if let Output::Reply { id, result } = output {
            world.replies.push((id, result));
        }
    }
    let lost = |begun| Err(CommandError::Detached { begun });
    world.replies.sort_by_key(|(id, _)| *id);
    assert_eq!(
        world.replies,
        [(1, lost(true)), (2, lost(false)), (3, lost(true))]
    );
    world.run_for(120.0);
    assert_eq!(writes(&world), before);
    world.assert_all_active();
}

/// Traps about errors of a link, one a second; ports that were disabled for them.
fn link_errors(world: &mut World, (node, port): (Guid, PortNum), times: usize) -> Vec<LinkEnd> {
    for _ in 0..times {
        world.control(Control::LinkErrors {
            node,
            port,
            trap: LinkTrap::Integrity,
        });
        world.run_for(1.0);
    }
    let storms = world.events.iter().filter_map(|event| match event {
        Event::TrapStorm { port, .. } => Some(port.clone()),
        _ => None,
    });
    storms.collect()
}

#[test]
fn a_port_that_reports_errors_too_often_is_disabled_until_it_is_enabled() {
    let mut settings = settings();
    let storms = StormSettings {
        per_minute: 20,
        least: 10,
    };
    settings.links.storms = Some(storms);
    let mut world = World::new("fattree:16,radix=8", settings);
    world.sweep();
    world.run_for(3.0);
    let (node, port) = far_link(&world);
    assert_eq!(link_errors(&mut world, (node, port), 9), []);
    let disabled = link_errors(&mut world, (node, port), 1);
    let [end] = &disabled[..] else {
        panic!("{disabled:?}");
    };
    assert_eq!((end.node, end.port), (node, port));
    world.run_for(2.0);
    assert_eq!(world.state(node, port), PortState::DOWN);
    let done = changed(&mut world, (node, port), PortAction::Enable);
    assert_eq!(done, Ok(Reply::PortChanged));
    assert_eq!(world.state(node, port), PortState::ACTIVE);
    // The port of the switch before an HFI, which the manager can reach.
    world.events.clear();
    let [host, switch] = cable(&world);
    let disabled = link_errors(&mut world, host, 10);
    let ends: Vec<_> = disabled.iter().map(|end| (end.node, end.port)).collect();
    assert_eq!(ends, [switch]);
    world.run_for(2.0);
    assert_eq!(world.state(host.0, host.1), PortState::DOWN);
}

#[test]
fn without_a_threshold_and_at_the_managers_own_link_no_port_is_disabled() {
    let mut world = up("fattree:16,radix=8");
    let far = far_link(&world);
    assert_eq!(link_errors(&mut world, far, 40), []);
    let mut settings = settings();
    settings.links.storms = Some(StormSettings {
        per_minute: 20,
        least: 2,
    });
    let now = world.now;
    world.manager.reconfigure(now, settings);
    let (_, own) = world.topology.hfis().next().unwrap();
    let own = (own.guid(), PortNum(1));
    assert_eq!(link_errors(&mut world, own, 10), []);
    assert_eq!(world.state(own.0, own.1), PortState::ACTIVE);
}

#[test]
fn a_bounced_link_trains_again_and_one_that_is_down_stays_as_it_is() {
    let mut world = up("fattree:16,radix=8");
    let [host, switch] = cable(&world);
    for at in [switch, host] {
        let trained = world.emulator.network().state_changes();
        let done = changed(&mut world, at, PortAction::Bounce);
        assert_eq!(done, Ok(Reply::PortChanged));
        assert!(world.emulator.network().state_changes() > trained);
        assert_eq!(world.state(host.0, host.1), PortState::ACTIVE);
    }
    changed(&mut world, switch, PortAction::Disable).unwrap();
    let before = writes(&world);
    let done = changed(&mut world, switch, PortAction::Bounce);
    assert_eq!(done, Ok(Reply::PortChanged));
    assert_eq!(writes(&world), before, "it stays disabled");
    let own = world.own;
    let own = changed(&mut world, own, PortAction::Bounce);
    assert!(matches!(own, Err(CommandError::OwnLink { .. })), "{own:?}");
}

/// What a port that ends too many multicast groups leads to.
fn storm(world: &mut World, node: Guid, action: PortAction) -> Option<(LinkEnd, u32, bool)> {
    let id = world.topology.find(node).unwrap();
    let storm = MulticastStorm {
        port: world.topology.node(id).unwrap().info.port_guid,
        groups: 7,
        action,
    };
    let now = world.now;
    world.manager.handle(now, Input::MulticastStorm(storm));
    world.run_for(2.0);
    world.events.iter().find_map(|event| match event {
        Event::MulticastStorm {
            port,
            groups,
            bounced,
        } => Some((port.clone(), *groups, *bounced)),
        _ => None,
    })
}

#[test]
fn the_switchs_port_before_a_host_that_ends_too_many_groups_is_disabled_or_bounced() {
    for (action, after) in [
        (PortAction::Disable, PortState::DOWN),
        (PortAction::Bounce, PortState::ACTIVE),
    ] {
        let mut world = up("fattree:16,radix=8");
        let [host, switch] = cable(&world);
        let (port, groups, bounced) = storm(&mut world, host.0, action).unwrap();
        assert_eq!(((port.node, port.port), groups), (switch, 7));
        assert_eq!(bounced, action == PortAction::Bounce);
        assert_eq!(world.state(host.0, host.1), after);
    }
    let mut world = up("fattree:16,radix=8");
    let own = world.own.0;
    assert_eq!(storm(&mut world, own, PortAction::Disable), None);
    assert_eq!(world.state(own, PortNum(1)), PortState::ACTIVE);
}
