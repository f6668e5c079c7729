//! The oracles of quiet, plans and drains object to what is not as it should be.

use std::sync::Arc;
use std::time::Duration;

use weft_emulator::Options;
use weft_emulator::io::Control;
use weft_fabric::generate::FabricSpec;
use weft_fabric::{Guid, PortNum, Snapshot};
use weft_manager::io::Command;
use weft_manager::sm::Settings;
use weft_manager::sm::drains::{Drain, DrainError, Drains, Named};
use weft_manager::sm::reroute::{Change, RerouteError};
use weft_routing::EngineKind;
use weft_testkit::oracle::{Invariant, planned, quiet, reach, spared, tables};
use weft_testkit::{NoTap, Wait, World, view};

use crate::oracles::{broken, ring};

/// A small tree that is up.
fn tree() -> World {
    let spec: FabricSpec = "pgft:2;2,4;1,3;1,2".parse().unwrap();
    let topology = Arc::new(spec.generate().unwrap());
    let mut world = World::new(topology, Options::default(), Settings::default(), NoTap).unwrap();
    assert_eq!(world.bring_up(Duration::from_secs(60)).unwrap(), Wait::Done);
    world
}

#[test]
fn tables_that_are_not_the_published_ones_are_reported() {
    let mut world = tree();
    let snapshot = world.snapshot();
    let judge = |world: &World, snapshot: &Snapshot| {
        let view = view::read(world.emulator.network());
        broken(&tables::check(&view, 0, snapshot))
    };
    assert_eq!(judge(&world, &snapshot), []);
    // Nodes that are there and not published, and one that is published and not there any more.
    let empty = Snapshot::default();
    assert_eq!(judge(&world, &empty), [Invariant::TablesAsIntended]);
    let hosts: Vec<Guid> = snapshot
        .topology
        .hfis()
        .map(|(_, hfi)| hfi.guid())
        .collect();
    let node = hosts[hosts.len() - 1];
    world.control(Control::NodeDown { node }).unwrap();
    assert_eq!(judge(&world, &snapshot), [Invariant::TablesAsIntended]);
    world.control(Control::NodeUp { node }).unwrap();
    assert_eq!(judge(&world, &snapshot), []);
    // An entry of one switch.
    let network = world.emulator.network_mut();
    let switch = network.topology().switches()[0];
    let registers = network.switch_mut(switch).unwrap();
    let mut block = registers.linear_block(0).unwrap();
    block[1] ^= 1;
    registers.set_linear_block(0, &block).unwrap();
    assert_eq!(judge(&world, &snapshot), [Invariant::TablesAsIntended]);
}

/// Sets of a sweep that a command asks for.
fn sets_of_a_sweep(world: &mut World) -> u64 {
    let before = world.emulator.stats().sets_total();
    let id = world.command(Command::Sweep);
    let ended = world.run_while(Duration::from_secs(60), |world| world.reply(id).is_some());
    assert_eq!(ended.unwrap(), Wait::Done);
    world.emulator.stats().sets_total() - before
}

#[test]
fn a_sweep_that_writes_where_nothing_has_changed_is_reported() {
    let mut world = tree();
    let judge = |sets: u64| quiet::check_unwritten(sets, "in a sweep").map(|one| one.invariant);
    assert_eq!(judge(sets_of_a_sweep(&mut world)), None);
    let switch = world.snapshot().topology.switches()[0];
    let node = world.snapshot().topology.node(switch).unwrap().guid();
    world.control(Control::NodeDown { node }).unwrap();
    world.control(Control::NodeUp { node }).unwrap();
    let written = judge(sets_of_a_sweep(&mut world));
    assert_eq!(written, Some(Invariant::NoNeedlessSet));
}

#[test]
fn what_comes_too_late_or_not_at_all_is_reported() {
    let within = Duration::from_micros(1);
    let topology: FabricSpec = "one-switch:3".parse().unwrap();
    let topology = Arc::new(topology.generate().unwrap());
    let options = Options {
        agent_latency_ns: 20_000,
        ..Options::default()
    };
    let mut world = World::new(topology, options, Settings::default(), NoTap).unwrap();
    let judge = |wait: Wait| {
        let late = quiet::check_in_time(wait, within, "the first sweep");
        late.map(|breach| breach.invariant)
    };
    assert_eq!(
        judge(world.bring_up(within).unwrap()),
        Some(Invariant::Converged)
    );
    let view = view::read(world.emulator.network());
    let unfinished = reach::check_reachable(&view, 0);
    let breaches = quiet::check_converged(false, unfinished.clone(), "at last");
    assert_eq!(
        broken(&breaches),
        [Invariant::Converged, Invariant::Reachable]
    );
    assert_eq!(
        judge(world.bring_up(Duration::from_secs(60)).unwrap()),
        None
    );
    assert_eq!(quiet::check_converged(true, Vec::new(), "at last"), []);
}

