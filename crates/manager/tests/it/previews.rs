//! Previews of other routes, compared with what the sweep after them does to the switches' tables.

#![allow(clippy::unwrap_used)]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::common::{World, settings};
use weft_emulator::io::Control;
use weft_fabric::{Guid, Lid, NodeId, PortNum, PortRef};
use weft_manager::sm::drains::Drain;
use weft_manager::sm::reroute::{Change, Condition, PlannedFlow, RoutePlan};
use weft_manager::{Command, Input, Planner, Settings, SweepPhase};

const PATIENCE: Duration = Duration::from_secs(60);

/// Egress port of each LID at each switch, none where it drops.
type Entries = BTreeMap<(NodeId, Lid), Option<PortNum>>;

/// Number of entries that a sweep changes, and of those that drop at some moment of it.
#[derive(Debug, PartialEq)]
struct Effect {
    changed: u64,
    dropping: u64,
}

fn announced(plan: &RoutePlan) -> Effect {
    Effect {
        changed: plan.routes,
        dropping: plan.dropping,
    }
}

/// Has a sweep run.
fn swept(world: &mut World) -> Effect {
    let before = entries(world);
    let dropping = RefCell::new(BTreeSet::new());
    let command = Command::Sweep;
    let input = Input::Command { id: 1, command };
    world.manager.handle(world.now, input);
    let ended = world.run(world.now + PATIENCE, |world| {
        let now = entries(world).into_iter();
        let drops = now.filter(|(place, egress)| egress.is_none() && before[place].is_some());
        dropping.borrow_mut().extend(drops.map(|(place, _)| place));
        world.manager.status().phase.is_none()
    });
    assert!(ended);
    let after = entries(world);
    let changed = after.iter().filter(|(place, to)| before[place] != **to);
    Effect {
        changed: changed.count() as u64,
        dropping: dropping.into_inner().len() as u64,
    }
}

fn entries(world: &World) -> Entries {
    let network = world.emulator.network();
    // As many LIDs as nodes, from 1 on.
    let lids = (1..=world.topology.len() as u32).map(Lid);
    let switches = world.topology.switches().iter();
    let places = switches.flat_map(|node| lids.clone().map(|lid| (*node, lid)));
    let egress = |(node, lid)| network.switch(node).unwrap().egress(lid);
    places.map(|place| (place, egress(place))).collect()
}

/// A fabric with these settings after its first sweep.
fn up(spec: &str, settings: Settings) -> World {
    let mut world = World::new(spec, settings);
    world.sweep();
    world.run_for(3.0);
    world.events.clear();
    world
}

fn guid(world: &World, node: NodeId) -> Guid {
    world.topology.node(node).unwrap().guid()
}

/// The preview of an arrangement that is in force already.
fn preview(world: &World) -> RoutePlan {
    let settings = world.manager.arrangement().settings;
    let change = Change::Settings(Box::new(settings));
    world.manager.basis(change).unwrap().plan().unwrap()
}

/// In a tree of two edge switches, with two hosts each, under two cores, what the drain of a core takes off its four links
/// comes on those of the other one.
#[test]
fn flows_that_leave_a_drained_switch_are_told_link_by_link() {
    let world = up("pgft:2;2,2;1,2;1,1;radix=4", settings());
    let core = world.topology.switches().last().copied().unwrap();
    let drained = guid(&world, core);
    let basis = world.manager.basis(Change::Drain(Drain::Switch(drained)));
    let flows = basis.unwrap().plan().unwrap().flows;
    assert_eq!((flows.fuller_links, flows.emptier_links), (4, 4));
    assert_eq!(flows.same_links, 0);
    let is_of_it = |flow: &PlannedFlow| flow.from.node == drained || flow.to.node == drained;
    assert!(flows.emptier.iter().all(is_of_it));
    assert!(!flows.fuller.iter().any(is_of_it));
    let loads = |flows: &[PlannedFlow]| -> Vec<(f64, f64)> {
        flows.iter().map(|flow| (flow.before, flow.after)).collect()
    };
    assert_eq!(loads(&flows.emptier), [(2.0, 0.0); 4]);
    assert_eq!(loads(&flows.fuller), [(2.0, 4.0); 4]);
}

