//! Devices that do not apply writes.

use std::collections::BTreeSet;

use crate::common::{World, settings};
use weft_manager::{Settings, SweepReport};
use weft_routing::EngineKind;

fn with(engine: EngineKind) -> Settings {
    let mut settings = settings();
    settings.routing.engine = engine;
    settings
}

/// Report of a forced sweep, and its faults of devices.
fn swept(world: &mut World) -> (SweepReport, Vec<String>) {
    world.events.clear();
    (world.forced_sweep(), world.faults())
}

/// A port that is in use takes no other virtual lanes: an engine that needs several lanes, after one
/// that needs one, meets refusals until the other one is back.
#[test]
fn what_is_not_taken_over_is_told_once_a_sweep_and_no_longer_than_it_lasts() {
    let mut world = World::new("torus:3x3,hosts=1", with(EngineKind::ShortestPath));
    let report = world.sweep();
    assert_eq!(report.unfinished, Vec::<String>::new());
    world
        .manager
        .reconfigure(world.now, with(EngineKind::Layered));
    let first = world.sweep();
    assert!(!first.unfinished.is_empty());

    let mut sets = vec![first.sets];
    for _ in 0..3 {
        let (report, faults) = swept(&mut world);
        let different: BTreeSet<&String> = faults.iter().collect();
        assert_eq!(different.len(), faults.len(), "each once: {faults:?}");
        let table = "does not take over SCtoVLtMap of its port ";
        assert!(
            faults.iter().any(|fault| fault.contains(table)),
            "{faults:?}"
        );
        let named = |what: &String| what.contains("does not take over SCtoVL");
        assert!(report.unfinished.iter().all(named), "{report:?}");
        sets.push(report.sets);
    }
    assert!(
        sets[1] * 2 < sets[0],
        "written again, once a sweep: {sets:?}"
    );
    assert_eq!(sets[1], sets[2]);
    assert_eq!(sets[2], sets[3]);

    world
        .manager
        .reconfigure(world.now, with(EngineKind::ShortestPath));
    world.sweep();
    let (report, faults) = swept(&mut world);
    assert_eq!((report.unfinished, faults), (Vec::new(), Vec::new()));
    assert_eq!(report.sets, 0);
}

/// Lanes that nothing uses any more stay in the maps of ports in use, which refuse to change them.
#[test]
fn an_engine_that_needs_fewer_lanes_leaves_maps_of_ports_in_use_alone() {
    let mut world = World::new("torus:3x3,hosts=1", with(EngineKind::Layered));
    world.sweep();
    world
        .manager
        .reconfigure(world.now, with(EngineKind::ShortestPath));
    let report = world.sweep();
    assert_eq!(
        (report.unfinished, world.faults()),
        (Vec::new(), Vec::new())
    );
}