#[test]
fn a_drain_that_is_wrongly_refused_or_permitted_is_reported() {
    let view = ring(4);
    let link = |port| Drain::Link(Guid(1), PortNum(port));
    let judge = |drains: &[Drain], drain: Drain, error: Option<RerouteError>| {
        let drains: Drains = drains.iter().copied().collect();
        let breach = spared::check(&view, 0, &drains, drain, error.as_ref());
        breach.map(|breach| breach.invariant)
    };
    let cuts_off = || Some(RerouteError::CutsOff("it".to_owned()));
    let node = Named {
        guid: Guid(1),
        name: String::new(),
    };
    let no_link = |port| {
        let (node, port) = (node.clone(), PortNum(port));
        Some(DrainError::NoLink { node, port }.into())
    };
    let far = [Drain::Link(Guid(3), PortNum(1))];
    let sound = [
        judge(&[], link(1), None),
        judge(&far, link(1), cuts_off()),
        judge(&[], link(3), no_link(3)),
    ];
    assert_eq!(sound, [None; 3]);
    let wrong = [
        judge(&[], link(1), cuts_off()),
        judge(&far, link(1), None),
        judge(&[], link(3), None),
        judge(&[], link(1), no_link(1)),
        judge(&[], link(1), Some(RerouteError::Stale)),
        judge(&[], Drain::Switch(Guid(1)), None),
    ];
    assert_eq!(wrong, [Some(Invariant::Spared); 6]);
    // What is cut off is not there for the manager.
    let mut view = view.clone();
    for node in &mut view.nodes {
        let cut = |peer: usize| peer == 2 || node.guid == Guid(3);
        let ports = node.ports.iter_mut().flatten();
        ports.for_each(|port| port.peer = port.peer.filter(|(peer, _)| !cut(*peer)));
    }
    let drain = Drain::Link(Guid(3), PortNum(1));
    let node = Named {
        guid: Guid(3),
        name: String::new(),
    };
    let port = PortNum(1);
    let refused: RerouteError = DrainError::NoLink { node, port }.into();
    let judge = |error| spared::check(&view, 0, &Drains::new(), drain, error);
    assert!(judge(Some(&refused)).is_none());
    assert!(judge(None).is_some());
}

#[test]
fn a_plan_or_a_rollback_that_leads_elsewhere_is_reported() {
    let mut world = tree();
    let (engine, arrangement) = {
        let manager = world.manager();
        (manager.status().engine, manager.arrangement())
    };
    let kind = arrangement.settings.routing.engine;
    let plan = world.basis(Change::Engine(kind)).unwrap().plan().unwrap();
    let planned = |name: &str, changed| broken(&planned::check(&plan, name, changed));
    assert_eq!(planned(&engine, 0), []);
    assert_eq!(planned("another", 0), [Invariant::AsPlanned]);
    assert_eq!(planned(&engine, 1), [Invariant::AsPlanned]);
    let before = planned::InForce {
        arrangement,
        engine: engine.clone(),
        tables: vec![(Guid(1), vec![0xFF, 1])],
    };
    let other = world
        .basis(Change::Engine(EngineKind::ShortestPath))
        .unwrap();
    let judge = |change: &dyn Fn(&mut planned::InForce), untouched: bool| {
        let mut now = before.clone();
        change(&mut now);
        broken(&planned::check_rollback(&before, &now, untouched))
    };
    let changes: [&dyn Fn(&mut planned::InForce); 3] = [
        &|now| now.tables[0].1[1] = 2,
        &|now| now.engine.push('x'),
        &|now| now.arrangement = other.wanted.clone(),
    ];
    assert_eq!(judge(&|_| {}, true), []);
    for (index, change) in changes.iter().enumerate() {
        assert_eq!(judge(change, true), [Invariant::AsPlanned], "{index}");
    }
    let elsewhere = changes.map(|change| judge(change, false));
    assert_eq!(elsewhere, [vec![], vec![], vec![Invariant::AsPlanned]]);
}
