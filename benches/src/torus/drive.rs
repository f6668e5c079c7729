//! Packets by a pattern, up to the load that the fabric does not take any more.

use weft_dataplane::VlCounter;
use weft_dataplane::packets::{MICRO, MILLI, Notice, Options, Simulation, Traffic};
use weft_dataplane::traffic::{Pattern, Streams, StreamsOptions};
use weft_fabric::Vl;

use super::Ready;

/// Bytes of a packet on the link.
const BYTES: u32 = 2_112;
/// Steps of the offered load up to full load.
const LOADS: u32 = 20;
/// Part of the packets handed over that must arrive in the same time, for a fabric to count as not saturated.
const TAKEN: f64 = 0.97;
/// Virtual time in which all packets must have arrived once nobody sends any more.
const EMPTY_MAX_MS: u64 = 100;

/// Traffic on a fabric.
pub(super) struct Drive<'a> {
    pub(super) ready: &'a Ready,
    pub(super) pattern: &'a Pattern,
    /// Measured virtual time, microseconds.
    pub(super) micros: u64,
    pub(super) seed: u64,
}

/// What was measured.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Driven {
    /// Received at full load, as a part of what the senders' links carry.
    pub(super) accepted: f64,
    /// The same of the host that received least.
    pub(super) least: f64,
    /// The highest offered load of which the fabric took nearly all, as a part of what links carry.
    pub(super) saturation: f64,
    /// Received, as a part of what was handed over in the same time.
    taken: f64,
    /// Virtual lanes that carried packets between switches at full load.
    pub(super) lanes: usize,
    /// Packets waited for each other in a circle, or did not arrive.
    pub(super) deadlock: bool,
    /// Packets that were dropped.
    pub(super) lost: u64,
}

/// Nobody sends.
struct Silence;

impl Traffic for Silence {
    fn handle(&mut self, _: &mut Simulation, _: Notice) {}
}

impl Drive<'_> {
    /// Full load, and loads in steps until the fabric is saturated.
    pub(super) fn measure(&self) -> Driven {
        let mut full = self.at(None);
        for step in 1..=LOADS {
            let load = f64::from(step) / f64::from(LOADS);
            let driven = self.at(Some(load));
            full.deadlock |= driven.deadlock;
            full.lost += driven.lost;
            if driven.taken < TAKEN {
                break;
            }
            full.saturation = load;
        }
        full
    }

    fn at(&self, load: Option<f64>) -> Driven {
        let network = &self.ready.network;
        let options = StreamsOptions {
            pattern: self.pattern.clone(),
            bytes: BYTES,
            levels: Vec::new(),
            load,
            begin: 0,
            seed: self.seed,
        };
        let mut streams = Streams::new(self.ready.hosts.clone(), options);
        let mut simulation = Simulation::new(network, Options::default());
        streams.start(&mut simulation);
        let span = self.micros * MICRO;
        simulation.run(&mut streams, span);
        streams.forget();
        let before = simulation.totals().sent;
        simulation.run(&mut streams, 2 * span);
        let sent = simulation.totals().sent - before;
        let time = streams.packet_time() as f64 / span as f64;
        let packets = streams.total().packets as f64;
        let takes = |(to, _): &(usize, _)| self.is_receiver(*to as u32);
        let received = streams.received().iter().enumerate().filter(takes);
        let least = received.map(|(_, one)| one.packets).min();
        let deadlock = simulation.deadlock().is_some();
        let arrived = simulation.drain(&mut Silence, 2 * span + EMPTY_MAX_MS * MILLI);
        let lanes = self.lanes(&mut simulation);
        Driven {
            accepted: packets * time / self.senders() as f64,
            least: least.unwrap_or(0) as f64 * time,
            saturation: 0.0,
            taken: packets / sent.max(1) as f64,
            lanes,
            deadlock: deadlock || !arrived,
            lost: simulation.totals().lost,
        }
    }

    /// Hosts that send; in a permutation those that it leaves alone do not.
    fn senders(&self) -> usize {
        let hosts = 0..self.ready.hosts.len() as u32;
        hosts.filter(|host| self.is_receiver(*host)).count()
    }

    /// Whether a host takes part: in a permutation those that send are those that receive.
    fn is_receiver(&self, host: u32) -> bool {
        match self.pattern {
            Pattern::Permutation(to) => to.get(host as usize).is_some_and(|to| *to != host),
            _ => true,
        }
    }

    /// Number of virtual lanes that have carried packets between switches.
    fn lanes(&self, simulation: &mut Simulation) -> usize {
        let mut network = self.ready.network.clone();
        simulation.settle(&mut network);
        let switches = network.topology().switches().iter();
        let ports: Vec<_> = switches
            .flat_map(|id| network.device_at(*id).ports().map(|(_, at)| at))
            .filter(|at| {
                let peer = network.peer(*at).map(|peer| network.node_of(peer));
                peer.is_some_and(|node| network.switch(node).is_some())
            })
            .collect();
        let carries = |vl: &u8| {
            let mut ports = ports.iter();
            ports.any(|at| network.lane_counter(*at, Vl(*vl), VlCounter::XmitPkts) > 0)
        };
        (0..8).filter(carries).count()
    }
}
