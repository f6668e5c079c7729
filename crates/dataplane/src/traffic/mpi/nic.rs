//! Ranks on hosts, and what their HFIs send next.

use std::collections::{BTreeMap, VecDeque};

use weft_fabric::Sl;

use super::books::{Books, Message, ProgramBook, RankBook};
use super::connection::Connection;
use super::flow::{Flows, Stamp};
use super::post::Nic;
use super::rank::Rank;
use super::recovery::Tally;
use super::stack::{Method, Stack};
use super::transfer::{Transfer, Transfers};
use super::word;
use crate::packets::{Notice, Picos, Simulation};
use crate::traffic::{Histogram, Hosts};

/// Something that a program waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// The sender may use its buffer again.
    Sent {
        /// The sender.
        rank: u32,
        /// The message's word.
        tag: u32,
    },
    /// The receiver has the message.
    Received {
        /// The receiver.
        rank: u32,
        /// The sender.
        from: u32,
        /// The message's word.
        tag: u32,
    },
    /// A timer of the program has run out.
    Timer {
        /// The rank that it was set for, or [`NOBODY`].
        rank: u32,
        /// Its word.
        tag: u32,
    },
}

/// No rank: timers of several programs together.
pub const NOBODY: u32 = (1 << 24) - 1;

/// Ranks and their messages.
#[derive(Debug, Clone)]
pub struct Mpi {
    pub(super) hosts: Hosts,
    pub(super) ranks: Vec<Rank>,
    pub(super) nics: Vec<Nic>,
    pub(super) transfers: Transfers,
    pub(super) flows: Flows,
    /// TCP connections by sender and receiver.
    pub(super) connections: BTreeMap<(u32, u32), Connection>,
    done: VecDeque<Done>,
    pub(super) tally: Tally,
    books: Books,
}

impl Mpi {
    /// Ranks on hosts, by number; ranks on a host that does not exist are left out.
    pub fn new(hosts: Hosts, ranks: &[u32], stack: Stack, level: Sl) -> Self {
        let mut mpi = Self {
            nics: vec![Nic::default(); hosts.len()],
            ranks: Vec::new(),
            transfers: Transfers::default(),
            flows: Flows::default(),
            connections: BTreeMap::new(),
            done: VecDeque::new(),
            tally: Tally::default(),
            books: Books::default(),
            hosts,
        };
        mpi.add(ranks, stack, level);
        mpi
    }

    /// Adds the ranks of another program, which have the numbers after those there are; those of
    /// one call share the hosts' send buffers.
    pub fn add(&mut self, hosts: &[u32], stack: Stack, level: Sl) {
        let mut processes = vec![0; self.hosts.len()];
        for host in hosts {
            if let Some(count) = processes.get_mut(*host as usize) {
                *count += 1;
            }
        }
        let stack = stack.within(self.hosts.mtu(level));
        let first = self.ranks.len() as u32;
        self.books.open(first);
        for host in hosts {
            let place = *host as usize;
            let (Some(processes), Some(nic)) = (processes.get(place), self.nics.get_mut(place))
            else {
                continue;
            };
            let rank = Rank::new(*host, nic.open(), stack, level, *processes);
            self.ranks.push(rank);
            self.books.ranks.push(RankBook::default());
        }
    }

    /// Number of ranks.
    pub fn len(&self) -> usize {
        self.ranks.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }

    /// Fate of the packets of all ranks.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Of each program's messages, in the order in which its ranks were added, the times from handing over to the moment
    /// at which the receiver has all of it.
    pub fn latencies(&self) -> impl Iterator<Item = &Histogram> {
        self.programs().map(|program| &program.latencies)
    }

    /// What has come of each program, in the order in which its ranks were added.
    pub fn programs(&self) -> impl Iterator<Item = &ProgramBook> {
        self.books.programs.iter()
    }

    /// What has come of each rank.
    pub fn rank_books(&self) -> &[RankBook] {
        &self.books.ranks
    }

    /// Keeps each message of the program whose ranks were added last; of all such programs the first `most` that come.
    pub fn trace(&mut self, most: usize) {
        self.books.trace(most);
    }

    /// The messages that were kept, in the order in which they came.
    pub fn traced(&self) -> &[Message] {
        &self.books.trace
    }

    /// The host of a rank, by number.
    pub fn host(&self, rank: u32) -> u32 {
        let rank = self.ranks.get(rank as usize);
        rank.map_or(u32::MAX, |rank| rank.host)
    }

    /// Method of sending a message of a rank.
    pub fn method(&self, rank: u32, bytes: u64) -> Option<Method> {
        let rank = self.ranks.get(rank as usize)?;
        Some(rank.stack.method(bytes, rank.payload))
    }

