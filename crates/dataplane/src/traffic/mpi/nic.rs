//! Ranks on hosts, and what their HFIs send next.

use std::collections::VecDeque;

use weft_fabric::{Lid, Sl};

use super::stack::Stack;
use super::transfer::{Transfer, Transfers};
use crate::constants::PSM2_WINDOWS;
use crate::packets::{Delivery, Notice, Parcel, Simulation};
use crate::traffic::Hosts;

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
    Timer(u32),
}

/// What a packet or a timer is about; the lower 32 bits are the transfer.
mod word {
    pub(super) const DATA: u64 = 0;
    /// Packet: the sender has a large message. Timer: the receiver has read that.
    pub(super) const ANNOUNCE: u64 = 1;
    /// Packet: the receiver asks for a window. Timer: the sender has read that.
    pub(super) const ASK: u64 = 2;
    /// Timer: the sender's side is ready.
    pub(super) const START: u64 = 3;
    /// Timer: the receiver has the message.
    pub(super) const FINISH: u64 = 4;
    /// Timer of the program.
    pub(super) const PROGRAM: u64 = 5;
    pub(super) const SHIFT: u32 = 32;
}

/// What one host's HFI has to send.
#[derive(Debug, Clone, Default)]
struct Nic {
    control: VecDeque<(u64, u32)>,
    active: VecDeque<u32>,
    /// A packet waits at the port already.
    full: bool,
}

/// Ranks and their messages.
#[derive(Debug, Clone)]
pub struct Mpi {
    stack: Stack,
    level: Sl,
    hosts: Hosts,
    /// Number of the host of each rank.
    ranks: Vec<u32>,
    nics: Vec<Nic>,
    transfers: Transfers,
    /// How often each rank has chosen a path.
    paths: Vec<u32>,
    done: VecDeque<Done>,
    lost: u64,
}

