//! One case from beginning to end.

use thiserror::Error;
use weft_dataplane::Network;
use weft_dataplane::packets::{MICRO, Options, Picos, Random, Simulation};
use weft_dataplane::traffic::mpi::{
    AllToAll, Bandwidth, BandwidthOptions, Job, Mpi, PingPong, Program, Stack,
};
use weft_dataplane::traffic::{Hosts, Pattern, Streams, StreamsOptions};
use weft_fabric::{GenerateError, Sl};

use super::links::{LinkUse, Watch};
use super::scenario::{Case, Scenario, StreamPattern, Traffic};
use super::{place, rounds, stage};
use crate::world::WorldError;

/// Why a case has no result.
#[derive(Debug, Error)]
pub enum ExperimentError {
    /// The fabric cannot be made.
    #[error(transparent)]
    Fabric(#[from] GenerateError),
    /// Manager and emulator cannot go on.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The manager has not brought the fabric up.
    #[error("the fabric is not up after {seconds} s")]
    NotUp {
        /// Virtual seconds waited.
        seconds: u64,
    },
    /// There are no such pairs of ranks.
    #[error("pairs: {what}")]
    Pairs {
        /// Why.
        what: String,
    },
    /// The traffic has not ended within the limit.
    #[error("not ended after {millis} ms of virtual time, {lost} packets lost{loop_}")]
    NotEnded {
        /// The limit.
        millis: u128,
        /// Packets that were dropped.
        lost: u64,
        /// The deadlock, if there is one, else nothing.
        loop_: String,
    },
}

/// Something that was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// What.
    pub metric: &'static str,
    /// How much.
    pub value: f64,
    /// Of what.
    pub unit: &'static str,
}

/// What came of a case.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// All that was measured.
    pub measurements: Vec<Measurement>,
    /// The links that carried most in the last half of the run, if the case asks for them.
    pub links: Vec<LinkUse>,
    /// Virtual time that the run took.
    pub span: Picos,
    /// Links crossed by packets.
    pub hops: u64,
    /// Packets dropped.
    pub lost: u64,
    /// Routes that switches moved.
    pub moved: u64,
}

impl Outcome {
    /// A measurement by its name.
    pub fn get(&self, metric: &str) -> Option<&Measurement> {
        self.measurements.iter().find(|one| one.metric == metric)
    }
}

/// Picoseconds in a second.
const SECOND: f64 = 1e12;

/// A fabric with traffic to come.
struct Stage<'a> {
    case: &'a Case,
    network: Network,
    hosts: Hosts,
    simulation: Simulation,
    seed: u64,
    watch: Watch,
}

/// Runs a case; the same seed gives the same result.
///
/// # Errors
/// [`ExperimentError`] when the fabric does not come up or the traffic does not end.
pub fn perform(case: &Case, seed: u64) -> Result<Outcome, ExperimentError> {
    let network = stage::set(case)?;
    let options = Options {
        seed,
        ..Options::default()
    };
    let mut stage = Stage {
        case,
        hosts: place::hosts(&network, case, seed),
        simulation: Simulation::new(&network, options),
        watch: Watch::new(case.links),
        network,
        seed,
    };
    let measurements = stage.measure()?;
    let totals = stage.simulation.totals();
    Ok(Outcome {
        measurements,
        links: stage.watch.busiest(&stage.network, &stage.simulation),
        span: stage.simulation.now(),
        hops: totals.hops,
        lost: totals.lost,
        moved: stage.simulation.routes_moved(),
    })
}

