//! Dimension order through tori, in registers: SCtoSC tables change lanes' halves at datelines.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use crate::common::generate;
use weft_emulator::Options;
use weft_emulator::io::Control;
use weft_fabric::{Guid, Lid, PortNum, PortRef, Sl, Topology, TopologyBuilder, powered_on};
use weft_manager::sm::Settings;
use weft_manager::sm::reroute::{Change, Condition};
use weft_routing::EngineKind;
use weft_testkit::oracle::{deadlock, reach};
use weft_testkit::view::channels::Crossings;
use weft_testkit::view::{self, FabricView, NodeView};
use weft_testkit::world::{NoTap, Wait};
use weft_testkit::{World, grid};
use weft_wire::sm::AttributeId;

const PATIENCE: Duration = Duration::from_secs(60);

fn settings(fabric: &str, engine: EngineKind) -> Settings {
    let mut settings = Settings::default();
    settings.routing.engine = engine;
    settings.routing.mesh.dimensions = grid::dimensions(&fabric.parse().unwrap());
    settings
}

fn brought_up(fabric: &str, engine: EngineKind) -> World<NoTap> {
    of(generate(fabric), settings(fabric, engine))
}

fn of(topology: Arc<Topology>, settings: Settings) -> World<NoTap> {
    let options = Options {
        agent_latency_ns: 20_000,
        hop_latency_ns: 100,
        ..Options::default()
    };
    let mut world = World::new(topology, options, settings, NoTap).unwrap();
    assert_eq!(world.bring_up(PATIENCE).unwrap(), Wait::Done);
    world
}

/// The fabric in which the manager's switch, else the one with the lowest GUID, has the highest.
fn with_manager_on_highest(topology: &Topology) -> Arc<Topology> {
    let (node, _) = topology.hfis().next().unwrap();
    let port = PortNum(1);
    let home = topology.peer(PortRef { node, port }).unwrap().node;
    let mut builder = TopologyBuilder::new();
    for (id, node) in topology.nodes() {
        let mut node = node.clone();
        if id == home {
            node.info.node_guid.0 += 0x8000;
            node.info.system_image_guid = node.info.node_guid;
        }
        builder.add(node).unwrap();
    }
    Arc::new(powered_on::restart(&builder.build().unwrap()).unwrap())
}

/// Lets traps come and sweeps end.
fn rest(world: &mut World<NoTap>) {
    world
        .run_until(world.now() + Duration::from_secs(10))
        .unwrap();
    let ended = world.run_while(PATIENCE, |world| world.is_idle()).unwrap();
    assert_eq!(ended, Wait::Done);
}

/// Judges the registers: all reach each other, and neither packets nor answers wait in a circle, in the
/// lanes of registers. Gives what was read.
fn judge(world: &World<NoTap>, what: &str) -> FabricView {
    let view = view::read(world.emulator.network());
    let (host, _) = world.host();
    let root = view.find(host).unwrap();
    let breaches = reach::check_reachable(&view, root);
    assert_eq!(breaches.first(), None, "{what}");
    let snapshot = world.snapshot();
    let lanes = snapshot.linear.lanes();
    let settings = world.manager().arrangement().settings;
    let level = |lid: Lid| vec![settings.level_in_lane(Sl(0), lanes.of(lid))];
    let breaches = deadlock::check_answers(&view, level);
    assert_eq!(breaches.first(), None, "{what}");
    view
}

fn engine(world: &World<NoTap>) -> String {
    world.manager().status().engine
}

/// Puts another engine in force, as a reload does.
fn reload(world: &mut World<NoTap>, kind: EngineKind) {
    let basis = world.basis(Change::Engine(kind)).unwrap();
    let condition = Condition::Epoch(basis.epoch);
    world.adopt(&condition, basis.wanted).unwrap();
}

/// Whether some switch changes service channels.
fn changes_channels(view: &FabricView) -> bool {
    let switches = view.nodes.iter().filter(|node| node.switch);
    let ports = |node: &NodeView| 1..node.ports.len() as u8;
    let mut changes = switches.flat_map(|node| {
        let pairs =
            ports(node).flat_map(move |ingress| ports(node).map(move |egress| (ingress, egress)));
        pairs.flat_map(move |(ingress, egress)| {
            (0..32).map(move |sc| node.channels.across(ingress, egress, sc) != sc)
        })
    });
    changes.any(|changes| changes)
}

