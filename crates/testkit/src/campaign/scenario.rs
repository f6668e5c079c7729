//! The scenario of a seed: a fabric, faults on the wire, and losses and returns over time.

use std::fmt;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weft_emulator::io::{Control, Faults};
use weft_fabric::{Guid, NodeId, PortNum, PortRef, Tick, Topology};

use super::links::LinkFaults;
use super::members::Membership;
use super::{planning, planning_line};

/// Fabrics to draw from: small enough to check every pair, varied enough to cover every tier.
const FABRICS: [&str; 8] = [
    "back-to-back",
    "one-switch:6",
    "pgft:2;3,4;1,2;1,1",
    "pgft:2;2,4;1,3;1,2",
    "pgft:2;4,6;1,4;1,1",
    "pgft:3;2,2,3;1,2,2;1,1,1",
    "mesh:3x3,hosts=1",
    "torus:3x3,hosts=1",
];

/// Routing engines to draw from, by their names in opafm.xml.
const ENGINES: [&str; 2] = ["shortestpath", "fattree"];

/// Faults begin between these, nanoseconds: from the first datagram to long after the sweep.
const FAULT_FROM_NS: u64 = 5_000;
const FAULT_UNTIL_NS: u64 = 4_000_000_000;

/// Draws of disturbances.
const DISTURBANCES: u64 = 0x6469_7374_7572_6200;
/// Most time that an agent takes beyond the usual, nanoseconds: longer than the longest wait for an answer.
const SLOW_MAX_NS: u64 = 400_000_000;

/// Highest loss drawn.
pub const LOSS_MAX: f64 = 0.30;

/// Everything that a run depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// The seed of the scenario and of the emulator.
    pub seed: u64,
    /// The fabric, as on the command line.
    pub fabric: &'static str,
    /// The routing engine.
    pub engine: &'static str,
    /// LMC of the hosts.
    pub lmc: u8,
    /// Time that an agent takes to answer, nanoseconds.
    pub latency_ns: u64,
    /// Time that a plan takes.
    pub planning: Duration,
    /// Faults of datagrams until their end.
    pub faults: Faults,
    /// Losses and returns, in order of time.
    pub events: Vec<(Tick, Control)>,
    /// Members of groups and partitions; `None` before [`Self::with_events`].
    pub members: Option<Membership>,
}

impl Scenario {
    /// The scenario of a seed.
    pub fn draw(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let delay_min_ns = rng.random_range(0..50_000);
        Self {
            seed,
            fabric: FABRICS[rng.random_range(0..FABRICS.len())],
            engine: ENGINES[rng.random_range(0..ENGINES.len())],
            lmc: rng.random_range(0..=2),
            latency_ns: [0, 1_000, 50_000, 1_000_000][rng.random_range(0..4)],
            planning: planning::draw(seed),
            faults: Faults {
                loss: rng.random_range(0.0..=LOSS_MAX),
                duplicate: rng.random_range(0.0..=0.1),
                reorder: rng.random_range(0.0..=0.2),
                delay_min_ns,
                delay_max_ns: delay_min_ns + rng.random_range(0..5_000_000),
            },
            events: Vec::new(),
            members: None,
        }
    }

    /// Adds members, and what dies and returns, on `topology`; nothing lasting happens to the manager's `own` port.
    #[must_use]
    pub fn with_events(mut self, topology: &Topology, own: PortRef) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed ^ u64::MAX);
        for _ in 0..rng.random_range(0..=6) {
            let (down, up, lasting) = draw_fault(&mut rng, topology, own);
            let at = draw_time(&mut rng);
            self.events.push((Tick(at), down));
            if !lasting {
                self.events
                    .push((Tick(at + rng.random_range(100_000..2_000_000_000)), up));
            }
        }
        self.events
            .extend(draw_disturbances(self.seed, topology, own));
        let links = LinkFaults::new(self.seed, topology, Some(own)).draw(true, draw_time);
        self.events
            .extend(links.into_iter().map(|(at, control)| (Tick(at), control)));
        self.events.sort_by_key(|(at, _)| *at);
        self.members = Some(Membership::draw(self.seed, topology));
        self
    }

    /// When the last fault is over.
    pub fn faults_end(&self) -> Tick {
        let last = self.events.last().map_or(Tick(0), |(at, _)| *at);
        last.max(Tick(FAULT_UNTIL_NS))
    }
}

