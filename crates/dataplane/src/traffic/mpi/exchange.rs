//! Alltoall: each rank to each other.

use std::collections::VecDeque;
use std::ops::Range;

use super::job::Program;
use super::nic::{Done, Mpi};
use crate::constants::{ALLTOALL_SHORT, ALLTOALL_SHORT_RANKS};
use crate::packets::{Picos, Random, Simulation};

/// Order in which a rank sends to the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ExchangeOrder {
    /// In step k to the rank at distance k; the message from the one at that distance before it belongs to the
    /// same step. MPICH's pairwise exchange where the number of ranks is no power of two
    /// (`MPIR_Alltoall_intra_pairwise`), and Open MPI's always
    /// (`ompi_coll_base_alltoall_intra_pairwise`). Intel MPI names pairwise exchange as one of four
    /// (`I_MPI_ADJUST_ALLTOALL`) without saying in which order.
    #[default]
    Ring,
    /// In step k with the rank whose number differs in the bits of k: pairs exchange. MPICH's pairwise exchange
    /// where the number of ranks is a power of two; with another number some ranks pause in some steps.
    Xor,
    /// Each rank in an order of its own, drawn by the seed; it waits for no message before the
    /// next one goes, only for all of them at the end of an exchange, as with all receives posted
    /// (Open MPI's and Intel MPI's linear ones, whose sends go in the order of ranks).
    Random,
}

/// Options of [`AllToAll`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExchangeOptions {
    /// Bytes from each rank to each.
    pub bytes: u64,
    /// Exchanges before time is taken.
    pub skip: u32,
    /// Exchanges while it is taken, at least one.
    pub iterations: u32,
    /// Order of destinations; messages of up to [`ALLTOALL_SHORT`] bytes in the ring's order go by Bruck's
    /// algorithm.
    pub order: ExchangeOrder,
    /// Most steps of a rank at a time, at least one: the next one begins as soon as the first of them
    /// is over. MPICH has 32 messages at a time from 256 bytes to 32 KiB
    /// (`MPIR_CVAR_ALLTOALL_THROTTLE`).
    pub overlap: u32,
    /// Seed of random orders.
    pub seed: u64,
}

/// Alltoall in steps: in each of them a rank sends a message and expects one, and a step is over when both
/// are done; no rank waits for others than these two.
///
/// Large messages by pairwise exchange, by default in the ring's order. Small ones by Bruck's
/// algorithm: at distance 2^k, in one message all data that has to go this far. MPICH, from
/// which most MPI libraries derive, does so.
///
/// As in IMB, exchanges follow each other without a pause: a rank begins the next one when it has
/// finished its own part of the previous one.
#[derive(Debug, Clone)]
pub struct AllToAll {
    options: ExchangeOptions,
    plan: Plan,
    first: u32,
    ranks: u32,
    steps: Vec<Steps>,
    /// Ranks that have not ended the exchanges before time is taken, and those that have not ended all.
    warming: u32,
    left: u32,
    begun: Picos,
    ended: Option<Picos>,
}

/// Steps of an exchange.
#[derive(Debug, Clone)]
enum Plan {
    /// Distance to the partner of each step, and the bytes for it.
    Distances(Vec<(u32, u64)>),
    /// In each of so many steps the partner's number differs in the bits of one more than the step's.
    Bits(u32),
    /// Destinations of each rank in order.
    Lists(Vec<Vec<u32>>),
}

impl Plan {
    fn new(options: &ExchangeOptions, ranks: u32) -> Self {
        let short = options.bytes <= ALLTOALL_SHORT && ranks >= ALLTOALL_SHORT_RANKS;
        match options.order {
            ExchangeOrder::Ring if short => Self::Distances(bruck(ranks, options.bytes)),
            ExchangeOrder::Ring => {
                Self::Distances((1..ranks).map(|k| (k, options.bytes)).collect())
            }
            ExchangeOrder::Xor => Self::Bits(ranks.next_power_of_two() - 1),
            ExchangeOrder::Random => {
                let mut random = Random::new(options.seed);
                let lists = (0..ranks).map(|rank| list(rank, ranks, &mut random));
                Self::Lists(lists.collect())
            }
        }
    }

    /// Number of steps of an exchange.
    fn steps(&self) -> u32 {
        match self {
            Self::Distances(all) => all.len() as u32,
            Self::Bits(steps) => *steps,
            Self::Lists(lists) => lists.first().map_or(0, Vec::len) as u32,
        }
    }