/// Runs all cases, and compares those that name a baseline with it; `begin` is told of each one.
///
/// # Errors
/// The name of the case that failed, and why.
pub fn perform_all(
    scenario: &Scenario,
    seed: u64,
    mut begin: impl FnMut(usize, &Case),
) -> Result<Vec<Outcome>, (String, ExperimentError)> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    for (index, case) in scenario.cases.iter().enumerate() {
        begin(index, case);
        let outcome = perform(case, seed);
        let mut outcome = outcome.map_err(|error| (case.name.clone(), error))?;
        let shorter = baseline(scenario, &outcomes, case)
            .and_then(|base| Some(100.0 * (1.0 - outcome.get("time")?.value / base)));
        outcome
            .measurements
            .extend(shorter.map(|percent| measurement("shorter", percent, "%")));
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

/// The time of the case that a case is compared with, when that has run.
fn baseline(scenario: &Scenario, outcomes: &[Outcome], case: &Case) -> Option<f64> {
    let name = case.baseline.as_ref()?;
    let cases = scenario.cases.iter().zip(outcomes);
    let mut found = cases.filter(|(other, _)| other.name == *name);
    Some(found.next()?.1.get("time")?.value)
}

impl Stage<'_> {
    fn measure(&mut self) -> Result<Vec<Measurement>, ExperimentError> {
        match &self.case.traffic {
            Traffic::Bandwidth { .. } => self.bandwidth(),
            Traffic::Latency { bytes, iterations } => {
                let pairs = self.pairs()?;
                let program = PingPong::new(pairs, *bytes, 10, *iterations);
                let program = self.drive(program, Stack::PSM2)?;
                Ok(latencies(&program.latencies().unwrap_or_default()))
            }
            Traffic::AllPairs {
                bytes,
                iterations,
                sessions,
            } => self.all_pairs(*bytes, *iterations, *sessions),
            Traffic::AllToAll { bytes } => {
                let ranks = self.hosts.len() as u32 * self.case.ranks;
                let program = self.drive(AllToAll::new(ranks, *bytes), Stack::PSM2)?;
                let time = program.time().unwrap_or(0) as f64;
                Ok(vec![measurement("time", time / MICRO as f64, "us")])
            }
            Traffic::Stream { .. } => Ok(self.stream()),
        }
    }

    fn pairs(&self) -> Result<Vec<(u32, u32)>, ExperimentError> {
        place::pairs(
            &self.network,
            &self.hosts,
            self.case.ranks,
            &self.case.pairs,
        )
    }

    fn mpi(&self, stack: Stack) -> Mpi {
        let ranks = 0..self.hosts.len() as u32 * self.case.ranks;
        let ranks = ranks.map(|rank| rank / self.case.ranks);
        Mpi::new(self.hosts.clone(), ranks.collect(), stack, Sl(0))
    }

    fn limit(&self) -> Picos {
        let picos = self.case.limit.as_nanos().saturating_mul(1_000);
        Picos::try_from(picos).unwrap_or(Picos::MAX)
    }

    /// Runs a program to its end.
    fn drive<P: Program>(&mut self, program: P, stack: Stack) -> Result<P, ExperimentError> {
        let mut job = Job {
            mpi: self.mpi(stack),
            program,
        };
        let limit = self.limit();
        job.start(&mut self.simulation);
        loop {
            let until = self.watch.next(&self.simulation).min(limit);
            if job.advance(&mut self.simulation, until) {
                return Ok(job.program);
            }
            if until == limit || self.simulation.deadline().is_none() {
                return Err(self.not_ended());
            }
            self.watch.look(&mut self.simulation, &self.network, until);
        }
    }

    fn not_ended(&self) -> ExperimentError {
        let ends = self.simulation.deadlock().unwrap_or_default();
        let name = |(at, vl): &(weft_dataplane::PortIndex, weft_fabric::Vl)| {
            let node = self.network.device_at(self.network.node_of(*at));
            let port = self.network.number_of(*at);
            format!("{} port {} VL{}", node.description.text(), port.0, vl.0)
        };
        let names: Vec<String> = ends.iter().map(name).collect();
        let loop_ = match names.len() {
            0 => String::new(),
            _ => format!("; credit loop: {}", names.join(", ")),
        };
        ExperimentError::NotEnded {
            millis: self.case.limit.as_millis(),
            lost: self.simulation.totals().lost,
            loop_,
        }
    }

    fn bandwidth(&mut self) -> Result<Vec<Measurement>, ExperimentError> {
        let Traffic::Bandwidth {
            bytes,
            window,
            skip,
            iterations,
            both_ways,
            ip,
        } = self.case.traffic
        else {
            return Ok(Vec::new());
        };
        let pairs = self.pairs()?;
        let messages = u64::from(window) * u64::from(iterations) * pairs.len() as u64;
        let (on_link, stack) = if ip {
            (ip_bytes(bytes), Stack::IPOIB)
        } else {
            (bytes, Stack::PSM2)
        };
        let program = Bandwidth::new(BandwidthOptions {
            pairs,
            bytes: on_link,
            window,
            skip,
            iterations,
            both_ways,
        });
        let program = self.drive(program, stack)?;
        let measured = program.bytes_per_second().unwrap_or(0.0);
        let measured = measured * bytes as f64 / on_link as f64;
        let time = program.time().unwrap_or(0).max(1) as f64 / SECOND;
        Ok(vec![
            measurement("bandwidth", measured / 1e9, "GB/s"),
            measurement("rate", measured * 8.0 / 1e9, "Gb/s"),
            measurement("messages", messages as f64 / time, "1/s"),
        ])
    }

    /// Every rank with every other one, each way.
    fn all_pairs(
        &mut self,
        bytes: u64,
        iterations: u32,
        sessions: u32,
    ) -> Result<Vec<Measurement>, ExperimentError> {
        let ranks = self.hosts.len() as u32 * self.case.ranks;
        let mut all = Vec::new();
        for round in rounds::rounds(ranks, sessions) {
            for turned in [false, true] {
                let turn = |(a, b): &(u32, u32)| if turned { (*b, *a) } else { (*a, *b) };
                let pairs: Vec<_> = round.iter().map(turn).collect();
                let program = PingPong::new(pairs.clone(), bytes, 2, iterations);
                let program = self.drive(program, Stack::PSM2)?;
                let times = program.latencies().unwrap_or_default();
                all.extend(pairs.into_iter().zip(times));
            }
        }
        Ok(rounds::measurements(
            &self.network,
            &self.hosts,
            self.case.ranks,
            &all,
        ))
    }

    fn stream(&mut self) -> Vec<Measurement> {
        let Traffic::Stream {
            pattern,
            bytes,
            load,
            span,
        } = self.case.traffic
        else {
            return Vec::new();
        };
        let count = self.hosts.len() as u32;
        let options = StreamsOptions {
            pattern: resolve(pattern, count, self.seed),
            bytes,
            levels: (0..self.case.manager.lanes).map(Sl).collect(),
            load,
            seed: self.seed,
        };
        let span = span.as_nanos() as Picos * 1_000;
        let mut streams = Streams::new(self.hosts.clone(), options);
        streams.start(&mut self.simulation);
        self.simulation.run(&mut streams, span);
        streams.forget();
        self.watch.look(&mut self.simulation, &self.network, span);
        self.simulation.run(&mut streams, 2 * span);
        let time = Simulation::wire_time(bytes) as f64 / span as f64;
        let total = streams.total();
        let least = streams.received().iter().map(|host| host.packets).min();
        let mean = total.packets as f64 / f64::from(count.max(1));
        let latency = total.latency as f64 / total.packets.max(1) as f64;
        vec![
            measurement("accepted", 100.0 * mean * time, "%"),
            measurement("least", 100.0 * least.unwrap_or(0) as f64 * time, "%"),
            measurement("latency", latency / MICRO as f64, "us"),
        ]
    }
}

