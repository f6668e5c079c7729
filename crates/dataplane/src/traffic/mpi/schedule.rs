//! Operations of ranks with dependencies among them: what a trace or a file of GOAL says.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::job::Program;
use super::nic::{Done, Mpi};
use crate::packets::{Picos, Simulation};

/// An operation of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// It sends a message, and is over when its buffer may be used again.
    Send {
        /// The receiver.
        to: u32,
        /// Bytes of the message.
        bytes: u64,
        /// Word by which the receiver finds it.
        tag: u32,
    },
    /// It waits for a message.
    Receive {
        /// The sender.
        from: u32,
        /// Word of the message; of several with the same sender and word any, in the order in which they come.
        tag: u32,
    },
    /// It computes.
    Compute {
        /// For so long.
        span: Picos,
        /// On which of its processors, each of which computes one thing at a time.
        processor: u32,
    },
}

/// Operations of one rank.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RankSchedule {
    /// By number.
    pub operations: Vec<Operation>,
    /// Of each operation, the ones that begin only after it is over.
    pub ended: Vec<Vec<u32>>,
    /// Of each operation, the ones that begin only after it has begun.
    pub begun: Vec<Vec<u32>>,
}

impl RankSchedule {
    /// Adds an operation that depends on nothing, and returns its number.
    pub fn add(&mut self, operation: Operation) -> u32 {
        self.operations.push(operation);
        self.ended.push(Vec::new());
        self.begun.push(Vec::new());
        self.operations.len() as u32 - 1
    }

    /// Number of operations that each one waits for.
    fn waits(&self) -> Vec<u32> {
        let mut waits = vec![0; self.operations.len()];
        for to in self.ended.iter().chain(&self.begun).flatten() {
            if let Some(count) = waits.get_mut(*to as usize) {
                *count += 1;
            }
        }
        waits
    }

    /// An operation that waits for itself through others; `None` where all can begin at some time.
    pub fn circle(&self) -> Option<u32> {
        let mut waits = self.waits();
        let free = waits.iter().enumerate().filter(|(_, count)| **count == 0);
        let mut free: Vec<usize> = free.map(|(at, _)| at).collect();
        while let Some(at) = free.pop() {
            for next in self.ended[at].iter().chain(&self.begun[at]) {
                let next = *next as usize;
                waits[next] -= 1;
                if waits[next] == 0 {
                    free.push(next);
                }
            }
        }
        let stuck = waits.iter().position(|count| *count > 0);
        stuck.map(|at| at as u32)
    }
}

/// Progress of a rank.
#[derive(Debug, Clone, Default)]
struct Progress {
    /// Number of operations that each one waits for yet.
    waits: Vec<u32>,
    /// Operations that are not over.
    left: u32,
    /// When each processor has computed what was begun.
    computed: BTreeMap<u32, Picos>,
    /// Messages that have come before an operation waited for them, and operations that wait, by sender and word.
    come: BTreeMap<(u32, u32), u32>,
    wait: BTreeMap<(u32, u32), VecDeque<u32>>,
    /// When its last operation was over.
    ended: Picos,
    /// Bytes sent.
    sent: u64,
}

/// What became of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankResult {
    /// From the beginning to the end of its last operation.
    pub time: Picos,
    /// Bytes of the messages that it sent.
    pub sent: u64,
}

/// Ranks that each work off their operations: one begins as soon as those that it depends on are over, whatever
/// others there are. Receives are posted in time, and computing does not delay messages: it is on processors
/// of its own.
#[derive(Debug, Clone)]
pub struct Schedule {
    first: u32,
    ranks: Arc<Vec<RankSchedule>>,
    progress: Vec<Progress>,
    /// Ranks that have not ended.
    left: usize,
    begun: Picos,
    ended: Option<Picos>,
}

impl Schedule {
    /// The operations of ranks from `first` on.
    pub fn new(first: u32, ranks: impl Into<Arc<Vec<RankSchedule>>>) -> Self {
        let ranks = ranks.into();
        let progress = |rank: &RankSchedule| Progress {
            waits: rank.waits(),
            left: rank.operations.len() as u32,
            ..Progress::default()
        };
        Self {
            first,
            progress: ranks.iter().map(progress).collect(),
            left: ranks
                .iter()
                .filter(|rank| !rank.operations.is_empty())
                .count(),
            ranks,
            begun: 0,
            ended: None,
        }
    }

    /// Time until all operations were over; `None` before that.
    pub fn time(&self) -> Option<Picos> {
        Some(self.ended? - self.begun)
    }

    /// Results of each rank.
    pub fn results(&self) -> impl Iterator<Item = RankResult> {
        self.progress.iter().map(|one| RankResult {
            time: one.ended.saturating_sub(self.begun),
            sent: one.sent,
        })
    }

