//! While tables change, no LID goes round: whichever links old entries lead over.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use crate::common::{World, fabric, latency, settings};
use weft_dataplane::Network;
use weft_emulator::io::Control;
use weft_emulator::observe::{Observer, SetDone};
use weft_fabric::enums::PortState;
use weft_fabric::{Lid, NodeId, PortNum, PortRef, Tick, Topology};
use weft_manager::{Event, SweepPhase};
use weft_routing::EngineKind;

/// Four edge switches with two hosts each under three cores, two cables between each two of them.
const TREE: &str = "pgft:2;2,4;1,3;1,2";

/// Notes after each Set which LIDs of switches go round.
#[derive(Debug, Clone, Default)]
struct Watch(Arc<Mutex<BTreeSet<Lid>>>);

impl Observer for Watch {
    fn set_done(&mut self, network: &Network, _: SetDone) {
        let switches = network.topology().switches();
        let lids = switches.iter().map(|switch| own_lid(network, *switch));
        for lid in lids.filter(|lid| lid.0 != 0) {
            if switches.iter().any(|from| goes_round(network, *from, lid)) {
                self.0.lock().unwrap().insert(lid);
            }
        }
    }
}

fn own_lid(network: &Network, switch: NodeId) -> Lid {
    let at = network.device_at(switch).port(PortNum(0)).unwrap();
    network.port(at).info().lid
}

/// Next hop of a LID at a switch, over a link that is up.
fn next(network: &Network, switch: NodeId, lid: Lid) -> Option<(PortNum, NodeId)> {
    let egress = network.switch(switch)?.egress(lid)?;
    let out = network.device_at(switch).port(egress)?;
    let peer = network.peer(out).filter(|_| egress.0 != 0)?;
    let up = [out, peer].map(|at| network.state(at) != PortState::DOWN);
    (up == [true; 2]).then(|| (egress, network.node_of(peer)))
}

fn goes_round(network: &Network, from: NodeId, lid: Lid) -> bool {
    let steps = network.topology().switches().len();
    let mut at = Some(from);
    for _ in 0..=steps {
        at = at.and_then(|at| Some(next(network, at, lid)?.1));
    }
    at.is_some()
}

fn node(topology: &Topology, name: &str) -> NodeId {
    let mut nodes = topology.nodes();
    nodes.find(|(_, node)| node.name() == name).unwrap().0
}

fn cables(topology: &Topology, a: NodeId, b: NodeId) -> Vec<PortRef> {
    let links = topology.links();
    let ends = links.filter_map(|(x, y)| match (x.node, y.node) == (a, b) {
        true => Some(x),
        false => ((y.node, x.node) == (a, b)).then_some(y),
    });
    ends.collect()
}

/// An edge switch identifies itself, then falls silent for two sweeps, so that its links stay in Init. When
/// it answers again, they carry no data any more, but a cable to one core does that was away before. The
/// other switches still send to it, and it has no table yet.
fn silent_for_two_sweeps(edge: NodeId, core: NodeId, topology: &Topology) -> (World, Watch) {
    let mut settings = settings();
    settings.routing.engine = EngineKind::FatTree;
    let mut world = World::with(topology.clone(), settings, latency(), None);
    let guid = |node: NodeId| topology.node(node).unwrap().guid();
    let late = *cables(topology, edge, core).last().unwrap();
    let (node, port) = (guid(edge), late.port);
    world.control(Control::LinkDown { node, port });
    let until = Tick(60_000_000_000);
    let is_planned = |world: &World| {
        let mut events = world.events.iter();
        events.any(|event| matches!(event, Event::Phase(SweepPhase::Plan)))
    };
    assert!(world.run(until, is_planned));
    world.control(Control::Silence { node, silent: true });
    assert!(world.run(until, |world| world.reports().len() == 2));
    world.control(Control::LinkUp { node, port });
    world.control(Control::Silence {
        node,
        silent: false,
    });
    // The edge switch has its table before the core gets a new one.
    let (node, extra_ns) = (guid(core), 50_000_000);
    world.control(Control::Slow { node, extra_ns });
    let watch = Watch::default();
    world.emulator.observe(Box::new(watch.clone()));
    (world, watch)
}

#[test]
fn old_entries_may_lead_over_links_that_carry_no_data_any_more() {
    let topology = fabric(TREE);
    let mut turned = 0;
    for edge in ["edge2", "edge3", "edge4"].map(|name| node(&topology, name)) {
        for core in ["core1", "core2", "core3"].map(|name| node(&topology, name)) {
            let (mut world, watch) = silent_for_two_sweeps(edge, core, &topology);
            let before = by_way_of(&world, core);
            world.sweep();
            let after = by_way_of(&world, edge);
            let turns = |(lid, to): &(Lid, NodeId)| *to == edge && after.contains(&(*lid, core));
            turned += before.iter().filter(|entry| turns(entry)).count();
            let round = watch.0.lock().unwrap().clone();
            assert_eq!(round, BTreeSet::new(), "LIDs that went round");
            world.run_for(20.0);
            world.assert_all_active();
            world.walk_all();
        }
    }
    assert!(turned > 0, "no route turns round");
}

/// Next hops of a switch for the LIDs of the other switches.
fn by_way_of(world: &World, from: NodeId) -> Vec<(Lid, NodeId)> {
    let network = world.emulator.network();
    let switches = world.topology.switches().iter();
    let lids = switches.map(|switch| own_lid(network, *switch));
    lids.filter_map(|lid| Some((lid, next(network, from, lid)?.1)))
        .collect()
}
