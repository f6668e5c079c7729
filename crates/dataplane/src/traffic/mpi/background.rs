//! Other traffic beside a benchmark: copies over sockets, or reads by the cards, that never end.

use super::job::Program;
use super::nic::{Done, Mpi};
use super::stack::Stack;
use crate::constants::{IPOIB_MTU, RDMA_READ, RDMA_READS, TCP_SEGMENTS};
use crate::packets::{Picos, Simulation};

/// What it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// Files over sockets, as by `dd`: the processors copy, a connection's window is on its way.
    Bulk,
    /// `ib_read_bw`: the cards send what is asked for.
    Read,
}

impl Load {
    /// How its ranks send.
    pub fn stack(self) -> Stack {
        match self {
            Self::Bulk => Stack::BULK,
            Self::Read => Stack::RDMA,
        }
    }

    fn bytes(self) -> u64 {
        match self {
            Self::Bulk => IPOIB_MTU,
            Self::Read => RDMA_READ,
        }
    }

    fn at_once(self) -> u32 {
        match self {
            Self::Bulk => TCP_SEGMENTS,
            Self::Read => RDMA_READS,
        }
    }
}

/// Pairs of ranks that always have something on its way, both ways.
#[derive(Debug, Clone)]
pub struct Background {
    load: Load,
    pairs: Vec<(u32, u32)>,
    /// Bytes that have arrived.
    bytes: u64,
}

impl Background {
    /// Traffic between pairs of ranks, which have been added with the load's stack.
    pub fn new(load: Load, pairs: Vec<(u32, u32)>) -> Self {
        Self {
            load,
            pairs,
            bytes: 0,
        }
    }

    /// Bytes that have arrived.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn next(&self, mpi: &mut Mpi, simulation: &mut Simulation, from: u32, to: u32) {
        match self.load {
            Load::Bulk => mpi.send(simulation, from, to, self.load.bytes(), 0),
            Load::Read => mpi.read(simulation, to, from, self.load.bytes(), 0),
        }
    }
}

impl Program for Background {
    fn begin(&mut self, mpi: &mut Mpi, simulation: &mut Simulation) {
        for (a, b) in &self.pairs {
            for _ in 0..self.load.at_once() {
                self.next(mpi, simulation, *a, *b);
                self.next(mpi, simulation, *b, *a);
            }
        }
    }

    fn done(&mut self, mpi: &mut Mpi, simulation: &mut Simulation, done: Done) {
        if let Done::Received { rank, from, .. } = done {
            self.bytes += self.load.bytes();
            self.next(mpi, simulation, from, rank);
        }
    }

    fn has_ended(&self) -> bool {
        false
    }
}

/// The timer by which a benchmark begins.
const BEGIN: u32 = u32::MAX;

/// A benchmark and what goes on beside it; the benchmark's ranks are the first.
#[derive(Debug, Clone)]
pub struct Together<P> {
    /// The benchmark.
    pub front: P,
    /// The other traffic.
    pub back: Background,
    /// The first rank of the other traffic.
    pub first: u32,
    /// The benchmark begins so much later.
    pub delay: Picos,
}

impl<P: Program> Program for Together<P> {
    fn begin(&mut self, mpi: &mut Mpi, simulation: &mut Simulation) {
        self.back.begin(mpi, simulation);
        mpi.wait(simulation, self.delay, BEGIN);
    }

    fn done(&mut self, mpi: &mut Mpi, simulation: &mut Simulation, done: Done) {
        let rank = match done {
            Done::Sent { rank, .. } | Done::Received { rank, .. } => rank,
            Done::Timer(BEGIN) => return self.front.begin(mpi, simulation),
            Done::Timer(_) => 0,
        };
        if rank < self.first {
            self.front.done(mpi, simulation, done);
        } else {
            self.back.done(mpi, simulation, done);
        }
    }

    fn has_ended(&self) -> bool {
        self.front.has_ended()
    }
}
