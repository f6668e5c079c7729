//! The scenario of a seed: a fabric, managers with their priorities, and rounds of faults.

use std::fmt;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weft_emulator::io::{Control, Faults};
use weft_fabric::{Guid, PortNum, Topology};

use crate::campaign::links::LinkFaults;

/// Fabrics to draw from.
const FABRICS: [&str; 6] = [
    "one-switch:6",
    "pgft:2;3,4;1,2;1,1",
    "pgft:2;4,6;1,4;1,1",
    "pgft:3;2,2,3;1,2,2;1,1,1",
    "mesh:3x3,hosts=1",
    "torus:3x3,hosts=1",
];
/// Rounds of trouble, each followed by quiet.
const ROUNDS: usize = 3;
/// Duration of a round's faults, nanoseconds.
const TROUBLE_NS: u64 = 20_000_000_000;
/// Highest loss drawn: with more of it no manager can tell a dead one from a lost answer.
const LOSS_MAX: f64 = 0.15;

/// A manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The HFI that it runs on.
    pub host: (Guid, PortNum),
    /// `<Priority>`.
    pub priority: u8,
    /// `<ElevatedPriority>`.
    pub elevated: u8,
}

/// Something that happens.
#[derive(Debug, Clone, PartialEq)]
pub enum Trouble {
    /// A manager starts.
    Start(usize),
    /// A manager's process ends.
    Kill(usize),
    /// A manager's process is stopped.
    Freeze(usize),
    /// It continues.
    Thaw(usize),
    /// A manager's host loses its power.
    PowerOff(usize),
    /// It is switched on again, and its manager starts.
    PowerOn(usize),
    /// Something happens to the fabric.
    Fabric(Control),
}

/// One round: what happens when, nanoseconds from its start, and to datagrams meanwhile.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// In order of time.
    pub events: Vec<(u64, Trouble)>,
    /// Faults of datagrams until the quiet phase.
    pub faults: Faults,
}

/// Everything that a run depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// The seed of the scenario and of the emulator.
    pub seed: u64,
    /// The fabric, as on the command line.
    pub fabric: &'static str,
    /// The managers, by number.
    pub candidates: Vec<Candidate>,
    /// The rounds.
    pub rounds: Vec<Round>,
}

impl Scenario {
    /// The fabric of a seed.
    pub fn fabric(seed: u64) -> &'static str {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        FABRICS[rng.random_range(0..FABRICS.len())]
    }

    /// The scenario of a seed on its fabric.
    pub fn draw(seed: u64, topology: &Topology) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x00E1_EC71_0000);
        let candidates = draw_candidates(&mut rng, topology);
        let mut rounds: Vec<Round> = (0..ROUNDS)
            .map(|_| draw_round(&mut rng, topology, candidates.len()))
            .collect();
        // In the first round all start, some at the same moment.
        for number in 0..candidates.len() {
            let at = [0, 1_000, 3_000_000_000][rng.random_range(0..3)];
            rounds[0].events.push((at, Trouble::Start(number)));
        }
        let mut links = LinkFaults::new(seed, topology, None);
        for round in &mut rounds {
            let events = links.draw(false, |rng| rng.random_range(0..TROUBLE_NS / 2));
            let events = events.into_iter();
            round
                .events
                .extend(events.map(|(at, control)| (at, Trouble::Fabric(control))));
            round.events.sort_by_key(|(at, _)| *at);
        }
        Self {
            seed,
            fabric: Self::fabric(seed),
            candidates,
            rounds,
        }
    }
}

impl Round {
    /// Duration of its faults, nanoseconds.
    pub fn trouble_ns(&self) -> u64 {
        TROUBLE_NS
    }
}

fn draw_candidates(rng: &mut impl Rng, topology: &Topology) -> Vec<Candidate> {
    let mut hosts: Vec<Guid> = topology.hfis().map(|(_, node)| node.guid()).collect();
    let count = rng.random_range(2..=3).min(hosts.len());
    (0..count)
        .map(|_| Candidate {
            host: (
                hosts.swap_remove(rng.random_range(0..hosts.len())),
                PortNum(1),
            ),
            priority: rng.random_range(0..=2),
            elevated: [0, 8][rng.random_range(0..2)],
        })
        .collect()
}

fn draw_round(rng: &mut impl Rng, topology: &Topology, members: usize) -> Round {
    let mut events = Vec::new();
    for _ in 0..rng.random_range(1..=4) {
        let at = rng.random_range(0..TROUBLE_NS);
        let lasts = rng.random_range(100_000_000..15_000_000_000);
        let (there, back) = draw_trouble(rng, topology, members);
        events.push((at, there));
        // Some troubles outlast their round.
        if rng.random_bool(0.8) {
            events.push(((at + lasts).min(TROUBLE_NS), back));
        }
    }
    events.sort_by_key(|(at, _)| *at);
    Round {
        events,
        faults: Faults {
            loss: rng.random_range(0.0..=LOSS_MAX),
            duplicate: rng.random_range(0.0..=0.1),
            reorder: rng.random_range(0.0..=0.1),
            delay_min_ns: 0,
            delay_max_ns: rng.random_range(0..2_000_000),
        },
    }
}

/// Something that happens, and what ends it.
fn draw_trouble(rng: &mut impl Rng, topology: &Topology, members: usize) -> (Trouble, Trouble) {
    let member = rng.random_range(0..members);
    match rng.random_range(0..10) {
        0..4 => (Trouble::Kill(member), Trouble::Start(member)),
        4..6 => (Trouble::Freeze(member), Trouble::Thaw(member)),
        6..8 => (Trouble::PowerOff(member), Trouble::PowerOn(member)),
        _ => {
            let links: Vec<_> = topology.links().collect();
            let (a, _) = links[rng.random_range(0..links.len())];
            let node = topology
                .node(a.node)
                .map_or(Guid(0), weft_fabric::Node::guid);
            let port = a.port;
            (
                Trouble::Fabric(Control::LinkDown { node, port }),
                Trouble::Fabric(Control::LinkUp { node, port }),
            )
        }
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {}", self.seed, self.fabric)?;
        for (number, candidate) in self.candidates.iter().enumerate() {
            let Candidate {
                host,
                priority,
                elevated,
            } = candidate;
            writeln!(
                f,
                "  manager {number} on {}, priority {priority}, elevated {elevated}",
                host.0
            )?;
        }
        for (number, round) in self.rounds.iter().enumerate() {
            writeln!(
                f,
                "  round {number}, {:.1} % lost",
                round.faults.loss * 100.0
            )?;
            for (at, trouble) in &round.events {
                writeln!(f, "  {at:>13} ns  {trouble:?}")?;
            }
        }
        Ok(())
    }
}
