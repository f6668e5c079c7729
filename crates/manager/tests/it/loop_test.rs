//! The loop test: packets that circle in the emulated switches, while sweeps go on.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::time::Duration;

use crate::common::{World, fabric, latency, settings};
use weft_dataplane::{Counter, PortIndex};
use weft_emulator::io::Control;
use weft_fabric::{Guid, Lid, NodeId, PortRef, Topology};
use weft_manager::sm::loop_test::{LoopTestError, LoopTestOrder, LoopTestStatus};
use weft_manager::{CommandError, Event, Settings};

/// Two edge switches under two cores, single cables.
const TREE: &str = "pgft:2;2,2;1,2;1,1";
/// The same with two cables between each two switches.
const TRUNKS: &str = "pgft:2;2,2;1,2;1,2";

fn up(spec: &str, settings: Settings) -> World {
    let mut world = World::with(fabric(spec), settings, latency(), None);
    world.sweep();
    world.run_for(5.0);
    world
}

fn order(world: &mut World, order: LoopTestOrder) -> Result<u64, LoopTestError> {
    let done = world.manager.order_loop_test(world.now, order);
    world.run_for(5.0);
    done
}

fn start(world: &mut World, packets: u32) {
    let fast = true;
    order(world, LoopTestOrder::Start { fast, packets }).unwrap();
}

/// Both ends of each link between switches.
fn links(topology: &Topology) -> Vec<[PortRef; 2]> {
    let is_switch = |end: PortRef| topology.switch_index(end.node).is_some();
    let links = topology.links();
    let links = links.filter(|(a, b)| is_switch(*a) && is_switch(*b));
    links.map(|(a, b)| [a, b]).collect()
}

fn index(world: &World, at: PortRef) -> PortIndex {
    let network = world.emulator.network();
    network.device_at(at.node).port(at.port).unwrap()
}

/// A counter at each end of each link between switches, as it is a millisecond later.
fn counts(world: &mut World, counter: Counter) -> Vec<[u64; 2]> {
    world.run_for(0.001);
    // A control brings counters up to date.
    let (node, _) = world.own;
    world.control(Control::Silence {
        node,
        silent: false,
    });
    let topology = world.topology.clone();
    let count = |at: PortRef| world.emulator.network().counter(index(world, at), counter);
    links(&topology)
        .into_iter()
        .map(|link| link.map(count))
        .collect()
}

/// Packets that each end of each link sends in some time.
fn sent(world: &mut World) -> Vec<[u64; 2]> {
    let before = counts(world, Counter::XmitPkts);
    world.run_for(0.01);
    let after = counts(world, Counter::XmitPkts);
    let pairs = before.into_iter().zip(after);
    pairs.map(|(a, b)| [b[0] - a[0], b[1] - a[1]]).collect()
}

fn packets_told(world: &World) -> Vec<(u32, u64, u64)> {
    let told = world.events.iter().filter_map(|event| match event {
        Event::LoopPacketsInjected {
            packets,
            sent,
            injected,
        } => Some((*packets, *sent, *injected)),
        _ => None,
    });
    told.collect()
}

fn status(world: &World) -> LoopTestStatus {
    world.manager.loop_test()
}

