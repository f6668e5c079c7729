//! Adaptive routing: which routes a switch moves, when, and where to.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Log, Program, network, parcel};
use weft_dataplane::packets::{MILLI, Notice, Options, Picos, Simulation, Traffic};
use weft_dataplane::{Network, PortIndex};
use weft_fabric::{Lid, NodeId, SwitchIndex};

/// Two edge switches with four hosts each under two core switches.
const FABRIC: &str = "pgft:2;4,2;1,2;1,1";

struct Stage {
    network: Network,
    hosts: Vec<(PortIndex, Lid)>,
    /// The first host's switch, and its uplinks.
    edge: NodeId,
    uplinks: [u8; 2],
}

/// The fabric with all routes to the second edge's hosts by the first uplink, and both uplinks in
/// the group of all LIDs.
fn stage(threshold: u8, lost_only: bool) -> Stage {
    let mut network = network(FABRIC, Program::default());
    let hosts = common::hosts(&network);
    let uplink = network.peer(hosts[0].0).unwrap();
    let edge = network.node_of(uplink);
    let node = network.topology().node(edge).unwrap();
    let topology = network.topology();
    let up = node.external_ports().filter(|(_, port)| {
        port.peer
            .is_some_and(|peer| topology.switch_index(peer.node).is_some())
    });
    let uplinks: Vec<u8> = up.map(|(number, _)| number.0).collect();
    let uplinks = [uplinks[0], uplinks[1]];
    let far: Vec<Lid> = hosts
        .iter()
        .filter(|(at, _)| network.node_of(network.peer(*at).unwrap()) != edge)
        .map(|(_, lid)| *lid)
        .collect();
    let registers = network.switch_mut(edge).unwrap();
    let mut routes = registers.linear_block(0).unwrap();
    far.iter()
        .for_each(|lid| routes[lid.0 as usize] = uplinks[0]);
    registers.set_linear_block(0, &routes).unwrap();
    registers.set_port_group_fdb_block(0, &[0; 64]).unwrap();
    let mask = uplinks
        .iter()
        .fold(0_u64, |mask, port| mask | 1 << (port - 1));
    let mut groups = [0; 64];
    groups[..8].copy_from_slice(&mask.to_be_bytes());
    registers.set_port_group_block(0, 0, &groups).unwrap();
    let mut info = *registers.info();
    (info.ar_enable, info.ar_algorithm) = (true, 2);
    (info.ar_threshold, info.ar_lost_routes_only) = (threshold, lost_only);
    registers.set_info(&info).unwrap();
    Stage {
        network,
        hosts,
        edge,
        uplinks,
    }
}

impl Stage {
    fn switch(&self) -> SwitchIndex {
        self.network.topology().switch_index(self.edge).unwrap()
    }

    /// How many of the far hosts each uplink serves.
    fn spread(&self, simulation: &Simulation) -> [usize; 2] {
        let routes: Vec<Option<u8>> = self
            .hosts
            .iter()
            .map(|(_, lid)| simulation.route_of(self.switch(), *lid))
            .collect();
        let by = |port: u8| routes.iter().filter(|route| **route == Some(port)).count();
        self.uplinks.map(by)
    }

    /// The far hosts by number.
    fn far(&self) -> Vec<usize> {
        let there =
            |at: PortIndex| self.network.node_of(self.network.peer(at).unwrap()) != self.edge;
        (0..self.hosts.len())
            .filter(|host| there(self.hosts[*host].0))
            .collect()
    }
}

/// So many of the first edge's hosts always send to as many of the second.
struct Pairs {
    hosts: Vec<(PortIndex, Lid)>,
    to: Vec<(usize, usize)>,
}

impl Traffic for Pairs {
    fn handle(&mut self, simulation: &mut Simulation, notice: Notice) {
        if let Notice::Room(at) = notice {
            let pair = self.to.iter().find(|(from, _)| self.hosts[*from].0 == at);
            let (from, to) = *pair.unwrap();
            simulation.send(parcel(&self.hosts, from, to, 0, 0, 8_192));
        }
    }
}

/// Runs `pairs` pairs for a while and says how the routes are spread then.
fn after(stage: &Stage, pairs: usize, span: Picos) -> ([usize; 2], u64) {
    let mut simulation = Simulation::new(&stage.network, Options::default());
    let far = stage.far();
    let near: Vec<usize> = (0..stage.hosts.len())
        .filter(|host| !far.contains(host))
        .collect();
    let to: Vec<_> = near.into_iter().zip(far).take(pairs).collect();
    let mut traffic = Pairs {
        hosts: stage.hosts.clone(),
        to,
    };
    for (from, to) in traffic.to.clone() {
        simulation.send(parcel(&stage.hosts, from, to, 0, 0, 8_192));
    }
    simulation.run(&mut traffic, span);
    (stage.spread(&simulation), simulation.routes_moved())
}

#[test]
fn a_route_moves_at_most_once_a_period_and_only_from_a_congested_port() {
    // One pair fits the link: nothing waits, nothing moves.
    assert_eq!(after(&stage(7, false), 1, 130 * MILLI), ([4, 0], 0));
    // Two pairs do not: one route moves within the first 64 ms, then both fit.
    assert_eq!(after(&stage(7, false), 2, 64 * MILLI), ([3, 1], 1));
    // What had piled up stays, as senders that never pause keep both links full: the switch may
    // move a route again, but no more than one in 64 ms.
    let (_, moved) = after(&stage(7, false), 2, 200 * MILLI);
    assert!((1..=4).contains(&moved), "{moved}");
}

#[test]
fn only_lost_routes_move_when_that_is_asked_for() {
    assert_eq!(after(&stage(7, true), 2, 130 * MILLI), ([4, 0], 0));
}

#[test]
fn lost_routes_move_at_once() {
    for lost_only in [false, true] {
        let mut stage = stage(7, lost_only);
        let mut simulation = Simulation::new(&stage.network, Options::default());
        assert_eq!(stage.spread(&simulation), [4, 0]);
        let port = weft_fabric::PortNum(stage.uplinks[0]);
        let at = stage.network.device_at(stage.edge).port(port).unwrap();
        stage.network.cut_cable(at);
        simulation.configure(&stage.network);
        assert_eq!(stage.spread(&simulation), [0, 4]);
        let far = stage.far()[0];
        simulation.send(parcel(&stage.hosts, 0, far, 0, 0, 100));
        assert!(simulation.drain(&mut Log::default(), MILLI));
        assert_eq!(simulation.totals().delivered, 1);
    }
}

#[test]
fn new_tables_take_the_place_of_moved_routes() {
    let mut stage = stage(7, true);
    let mut simulation = Simulation::new(&stage.network, Options::default());
    let lid = stage.hosts[stage.far()[0]].1;
    let registers = stage.network.switch_mut(stage.edge).unwrap();
    let mut routes = registers.linear_block(0).unwrap();
    routes[lid.0 as usize] = stage.uplinks[1];
    registers.set_linear_block(0, &routes).unwrap();
    simulation.configure(&stage.network);
    assert_eq!(
        simulation.route_of(stage.switch(), lid),
        Some(stage.uplinks[1])
    );
}
