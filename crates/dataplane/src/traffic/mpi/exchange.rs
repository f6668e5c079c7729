//! Alltoall: each rank to each other.

use std::collections::BTreeSet;
use std::ops::Range;

use super::job::Program;
use super::nic::{Done, Mpi};
use crate::constants::{ALLTOALL_SHORT, ALLTOALL_SHORT_RANKS};
use crate::packets::{Picos, Simulation};

/// Alltoall in steps: in each of them a rank sends to one at a distance, receives from the
/// one at that distance before it, and continues when both are done; no rank waits for others than these two.
///
/// Large messages by pairwise exchange: in step k at distance k. Small ones by Bruck's
/// algorithm: at distance 2^k, in one message all data that has to go this far. MPICH, from
/// which most MPI libraries derive, does so (between the two, up to 32 KiB, it sends all at once, which
/// is not modelled: pairwise exchange).
///
/// As in IMB, exchanges follow each other without a pause: a rank begins the next one when it has
/// finished its own part of the previous one.
#[derive(Debug, Clone)]
pub struct AllToAll {
    /// Distance to the partner of each step, and the bytes for it.
    plan: Vec<(u32, u64)>,
    first: u32,
    ranks: u32,
    /// Exchanges before time is taken, and while it is.
    skip: u32,
    iterations: u32,
    steps: Vec<Step>,
    /// Ranks that have not ended the exchanges before time is taken, and those that have not ended all.
    warming: u32,
    left: u32,
    begun: Picos,
    ended: Option<Picos>,
}

#[derive(Debug, Clone, Default)]
struct Step {
    at: u32,
    sent: bool,
    /// This step and later ones whose message has come.
    received: BTreeSet<u32>,
}

impl AllToAll {
    /// Exchanges of `bytes` between each two of `ranks`, `skip` of them before time is taken and
    /// `iterations`, at least one, while it is.
    pub fn new(ranks: Range<u32>, bytes: u64, skip: u32, iterations: u32) -> Self {
        let (first, ranks) = (ranks.start, ranks.len() as u32);
        let plan = if bytes <= ALLTOALL_SHORT && ranks >= ALLTOALL_SHORT_RANKS {
            bruck(ranks, bytes)
        } else {
            (1..ranks).map(|distance| (distance, bytes)).collect()
        };
        Self {
            plan,
            first,
            ranks,
            skip,
            iterations: iterations.max(1),
            steps: vec![Step::default(); ranks as usize],
            warming: ranks,
            left: ranks,
            begun: 0,
            ended: None,
        }
    }

    /// Time of an exchange, none before the end of all: from when the last rank had ended those before,
    /// or from the common start, to when the last rank has ended.
    pub fn time(&self) -> Option<Picos> {
        let all = self.ended? - self.begun;
        Some(all / Picos::from(self.iterations))
    }

    /// Its next step for a rank, counted from its first one.
    fn step(&mut self, mpi: &mut Mpi, simulation: &mut Simulation, rank: u32) {
        let step = &mut self.steps[rank as usize];
        step.received.remove(&step.at);
        step.at += 1;
        step.sent = false;
        let tag = step.at;
        let (place, steps) = (u64::from(tag) - 1, self.plan.len().max(1) as u64);
        if place == steps * u64::from(self.skip) {
            self.warming -= 1;
            if self.warming == 0 {
                self.begun = simulation.now();
            }
        }
        let part = self.plan.get((place % steps) as usize).copied();
        let is_last = place >= steps * (u64::from(self.skip) + u64::from(self.iterations));
        let Some((distance, bytes)) = part.filter(|_| !is_last) else {
            self.left -= 1;
            if self.left == 0 {
                self.ended = Some(simulation.now());
            }
            return;
        };
        let to = (rank + distance) % self.ranks;
        mpi.send(simulation, self.first + rank, self.first + to, bytes, tag);
    }
}

/// Block i is sent in each step for which i has the bit: all blocks of a step together.
fn bruck(ranks: u32, bytes: u64) -> Vec<(u32, u64)> {
    let bits = u32::BITS - (ranks - 1).leading_zeros();
    let step = |bit: u32| {
        let blocks = (1..ranks).filter(|block| block >> bit & 1 == 1).count();
        (1 << bit, blocks as u64 * bytes)
    };
    (0..bits).map(step).collect()
}

impl Program for AllToAll {
    fn begin(&mut self, mpi: &mut Mpi, simulation: &mut Simulation) {
        (0..self.ranks).for_each(|rank| self.step(mpi, simulation, rank));
    }

    fn done(&mut self, mpi: &mut Mpi, simulation: &mut Simulation, done: Done) {
        let rank = match done {
            Done::Sent { rank, tag } => {
                let rank = rank - self.first;
                let step = &mut self.steps[rank as usize];
                step.sent |= tag == step.at;
                rank
            }
            Done::Received { rank, tag, .. } => {
                let rank = rank - self.first;
                let step = &mut self.steps[rank as usize];
                step.received.insert(tag);
                rank
            }
            Done::Timer(_) => return,
        };
        let step = &self.steps[rank as usize];
        if step.sent && step.received.contains(&step.at) {
            self.step(mpi, simulation, rank);
        }
    }

    fn has_ended(&self) -> bool {
        self.left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_messages_go_by_bits_of_the_distance() {
        assert_eq!(
            bruck(8, 10),
            [(1, 40), (2, 40), (4, 40)],
            "four of eight blocks"
        );
        // Blocks 1, 3, 5, 7, 9; 2, 3, 6, 7; 4 to 7; 8 and 9.
        assert_eq!(bruck(10, 1), [(1, 5), (2, 4), (4, 4), (8, 2)]);
        assert_eq!(AllToAll::new(0..8, ALLTOALL_SHORT, 0, 1).plan.len(), 3);
        for (ranks, bytes) in [(7, 8), (8, ALLTOALL_SHORT + 1)] {
            let plan = AllToAll::new(0..ranks, bytes, 0, 1).plan;
            let pairs: Vec<(u32, u64)> = (1..ranks).map(|distance| (distance, bytes)).collect();
            assert_eq!(plan, pairs);
        }
    }
}
