//! A change of routes that drains first, while hosts send: packets of the old tables must
//! have left the buffers before the new ones are written.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use crate::common::generate;
use weft_dataplane::packets::{self, MICRO, MILLI, NANO, Picos, Simulation};
use weft_dataplane::traffic::{Hosts, Pattern, Streams, StreamsOptions};
use weft_emulator::Options;
use weft_fabric::{PortRef, Topology};
use weft_manager::sm::Settings;
use weft_manager::sm::drains::Drain;
use weft_manager::sm::reroute::{Change, Condition};
use weft_testkit::World;
use weft_testkit::world::{NoTap, Wait};

const PATIENCE: Duration = Duration::from_secs(60);
/// Lifetimes that never end: what waits in a circle does so for ever.
const FOREVER: u8 = 31;
/// Maximum pause that counts as none: the manager reads and writes faster.
const PAUSE: Duration = Duration::from_millis(1);
/// The part of a pause that is simulated for packets: longer than any buffer here takes to empty.
const SEEN: Picos = 5 * MILLI;

/// A ring of switches that carries as much as it can, under its manager.
struct Ring {
    world: World<NoTap>,
    packets: Simulation,
    streams: Streams,
    now: Picos,
    changes: u64,
}

impl Ring {
    /// Routed as a line: the first link of the ring is drained.
    fn new(switch_lifetime: u8) -> Self {
        let mut settings = Settings::default();
        settings.traffic.hoq_life = FOREVER;
        settings.traffic.switch_lifetime = switch_lifetime;
        let options = Options {
            agent_latency_ns: 20_000,
            hop_latency_ns: 100,
            ..Options::default()
        };
        let topology = generate("torus:6,hosts=4");
        let mut world = World::new(topology, options, settings, NoTap).unwrap();
        assert_eq!(world.bring_up(PATIENCE).unwrap(), Wait::Done);
        let first = ring(world.emulator.network().topology())[0];
        let drained = world.basis(drain(&world, first)).unwrap();
        let condition = Condition::Epoch(drained.epoch);
        world.adopt(&condition, drained.wanted).unwrap();
        let ended = world.run_while(PATIENCE, |world| world.is_idle()).unwrap();
        assert_eq!(ended, Wait::Done);
        let network = world.emulator.network();
        let mut packets = Simulation::new(network, packets::Options::default());
        let hosts = Hosts::all(network);
        let mut streams = Streams::new(
            hosts,
            StreamsOptions {
                pattern: Pattern::Shift(12),
                bytes: 8_192,
                levels: Vec::new(),
                load: None,
                begin: 0,
                seed: 3,
            },
        );
        streams.start(&mut packets);
        Self {
            changes: world.emulator.changes(),
            world,
            packets,
            streams,
            now: 0,
        }
    }

    /// Lets hosts send for so long; whether packets came to wait in a circle.
    fn send(&mut self, span: Picos) -> bool {
        self.now += span;
        self.packets.run(&mut self.streams, self.now);
        self.packets.deadlock().is_some()
    }

    /// Drains the ring's fourth link instead of the first, so that routes of before and after close
    /// the ring. Gives the longest pause that the manager made, and whether packets came to wait in a
    /// circle. They see the manager's pauses, or none: their clock stands still then.
    fn turn(&mut self, see_pauses: bool) -> (Duration, bool) {
        let links = ring(self.world.emulator.network().topology());
        let before = self.world.manager().arrangement().drains;
        let change = drain(&self.world, links[3]);
        let basis = self.world.basis(change).unwrap();
        let mut wanted = basis.wanted;
        wanted.drains = &wanted.drains - &before;
        let condition = Condition::Epoch(basis.epoch);
        self.world.adopt(&condition, wanted).unwrap();
        let (mut longest, mut locked) = (Duration::ZERO, false);
        while !self.world.is_idle() {
            let next = self.world.deadline().unwrap();
            let gap = next.since(self.world.now());
            longest = longest.max(gap);
            let seen = match gap > PAUSE {
                true if !see_pauses => 0,
                _ => (gap.as_nanos() as Picos * NANO).min(SEEN),
            };
            locked |= self.send(seen);
            self.world.step(next).unwrap();
            let changes = self.world.emulator.changes();
            if std::mem::replace(&mut self.changes, changes) != changes {
                self.packets.configure(self.world.emulator.network());
            }
        }
        locked |= self.send(2 * MILLI);
        (longest, locked)
    }
}

/// The links between switches around the ring, by one end.
fn ring(topology: &Topology) -> Vec<PortRef> {
    let is_switch = |end: &PortRef| topology.node(end.node).unwrap().is_switch();
    let between = topology
        .links()
        .filter(|(a, b)| is_switch(a) && is_switch(b));
    let mut ends: Vec<(PortRef, PortRef)> = between.collect();
    let (first, far) = ends.remove(0);
    let (mut ring, mut node) = (vec![first], far.node);
    while let Some(place) = ends
        .iter()
        .position(|(a, b)| a.node == node || b.node == node)
    {
        let (a, b) = ends.remove(place);
        let (near, far) = if a.node == node { (a, b) } else { (b, a) };
        ring.push(near);
        node = far.node;
    }
    assert_eq!((ring.len(), node), (6, first.node));
    ring
}

fn drain(world: &World<NoTap>, end: PortRef) -> Change {
    let node = world.emulator.network().topology().node(end.node).unwrap();
    Change::Drain(Drain::Link(node.guid(), end.port))
}

/// With an unlimited packet lifetime, only the pause lets packets out.
#[test]
fn a_loaded_ring_turns_round_without_a_deadlock() {
    let mut ring = Ring::new(FOREVER);
    assert!(!ring.send(500 * MICRO), "the old routes alone");
    let (pause, locked) = ring.turn(true);
    assert!(!locked);
    assert!(pause > Duration::from_secs(4), "{pause:?}");
    let before = ring.packets.totals().delivered;
    assert!(!ring.send(MILLI));
    assert!(ring.packets.totals().delivered > before + 1_000);
}

/// These writes at these moments of the packets' clock, but without the pause.
#[test]
fn without_the_pause_packets_wait_in_a_circle() {
    let mut ring = Ring::new(FOREVER);
    assert!(!ring.send(500 * MICRO), "the old routes alone");
    let (_, locked) = ring.turn(false);
    assert!(locked);
}

/// The pause is as long as packets can live in two switches, to the datagram.
#[test]
fn the_pause_is_two_lifetimes() {
    let mut ring = Ring::new(13);
    let (pause, _) = ring.turn(true);
    let lifetime = Duration::from_nanos(4_096 << 13);
    assert!(pause.abs_diff(2 * lifetime) < PAUSE, "{pause:?}");
}