/// Agents that fall silent or answer late while their links stay up, and hosts that lose their power; each
/// comes back. Draws of their own: other parts of a scenario stay as they are when these change.
fn draw_disturbances(seed: u64, topology: &Topology, own: PortRef) -> Vec<(Tick, Control)> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ DISTURBANCES);
    let mut events = Vec::new();
    for _ in 0..rng.random_range(0..=3) {
        let (begins, ends) = draw_disturbance(&mut rng, topology, own);
        let at = draw_time(&mut rng);
        let until = at + rng.random_range(100_000..2_000_000_000);
        events.extend([(Tick(at), begins), (Tick(until), ends)]);
    }
    events
}

fn draw_disturbance(rng: &mut ChaCha8Rng, topology: &Topology, own: PortRef) -> (Control, Control) {
    let guid = |id| topology.node(id).map_or(Guid(0), weft_fabric::Node::guid);
    let others = topology
        .nodes()
        .map(|(id, _)| id)
        .filter(|id| *id != own.node);
    let others: Vec<NodeId> = others.collect();
    let any = others[rng.random_range(0..others.len())];
    let node = guid(any);
    match rng.random_range(0..3) {
        0 => {
            let silence = |silent| Control::Silence { node, silent };
            (silence(true), silence(false))
        }
        1 => {
            let extra_ns = rng.random_range(1_000_000..SLOW_MAX_NS);
            let slow = |extra_ns| Control::Slow { node, extra_ns };
            (slow(extra_ns), slow(0))
        }
        _ => {
            let hosts = others
                .into_iter()
                .filter(|id| topology.switch_index(*id).is_none());
            let hosts: Vec<NodeId> = hosts.collect();
            let node = guid(hosts[rng.random_range(0..hosts.len())]);
            (Control::NodeDown { node }, Control::NodeUp { node })
        }
    }
}

/// Evenly over the orders of magnitude, so that many faults meet the first sweep.
fn draw_time(rng: &mut ChaCha8Rng) -> u64 {
    let from = (FAULT_FROM_NS as f64).ln();
    let until = (FAULT_UNTIL_NS as f64).ln();
    rng.random_range(from..until).exp() as u64
}

/// A control that takes something away, the one that brings it back, and whether it stays away.
fn draw_fault(rng: &mut ChaCha8Rng, topology: &Topology, own: PortRef) -> (Control, Control, bool) {
    let switches = topology.switches();
    if !switches.is_empty() && rng.random_bool(0.3) {
        let node = switches[rng.random_range(0..switches.len())];
        let guid = topology.node(node).map_or(Guid(0), weft_fabric::Node::guid);
        return (
            Control::NodeDown { node: guid },
            Control::NodeUp { node: guid },
            false,
        );
    }
    let links: Vec<(PortRef, PortRef)> = topology.links().collect();
    let (a, b) = links[rng.random_range(0..links.len())];
    let node = topology
        .node(a.node)
        .map_or(Guid(0), weft_fabric::Node::guid);
    let PortNum(port) = a.port;
    let is_own = a == own || b == own;
    let lasting = !is_own && rng.random_bool(0.25);
    let port = PortNum(port);
    (
        Control::LinkDown { node, port },
        Control::LinkUp { node, port },
        lasting,
    )
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Faults {
            loss,
            duplicate,
            reorder,
            delay_min_ns,
            delay_max_ns,
        } = self.faults;
        writeln!(
            f,
            "seed {}: {}, {}, LMC {}, agents answer in {} ns",
            self.seed, self.fabric, self.engine, self.lmc, self.latency_ns
        )?;
        writeln!(
            f,
            "  datagrams: {:.1} % lost, {:.1} % twice, {:.1} % overtaken, {delay_min_ns} to {delay_max_ns} ns late",
            loss * 100.0,
            duplicate * 100.0,
            reorder * 100.0
        )?;
        f.write_str(&planning_line(self.planning))?;
        for (at, control) in &self.events {
            writeln!(f, "  {:>13} ns  {control:?}", at.0)?;
        }
        self.members
            .iter()
            .try_for_each(|members| write!(f, "{members}"))
    }
}
