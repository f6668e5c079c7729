//! The scenario of a seed: a fabric, and rounds of work on it, some of them with faults.

use std::fmt;
use std::time::Duration;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weft_emulator::io::{Control, Faults};
use weft_fabric::{Guid, Node, PortRef, Topology};
use weft_manager::sm::drains::Drain;
use weft_routing::EngineKind;

use crate::campaign::links::{Events, LinkFaults};
use crate::campaign::members::Membership;
use crate::campaign::{planning, planning_line};

/// Fabrics to draw from; most can spare switches, all can spare links.
const FABRICS: [&str; 8] = [
    "pgft:2;3,4;1,2;1,1",
    "pgft:2;2,4;1,3;1,2",
    "pgft:2;4,6;1,4;1,1",
    "pgft:3;2,2,3;1,2,2;1,1,1",
    "pgft:3;2,3,2;1,3,2;1,1,1",
    "pgft:2;2,3;1,2;1,3",
    "mesh:3x3,hosts=1",
    "torus:3x3,hosts=1",
];

/// Routing engines to draw from.
const ENGINES: [EngineKind; 8] = [
    EngineKind::Automatic,
    EngineKind::Dmodc,
    EngineKind::ShortestPath,
    EngineKind::FatTree,
    EngineKind::DgShortestPath,
    EngineKind::Hypercube,
    EngineKind::Dor,
    EngineKind::Layered,
];

/// Draws of the crash.
const CRASH: u64 = 0x6372_6173_6800;
/// Moments from the application of a plan to a crash.
const CRASH_AFTER_MAX: usize = 60;

/// Highest loss drawn.
const LOSS_MAX: f64 = 0.2;
/// Duration of a round's faults, nanoseconds.
const TROUBLE_NS: u64 = 3_000_000_000;

/// An operation of the administrator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Plans another engine, and applies that.
    Engine(EngineKind),
    /// Plans a configuration with adaptive routing on or off, and applies that.
    Adaptive(bool),
    /// Drains a switch or link.
    Drain(Drain),
    /// Takes one of those that are drained into use again, counted by this number.
    Undrain(usize),
    /// Pulls one of those that are drained, and puts it back.
    Pull(usize),
    /// Undoes what was applied last.
    RollBack,
    /// The manager ends, and restarts with its stored state.
    Restart,
    /// Plans another engine and applies that; the manager ends this many datagrams and moments later, and
    /// starts again with the engine that was.
    Crash(EngineKind, usize),
}

/// Faults during a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Trouble {
    /// To datagrams.
    pub faults: Faults,
    /// To links and switches, nanoseconds from the round's start, in order.
    pub events: Vec<(u64, Control)>,
    /// From the round's start to the step, nanoseconds.
    pub lead_ns: u64,
    /// From a plan to its application, nanoseconds.
    pub pause_ns: u64,
    /// Total duration, nanoseconds.
    pub lasts_ns: u64,
}

/// A step, and what happens meanwhile, none in quiet.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// The operation.
    pub step: Step,
    /// Faults meanwhile.
    pub trouble: Option<Trouble>,
}

/// Everything that a run depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// The seed of the scenario and of the emulator.
    pub seed: u64,
    /// The fabric, as on the command line.
    pub fabric: &'static str,
    /// The routing engine at the start.
    pub engine: EngineKind,
    /// Adaptive routing is on at the start.
    pub adaptive: bool,
    /// LMC of the hosts.
    pub lmc: u8,
    /// Time that an agent takes to answer, nanoseconds.
    pub latency_ns: u64,
    /// Time that a plan takes.
    pub planning: Duration,
    /// Rounds, one after the other; empty before [`Self::with_rounds`].
    pub rounds: Vec<Round>,
    /// Members of groups and partitions; `None` before [`Self::with_rounds`].
    pub members: Option<Membership>,
}

impl Scenario {
    /// The scenario of a seed.
    pub fn draw(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        Self {
            seed,
            fabric: FABRICS[rng.random_range(0..FABRICS.len())],
            engine: draw_engine(&mut rng),
            adaptive: rng.random_bool(0.3),
            lmc: rng.random_range(0..=2),
            latency_ns: [0, 1_000, 50_000, 1_000_000][rng.random_range(0..4)],
            planning: planning::draw(seed),
            rounds: Vec::new(),
            members: None,
        }
    }

    /// Adds members and rounds on `topology`; nothing lasting happens to the manager's `own` port.
    #[must_use]
    pub fn with_rounds(mut self, topology: &Topology, own: PortRef) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed ^ u64::MAX);
        let count = rng.random_range(4..=8);
        let rounds = (0..count).map(|_| Round {
            step: draw_step(&mut rng, topology),
            trouble: rng
                .random_bool(0.4)
                .then(|| draw_trouble(&mut rng, topology, own)),
        });
        self.rounds = rounds.collect();
        let mut links = LinkFaults::new(self.seed, topology, Some(own));
        let troubles = self
            .rounds
            .iter_mut()
            .filter_map(|round| round.trouble.as_mut());
        troubles.for_each(|trouble| trouble.add(links.draw(false, draw_time)));
        self.rounds.push(draw_crash(self.seed));
        self.members = Some(Membership::draw(self.seed, topology));
        self
    }
}