/// Drains this part and no other.
fn drain_only(world: &mut World, drain: Drain) {
    let basis = world.manager.basis(Change::Drain(drain)).unwrap();
    let mut wanted = basis.wanted;
    wanted.drains = [drain].into();
    let condition = Condition::Epoch(basis.epoch);
    world.manager.adopt(world.now, &condition, wanted).unwrap();
}

/// Has a sweep drain this part and no other while a switch is silent.
fn drain_in_part(world: &mut World, drain: Drain, silent: NodeId) {
    let node = guid(world, silent);
    world.control(Control::Silence { node, silent: true });
    drain_only(world, drain);
    assert_ne!(world.sweep().unfinished, Vec::<String>::new());
    let silent = false;
    world.control(Control::Silence { node, silent });
}

fn assert_comes_as_announced(world: &mut World) {
    let plan = preview(world);
    assert!(plan.notes[0].contains("do not hold"), "{:?}", plan.notes);
    assert!(plan.switches > 0 && plan.dropping > 0, "{plan:?}");
    assert_eq!(swept(world), announced(&plan));
    world.walk_all();
    assert_nothing_announced(world);
}

fn assert_nothing_announced(world: &World) {
    let plan = preview(world);
    assert_eq!((plan.switches, plan.notes), (0, Vec::new()));
}

/// Adaptive routing is suspended everywhere before the first table changes: one silent switch keeps all
/// tables as they are.
#[test]
fn tables_that_a_sweep_could_not_write_count_as_changed() {
    let mut adaptive = settings();
    adaptive.routing.adaptive = Some(Default::default());
    let mut world = up("pgft:2;4,4;1,4;1,1;radix=8", adaptive);
    assert_nothing_announced(&world);
    let switches = world.topology.switches();
    let (drained, silent) = (switches[switches.len() - 2], switches[switches.len() - 1]);
    let drained = Drain::Switch(guid(&world, drained));
    let before = entries(&world);
    drain_in_part(&mut world, drained, silent);
    assert_eq!(entries(&world), before);
    assert_comes_as_announced(&mut world);
}

/// Routes of before and after close the ring, so that entries are drained first; those of the silent switch
/// are still to be drained when it answers again.
#[test]
fn entries_that_a_sweep_could_not_drain_are_announced() {
    let mut world = up("torus:6,hosts=2", settings());
    let is_switch = |end: PortRef| world.topology.switch_index(end.node).is_some();
    let between = world.topology.links();
    let between = between.filter(|(a, b)| is_switch(*a) && is_switch(*b));
    let ring: Vec<PortRef> = between.map(|(end, _)| end).collect();
    let link = |end: PortRef| Drain::Link(guid(&world, end.node), end.port);
    let (first, last) = (link(ring[0]), link(ring[5]));
    drain_only(&mut world, first);
    world.sweep();
    assert_nothing_announced(&world);
    drain_in_part(&mut world, last, ring[3].node);
    assert_comes_as_announced(&mut world);
}

/// Nodes have other numbers by then than in the routes in force.
#[test]
fn while_a_sweep_makes_its_plan_the_routes_in_force_count_as_written() {
    let mut world = up("pgft:2;4,4;1,4;1,1;radix=8", settings());
    let node = guid(&world, world.topology.switches()[1]);
    world.planner = Planner::new(PATIENCE);
    world.control(Control::NodeDown { node });
    let is_planning = |world: &World| world.manager.status().phase == Some(SweepPhase::Plan);
    assert!(world.run(world.now + PATIENCE, is_planning));
    assert_nothing_announced(&world);
    world.sweep();
    assert_nothing_announced(&world);
}
