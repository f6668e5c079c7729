//! Copies over sockets, and reads by verbs: messages one after the other, a limited number at a time.

use super::job::Program;
use super::nic::{Done, Mpi};
use super::pairs::PairOf;
use super::stack::Stack;
use crate::constants::{
    IPOIB_ENCAPSULATION, IPOIB_MTU, RDMA_READ, RDMA_READS, TCP_HEADERS, TCP_SEGMENTS,
};
use crate::packets::{Picos, Simulation};

/// Kind of transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// Files over sockets, as by `dd`: the processors copy, a connection's window is in flight.
    Bulk,
    /// `ib_read_bw`: kernels send the requested data.
    Read,
}

impl Load {
    /// Software stack of its ranks.
    pub fn stack(self) -> Stack {
        match self {
            Self::Bulk => Stack::BULK,
            Self::Read => Stack::VERBS,
        }
    }

    /// Messages in flight at a time, of each pair and direction.
    pub fn at_once(self) -> u32 {
        match self {
            Self::Bulk => TCP_SEGMENTS,
            Self::Read => RDMA_READS,
        }
    }

    /// Default payload of a message in bytes: an IP packet's, or a read's.
    pub fn payload(self) -> u64 {
        match self {
            Self::Bulk => IPOIB_MTU - TCP_HEADERS,
            Self::Read => RDMA_READ,
        }
    }

    /// Size of a message with this payload, bytes.
    fn bytes(self, payload: u64) -> u64 {
        match self {
            Self::Bulk => payload + TCP_HEADERS + IPOIB_ENCAPSULATION,
            Self::Read => payload,
        }
    }
}

/// Pairs and amounts of data.
#[derive(Debug, Clone)]
pub struct CopiesOptions {
    /// Kind of transport.
    pub load: Load,
    /// From which ranks to which; they have been added with the load's stack.
    pub pairs: Vec<(u32, u32)>,
    /// Bytes of the user in a message; the last one may have fewer.
    pub payload: u64,
    /// Payload of each pair and direction, bytes; `None` for no end.
    pub bytes: Option<u64>,
    /// Bytes a second that each direction reads of its file; `None` for as fast as it can be sent.
    pub rate: Option<u64>,
    /// Both of a pair send.
    pub both_ways: bool,
}

/// One direction of a pair.
#[derive(Debug, Clone, Copy, Default)]
struct Way {
    /// Bytes in the messages that were begun.
    begun: u64,
    /// Messages that have arrived.
    arrived: u64,
    /// When the data of the next message has been read.
    due: Picos,
}

/// Copies between pairs of ranks: each direction always has something in flight until everything has been
/// sent.
#[derive(Debug, Clone)]
pub struct Copies {
    options: CopiesOptions,
    /// Both directions of each pair.
    ways: Vec<[Way; 2]>,
    /// Pair by rank.
    of_rank: PairOf,
    /// Directions that have not ended.
    left: usize,
    begun: Option<Picos>,
    ended: Option<Picos>,
}

impl Copies {
    /// Copies that have not begun.
    pub fn new(options: CopiesOptions) -> Self {
        Self {
            ways: vec![[Way::default(); 2]; options.pairs.len()],
            left: options.pairs.len() * (1 + usize::from(options.both_ways)),
            begun: None,
            ended: None,
            of_rank: PairOf::new(&options.pairs),
            options,
        }
    }

    /// Whether it runs until the other jobs end.
    pub fn is_endless(&self) -> bool {
        self.options.bytes.is_none()
    }

    /// Time from the beginning until all has arrived, or until `now`; none where they have not begun.
    pub fn time(&self, now: Picos) -> Option<Picos> {
        let end = self.ended.unwrap_or(now);
        Some(end.saturating_sub(self.begun?))
    }

    /// Bytes of the user that have arrived, by that time: bytes a second.
    pub fn bytes_per_second(&self, now: Picos) -> Option<f64> {
        let most = self.options.bytes.unwrap_or(u64::MAX);
        let of_way = |way: &Way| (way.arrived * self.options.payload).min(most);
        let bytes: u64 = self.ways.iter().flatten().map(of_way).sum();
        Some(bytes as f64 / (self.time(now)?.max(1) as f64 * 1e-12))
    }

    /// Number of messages of a direction.
    fn messages(&self) -> Option<u64> {
        let bytes = self.options.bytes?;
        Some(bytes.div_ceil(self.options.payload.max(1)))
    }

    /// Begins the next message of a direction, if there is one, as soon as its data has been read.
    fn next(&mut self, mpi: &mut Mpi, simulation: &mut Simulation, pair: usize, way: usize) {
        let now = simulation.now();
        let state = &mut self.ways[pair][way];
        let at = state.due.max(now);
        let read = |rate| span(self.options.payload, rate);
        state.due = at + self.options.rate.map_or(0, read);
        if at > now {
            let (a, b) = self.options.pairs[pair];
            mpi.wait(simulation, at - now, [a, b][way], way as u32);
        } else {
            self.post(mpi, simulation, pair, way);
        }
    }

    fn post(&mut self, mpi: &mut Mpi, simulation: &mut Simulation, pair: usize, way: usize) {
        let load = self.options.load;
        let state = &mut self.ways[pair][way];
        let left = self.options.bytes.map(|bytes| bytes - state.begun);
        let payload = left.map_or(self.options.payload, |left| left.min(self.options.payload));
        if payload == 0 {
            return;
        }
        state.begun += payload;
        let (a, b) = self.options.pairs[pair];
        let (from, to) = if way == 0 { (a, b) } else { (b, a) };
        match load {
            Load::Bulk => mpi.send(simulation, from, to, load.bytes(payload), 0),
            Load::Read => mpi.read(simulation, to, from, load.bytes(payload), 0),
        }
    }

    /// Notes that a message has arrived.
    fn note(&mut self, pair: usize, way: usize, now: Picos) {
        let messages = self.messages();
        let state = &mut self.ways[pair][way];
        state.arrived += 1;
        if messages == Some(state.arrived) {
            self.left -= 1;
        }
        if self.left == 0 {
            self.ended = Some(now);
        }
    }
}

/// Time in which `bytes` come at a rate of bytes a second.
fn span(bytes: u64, rate: u64) -> Picos {
    let picos = u128::from(bytes) * 1_000_000_000_000 / u128::from(rate.max(1));
    Picos::try_from(picos).unwrap_or(Picos::MAX)
}

impl Program for Copies {
    fn begin(&mut self, mpi: &mut Mpi, simulation: &mut Simulation) {
        self.begun = Some(simulation.now());
        let ways = 1 + usize::from(self.options.both_ways);
        for pair in 0..self.ways.len() {
            for _ in 0..self.options.load.at_once() {
                (0..ways).for_each(|way| self.next(mpi, simulation, pair, way));
            }
        }
    }

    fn done(&mut self, mpi: &mut Mpi, simulation: &mut Simulation, done: Done) {
        let rank = match done {
            Done::Received { rank, .. } => rank,
            Done::Timer { rank, tag } => {
                if let Some(pair) = self.of_rank.rank(rank) {
                    self.post(mpi, simulation, pair, tag as usize & 1);
                }
                return;
            }
            Done::Sent { .. } => return,
        };
        let Some(pair) = self.of_rank.rank(rank) else {
            return;
        };
        let way = usize::from(self.options.pairs[pair].1 != rank);
        self.note(pair, way, simulation.now());
        self.next(mpi, simulation, pair, way);
    }

    fn has_ended(&self) -> bool {
        self.ended.is_some()
    }
}
