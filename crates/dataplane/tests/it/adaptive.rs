//! Adaptive routing: which routes a switch moves, when, and where to.
#![allow(clippy::unwrap_used)]

use crate::common::stage::{Stage, stage};
use crate::common::{Log, parcel};
use weft_dataplane::PortIndex;
use weft_dataplane::packets::{MILLI, Notice, Options, Picos, Simulation, Traffic};
use weft_fabric::Lid;

/// Hosts of the first edge that always send to as many of the second.
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

/// Runs `pairs` pairs for a while and returns the resulting spread of routes.
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
