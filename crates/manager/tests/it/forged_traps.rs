//! Traps that a host sends in the name of others.
#![allow(clippy::unwrap_used)]

use crate::common::{World, far_link, settings};
use weft_fabric::{Guid, Lid, PortNum, PortRef};
use weft_manager::sm::settings::StormSettings;
use weft_manager::{Event, Input};
use weft_wire::Layout;
use weft_wire::enums::PortState;
use weft_wire::header::method;
use weft_wire::packet::Packet;
use weft_wire::sm::trap::{TrapBadMKey, TrapLink, TrapPortChangeState};
use weft_wire::sm::{AttributeId, Notice, Trap};
use weft_wire::smp::{DirectedRoute, Smp, SmpView};

/// Ports are disabled for ten traps at twenty a minute.
const STORMS: StormSettings = StormSettings {
    per_minute: 20,
    least: 10,
};

fn world() -> World {
    let mut settings = settings();
    settings.links.storms = Some(STORMS);
    let mut world = World::new("fattree:16,radix=8", settings);
    world.sweep();
    world.run_for(3.0);
    world.events.clear();
    world.notices.clear();
    world
}

/// A node's LID, by its registers.
fn lid(world: &World, node: Guid) -> Lid {
    let network = world.emulator.network();
    let device = network.device_at(network.find(node).unwrap());
    let port = PortNum(u8::from(!device.is_switch()));
    network.port(device.port(port).unwrap()).info().lid
}

/// A host far from the manager, and the switch's port before it.
fn host(world: &World) -> (Guid, (String, PortNum)) {
    let topology = &world.topology;
    let (node, host) = topology.hfis().nth(9).unwrap();
    let port = PortNum(1);
    let before = topology.peer(PortRef { node, port }).unwrap();
    let switch = topology.node(before.node).unwrap();
    (host.guid(), (switch.name().to_string(), before.port))
}

fn smp(id: u64) -> Smp {
    Smp {
        method: method::TRAP,
        ..Smp::get(AttributeId::NOTICE, 0, id, 0)
    }
}

fn packet(slid: Lid, mad: Vec<u8>) -> Packet {
    Packet::lid_routed(slid, Lid(1), mad)
}

/// A trap of `issuer` that came from `slid`.
fn trap(slid: Lid, issuer: Lid, trap: &Trap, id: u64) -> Packet {
    let mut mad = Vec::new();
    let notice = Notice::of(trap, Notice::PRODUCER_SWITCH, issuer);
    smp(id).write_lid_routed(&notice.to_bytes(), &mut mad);
    packet(slid, mad)
}

/// Twelve different traps, one a second.
fn storm(world: &mut World, one: impl Fn(u64) -> Packet) {
    for id in 0..12 {
        world.manager.handle(world.now, Input::Received(one(id)));
        world.run_for(1.0);
    }
}

fn storms(world: &World) -> usize {
    let is_storm = |event: &&Event| matches!(event, Event::TrapStorm { .. });
    world.events.iter().filter(is_storm).count()
}

#[test]
fn link_errors_of_others_disable_no_port_and_name_who_told_them() {
    let mut world = world();
    let (node, port) = far_link(&world);
    let of = lid(&world, node);
    let errors = Trap::LinkIntegrity(TrapLink { lid: of, port });
    let (attacker, (switch, before)) = host(&world);
    let own = lid(&world, attacker);
    // In the switch's name, in its own, and from no LID at all.
    for (slid, issuer) in [(own, of), (own, own), (Lid::PERMISSIVE, of)] {
        storm(&mut world, |id| trap(slid, issuer, &errors, id));
        assert_eq!(storms(&world), 0, "from {slid} as {issuer}");
        assert_eq!(world.state(node, port), PortState::ACTIVE);
    }
    assert_eq!(world.manager.status().totals.traps_left, 36);
    assert!(world.notices.is_empty(), "subscribers get none of them");
    let place = format!("(behind port {before} of {switch})");
    let [named, unknown] = &world.faults()[..] else {
        panic!("{:?}", world.faults());
    };
    assert!(named.contains(&format!("{attacker:?}")), "{named}");
    assert!(named.contains(&place), "{named}");
    assert!(unknown.contains("a LID that no node has"), "{unknown}");
    // The switch itself is believed.
    storm(&mut world, |id| trap(of, of, &errors, id));
    assert_eq!(storms(&world), 1);
    assert_eq!(world.state(node, port), PortState::DOWN);
}

#[test]
fn link_errors_along_a_directed_route_disable_no_port() {
    let mut world = world();
    let (node, port) = far_link(&world);
    let of = lid(&world, node);
    let errors = Trap::LinkIntegrity(TrapLink { lid: of, port });
    let notice = Notice::of(&errors, Notice::PRODUCER_SWITCH, of).to_bytes();
    storm(&mut world, |id| {
        let mut mad = Vec::new();
        smp(id).write_directed(&DirectedRoute::new(&[]).unwrap(), &notice, &mut mad);
        packet(Lid::PERMISSIVE, mad)
    });
    assert_eq!(storms(&world), 0);
    assert_eq!(world.state(node, port), PortState::ACTIVE);
}

#[test]
fn a_changed_port_of_another_starts_no_sweep_and_is_answered() {
    let mut world = world();
    let (node, _) = far_link(&world);
    let of = lid(&world, node);
    let changed = Trap::PortChangeState(TrapPortChangeState { lid: of });
    let (attacker, _) = host(&world);
    let own = lid(&world, attacker);
    world.sent = Some(Vec::new());
    storm(&mut world, |id| trap(own, of, &changed, id));
    assert_eq!(world.reports(), []);
    let sent = world.sent.take().unwrap();
    let answers = sent.iter().filter(|packet| {
        let method_of = |view: SmpView<'_>| view.header.method;
        packet.dlid == own && SmpView::parse(&packet.mad).map(method_of) == Ok(method::TRAP_REPRESS)
    });
    assert_eq!(answers.count(), 12, "so that nothing is repeated");
    storm(&mut world, |id| trap(of, of, &changed, 100 + id));
    assert!(!world.reports().is_empty());
}

#[test]
fn a_trap_about_a_wrong_key_names_who_had_it() {
    let mut world = world();
    let (switch, _) = far_link(&world);
    let (attacker, _) = host(&world);
    let (of, own) = (lid(&world, switch), lid(&world, attacker));
    let name = world.topology.find(attacker).unwrap();
    let name = world.topology.node(name).unwrap().name();
    let wrong = |lid| {
        Trap::BadMKey(TrapBadMKey {
            lid,
            attribute_id: AttributeId::LINEAR_FDB.0,
            ..TrapBadMKey::default()
        })
    };
    for (number, from) in [own, Lid::PERMISSIVE].into_iter().enumerate() {
        let packet = trap(of, of, &wrong(from), number as u64);
        world.manager.handle(world.now, Input::Received(packet));
        world.run_for(0.1);
    }
    let what = world.events.iter().filter_map(|event| match event {
        Event::Trap { what, .. } => Some(what.as_str()),
        _ => None,
    });
    let what: Vec<&str> = what.collect();
    assert!(
        what[0].ends_with(&format!("from LID {own} ({name})")),
        "{what:?}"
    );
    assert!(what[1].ends_with("along a directed route"), "{what:?}");
}
