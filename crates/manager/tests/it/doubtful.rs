//! Switches that may hold something else than they confirmed, and fall silent before they say what.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use crate::common::{World, far_link, settings};
use weft_emulator::io::Control;
use weft_fabric::{Guid, PortNum, PortRef, Tick};
use weft_manager::Input;
use weft_wire::header::method;
use weft_wire::packet::Packet;
use weft_wire::sm::AttributeId;
use weft_wire::smp::SmpView;

/// Longer than a manager may not be heard of before it takes everything for doubtful.
const PAUSE_NS: u64 = 20_000_000_000;

/// A running fabric whose manager's process has just been stopped for a while.
fn paused() -> World {
    let mut settings = settings();
    settings.sweeps.interval = Duration::from_secs(10);
    let mut world = World::new("fattree:32,radix=8", settings);
    world.sweep();
    world.run_for(3.0);
    world.events.clear();
    world.now = Tick(world.now.0 + PAUSE_NS);
    world.sent = Some(Vec::new());
    world.manager.handle(world.now, Input::Tick);
    world
}

fn silence(world: &mut World, node: Guid) {
    world.control(Control::Silence { node, silent: true });
}

/// The destination node of a request for a linear table.
fn read_table_of(world: &World, packet: &Packet) -> Option<Guid> {
    let view = SmpView::parse(&packet.mad).unwrap();
    let asks = view.header.method == method::GET && view.attribute() == AttributeId::LINEAR_FDB;
    let hops = usize::from(view.header.hop_count);
    let path = view.directed.filter(|_| asks)?.initial_path;
    let topology = &world.topology;
    let (mut at, _) = topology.hfis().next().unwrap();
    for port in &path[1..=hops] {
        let port = PortNum(*port);
        at = topology.peer(PortRef { node: at, port }).unwrap().node;
    }
    Some(topology.node(at).unwrap().guid())
}

fn being_read(world: &World) -> Option<Guid> {
    let mut sent = world.sent.iter().flatten();
    sent.find_map(|packet| read_table_of(world, packet))
}

/// The last sweep missed the switch, but its tables are still published.
fn assert_still_known(world: &mut World, silent: Guid) {
    let report = world.sweep();
    let missed = format!("({silent}) does not answer");
    let unasked = "that hosts shall register again is not confirmed by 1 port";
    assert!(report.unfinished[0].ends_with(&missed), "{report:?}");
    assert_eq!(
        (report.unfinished[1..].to_vec(), report.unfinished_devices),
        (vec![unasked.to_owned()], 1)
    );
    world.assert_tables_published();
}

#[test]
fn one_that_does_not_answer_counts_as_holding_what_it_confirmed() {
    let mut world = paused();
    let switch = *world.topology.switches().last().unwrap();
    let switch = world.topology.node(switch).unwrap().guid();
    silence(&mut world, switch);
    assert_still_known(&mut world, switch);
    assert_eq!(being_read(&world).map(|read| read == switch), Some(false));
}

#[test]
fn no_table_is_changed_before_that_of_a_silent_one_is_known() {
    let mut world = paused();
    let switch = *world.topology.switches().last().unwrap();
    let silent = world.topology.node(switch).unwrap().guid();
    let (node, port) = far_link(&world);
    assert_ne!(node, silent);
    silence(&mut world, silent);
    world.control(Control::LinkDown { node, port });
    let written = |world: &World| world.emulator.stats().total(AttributeId::LINEAR_FDB).1;
    let before = written(&world);
    let waits = format!("no table is changed before that of switch {silent} has been read");
    assert!(world.sweep().unfinished.contains(&waits));
    assert_eq!(written(&world), before);
    let node = silent;
    world.control(Control::Silence {
        node,
        silent: false,
    });
    assert!(!world.sweep().unfinished.contains(&waits));
    assert!(written(&world) > before);
    world.walk_all();
}

#[test]
fn one_whose_table_is_not_read_to_the_end_counts_as_holding_what_it_confirmed() {
    let mut world = paused();
    let until = Tick(world.now.0 + PAUSE_NS);
    assert!(world.run(until, |world| being_read(world).is_some()));
    let switch = being_read(&world).unwrap();
    silence(&mut world, switch);
    assert_still_known(&mut world, switch);
}
