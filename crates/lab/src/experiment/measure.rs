//! What is measured in one run of a case.

use std::collections::BTreeSet;
use std::time::Duration;

use weft_dataplane::Network;
use weft_dataplane::packets::{MICRO, MILLI, Options, Picos, Random, Simulation, Totals};
use weft_dataplane::traffic::Hosts;
use weft_dataplane::traffic::mpi::{
    AllToAll, Background, Bandwidth, BandwidthOptions, Job, Load, Mpi, PingPong, Program, Stack,
    Together,
};
use weft_fabric::Sl;

use super::links::{LinkUse, Watch};
use super::perform::{ExperimentError, Measurement, measurement};
use super::scenario::{Beside, Case, Pairs, Traffic};
use super::stage::Staged;
use super::{bisection, bound, deadlock, place, rounds};

/// Picoseconds in a second.
const SECOND: f64 = 1e12;

/// A benchmark beside other traffic begins up to this long after the warm-up.
const START_SPREAD: Picos = 200 * MICRO;

/// What one run of a case was.
pub(super) struct Ran {
    pub(super) measurements: Result<Vec<Measurement>, ExperimentError>,
    pub(super) totals: Totals,
    /// The same when the traffic began.
    pub(super) before: Totals,
    /// Virtual time that it took.
    pub(super) span: Picos,
    /// Routes that switches have moved.
    pub(super) moved: u64,
    /// Packets that switches have marked.
    pub(super) marked: u64,
    pub(super) links: Vec<LinkUse>,
    /// How messages travelled, where their size is swept.
    pub(super) method: Option<String>,
}

/// A fabric with messages to come.
pub(super) struct Stage<'a> {
    case: &'a Case,
    network: Network,
    hosts: Hosts,
    simulation: Simulation,
    seed: u64,
    watch: Watch,
    before: Totals,
}

impl<'a> Stage<'a> {
    pub(super) fn new(case: &'a Case, staged: Staged, seed: u64) -> Result<Self, ExperimentError> {
        let options = Options {
            seed,
            ..Options::default()
        };
        Ok(Self {
            case,
            hosts: place::hosts(&staged, case, seed)?,
            simulation: Simulation::new(&staged.network, options),
            watch: Watch::new(case.links),
            before: Totals::default(),
            network: staged.network,
            seed,
        })
    }

    pub(super) fn run(mut self) -> Ran {
        Ran {
            measurements: self.measure(),
            totals: self.simulation.totals(),
            before: self.before,
            span: self.simulation.now(),
            moved: self.simulation.routes_moved(),
            marked: self.simulation.packets_marked(),
            links: self.watch.busiest(&self.network, &self.simulation),
            method: self.method(),
        }
    }

    /// Whether the size of messages is swept.
    fn is_over_size(&self) -> bool {
        let point = self.case.point.as_ref();
        point.is_some_and(|point| point.axis == "bytes")
    }

    /// How messages travel, where their size is swept.
    fn method(&self) -> Option<String> {
        let point = self.case.point.as_ref();
        let bytes = point.filter(|_| self.is_over_size())?.value as u64;
        let method = self.mpi(self.case.stack).method(0, bytes)?;
        Some(method.to_string())
    }