impl Trouble {
    /// Adds events.
    fn add(&mut self, events: Events) {
        self.events.extend(events);
        self.events.sort_by_key(|(at, _)| *at);
        let last = self.events.last().map_or(0, |(at, _)| *at);
        self.lasts_ns = self.lasts_ns.max(last);
    }
}

/// A crash in quiet. Draws of its own: other rounds stay as they are when this changes.
fn draw_crash(seed: u64) -> Round {
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ CRASH);
    // Those that need no other lanes: ports that carry data do not take other maps of lanes.
    let engines = ENGINES.iter().filter(|engine| !spreads(**engine));
    let engines: Vec<EngineKind> = engines.copied().collect();
    let engine = engines[rng.random_range(0..engines.len())];
    Round {
        step: Step::Crash(engine, rng.random_range(1..CRASH_AFTER_MAX)),
        trouble: None,
    }
}

/// Whether an engine spreads destinations over lanes.
pub(super) fn spreads(engine: EngineKind) -> bool {
    matches!(engine, EngineKind::Dor | EngineKind::Layered)
}

fn draw_engine(rng: &mut impl Rng) -> EngineKind {
    ENGINES[rng.random_range(0..ENGINES.len())]
}

fn draw_step(rng: &mut impl Rng, topology: &Topology) -> Step {
    let any = rng.random_range(0..16);
    match rng.random_range(0..100) {
        0..40 => Step::Drain(draw_target(rng, topology)),
        40..50 => Step::Undrain(any),
        50..65 => Step::Pull(any),
        65..77 => Step::Engine(draw_engine(rng)),
        77..82 => Step::Adaptive(rng.random_bool(0.5)),
        82..93 => Step::RollBack,
        _ => Step::Restart,
    }
}

/// Any switch, any link by any of its ends: also such as cannot be drained.
fn draw_target(rng: &mut impl Rng, topology: &Topology) -> Drain {
    let switches = topology.switches();
    let guid = |node| topology.node(node).map_or(Guid(0), Node::guid);
    if rng.random_bool(0.5) {
        return Drain::Switch(guid(switches[rng.random_range(0..switches.len())]));
    }
    let (a, b) = draw_link(rng, topology);
    let end = if rng.random_bool(0.5) { a } else { b };
    Drain::Link(guid(end.node), end.port)
}

fn draw_link(rng: &mut impl Rng, topology: &Topology) -> (PortRef, PortRef) {
    let links: Vec<(PortRef, PortRef)> = topology.links().collect();
    links[rng.random_range(0..links.len())]
}

fn draw_trouble(rng: &mut impl Rng, topology: &Topology, own: PortRef) -> Trouble {
    let delay_min_ns = rng.random_range(0..50_000);
    let is_lossy = rng.random_bool(0.7);
    let lossy = Faults {
        loss: rng.random_range(0.0..=LOSS_MAX),
        duplicate: rng.random_range(0.0..=0.1),
        reorder: rng.random_range(0.0..=0.2),
        delay_min_ns,
        delay_max_ns: delay_min_ns + rng.random_range(0..5_000_000),
    };
    let mut events = Vec::new();
    for _ in 0..rng.random_range(0..=3) {
        let (down, up, lasting) = draw_fault(rng, topology, own);
        let at = draw_time(rng);
        events.push((at, down));
        if !lasting {
            events.push((at + rng.random_range(100_000..2_000_000_000), up));
        }
    }
    events.sort_by_key(|(at, _)| *at);
    let last = events.last().map_or(0, |(at, _)| *at);
    Trouble {
        faults: if is_lossy { lossy } else { Faults::default() },
        events,
        lead_ns: [0, draw_time(rng) / 4][rng.random_range(0..2)],
        pause_ns: [0, 0, draw_time(rng)][rng.random_range(0..3)],
        lasts_ns: last.max(TROUBLE_NS),
    }
}

/// Evenly over the orders of magnitude, so that many faults meet the sweep.
fn draw_time(rng: &mut impl Rng) -> u64 {
    let (from, until) = (5_000_f64.ln(), (TROUBLE_NS as f64).ln());
    rng.random_range(from..until).exp() as u64
}

/// A control that takes something away, the one that brings it back, and whether it stays away.
fn draw_fault(rng: &mut impl Rng, topology: &Topology, own: PortRef) -> (Control, Control, bool) {
    if rng.random_bool(0.3) {
        let switches = topology.switches();
        let node = switches[rng.random_range(0..switches.len())];
        let node = topology.node(node).map_or(Guid(0), Node::guid);
        return (Control::NodeDown { node }, Control::NodeUp { node }, false);
    }
    let (a, b) = draw_link(rng, topology);
    let node = topology.node(a.node).map_or(Guid(0), Node::guid);
    let lasting = a != own && b != own && rng.random_bool(0.2);
    let port = a.port;
    (
        Control::LinkDown { node, port },
        Control::LinkUp { node, port },
        lasting,
    )
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "seed {}: {}, {:?}, adaptive {}, LMC {}, agents answer in {} ns",
            self.seed, self.fabric, self.engine, self.adaptive, self.lmc, self.latency_ns
        )?;
        f.write_str(&planning_line(self.planning))?;
        for (number, round) in self.rounds.iter().enumerate() {
            writeln!(f, "  round {number}: {:?}", round.step)?;
            if let Some(trouble) = &round.trouble {
                writeln!(f, "    meanwhile {trouble:?}")?;
            }
        }
        Ok(())
    }
}