    /// Begins to send a message.
    pub fn send(&mut self, simulation: &mut Simulation, from: u32, to: u32, bytes: u64, tag: u32) {
        let id = self.add_transfer((from, to), bytes, tag, false, simulation.now());
        let method = self.transfers.get(id).method;
        let stack = self.ranks[from as usize].stack;
        let copy = stack.copy_time(bytes, stack.copies.0);
        let work = match method {
            Method::Dma => copy + stack.call + stack.registering(bytes),
            _ => 0,
        };
        self.serve(simulation, from, work, word::START, u64::from(id));
    }

    /// Begins to read `bytes` from another rank, whose kernel sends them by itself.
    pub fn read(&mut self, simulation: &mut Simulation, to: u32, from: u32, bytes: u64, tag: u32) {
        let id = self.add_transfer((from, to), bytes, tag, true, simulation.now());
        let work = self.ranks[to as usize].stack.send;
        self.serve(simulation, to, work, word::START, u64::from(id));
    }

    fn add_transfer(
        &mut self,
        (from, to): (u32, u32),
        bytes: u64,
        tag: u32,
        read: bool,
        begun: Picos,
    ) -> u32 {
        let is_tcp = self.is_tcp(from);
        let rank = &mut self.ranks[from as usize];
        let serial = rank.begin();
        let method = match read {
            true => Method::Dma,
            false => rank.stack.method(bytes, rank.payload),
        };
        let payload = match method {
            Method::Inject | Method::Eager | Method::MultiEager => rank.payload,
            Method::Dma | Method::Rendezvous => rank.stack.payload,
        };
        let packets = Stack::packets(bytes, payload);
        let waits = read || is_tcp || rank.stack.is_connection() || method == Method::Rendezvous;
        self.transfers.add(Transfer {
            from,
            to,
            bytes,
            tag,
            begun,
            serial,
            method,
            read,
            payload,
            packets,
            written: 0,
            sent: 0,
            granted: if waits { 0 } else { packets },
            again: 0,
            flying: 0,
            received: 0,
            asked: 0,
            requests: 0,
            heard: 0,
            announced: false,
            known: false,
            path: from.wrapping_add(to),
            listed: false,
            told: false,
            over: false,
        })
    }

    /// Has [`Done::Timer`] given to a rank after a while.
    pub fn wait(&mut self, simulation: &mut Simulation, span: Picos, rank: u32, tag: u32) {
        let at = simulation.now().saturating_add(span);
        let rest = u64::from(rank & NOBODY) << 32 | u64::from(tag);
        simulation.set_timer(at, word::of(word::PROGRAM, rest));
    }

    pub(super) fn next_done(&mut self) -> Option<Done> {
        self.done.pop_front()
    }

    /// Sets a timer for when a rank's processor has dealt with something, and returns that time.
    pub(super) fn serve(
        &mut self,
        simulation: &mut Simulation,
        rank: u32,
        work: Picos,
        what: u64,
        id: u64,
    ) -> Picos {
        let at = self.ranks[rank as usize].serve(simulation.now(), work);
        simulation.set_timer(at, word::of(what, id));
        at
    }

    /// The same of the processor that receives for a rank, see [`Rank::receive`].
    pub(super) fn receive(
        &mut self,
        simulation: &mut Simulation,
        rank: u32,
        work: Picos,
        what: u64,
        id: u64,
    ) {
        let at = self.ranks[rank as usize].receive(simulation.now(), work);
        simulation.set_timer(at, word::of(what, id));
    }

    pub(super) fn handle(&mut self, simulation: &mut Simulation, notice: Notice) {
        match notice {
            Notice::Delivered(delivery) => self.take(simulation, &delivery),
            Notice::Room(at) => {
                if let Some(host) = self.hosts.number(at) {
                    self.room(simulation, host);
                }
            }
            Notice::Lost(loss) => self.lose(simulation, loss.tag, loss.born),
            Notice::Timer(tag) => {
                let (what, id) = word::split(tag);
                self.timer(simulation, what, id);
            }
        }
    }

    fn timer(&mut self, simulation: &mut Simulation, what: u64, rest: u64) {
        let id = rest as u32;
        match what {
            word::START => self.start(simulation, id),
            word::WRITTEN => self.written(simulation, id),
            word::ANNOUNCE => {
                let to = self.transfers.get(id).to;
                self.ranks[to as usize].asking.push_back(id);
                self.ask(simulation, to);
            }
            word::WINDOW => self.window_over(simulation, id),
            word::ASK if self.transfers.get(id).read => self.make(simulation, id),
            word::ASK => self.grant(simulation, id),
            word::MAKE => self.made(simulation, id),
            word::REGISTER => {
                let host = self.host(self.transfers.get(id).to);
                self.request(simulation, host, id);
            }
            word::DRAIN => self.drain(simulation, id),
            word::COMPLAIN => self.complain(simulation, rest),
            word::MISSING => self.is_told(simulation, rest),
            word::CHECK => self.answer(simulation, rest),
            word::RESEND => self.time_out(simulation, rest),
            word::FINISH => {
                if !self.flows.is_empty() || simulation.may_overtake() {
                    self.flows.forget(id);
                    self.transfers.get_mut(id).again = 0;
                }
                let transfer = self.transfers.end(id);
                // Data received in windows; not handed over by a rank of the same host.
                if !transfer.read && transfer.asked > 0 {
                    self.window_over(simulation, transfer.to);
                }
                self.books.note(&transfer, simulation.now());
                self.done.push_back(Done::Received {
                    rank: transfer.to,
                    from: transfer.from,
                    tag: transfer.tag,
                });
            }
            _ => self.done.push_back(Done::Timer {
                rank: (rest >> 32) as u32,
                tag: id,
            }),
        }
    }