    fn measure(&mut self) -> Result<Vec<Measurement>, ExperimentError> {
        match &self.case.traffic {
            Traffic::Bandwidth { .. } => self.bandwidth(),
            Traffic::Latency { bytes, iterations } => {
                let pairs = self.pairs()?;
                let program = PingPong::new(pairs, *bytes, 10, *iterations);
                let program = self.drive(program, self.case.stack)?;
                let mut found = latencies(&program.latencies().unwrap_or_default());
                found.extend(self.is_over_size().then(|| bound::latency(*bytes)));
                Ok(found)
            }
            Traffic::AllPairs {
                bytes,
                iterations,
                sessions,
            } => self.all_pairs(*bytes, *iterations, *sessions),
            Traffic::AllToAll {
                bytes,
                skip,
                iterations,
            } => {
                let ranks = self.hosts.len() as u32 * self.case.ranks;
                let program = AllToAll::new(ranks, *bytes, *skip, *iterations);
                let program = self.drive(program, self.case.stack)?;
                let time = program.time().unwrap_or(0) as f64;
                Ok(vec![measurement("time", time / MICRO as f64, "us")])
            }
            // Packets by a pattern are measured elsewhere.
            Traffic::Stream { .. } => Ok(Vec::new()),
            Traffic::Bisection { matchings } => Ok(bisection::measure(
                &self.network,
                &self.hosts,
                *matchings,
                self.seed,
            )),
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
        let ranks: Vec<u32> = ranks.map(|rank| rank / self.case.ranks).collect();
        let level = self.case.sl.unwrap_or(Sl(0));
        Mpi::new(self.hosts.clone(), &ranks, stack, level)
    }

    /// Runs a program to its end, with the other traffic if there is any.
    fn drive<P: Program>(&mut self, program: P, stack: Stack) -> Result<P, ExperimentError> {
        let mpi = self.mpi(stack);
        let Some((load, pairs, level)) = self.background() else {
            return self.drive_from(0, mpi, program);
        };
        let spread = Random::new(self.seed).bits() % START_SPREAD;
        let delay = picos(self.case.warm_up).saturating_add(spread);
        let first = mpi.len() as u32;
        let back = self.beside(load, pairs, first)?;
        let program = Together {
            front: program,
            back,
            first,
            delay,
        };
        let mut mpi = mpi;
        let hosts: Vec<u32> = (0..self.hosts.len() as u32).collect();
        mpi.add(&hosts, load.stack(), level);
        Ok(self.drive_from(delay, mpi, program)?.front)
    }

    /// The messages beside the program's, between which hosts and on which service level.
    fn background(&self) -> Option<(Load, Pairs, Sl)> {
        let background = self.case.background.as_ref()?;
        let Beside::Messages { load, pairs } = &background.what else {
            return None;
        };
        let pairs = pairs.clone().map_or(Pairs::Halves, Pairs::List);
        Some((*load, pairs, background.sl))
    }

    /// Other traffic on ranks from `first` on, one on each host.
    fn beside(&self, load: Load, pairs: Pairs, first: u32) -> Result<Background, ExperimentError> {
        let pairs = place::pairs(&self.network, &self.hosts, 1, &pairs)?;
        let ranks = pairs.into_iter().map(|(a, b)| (first + a, first + b));
        Ok(Background::new(load, ranks.collect()))
    }

    /// Runs a program whose traffic begins after a while.
    fn drive_from<P: Program>(
        &mut self,
        begin: Picos,
        mpi: Mpi,
        program: P,
    ) -> Result<P, ExperimentError> {
        let mut job = Job { mpi, program };
        let limit = begin.saturating_add(picos(self.case.limit));
        job.start(&mut self.simulation);
        if begin > 0 {
            job.advance(&mut self.simulation, begin);
            self.before = self.simulation.totals();
        }
        loop {
            let until = self.watch.next(&self.simulation).min(limit);
            if job.advance(&mut self.simulation, until) {
                return Ok(job.program);
            }
            if until == limit || self.simulation.deadline().is_none() {
                return Err(self.not_ended());
            }
            self.watch.look(&self.simulation, &self.network, until);
        }
    }

    fn not_ended(&self) -> ExperimentError {
        let now = self.simulation.now();
        match self.simulation.deadlock() {
            Some(circle) => deadlock::told(&self.network, &circle, now),
            None => ExperimentError::NotEnded {
                millis: u128::from(now / MILLI),
                lost: self.simulation.totals().lost,
            },
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
        let ways = 1 + u64::from(both_ways);
        let hosts: BTreeSet<u32> = pairs
            .iter()
            .map(|(from, _)| from / self.case.ranks)
            .collect();
        let links = hosts.len() * ways as usize;
        let messages = u64::from(window) * u64::from(iterations) * ways * pairs.len() as u64;
        let (on_link, stack) = if ip {
            (ip_bytes(bytes), Stack::IPOIB)
        } else {
            (bytes, self.case.stack)
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
        let mut found = vec![
            measurement("bandwidth", measured / 1e9, "GB/s"),
            measurement("rate", measured * 8.0 / 1e9, "Gb/s"),
            measurement("messages", messages as f64 / time, "1/s"),
        ];
        found.extend(self.is_over_size().then(|| bound::bandwidth(links)));
        Ok(found)
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
                let program = self.drive(program, self.case.stack)?;
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
}

/// Bytes of IP packets, with what stands in front of each, that carry the user's `bytes`.
fn ip_bytes(bytes: u64) -> u64 {
    use weft_dataplane::constants::{IPOIB_ENCAPSULATION, IPOIB_MTU, TCP_HEADERS};
    let packets = bytes.div_ceil(IPOIB_MTU - TCP_HEADERS);
    bytes + packets * (TCP_HEADERS + IPOIB_ENCAPSULATION)
}

/// A time of the scenario's.
pub(super) fn picos(span: Duration) -> Picos {
    Picos::try_from(span.as_nanos().saturating_mul(1_000)).unwrap_or(Picos::MAX)
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
