//! osu_bw, osu_bibw and osu_mbw_mr: windows of messages, in one direction or both, between pairs.

use super::job::Program;
use super::nic::{Done, Mpi};
use super::pairs::PairOf;
use crate::constants::WINDOW_ANSWER;
use crate::packets::{Picos, Simulation};

/// Options of one of these benchmarks.
#[derive(Debug, Clone)]
pub struct BandwidthOptions {
    /// Senders with their receivers.
    pub pairs: Vec<(u32, u32)>,
    /// Bytes of a message.
    pub bytes: u64,
    /// Messages before the receiver answers.
    pub window: u32,
    /// Windows before time is taken.
    pub skip: u32,
    /// Windows while time is taken.
    pub iterations: u32,
    /// Both of a pair send.
    pub both_ways: bool,
}

/// Tag of the receiver's answer.
const ANSWER_TAG: u32 = 1;

#[derive(Debug, Clone, Copy, Default)]
struct Pair {
    /// Windows that are over.
    windows: u32,
    /// Messages of this window that have come to the receiver, and to the sender.
    forth: u32,
    back: u32,
    answered: bool,
    begun: Picos,
    ended: Option<Picos>,
}

/// The benchmark: each sender sends a window of messages, the receiver answers when it has all of
/// them. Before time is taken all pairs wait for each other, in no time.
#[derive(Debug, Clone)]
pub struct Bandwidth {
    options: BandwidthOptions,
    pairs: Vec<Pair>,
    /// Pairs that wait for the others before time is taken.
    ready: usize,
    /// Pair by rank.
    of_rank: PairOf,
}

impl Bandwidth {
    /// The benchmark before its start.
    pub fn new(options: BandwidthOptions) -> Self {
        Self {
            pairs: vec![Pair::default(); options.pairs.len()],
            ready: 0,
            of_rank: PairOf::new(&options.pairs),
            options,
        }
    }

    /// Time that the slowest pair took, none before the end.
    pub fn time(&self) -> Option<Picos> {
        let spans = self.pairs.iter().map(|pair| Some(pair.ended? - pair.begun));
        spans.collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    /// Bytes a second of each pair, by its own time; none before the end.
    pub fn of_pairs(&self) -> Option<Vec<f64>> {
        let pairs = self.pairs.len().max(1) as u64;
        let bytes = (self.options.bytes * self.messages() / pairs) as f64;
        let rate = |pair: &Pair| Some(bytes / ((pair.ended? - pair.begun).max(1) as f64 * 1e-12));
        self.pairs.iter().map(rate).collect()
    }

    /// Messages of all pairs while time is taken.
    pub fn messages(&self) -> u64 {
        let ways = 1 + u64::from(self.options.both_ways);
        let windows = u64::from(self.options.iterations) * ways * self.pairs.len() as u64;
        u64::from(self.options.window) * windows
    }

    /// Bytes of all pairs by the time of the slowest, bytes a second; none before the end.
    pub fn bytes_per_second(&self) -> Option<f64> {
        let bytes = self.options.bytes * self.messages();
        self.time().map(|time| bytes as f64 / (time as f64 * 1e-12))
    }

    fn window(&mut self, mpi: &mut Mpi, simulation: &mut Simulation, index: usize) {
        let (a, b) = self.options.pairs[index];
        let pair = &mut self.pairs[index];
        (pair.forth, pair.back, pair.answered) = (0, 0, false);
        for _ in 0..self.options.window {
            mpi.send(simulation, a, b, self.options.bytes, 0);
            if self.options.both_ways {
                mpi.send(simulation, b, a, self.options.bytes, 0);
            }
        }
    }

    /// A window is over for a pair.
    fn next(&mut self, mpi: &mut Mpi, simulation: &mut Simulation, index: usize) {
        let pair = &mut self.pairs[index];
        pair.windows += 1;
        if pair.windows == self.options.skip {
            self.meet(mpi, simulation);
        } else if pair.windows == self.options.skip + self.options.iterations {
            pair.ended = Some(simulation.now());
        } else {
            self.window(mpi, simulation, index);
        }
    }

    /// The last pair to come lets all begin.
    fn meet(&mut self, mpi: &mut Mpi, simulation: &mut Simulation) {
        self.ready += 1;
        if self.ready < self.pairs.len() {
            return;
        }
        for index in 0..self.pairs.len() {
            self.pairs[index].begun = simulation.now();
            self.window(mpi, simulation, index);
        }
    }

    fn received(&mut self, mpi: &mut Mpi, simulation: &mut Simulation, rank: u32, tag: u32) {
        let Some(index) = self.of_rank.rank(rank) else {
            return;
        };
        let (a, b) = self.options.pairs[index];
        let window = self.options.window;
        let pair = &mut self.pairs[index];
        if tag == ANSWER_TAG {
            pair.answered = true;
        } else if rank == b {
            pair.forth += 1;
            if pair.forth == window {
                mpi.send(simulation, b, a, WINDOW_ANSWER, ANSWER_TAG);
            }
        } else {
            pair.back += 1;
        }
        let pair = &self.pairs[index];
        let back = !self.options.both_ways || pair.back == window;
        if pair.answered && back {
            self.next(mpi, simulation, index);
        }
    }
}

impl Program for Bandwidth {
    fn begin(&mut self, mpi: &mut Mpi, simulation: &mut Simulation) {
        if self.options.skip == 0 {
            self.ready = self.pairs.len().saturating_sub(1);
            return self.meet(mpi, simulation);
        }
        (0..self.pairs.len()).for_each(|index| self.window(mpi, simulation, index));
    }

    fn done(&mut self, mpi: &mut Mpi, simulation: &mut Simulation, done: Done) {
        if let Done::Received { rank, tag, .. } = done {
            self.received(mpi, simulation, rank, tag);
        }
    }

    fn has_ended(&self) -> bool {
        self.pairs.iter().all(|pair| pair.ended.is_some())
    }
}