/// Sets so far of maps of service channels and of linear tables.
fn written(world: &World<NoTap>) -> [u64; 2] {
    let stats = world.emulator.stats();
    [AttributeId::SC_TO_SC, AttributeId::LINEAR_FDB].map(|attribute| stats.total(attribute).1)
}

/// What was read, with switches that leave service channels as they are.
fn without_maps(view: &FabricView) -> FabricView {
    let mut plain = view.clone();
    for node in &mut plain.nodes {
        let identity = std::array::from_fn(|sc| sc as u8);
        node.channels.sc_to_sc = Crossings::Uniform(identity);
    }
    plain
}

#[test]
fn tori_of_any_size_are_routed_in_one_lane_with_two_halves() {
    for (fabric, closes) in [
        ("torus:5,hosts=2", true),
        ("torus:6x4,hosts=1", true),
        ("torus:4x4x4,hosts=1", true),
        ("torus:3x3x3x3,hosts=1", false),
        ("mesh:4x3,hosts=1", false),
    ] {
        let mut world = brought_up(fabric, EngineKind::Dor);
        assert_eq!(engine(&world), "dor", "{fabric}");
        let view = judge(&world, fabric);
        // The same routes without the maps: rings of three have no route over two of their links.
        let plain = deadlock::check_answers(&without_maps(&view), |_| vec![Sl(0)]);
        assert_eq!(!plain.is_empty(), closes, "{fabric}");
        let before = written(&world);
        assert_eq!(before[0] > 0, fabric.starts_with("torus"), "{fabric}");
        world.restart(settings(fabric, EngineKind::Dor)).unwrap();
        rest(&mut world);
        assert_eq!(written(&world), before, "{fabric}: restart");
        judge(&world, fabric);
    }
}

/// The switch from which datelines were counted goes, the manager is restarted, the switch comes back: no
/// map of any other switch changes.
#[test]
fn datelines_outlast_the_switch_that_they_were_counted_from_and_a_restart() {
    const FABRIC: &str = "torus:5x4,hosts=1";
    let topology = with_manager_on_highest(&generate(FABRIC));
    let switches = topology.switches().iter();
    let guids = switches.map(|node| topology.node(*node).unwrap().guid());
    let lowest = guids.min().unwrap();
    let mut world = of(topology, settings(FABRIC, EngineKind::Dor));
    let maps = |world: &World<NoTap>| -> Vec<(Guid, Crossings)> {
        let view = judge(world, FABRIC);
        let others = view
            .nodes
            .into_iter()
            .filter(|node| node.switch && node.guid != lowest);
        others
            .map(|node| (node.guid, node.channels.sc_to_sc))
            .collect()
    };
    let before = maps(&world);
    world.control(Control::NodeDown { node: lowest }).unwrap();
    rest(&mut world);
    assert_eq!(maps(&world), before, "it is gone");
    let count = written(&world)[0];
    world.restart(settings(FABRIC, EngineKind::Dor)).unwrap();
    rest(&mut world);
    assert_eq!(maps(&world), before, "restarted");
    assert_eq!(written(&world)[0], count, "restarted");
    world.control(Control::NodeUp { node: lowest }).unwrap();
    rest(&mut world);
    assert_eq!(maps(&world), before, "it is back");
    assert_eq!(engine(&world), "dor");
}

/// To engines whose lanes have no halves, and back, by a reload and by a restart with another file. Ports
/// in use keep their maps of virtual lanes meanwhile.
#[test]
fn maps_go_with_the_engine_that_needs_them() {
    const FABRIC: &str = "torus:5x4,hosts=1";
    for restarts in [false, true] {
        let mut world = brought_up(FABRIC, EngineKind::Dor);
        const LINE: &str = "shortestpath, up*/down* only";
        for (kind, name) in [
            (EngineKind::ShortestPath, LINE),
            (EngineKind::Dor, "dor"),
            (EngineKind::Layered, "layered"),
            (EngineKind::Dor, "dor"),
        ] {
            match restarts {
                true => world.restart(settings(FABRIC, kind)).unwrap(),
                false => reload(&mut world, kind),
            }
            rest(&mut world);
            assert_eq!(engine(&world), name);
            let view = judge(&world, name);
            assert_eq!(changes_channels(&view), kind == EngineKind::Dor, "{name}");
        }
    }
}