    /// Destination and bytes of a step of a rank; `None` where it pauses.
    fn step(&self, rank: u32, ranks: u32, step: u32, bytes: u64) -> Option<(u32, u64)> {
        match self {
            Self::Distances(all) => {
                let (distance, bytes) = all.get(step as usize)?;
                Some(((rank + distance) % ranks, *bytes))
            }
            Self::Bits(_) => {
                let to = rank ^ (step + 1);
                (to < ranks).then_some((to, bytes))
            }
            Self::Lists(lists) => {
                let to = lists.get(rank as usize)?.get(step as usize)?;
                Some((*to, bytes))
            }
        }
    }

    /// What has to happen for a step to be over: with partners a message belongs to a step.
    fn wanted(&self) -> u8 {
        match self {
            Self::Lists(_) => SENT,
            _ => SENT | RECEIVED,
        }
    }
}

/// All ranks but one in a random order.
fn list(rank: u32, ranks: u32, random: &mut Random) -> Vec<u32> {
    let mut others: Vec<u32> = (0..ranks).filter(|other| *other != rank).collect();
    for end in (1..others.len()).rev() {
        others.swap(end, random.below(end as u32 + 1) as usize);
    }
    others
}

const SENT: u8 = 1;
const RECEIVED: u8 = 2;

/// Progress of a rank.
#[derive(Debug, Clone, Default)]
struct Steps {
    /// Steps that are over, of all exchanges: all before this one.
    over: u32,
    /// Steps begun.
    begun: u32,
    /// What has happened of the steps from the first one on that is not over; partners may be ahead.
    open: VecDeque<u8>,
    /// Where messages belong to no step: those that have come of exchanges with an even and with an odd number.
    come: [u32; 2],
}

impl Steps {
    fn note(&mut self, step: u32, what: u8) {
        let place = step.wrapping_sub(self.over) as usize;
        if self.open.len() <= place {
            self.open.resize(place + 1, 0);
        }
        self.open[place] |= what;
    }

    /// Ends the first step if it is over.
    fn end(&mut self, wanted: u8) -> bool {
        let seen = self.open.front();
        let ends = self.over < self.begun && seen.is_some_and(|seen| seen & wanted == wanted);
        if ends {
            self.open.pop_front();
            self.over += 1;
        }
        ends
    }
}