    /// Operations of a rank begin that wait for nothing any more, the last of these first.
    fn begin_all(
        &mut self,
        mpi: &mut Mpi,
        simulation: &mut Simulation,
        rank: u32,
        mut ready: Vec<u32>,
    ) {
        while let Some(number) = ready.pop() {
            if self.begin_one(mpi, simulation, rank, number) {
                self.count_ended(rank, simulation.now());
                self.free(rank, number, true, &mut ready);
            }
            self.free(rank, number, false, &mut ready);
        }
    }

    /// An operation has begun, or is over: those that waited for nothing else become ready, the first one last,
    /// as the last one begins first.
    fn free(&mut self, rank: u32, number: u32, over: bool, ready: &mut Vec<u32>) {
        let schedule = &self.ranks[rank as usize];
        let waiting = if over {
            &schedule.ended
        } else {
            &schedule.begun
        };
        let waits = &mut self.progress[rank as usize].waits;
        let before = ready.len();
        for next in &waiting[number as usize] {
            waits[*next as usize] -= 1;
            if waits[*next as usize] == 0 {
                ready.push(*next);
            }
        }
        ready[before..].reverse();
    }

    /// Begins an operation; returns whether it is over already.
    fn begin_one(
        &mut self,
        mpi: &mut Mpi,
        simulation: &mut Simulation,
        rank: u32,
        number: u32,
    ) -> bool {
        let state = &mut self.progress[rank as usize];
        match self.ranks[rank as usize].operations[number as usize] {
            Operation::Compute { span: 0, .. } => true,
            Operation::Compute { span, processor } => {
                let now = simulation.now();
                let until = state.computed.entry(processor).or_default();
                *until = (*until).max(now).saturating_add(span);
                mpi.wait(simulation, *until - now, self.first + rank, number);
                false
            }
            Operation::Send { to, bytes, .. } => {
                state.sent += bytes;
                mpi.send(
                    simulation,
                    self.first + rank,
                    self.first + to,
                    bytes,
                    number,
                );
                false
            }
            Operation::Receive { from, tag } => {
                if let Some(come) = state.come.get_mut(&(from, tag)) {
                    *come -= 1;
                    if *come == 0 {
                        state.come.remove(&(from, tag));
                    }
                    return true;
                }
                state.wait.entry((from, tag)).or_default().push_back(number);
                false
            }
        }
    }

    fn count_ended(&mut self, rank: u32, now: Picos) {
        let state = &mut self.progress[rank as usize];
        state.left -= 1;
        if state.left == 0 {
            state.ended = now;
            self.left -= 1;
            if self.left == 0 {
                self.ended = Some(now);
            }
        }
    }

    /// An operation that took time is over.
    fn end(&mut self, mpi: &mut Mpi, simulation: &mut Simulation, rank: u32, number: u32) {
        self.count_ended(rank, simulation.now());
        let mut ready = Vec::new();
        self.free(rank, number, true, &mut ready);
        self.begin_all(mpi, simulation, rank, ready);
    }

    /// A message has come to a rank; returns the operation that waited for it.
    fn receive(&mut self, rank: u32, from: u32, number: u32) -> Option<u32> {
        let sent = self
            .ranks
            .get(from as usize)?
            .operations
            .get(number as usize)?;
        let Operation::Send { tag, .. } = *sent else {
            return None;
        };
        let state = &mut self.progress[rank as usize];
        let waiting = state.wait.get_mut(&(from, tag));
        let next = waiting.and_then(VecDeque::pop_front);
        if next.is_none() {
            *state.come.entry((from, tag)).or_default() += 1;
        }
        next
    }
}

impl Program for Schedule {
    fn begin(&mut self, mpi: &mut Mpi, simulation: &mut Simulation) {
        self.begun = simulation.now();
        if self.left == 0 {
            self.ended = Some(self.begun);
        }
        for rank in 0..self.ranks.len() {
            let waits = self.progress[rank].waits.iter().enumerate();
            let ready = waits.filter(|(_, count)| **count == 0);
            let mut ready: Vec<u32> = ready.map(|(at, _)| at as u32).collect();
            // The first one begins first.
            ready.reverse();
            self.begin_all(mpi, simulation, rank as u32, ready);
        }
    }

    fn done(&mut self, mpi: &mut Mpi, simulation: &mut Simulation, done: Done) {
        let (rank, number) = match done {
            Done::Sent { rank, tag } | Done::Timer { rank, tag } => (rank - self.first, tag),
            Done::Received { rank, from, tag } => {
                let rank = rank - self.first;
                let Some(number) = self.receive(rank, from - self.first, tag) else {
                    return;
                };
                (rank, number)
            }
        };
        self.end(mpi, simulation, rank, number);
    }

    fn has_ended(&self) -> bool {
        self.ended.is_some()
    }
}