#[test]
fn packets_circle_over_every_link_in_both_directions_until_the_test_ends() {
    let mut world = up(TREE, settings());
    assert!(
        sent(&mut world)
            .iter()
            .flatten()
            .all(|packets| *packets < 100)
    );
    start(&mut world, 2);
    let test = status(&world);
    let plan = test.plan.clone().unwrap();
    assert!(test.running && test.by_order && test.fast && !test.each_sweep);
    assert_eq!(
        (test.injected, plan.coverage.links(), plan.uncovered()),
        (2, 4, vec![])
    );
    let lids: BTreeSet<Lid> = plan.paths.lids().collect();
    assert_eq!(packets_told(&world), [(2, 2 * lids.len() as u64, 2)]);
    assert_eq!(world.emulator.circling(), 2 * lids.len());
    // 10 ms have at least ten thousand laps of four hops.
    let on_links = sent(&mut world);
    assert!(
        on_links.iter().flatten().all(|packets| *packets > 10_000),
        "{on_links:?}"
    );
    // Hosts are reached as before, and further sweeps change nothing and inject nothing.
    world.walk_all();
    let report = world.forced_sweep();
    assert_eq!((report.sets, report.unfinished), (0, vec![]));
    assert_eq!(packets_told(&world).len(), 1);

    order(&mut world, LoopTestOrder::Stop).unwrap();
    assert_eq!(world.emulator.circling(), 0);
    assert!(
        sent(&mut world)
            .iter()
            .flatten()
            .all(|packets| *packets < 100)
    );
    assert!(world.events.contains(&Event::LoopTestStopped));
    let network = world.emulator.network();
    for switch in world.topology.switches() {
        let switch = network.switch(*switch).unwrap();
        assert!(lids.iter().all(|lid| switch.egress(*lid).is_none()));
    }
    let test = status(&world);
    assert_eq!((test.running, test.fast, test.plan), (false, false, None));
}

#[test]
fn a_bad_cable_shows_at_both_ends_and_no_other_does() {
    let mut world = up(TREE, settings());
    let topology = world.topology.clone();
    let bad = links(&topology)[2];
    let (node, port) = (topology.node(bad[0].node).unwrap().guid(), bad[0].port);
    world.control(Control::CableErrors {
        node,
        port,
        errors: 1_000,
    });
    let errors = |world: &mut World| counts(world, Counter::LocalLinkIntegrityErrors);
    assert!(
        errors(&mut world)
            .iter()
            .flatten()
            .all(|errors| *errors == 0)
    );
    start(&mut world, 1);
    for (link, errors) in links(&topology).into_iter().zip(errors(&mut world)) {
        let is_bad = link == bad;
        assert!(
            errors.iter().all(|errors| (*errors > 100) == is_bad),
            "{errors:?}"
        );
    }
}

#[test]
fn loops_of_the_configuration_get_packets_in_each_sweep() {
    let mut with = settings();
    with.loop_test.on = true;
    with.loop_test.packets = 20;
    let mut world = up(TRUNKS, with.clone());
    let test = status(&world);
    assert!(test.running && !test.by_order && test.each_sweep);
    let plan = test.plan.unwrap();
    // Each pair of cables is a loop in either direction.
    assert_eq!(plan.paths.paths.len(), 2 * 4);
    let sweeps = packets_told(&world).len() as u64;
    assert_eq!(packets_told(&world).last(), Some(&(10, 80, 10 * sweeps)));
    world.forced_sweep();
    let told = packets_told(&world).last().copied();
    assert_eq!(told, Some((10, 80, 10 * (sweeps + 1))));
    // Stopped by order it stays so when a reload changes something else of it.
    order(&mut world, LoopTestOrder::Stop).unwrap();
    let mut other = with.clone();
    other.loop_test.packets = 1;
    world.manager.reconfigure(world.now, other);
    world.run_for(5.0);
    assert!(!status(&world).running);
    // A reload that takes it back ends that, and one that has it again starts it.
    let mut without = with.clone();
    without.loop_test.on = false;
    world.manager.reconfigure(world.now, without.clone());
    world.manager.reconfigure(world.now, with);
    world.run_for(5.0);
    assert!(status(&world).running);
    world.manager.reconfigure(world.now, without);
    world.run_for(5.0);
    assert_eq!(world.emulator.circling(), 0);
    assert!(!status(&world).running);
}