/// Bytes of IP packets, with what stands in front of each, that carry the user's `bytes`.
fn ip_bytes(bytes: u64) -> u64 {
    use weft_dataplane::constants::{IPOIB_ENCAPSULATION, IPOIB_MTU, TCP_HEADERS};
    let packets = bytes.div_ceil(IPOIB_MTU - TCP_HEADERS);
    bytes + packets * (TCP_HEADERS + IPOIB_ENCAPSULATION)
}

fn resolve(pattern: StreamPattern, hosts: u32, seed: u64) -> Pattern {
    match pattern {
        StreamPattern::Uniform => Pattern::Uniform,
        StreamPattern::Permutation => Pattern::random_permutation(hosts, &mut Random::new(seed)),
        StreamPattern::Shift(by) => Pattern::Shift(by),
        StreamPattern::Hotspot(percent) => Pattern::Hotspot { to: 0, percent },
    }
}

pub(super) fn measurement(metric: &'static str, value: f64, unit: &'static str) -> Measurement {
    Measurement {
        metric,
        value,
        unit,
    }
}

fn latencies(times: &[Picos]) -> Vec<Measurement> {
    let micros = |time: Picos| time as f64 / MICRO as f64;
    let sum: Picos = times.iter().sum();
    let mean = micros(sum) / times.len().max(1) as f64;
    let least = times.iter().min().copied().unwrap_or(0);
    let most = times.iter().max().copied().unwrap_or(0);
    vec![
        measurement("latency", mean, "us"),
        measurement("latency_min", micros(least), "us"),
        measurement("latency_max", micros(most), "us"),
    ]
}
