//! Alltoall: each rank to each other.

use std::collections::BTreeSet;

use super::job::Program;
use super::nic::{Done, Mpi};
use crate::packets::{Picos, Simulation};

/// Alltoall by pairwise exchange: in step k each rank sends to the one k further on and receives
/// from the one k before, and goes on when both are done. This is what MPI libraries use for large
/// messages; no rank waits for others than these two.
#[derive(Debug, Clone)]
pub struct AllToAll {
    bytes: u64,
    ranks: u32,
    steps: Vec<Step>,
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
    /// One exchange of `bytes` between each two of `ranks`.
    pub fn new(ranks: u32, bytes: u64) -> Self {
        Self {
            bytes,
            ranks,
            steps: vec![Step::default(); ranks as usize],
            left: ranks,
            begun: 0,
            ended: None,
        }
    }

    /// Time from the common start to the last rank's end, none before it.
    pub fn time(&self) -> Option<Picos> {
        self.ended.map(|ended| ended - self.begun)
    }

    fn step(&mut self, mpi: &mut Mpi, simulation: &mut Simulation, rank: u32) {
        let step = &mut self.steps[rank as usize];
        step.received.remove(&step.at);
        step.at += 1;
        step.sent = false;
        if step.at == self.ranks {
            self.left -= 1;
            if self.left == 0 {
                self.ended = Some(simulation.now());
            }
            return;
        }
        let to = (rank + step.at) % self.ranks;
        let tag = step.at;
        mpi.send(simulation, rank, to, self.bytes, tag);
    }
}

impl Program for AllToAll {
    fn begin(&mut self, mpi: &mut Mpi, simulation: &mut Simulation) {
        self.begun = simulation.now();
        (0..self.ranks).for_each(|rank| self.step(mpi, simulation, rank));
    }

    fn done(&mut self, mpi: &mut Mpi, simulation: &mut Simulation, done: Done) {
        let rank = match done {
            Done::Sent { rank, tag } => {
                let step = &mut self.steps[rank as usize];
                step.sent |= tag == step.at;
                rank
            }
            Done::Received { rank, tag, .. } => {
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
