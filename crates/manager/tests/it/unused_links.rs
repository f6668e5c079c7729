//! Links that are up and carry no data: routes, certificate and reports are made without them.
#![allow(clippy::unwrap_used)]

use crate::common::{World, fabric, latency, settings, with_lmc};
use weft_emulator::io::Control;
use weft_fabric::enums::{LinkInitReason, LinkWidth, PortState};
use weft_fabric::{Guid, Lid, NodeId, PortNum, PortRef, Topology, UNREACHABLE};
use weft_manager::sm::settings::Least;
use weft_manager::{Event, Settings, SweepReport, UnusedReason};
use weft_wire::sm::AttributeId;

/// Two edge switches with two hosts each, under two cores.
const TWO_CORES: &str = "pgft:2;2,2;1,2;1,1;radix=4";
/// The fabric with a single core.
const ONE_CORE: &str = "pgft:2;2,2;1,1;1,1;radix=4";

fn node(topology: &Topology, name: &str) -> NodeId {
    let mut nodes = topology.nodes();
    nodes.find(|(_, node)| node.name() == name).unwrap().0
}

/// Both ends of the cable between two nodes.
fn cable(topology: &Topology, a: &str, b: &str) -> [PortRef; 2] {
    let (a, b) = (node(topology, a), node(topology, b));
    let link = topology
        .links()
        .find(|(x, y)| [(x.node, y.node), (y.node, x.node)].contains(&(a, b)));
    link.map(|(x, y)| [x, y]).unwrap()
}

/// A fabric in which the cable between two nodes comes up with two of four lanes.
fn with_narrow(spec: &str, a: &str, b: &str) -> Topology {
    let mut topology = fabric(spec);
    for end in cable(&topology, a, b) {
        let port = topology.node_mut(end.node).unwrap();
        port.port_mut(end.port).unwrap().info.link_width_enabled = LinkWidth::X2;
    }
    topology
}

fn world(topology: Topology, settings: Settings) -> World {
    World::with(topology, settings, latency(), None)
}

fn at(world: &World, end: PortRef) -> (Guid, PortNum) {
    (world.topology.node(end.node).unwrap().guid(), end.port)
}

fn init_reason(world: &World, (guid, port): (Guid, PortNum)) -> LinkInitReason {
    let network = world.emulator.network();
    let device = network.device(network.find(guid).unwrap()).unwrap();
    network
        .port(device.port(port).unwrap())
        .info()
        .link_init_reason
}

fn lid_of(world: &World, name: &str) -> Lid {
    let node = node(&world.topology, name);
    let network = world.emulator.network();
    let device = network.device(node).unwrap();
    network.port(device.port(PortNum(1)).unwrap()).info().lid
}

/// The port by which a switch's register sends a LID, none where it drops it.
fn egress(world: &World, switch: &str, lid: Lid) -> Option<PortNum> {
    let switch = world
        .emulator
        .network()
        .switch(node(&world.topology, switch))
        .unwrap();
    switch.egress(lid).filter(|port| port.0 != UNREACHABLE)
}

fn names(report: &SweepReport) -> Vec<(String, String, UnusedReason)> {
    let links = report.unused.iter();
    links
        .map(|link| (link.a.name.clone(), link.b.name.clone(), link.reason))
        .collect()
}

/// Walks between the hosts, over active links; returns the pairs without a path.
fn pairs_without_way(world: &World) -> Vec<(String, String)> {
    let hosts = |from: &Topology| -> Vec<String> {
        from.hfis()
            .map(|(_, node)| node.name().to_string())
            .collect()
    };
    let mut without = Vec::new();
    for from in hosts(&world.topology) {
        for to in hosts(&world.topology) {
            if from != to && !world.has_way(&from, &to) {
                without.push((from.clone(), to));
            }
        }
    }
    without
}

#[test]
fn a_narrow_link_is_avoided_and_reported_while_another_way_is_whole() {
    let topology = with_narrow(TWO_CORES, "edge1", "core1");
    let ends = cable(&topology, "edge1", "core1");
    let mut world = world(topology, settings());
    let report = world.sweep();
    world.run_for(10.0);
    let reason = UnusedReason::Width { lanes: 2, least: 4 };
    assert_eq!(names(&report), [("edge1".into(), "core1".into(), reason)]);
    assert_eq!(report.unused_links, 1);
    for end in ends {
        let end = at(&world, end);
        assert_eq!(world.state(end.0, end.1), PortState::INIT);
        assert_eq!(init_reason(&world, end), LinkInitReason::OUTSIDE_POLICY);
    }
    assert_eq!(pairs_without_way(&world), []);
    assert_eq!(world.forced_sweep().sets, 0);
}

#[test]
fn where_every_way_is_narrow_nothing_is_routed_into_it() {
    let topology = with_narrow(ONE_CORE, "edge2", "core1");
    let mut world = world(topology, settings());
    let report = world.sweep();
    world.run_for(10.0);
    assert_eq!(report.unused_links, 1, "{report:?}");
    // Hosts that the refused link cuts off: no switch forwards their LIDs, and none forwards others to it.
    let cut_off: Vec<Lid> = ["node3 hfi1_0", "node4 hfi1_0"]
        .map(|host| lid_of(&world, host))
        .into();
    assert!(cut_off.iter().all(|lid| lid.0 != 0), "{cut_off:?}");
    for lid in cut_off {
        assert_eq!(egress(&world, "edge1", lid), None);
        assert_eq!(egress(&world, "core1", lid), None);
    }
    assert_eq!(
        egress(&world, "edge2", lid_of(&world, "node1 hfi1_0")),
        None
    );
    let without = pairs_without_way(&world);
    assert_eq!(without.len(), 8, "the others reach each other: {without:?}");
}

