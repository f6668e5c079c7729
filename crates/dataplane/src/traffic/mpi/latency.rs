//! osu_latency and osu_multi_lat: a message to and fro between pairs.

use super::job::Program;
use super::nic::{Done, Mpi};
use super::pairs::PairOf;
use crate::packets::{Picos, Simulation};

#[derive(Debug, Clone, Copy, Default)]
struct Pair {
    trips: u32,
    begun: Picos,
    ended: Option<Picos>,
}

/// The benchmark: half the time of a round trip, for each pair.
#[derive(Debug, Clone)]
pub struct PingPong {
    pairs: Vec<(u32, u32)>,
    state: Vec<Pair>,
    bytes: u64,
    skip: u32,
    iterations: u32,
    of_rank: PairOf,
}

impl PingPong {
    /// Messages of `bytes` between pairs, `skip` times before time is taken and `iterations` times
    /// while it is.
    pub fn new(pairs: Vec<(u32, u32)>, bytes: u64, skip: u32, iterations: u32) -> Self {
        Self {
            state: vec![Pair::default(); pairs.len()],
            of_rank: PairOf::new(&pairs),
            pairs,
            bytes,
            skip,
            iterations: iterations.max(1),
        }
    }

    /// One-way latency of each pair; `None` before the end.
    pub fn latencies(&self) -> Option<Vec<Picos>> {
        let trips = 2 * u64::from(self.iterations);
        let one = |pair: &Pair| Some((pair.ended? - pair.begun) / trips);
        self.state.iter().map(one).collect()
    }
}

impl Program for PingPong {
    fn begin(&mut self, mpi: &mut Mpi, simulation: &mut Simulation) {
        for (index, (a, b)) in self.pairs.iter().enumerate() {
            self.state[index].begun = simulation.now();
            mpi.send(simulation, *a, *b, self.bytes, 0);
        }
    }

    fn done(&mut self, mpi: &mut Mpi, simulation: &mut Simulation, done: Done) {
        let Done::Received { rank, from, .. } = done else {
            return;
        };
        let Some(index) = self.of_rank.rank(rank) else {
            return;
        };
        let (first, _) = self.pairs[index];
        let pair = &mut self.state[index];
        if rank == first {
            pair.trips += 1;
            if pair.trips == self.skip {
                pair.begun = simulation.now();
            }
            if pair.trips == self.skip + self.iterations {
                pair.ended = Some(simulation.now());
                return;
            }
        }
        mpi.send(simulation, rank, from, self.bytes, 0);
    }

    fn has_ended(&self) -> bool {
        self.state.iter().all(|pair| pair.ended.is_some())
    }
}