#[test]
fn orders_out_of_place_or_range_change_nothing() {
    let mut world = up(TREE, settings());
    let refused = |world: &mut World, what| order(world, what).unwrap_err();
    for what in [
        LoopTestOrder::Stop,
        LoopTestOrder::Inject(1),
        LoopTestOrder::InjectAt(Guid(1)),
    ] {
        assert_eq!(refused(&mut world, what), LoopTestError::NotRunning);
    }
    for what in [
        LoopTestOrder::Start {
            fast: true,
            packets: 11,
        },
        LoopTestOrder::PathLength(1),
        LoopTestOrder::PathLength(5),
        LoopTestOrder::Redundancy(0),
        LoopTestOrder::Redundancy(65),
    ] {
        let error = refused(&mut world, what);
        assert!(matches!(error, LoopTestError::Range { .. }), "{error}");
    }
    start(&mut world, 0);
    assert_eq!(
        (packets_told(&world), world.emulator.circling()),
        (vec![], 0)
    );
    for what in [
        LoopTestOrder::Start {
            fast: false,
            packets: 1,
        },
        LoopTestOrder::FastMode(false),
    ] {
        assert_eq!(refused(&mut world, what), LoopTestError::Running);
    }
    assert!(matches!(
        refused(&mut world, LoopTestOrder::Inject(0)),
        LoopTestError::Range { .. }
    ));
    let host = Guid(7);
    let error = refused(&mut world, LoopTestOrder::InjectAt(host));
    assert_eq!(error, LoopTestError::NoSwitch { node: host });
    world
        .manager
        .pause_sweeps(world.now, Duration::from_secs(60))
        .unwrap();
    let error = refused(&mut world, LoopTestOrder::Stop);
    assert_eq!(error, LoopTestError::Command(CommandError::Paused));
}

#[test]
fn packets_can_be_injected_again_and_through_one_switch() {
    let mut world = up("pgft:2;2,4;1,3;1,1", settings());
    start(&mut world, 0);
    order(&mut world, LoopTestOrder::Inject(3)).unwrap();
    let plan = status(&world).plan.unwrap();
    let all = plan.paths.lids().count() as u64;
    assert_eq!(packets_told(&world), [(3, 3 * all, 3)]);
    let node = *plan.topology.switches().last().unwrap();
    let through = plan
        .paths
        .paths
        .iter()
        .filter(|path| path.leads_through(node));
    let through = 2 * through.count() as u64;
    assert!(through > 0 && through < all);
    let guid = plan.topology.node(node).unwrap().guid();
    order(&mut world, LoopTestOrder::InjectAt(guid)).unwrap();
    assert_eq!(packets_told(&world).last(), Some(&(3, 3 * through, 6)));
    // Fewer loops where less redundancy is asked for.
    order(&mut world, LoopTestOrder::Redundancy(1)).unwrap();
    let fewer = status(&world).plan.unwrap().paths.lids().count() as u64;
    assert!(fewer < all, "{fewer} of {all}");
    // Trees have no loops of three links.
    order(&mut world, LoopTestOrder::PathLength(3)).unwrap();
    let none = status(&world).plan.unwrap();
    assert_eq!((none.paths.paths.len(), none.uncovered().len()), (0, 12));
    assert_eq!(world.emulator.circling(), 0);
}

#[test]
fn loops_follow_the_fabric_and_give_way_to_new_lids() {
    let spec = "pgft:2;2,3;1,3;1,1";
    let mut world = up(spec, settings());
    let topology = world.topology.clone();
    let guid = |node: NodeId| topology.node(node).unwrap().guid();
    start(&mut world, 1);
    let before = world.emulator.circling();
    let [a, b] = links(&topology)[0];
    let (node, port) = (guid(a.node), a.port);
    world.control(Control::LinkDown { node, port });
    world.run_for(20.0);
    let plan = status(&world).plan.unwrap();
    let ends: Vec<PortRef> = plan
        .paths
        .paths
        .iter()
        .flat_map(|path| path.hops.clone())
        .collect();
    let lost = [a, b].map(|end| (guid(end.node), end.port));
    let is_lost =
        |end: &PortRef| lost.contains(&(plan.topology.node(end.node).unwrap().guid(), end.port));
    assert!(!ends.iter().any(is_lost));
    assert!(plan.uncovered().is_empty());
    assert!(world.emulator.circling() < before);
    world.walk_all();
    // More LIDs than there is room for below the loops: these move up.
    let first = plan.paths.lids().min().unwrap();
    let mut more = settings();
    more.lids.lmc = weft_fabric::Lmc(4);
    world.manager.reconfigure(world.now, more);
    world.run_for(60.0);
    let plan = status(&world).plan.unwrap();
    assert!(plan.paths.lids().min().unwrap() > first);
    world.walk_all();
    world.assert_all_active();
}