impl Mpi {
    /// Ranks on hosts, by number; ranks on a host that does not exist are left out.
    pub fn new(hosts: Hosts, ranks: Vec<u32>, stack: Stack, level: Sl) -> Self {
        let known = |host: &u32| (*host as usize) < hosts.len();
        let ranks: Vec<u32> = ranks.into_iter().filter(known).collect();
        Self {
            nics: vec![Nic::default(); hosts.len()],
            paths: vec![0; ranks.len()],
            transfers: Transfers::default(),
            done: VecDeque::new(),
            lost: 0,
            stack,
            level,
            hosts,
            ranks,
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

    /// Packets that were dropped; nobody sends them again.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The host of a rank, by number.
    pub fn host(&self, rank: u32) -> u32 {
        self.ranks.get(rank as usize).copied().unwrap_or(u32::MAX)
    }

    /// Begins to send a message.
    pub fn send(&mut self, simulation: &mut Simulation, from: u32, to: u32, bytes: u64, tag: u32) {
        let packets = self.stack.packets(bytes);
        let by_rendezvous = bytes > self.stack.rendezvous;
        let id = self.transfers.add(Transfer {
            from,
            to,
            bytes,
            tag,
            packets,
            granted: if by_rendezvous { 0 } else { packets },
            path: from.wrapping_add(to),
            ..Transfer::default()
        });
        self.after_endpoint(simulation, word::START, id);
    }

    /// Has [`Done::Timer`] given after a while.
    pub fn wait(&mut self, simulation: &mut Simulation, span: u64, tag: u32) {
        let at = simulation.now() + span;
        simulation.set_timer(at, word::PROGRAM << word::SHIFT | u64::from(tag));
    }

    pub(super) fn next_done(&mut self) -> Option<Done> {
        self.done.pop_front()
    }

    fn after_endpoint(&self, simulation: &mut Simulation, what: u64, id: u32) {
        let at = simulation.now() + self.stack.endpoint;
        simulation.set_timer(at, what << word::SHIFT | u64::from(id));
    }

    pub(super) fn handle(&mut self, simulation: &mut Simulation, notice: Notice) {
        match notice {
            Notice::Delivered(delivery) => self.take(simulation, &delivery),
            Notice::Room(at) => {
                if let Some(host) = self.hosts.number(at) {
                    self.nics[host as usize].full = false;
                    self.pump(simulation, host);
                }
            }
            Notice::Lost(_) => self.lost += 1,
            Notice::Timer(tag) => self.timer(simulation, tag >> word::SHIFT, tag as u32),
        }
    }

    fn timer(&mut self, simulation: &mut Simulation, what: u64, id: u32) {
        match what {
            word::START => self.start(simulation, id),
            word::ANNOUNCE => (0..PSM2_WINDOWS).for_each(|_| self.ask(simulation, id)),
            word::ASK => self.grant(simulation, id),
            word::FINISH => {
                let transfer = self.transfers.remove(id);
                self.done.push_back(Done::Received {
                    rank: transfer.to,
                    from: transfer.from,
                    tag: transfer.tag,
                });
            }
            _ => self.done.push_back(Done::Timer(id)),
        }
    }

    fn start(&mut self, simulation: &mut Simulation, id: u32) {
        let transfer = *self.transfers.get(id);
        let (here, there) = (self.host(transfer.from), self.host(transfer.to));
        if here == there {
            self.sent(&transfer);
            self.after_endpoint(simulation, word::FINISH, id);
        } else if transfer.granted > 0 {
            self.list(simulation, here, id);
        } else {
            self.control(simulation, here, word::ANNOUNCE, id);
        }
    }

    fn sent(&mut self, transfer: &Transfer) {
        self.done.push_back(Done::Sent {
            rank: transfer.from,
            tag: transfer.tag,
        });
    }

    /// The receiver asks for the next window, if there is one.
    fn ask(&mut self, simulation: &mut Simulation, id: u32) {
        let window = self.stack.window_packets();
        let transfer = self.transfers.get_mut(id);
        if transfer.asked >= transfer.packets {
            return;
        }
        transfer.asked = transfer.asked.saturating_add(window).min(transfer.packets);
        let to = transfer.to;
        self.control(simulation, self.host(to), word::ASK, id);
    }

    /// The sender was asked for the next window.
    fn grant(&mut self, simulation: &mut Simulation, id: u32) {
        let window = self.stack.window_packets();
        let from = self.transfers.get(id).from;
        let turn = &mut self.paths[from as usize];
        *turn = turn.wrapping_add(1);
        let path = *turn;
        let transfer = self.transfers.get_mut(id);
        transfer.granted = transfer
            .granted
            .saturating_add(window)
            .min(transfer.packets);
        transfer.path = path;
        self.list(simulation, self.host(from), id);
    }

    /// Puts a transfer among those whose packets its host sends in turn.
    fn list(&mut self, simulation: &mut Simulation, host: u32, id: u32) {
        let transfer = self.transfers.get_mut(id);
        if !transfer.listed {
            transfer.listed = true;
            self.nics[host as usize].active.push_back(id);
        }
        self.pump(simulation, host);
    }

    fn control(&mut self, simulation: &mut Simulation, host: u32, what: u64, id: u32) {
        self.nics[host as usize].control.push_back((what, id));
        self.pump(simulation, host);
    }

    /// Hands the next packet of a host to its port.
    fn pump(&mut self, simulation: &mut Simulation, host: u32) {
        let nic = &mut self.nics[host as usize];
        if nic.full {
            return;
        }
        if let Some((what, id)) = nic.control.pop_front() {
            let transfer = self.transfers.get(id);
            let other = if what == word::ASK {
                transfer.from
            } else {
                transfer.to
            };
            let tag = what << word::SHIFT | u64::from(id);
            self.put(simulation, host, other, 0, self.stack.headers, tag);
        } else if let Some(id) = nic.active.pop_front() {
            self.put_data(simulation, host, id);
        }
    }

    fn put_data(&mut self, simulation: &mut Simulation, host: u32, id: u32) {
        let transfer = self.transfers.get_mut(id);
        let bytes = self.stack.packet_bytes(transfer.bytes, transfer.sent);
        transfer.sent += 1;
        transfer.listed = transfer.sent < transfer.granted;
        let now = *transfer;
        if now.listed {
            self.nics[host as usize].active.push_back(id);
        } else if now.sent == now.packets {
            self.sent(&now);
        }
        let tag = word::DATA << word::SHIFT | u64::from(id);
        self.put(simulation, host, now.to, 1 + now.path, bytes, tag);
    }

    /// A packet to another rank; path 0 is its first LID, the others take turns on the rest.
    fn put(
        &mut self,
        simulation: &mut Simulation,
        host: u32,
        rank: u32,
        path: u32,
        bytes: u32,
        tag: u64,
    ) {
        let (Some(from), Some(to)) = (self.hosts.get(host), self.hosts.get(self.host(rank))) else {
            return;
        };
        let offset = match (path, to.lids) {
            (0, _) | (_, 0 | 1) => 0,
            (path, lids) => 1 + (path - 1) % (lids - 1),
        };
        self.nics[host as usize].full = true;
        simulation.send(Parcel {
            from: from.port,
            dlid: Lid(to.lid.0 + offset),
            sl: self.level,
            bytes,
            tag,
        });
    }

    /// A packet has arrived.
    fn take(&mut self, simulation: &mut Simulation, delivery: &Delivery) {
        let id = delivery.tag as u32;
        match delivery.tag >> word::SHIFT {
            word::DATA => self.take_data(simulation, id),
            what => self.after_endpoint(simulation, what, id),
        }
    }

    fn take_data(&mut self, simulation: &mut Simulation, id: u32) {
        let window = self.stack.window_packets();
        let by_rendezvous = self.transfers.get(id).bytes > self.stack.rendezvous;
        let transfer = self.transfers.get_mut(id);
        transfer.received += 1;
        let (received, packets) = (transfer.received, transfer.packets);
        if received == packets {
            self.after_endpoint(simulation, word::FINISH, id);
        } else if by_rendezvous && received.is_multiple_of(window) {
            self.ask(simulation, id);
        }
    }
}