impl AllToAll {
    /// Exchanges among `ranks`.
    pub fn new(ranks: Range<u32>, options: ExchangeOptions) -> Self {
        let (first, ranks) = (ranks.start, ranks.len() as u32);
        Self {
            plan: Plan::new(&options, ranks),
            options: ExchangeOptions {
                iterations: options.iterations.max(1),
                overlap: options.overlap.max(1),
                ..options
            },
            first,
            ranks,
            steps: vec![Steps::default(); ranks as usize],
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
        Some(all / Picos::from(self.options.iterations))
    }

    /// Begins as many steps of a rank as it may have at a time, and ends those that are over.
    fn go_on(&mut self, mpi: &mut Mpi, simulation: &mut Simulation, rank: u32) {
        let (each, wanted) = (self.plan.steps(), self.plan.wanted());
        let skip = u64::from(each) * u64::from(self.options.skip);
        let all = skip + u64::from(each) * u64::from(self.options.iterations);
        loop {
            let state = &mut self.steps[rank as usize];
            // An exchange begins when the previous one has ended.
            let exchange = state.over / each;
            let end = all.min(u64::from(each) * (u64::from(exchange) + 1));
            let most = u64::from(state.over) + u64::from(self.options.overlap);
            if u64::from(state.begun) < end.min(most) {
                let step = state.begun;
                state.begun += 1;
                self.begin_step(mpi, simulation, rank, step);
                continue;
            }
            let come = &mut state.come[exchange as usize % 2];
            let is_last = wanted == SENT && u64::from(state.over) + 1 == end;
            if is_last && *come < each || !state.end(wanted) {
                return;
            }
            if is_last {
                state.come[exchange as usize % 2] = 0;
            }
            let over = u64::from(state.over);
            if over == skip {
                self.warm(simulation.now());
            }
            if over == all {
                return self.ends(simulation.now());
            }
        }
    }

    fn begin_step(&mut self, mpi: &mut Mpi, simulation: &mut Simulation, rank: u32, step: u32) {
        let place = step % self.plan.steps();
        match self.plan.step(rank, self.ranks, place, self.options.bytes) {
            Some((to, bytes)) => {
                mpi.send(simulation, self.first + rank, self.first + to, bytes, step);
            }
            None => self.steps[rank as usize].note(step, SENT | RECEIVED),
        }
    }

    /// A rank has ended the exchanges before time is taken.
    fn warm(&mut self, now: Picos) {
        self.warming -= 1;
        if self.warming == 0 {
            self.begun = now;
        }
    }

    /// A rank has ended.
    fn ends(&mut self, now: Picos) {
        self.left -= 1;
        if self.left == 0 {
            self.ended = Some(now);
        }
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
        self.begun = simulation.now();
        if self.plan.steps() == 0 {
            self.left = 0;
            self.ended = Some(self.begun);
            return;
        }
        (0..self.ranks).for_each(|rank| self.go_on(mpi, simulation, rank));
    }

    fn done(&mut self, mpi: &mut Mpi, simulation: &mut Simulation, done: Done) {
        let (rank, tag, what) = match done {
            Done::Sent { rank, tag } => (rank - self.first, tag, SENT),
            Done::Received { rank, tag, .. } => (rank - self.first, tag, RECEIVED),
            Done::Timer { .. } => return,
        };
        let steps = &mut self.steps[rank as usize];
        if self.plan.wanted() & what != 0 {
            steps.note(tag, what);
        } else {
            steps.come[(tag / self.plan.steps()) as usize % 2] += 1;
        }
        self.go_on(mpi, simulation, rank);
    }

    fn has_ended(&self) -> bool {
        self.left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDERS: [ExchangeOrder; 3] = [
        ExchangeOrder::Ring,
        ExchangeOrder::Xor,
        ExchangeOrder::Random,
    ];

    fn options(bytes: u64, order: ExchangeOrder) -> ExchangeOptions {
        ExchangeOptions {
            bytes,
            order,
            ..ExchangeOptions::default()
        }
    }

    /// Destinations and bytes of all steps of a rank.
    fn steps(plan: &Plan, rank: u32, ranks: u32, bytes: u64) -> Vec<Option<(u32, u64)>> {
        let steps = 0..plan.steps();
        steps
            .map(|step| plan.step(rank, ranks, step, bytes))
            .collect()
    }

    #[test]
    fn small_messages_go_by_bits_of_the_distance() {
        assert_eq!(
            bruck(8, 10),
            [(1, 40), (2, 40), (4, 40)],
            "four of eight blocks"
        );
        // Blocks 1, 3, 5, 7, 9; 2, 3, 6, 7; 4 to 7; 8 and 9.
        assert_eq!(bruck(10, 1), [(1, 5), (2, 4), (4, 4), (8, 2)]);
        let plan = |ranks, bytes| Plan::new(&options(bytes, ExchangeOrder::Ring), ranks);
        assert_eq!(plan(8, ALLTOALL_SHORT).steps(), 3);
        for (ranks, bytes) in [(7, 8), (8, ALLTOALL_SHORT + 1)] {
            let wanted: Vec<_> = (1..ranks).map(|to| Some((to, bytes))).collect();
            assert_eq!(steps(&plan(ranks, bytes), 0, ranks, bytes), wanted);
        }
    }

    /// Each rank sends to each other one once; by bits of the number both of a pair send in one step.
    #[test]
    fn every_order_serves_everybody_once() {
        for (order, ranks) in ORDERS
            .iter()
            .flat_map(|order| [2, 5, 8, 13].map(|n| (order, n)))
        {
            let plan = Plan::new(&options(1_000, *order), ranks);
            for rank in 0..ranks {
                let steps = steps(&plan, rank, ranks, 1_000);
                let mut to: Vec<u32> = steps.iter().flatten().map(|(to, _)| *to).collect();
                to.sort_unstable();
                let others: Vec<u32> = (0..ranks).filter(|other| *other != rank).collect();
                assert_eq!(to, others, "{order:?}, rank {rank} of {ranks}");
                if *order == ExchangeOrder::Xor {
                    for (step, (to, _)) in (0..).zip(steps).filter_map(|(n, to)| Some((n, to?))) {
                        let back = plan.step(to, ranks, step, 0);
                        assert_eq!(back.map(|(back, _)| back), Some(rank));
                    }
                }
            }
        }
        let lists = |seed| {
            let options = ExchangeOptions {
                seed,
                ..options(1_000, ExchangeOrder::Random)
            };
            format!("{:?}", Plan::new(&options, 20))
        };
        assert_ne!(lists(1), lists(2));
        assert_eq!(lists(1), lists(1));
    }

    #[test]
    fn messages_of_later_steps_wait_until_these_are_begun() {
        let mut steps = Steps::default();
        steps.note(2, RECEIVED);
        assert!(!steps.end(SENT | RECEIVED));
        steps.begun = 1;
        steps.note(0, SENT);
        steps.note(0, RECEIVED);
        assert!(steps.end(SENT | RECEIVED) && !steps.end(SENT | RECEIVED));
        assert_eq!(steps.open, [0, RECEIVED]);
    }
}
