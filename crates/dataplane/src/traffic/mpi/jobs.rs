//! Several benchmarks at once, each on ranks of its own.

use super::bandwidth::Bandwidth;
use super::copies::Copies;
use super::exchange::AllToAll;
use super::job::Program;
use super::latency::PingPong;
use super::nic::{Done, Mpi, NOBODY};
use super::schedule::Schedule;
use crate::packets::{Picos, Simulation};

/// One of the benchmarks.
#[derive(Debug, Clone)]
pub enum Benchmark {
    /// osu_bw and its relatives.
    Bandwidth(Bandwidth),
    /// osu_latency and its relatives.
    PingPong(PingPong),
    /// Alltoall.
    AllToAll(AllToAll),
    /// Copies over sockets, or reads by verbs.
    Copies(Copies),
    /// Operations of a file.
    Schedule(Schedule),
}

impl Benchmark {
    /// Whether it runs until the others have ended.
    pub fn is_endless(&self) -> bool {
        matches!(self, Self::Copies(copies) if copies.is_endless())
    }
}

impl Program for Benchmark {
    fn begin(&mut self, mpi: &mut Mpi, simulation: &mut Simulation) {
        match self {
            Self::Bandwidth(one) => one.begin(mpi, simulation),
            Self::PingPong(one) => one.begin(mpi, simulation),
            Self::AllToAll(one) => one.begin(mpi, simulation),
            Self::Copies(one) => one.begin(mpi, simulation),
            Self::Schedule(one) => one.begin(mpi, simulation),
        }
    }

    fn done(&mut self, mpi: &mut Mpi, simulation: &mut Simulation, done: Done) {
        match self {
            Self::Bandwidth(one) => one.done(mpi, simulation, done),
            Self::PingPong(one) => one.done(mpi, simulation, done),
            Self::AllToAll(one) => one.done(mpi, simulation, done),
            Self::Copies(one) => one.done(mpi, simulation, done),
            Self::Schedule(one) => one.done(mpi, simulation, done),
        }
    }

    fn has_ended(&self) -> bool {
        match self {
            Self::Bandwidth(one) => one.has_ended(),
            Self::PingPong(one) => one.has_ended(),
            Self::AllToAll(one) => one.has_ended(),
            Self::Copies(one) => one.has_ended(),
            Self::Schedule(one) => one.has_ended(),
        }
    }
}

/// One of several benchmarks.
#[derive(Debug, Clone)]
pub struct Part {
    /// Its benchmark.
    pub benchmark: Benchmark,
    /// Its first rank; its last one is that before the next part's first.
    pub first: u32,
    /// It begins so much after the start.
    pub begin: Picos,
}

/// Benchmarks at the same time. They have ended when all have that are not endless.
#[derive(Debug, Clone, Default)]
pub struct Jobs {
    /// In order of their ranks.
    parts: Vec<Part>,
}

impl Jobs {
    /// These benchmarks, in order of their ranks.
    pub fn new(parts: Vec<Part>) -> Self {
        Self { parts }
    }

    /// The benchmarks in order.
    pub fn benchmarks(&self) -> impl Iterator<Item = &Benchmark> {
        self.parts.iter().map(|part| &part.benchmark)
    }

    /// The place of the benchmark that has a rank.
    fn of_rank(&self, rank: u32) -> usize {
        let after = self.parts.partition_point(|part| part.first <= rank);
        after.saturating_sub(1)
    }
}

impl Program for Jobs {
    /// A benchmark that begins later has the number of its part as a timer's word.
    fn begin(&mut self, mpi: &mut Mpi, simulation: &mut Simulation) {
        for (index, part) in self.parts.iter_mut().enumerate() {
            match part.begin {
                0 => part.benchmark.begin(mpi, simulation),
                later => mpi.wait(simulation, later, NOBODY, index as u32),
            }
        }
    }

    fn done(&mut self, mpi: &mut Mpi, simulation: &mut Simulation, done: Done) {
        let place = match done {
            Done::Timer { rank: NOBODY, tag } => {
                if let Some(part) = self.parts.get_mut(tag as usize) {
                    part.benchmark.begin(mpi, simulation);
                }
                return;
            }
            Done::Sent { rank, .. } | Done::Received { rank, .. } | Done::Timer { rank, .. } => {
                self.of_rank(rank)
            }
        };
        if let Some(part) = self.parts.get_mut(place) {
            part.benchmark.done(mpi, simulation, done);
        }
    }

    fn has_ended(&self) -> bool {
        let mut benchmarks = self.benchmarks();
        benchmarks.all(|one| one.is_endless() || one.has_ended())
    }
}