    fn start(&mut self, simulation: &mut Simulation, id: u32) {
        let transfer = *self.transfers.get(id);
        let (here, there) = (self.host(transfer.from), self.host(transfer.to));
        if here == there {
            self.sent(id);
            self.serve(simulation, transfer.to, 0, word::FINISH, u64::from(id));
            return;
        }
        if transfer.read {
            self.transfers.get_mut(id).asked = transfer.packets;
            self.request(simulation, there, id);
            return;
        }
        match transfer.method {
            Method::Rendezvous => self.control(simulation, here, word::ANNOUNCE, u64::from(id)),
            Method::Dma if self.is_tcp(transfer.from) => self.stream(simulation, id),
            Method::Dma if self.is_connection(transfer.from) => self.make(simulation, id),
            Method::Dma => self.list(simulation, id),
            Method::Inject | Method::Eager | Method::MultiEager => {
                self.ranks[transfer.from as usize].writing.push_back(id);
                self.write(simulation, transfer.from);
            }
        }
    }

    /// The sender of a message may reuse its buffer, which is reported once.
    pub(super) fn sent(&mut self, id: u32) {
        let transfer = self.transfers.get_mut(id);
        if std::mem::replace(&mut transfer.told, true) {
            return;
        }
        self.done.push_back(Done::Sent {
            rank: transfer.from,
            tag: transfer.tag,
        });
    }

    /// A window has come to a rank whole.
    fn window_over(&mut self, simulation: &mut Simulation, rank: u32) {
        self.ranks[rank as usize].windows += 1;
        self.ask(simulation, rank);
    }

    /// A receiver requests windows, message by message, as long as its HFI accepts more of them.
    fn ask(&mut self, simulation: &mut Simulation, rank: u32) {
        let host = self.host(rank);
        let rank = rank as usize;
        while self.ranks[rank].windows > 0 {
            let Some(id) = self.ranks[rank].asking.front().copied() else {
                return;
            };
            let window = self.window_of(id);
            let transfer = self.transfers.get_mut(id);
            let before = transfer.asked;
            transfer.asked = before.saturating_add(window).min(transfer.packets);
            let (asked, bytes) = (transfer.asked, transfer.bytes_of(before..transfer.asked));
            if asked == transfer.packets {
                self.ranks[rank].asking.pop_front();
            }
            self.ranks[rank].windows -= 1;
            let stack = self.ranks[rank].stack;
            match stack.registers {
                None => self.request(simulation, host, id),
                Some(_) => {
                    let work = stack.call + stack.registering(bytes);
                    self.serve(simulation, rank as u32, work, word::REGISTER, u64::from(id));
                }
            }
        }
    }

    /// Whether a kernel makes the packets of a rank.
    fn is_connection(&self, rank: u32) -> bool {
        self.ranks[rank as usize].stack.is_connection()
    }

    /// Requests a window, or a read.
    pub(super) fn request(&mut self, simulation: &mut Simulation, host: u32, id: u32) {
        let to = self.transfers.get(id).to;
        let number = self.ranks[to as usize].begin();
        let stamp = Stamp { pass: 0, number };
        let rest = word::stamped(0, stamp.bits(), id);
        self.control(simulation, host, word::ASK, rest);
    }

    pub(super) fn window_of(&self, id: u32) -> u32 {
        let from = self.transfers.get(id).from;
        self.ranks[from as usize].stack.window_packets()
    }

    /// The sender has received a request for the next window.
    pub(super) fn grant(&mut self, simulation: &mut Simulation, id: u32) {
        let window = self.window_of(id);
        let there = self.host(self.transfers.get(id).to);
        let transfer = self.transfers.get_mut(id);
        let path = self.ranks[transfer.from as usize].next_path(there);
        let before = transfer.granted;
        transfer.granted = before.saturating_add(window).min(transfer.packets);
        // Lost packets of it are resent on the path of its last window.
        transfer.path = path;
        let numbers = before..transfer.granted;
        self.list_window(simulation, id, numbers, path);
    }
}