/// No LID of the last block is routed any more; the switches held routes to some.
#[test]
fn a_refused_host_with_the_highest_lids_is_not_routed_to_any_more() {
    let mut lenient = with_lmc(6);
    lenient.links.hfi.width = Least::Any;
    let topology = with_narrow(TWO_CORES, "node4 hfi1_0", "edge2");
    let mut world = world(topology, lenient);
    world.sweep();
    world.run_for(10.0);
    assert_eq!(pairs_without_way(&world), []);
    let lids = (0..64).map(|at| Lid(lid_of(&world, "node4 hfi1_0").0 + at));
    let lids: Vec<Lid> = lids.collect();
    let others = ["node1", "node2", "node3"].map(|host| lid_of(&world, &format!("{host} hfi1_0")));
    assert!(others.iter().all(|other| *other < lids[0]), "{others:?}");
    let now = world.now;
    world.manager.reconfigure(now, with_lmc(6));
    world.run_for(10.0);
    for switch in ["edge1", "edge2", "core1", "core2"] {
        let routed = lids
            .iter()
            .filter(|lid| egress(&world, switch, **lid).is_some());
        assert_eq!(routed.count(), 0, "{switch}");
    }
    world.assert_tables_published();
}

/// The host with the highest LIDs is gone, so that nothing is known of the blocks of its LIDs any more,
/// and comes back by a link that is refused.
#[test]
fn a_host_that_comes_back_by_a_refused_link_is_not_routed_to_any_more() {
    let topology = fabric(TWO_CORES);
    let cable = cable(&topology, "node4 hfi1_0", "edge2")[0];
    let mut world = world(topology, with_lmc(6));
    world.sweep();
    world.run_for(10.0);
    assert_eq!(pairs_without_way(&world), []);
    let first = lid_of(&world, "node4 hfi1_0").0;
    let (node, port) = at(&world, cable);
    world.control(Control::LinkDown { node, port });
    world.run_for(10.0);
    let lanes = 2;
    world.control(Control::LinkLanes { node, port, lanes });
    world.control(Control::LinkUp { node, port });
    world.run_for(10.0);
    assert_eq!(world.state(node, port), PortState::INIT);
    for switch in ["edge1", "edge2", "core1", "core2"] {
        let lids = (first..first + 64).map(Lid);
        let routed = lids.filter(|lid| egress(&world, switch, *lid).is_some());
        assert_eq!(routed.count(), 0, "{switch}");
    }
    world.assert_tables_published();
}

#[test]
fn a_policy_that_allows_more_brings_the_link_back() {
    let mut world = world(with_narrow(ONE_CORE, "edge2", "core1"), settings());
    world.sweep();
    let mut lenient = settings();
    lenient.links.switch.width = Least::Any;
    let now = world.now;
    world.manager.reconfigure(now, lenient);
    world.run_for(10.0);
    world.assert_all_active();
    world.walk_all();
    let again = world
        .events
        .iter()
        .filter(|event| matches!(event, Event::LinkUsedAgain { .. }));
    assert_eq!(again.count(), 1);
    let report = world.forced_sweep();
    assert_eq!((report.sets, report.unused_links), (0, 0), "{report:?}");
}

#[test]
fn a_port_that_refuses_to_arm_gets_no_routes() {
    for (spec, cut_off) in [(TWO_CORES, 0), (ONE_CORE, 8)] {
        let topology = fabric(spec);
        let [_, port] = cable(&topology, "edge2", "core1");
        let mut world = world(topology, settings());
        let (node, port) = at(&world, port);
        world.control(Control::RefuseArm {
            node,
            port,
            refuse: true,
        });
        world.run_for(20.0);
        assert_eq!(world.state(node, port), PortState::INIT);
        let report = world.forced_sweep();
        let inactive = |reason| matches!(reason, UnusedReason::Inactive { .. });
        assert!(
            names(&report).iter().all(|link| inactive(link.2)),
            "{report:?}"
        );
        assert_eq!(report.unused_links, 1, "{report:?}");
        assert!(
            report.unfinished.iter().any(|what| what.contains("core1")),
            "{report:?}"
        );
        assert_eq!(pairs_without_way(&world).len(), cut_off, "{spec}");
        // As soon as it is armed, routes use it again.
        world.control(Control::RefuseArm {
            node,
            port,
            refuse: false,
        });
        world.run_for(400.0);
        world.assert_all_active();
        world.walk_all();
        assert_eq!(world.forced_sweep().unused_links, 0);
    }
}

#[test]
fn a_restarted_manager_routes_nothing_over_a_link_that_is_still_in_init() {
    let topology = fabric(TWO_CORES);
    let [_, port] = cable(&topology, "edge2", "core1");
    let mut world = world(topology, settings());
    let (node, port) = at(&world, port);
    world.control(Control::RefuseArm {
        node,
        port,
        refuse: true,
    });
    world.run_for(20.0);
    let stored = world.persisted.clone();
    world.restart(settings(), stored.as_deref());
    let report = world.sweep();
    assert_eq!(report.unused_links, 1, "{report:?}");
    assert_eq!(pairs_without_way(&world), []);
    let tables = |world: &World| world.emulator.stats().total(AttributeId::LINEAR_FDB).1;
    let before = tables(&world);
    world.run_for(60.0);
    assert_eq!(tables(&world), before, "tables change back and forth");
}
