//! Order of sending at each host's HFI: control, packets from processors, packets from engines.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use weft_fabric::Lid;

use super::flow::Stamp;
use super::nic::Mpi;
use super::word;
use crate::constants::{MESSAGE_TIME, PIO_BLOCK, PIO_BLOCK_TIME, SDMA_ENGINES};
use crate::packets::{Parcel, Picos, Simulation};

/// An order to an engine.
#[derive(Debug, Clone)]
struct Order {
    transfer: u32,
    /// Packets of a window of it that have not gone, and the path that the window takes; else what
    /// its transfer has to send when its turn comes.
    window: Option<(Range<u32>, u32)>,
}

/// Send queues of one host's HFI.
#[derive(Debug, Clone, Default)]
pub(super) struct Nic {
    /// Control packets: their kind, and a transfer or a flow.
    control: VecDeque<(u64, u64)>,
    /// Packets on the bus to the send buffer: words of their transfers and stamps.
    bus: VecDeque<u64>,
    /// Packets that stand in the send buffer.
    written: VecDeque<u64>,
    /// Orders of each DMA engine, sent one after the other.
    engines: [VecDeque<Order>; SDMA_ENGINES],
    /// Engines that have something to send, in the order of their turns.
    active: VecDeque<u8>,
    /// Number of processes that have opened it.
    contexts: u32,
    /// The engines have the next turn.
    engines_next: bool,
    /// The bus to the send buffer is in use until then.
    bus_free: Picos,
    /// Rank and blocks of the packet that waits at the port.
    leaving: Option<(u32, u32)>,
    /// A packet waits at the port already.
    full: bool,
    /// Ranks whose kernel contexts have no room: the HFI takes no packets.
    pub(super) full_contexts: BTreeSet<u32>,
}

impl Nic {
    /// Another process opens it; returns the number of its context.
    pub(super) fn open(&mut self) -> u32 {
        self.contexts += 1;
        self.contexts
    }
}

impl Mpi {
    /// A rank's processor writes packets while the send buffer has room.
    pub(super) fn write(&mut self, simulation: &mut Simulation, number: u32) {
        while let Some(id) = self.ranks[number as usize].writing.front().copied() {
            let rank = &mut self.ranks[number as usize];
            let transfer = self.transfers.get_mut(id);
            let (stack, place) = (rank.stack, transfer.written);
            let bytes = stack.packet_bytes(transfer.bytes, transfer.payload, place);
            let blocks = bytes.div_ceil(PIO_BLOCK);
            if rank.blocks < blocks {
                return;
            }
            rank.blocks -= blocks;
            transfer.written += 1;
            transfer.flying += 1;
            if transfer.written == transfer.packets {
                rank.writing.pop_front();
                self.sent(id);
            }
            let pass = self.pass_of(word::DATA, id, place);
            let stamp = Stamp {
                pass,
                number: place,
            };
            let host = self.host(number);
            let word = word::stamped(word::DATA, stamp.bits(), id);
            self.nics[host as usize].bus.push_back(word);
            let bus_free = &mut self.nics[host as usize].bus_free;
            let begin = simulation.now().max(*bus_free);
            let span = Picos::from(blocks) * PIO_BLOCK_TIME;
            *bus_free = begin + span.max(MESSAGE_TIME);
            // The first block's time is in the endpoint's.
            let at = begin + span - PIO_BLOCK_TIME;
            if at <= simulation.now() {
                self.written(simulation, id);
            } else {
                simulation.set_timer(at, word::of(word::WRITTEN, u64::from(id)));
            }
        }
    }

    /// The next packet from the bus, which is one of this message, stands in the send buffer.
    pub(super) fn written(&mut self, simulation: &mut Simulation, id: u32) {
        let host = self.host(self.transfers.get(id).from);
        let nic = &mut self.nics[host as usize];
        nic.written.extend(nic.bus.pop_front());
        self.pump(simulation, host);
    }

    /// The packet that waited at a host's port leaves.
    pub(super) fn room(&mut self, simulation: &mut Simulation, host: u32) {
        let nic = &mut self.nics[host as usize];
        nic.full = false;
        let left = nic.leaving.take();
        if let Some((rank, blocks)) = left {
            self.ranks[rank as usize].blocks += blocks;
            self.write(simulation, rank);
        }
        self.pump(simulation, host);
    }

    /// Gives a transfer to the engine for its sender, its destination and its path, behind what that
    /// has been given before.
    pub(super) fn list(&mut self, simulation: &mut Simulation, id: u32) {
        let transfer = self.transfers.get_mut(id);
        let path = transfer.path;
        if !std::mem::replace(&mut transfer.listed, true) {
            let order = Order {
                transfer: id,
                window: None,
            };
            self.order(order, path);
        }
        let host = self.host(self.transfers.get(id).from);
        self.pump(simulation, host);
    }

    /// Lists a window, which takes a path of its own.
    pub(super) fn list_window(
        &mut self,
        simulation: &mut Simulation,
        id: u32,
        numbers: Range<u32>,
        path: u32,
    ) {
        let order = Order {
            transfer: id,
            window: Some((numbers, path)),
        };
        self.order(order, path);
        let host = self.host(self.transfers.get(id).from);
        self.pump(simulation, host);
    }

    fn order(&mut self, order: Order, path: u32) {
        let transfer = self.transfers.get(order.transfer);
        let rank = &self.ranks[transfer.from as usize];
        let to = self.ranks[transfer.to as usize].host;
        let lids = self.hosts.get(to).map_or(1, |to| to.lids);
        let chosen = rank.context + to + lid_offset(1 + path, lids);
        let engine = (chosen % SDMA_ENGINES as u32) as u8;
        let nic = &mut self.nics[rank.host as usize];
        let queue = &mut nic.engines[usize::from(engine)];
        if queue.is_empty() {
            nic.active.push_back(engine);
        }
        queue.push_back(order);
    }

    /// Takes back what has not gone of the window in `numbers`.
    pub(super) fn take_back(&mut self, id: u32, numbers: &Range<u32>) -> Option<Range<u32>> {
        let host = self.host(self.transfers.get(id).from);
        let mut orders = self.nics[host as usize].engines.iter_mut().flatten();
        orders.find_map(|order| {
            let (left, _) = order.window.as_mut().filter(|_| order.transfer == id)?;
            let is_it = left.start < left.end && numbers.contains(&(left.end - 1));
            is_it.then(|| std::mem::replace(left, 0..0))
        })
    }

    pub(super) fn control(&mut self, simulation: &mut Simulation, host: u32, what: u64, id: u64) {
        self.nics[host as usize].control.push_back((what, id));
        self.pump(simulation, host);
    }

    /// Hands the next packet of a host to its port: control first, then the processors' and the
    /// engines' by turns.
    pub(super) fn pump(&mut self, simulation: &mut Simulation, host: u32) {
        if self.nics[host as usize].full {
            return;
        }
        while let Some((what, rest)) = self.nics[host as usize].control.pop_front() {
            if self.put_control(simulation, host, what, rest) {
                return;
            }
        }
        loop {
            let nic = &mut self.nics[host as usize];
            let engines = nic.written.is_empty() || nic.engines_next && !nic.active.is_empty();
            nic.engines_next = !engines;
            if !engines {
                if let Some(word) = nic.written.pop_front() {
                    self.put_written(simulation, host, word);
                }
                return;
            }
            let Some(engine) = nic.active.pop_front() else {
                return;
            };
            if self.put_next(simulation, host, engine) {
                return;
            }
            self.nics[host as usize].engines_next = true;
        }
    }

    /// Hands over the next packet of an engine, which then waits for its next turn; returns whether the
    /// engine had one.
    fn put_next(&mut self, simulation: &mut Simulation, host: u32, engine: u8) -> bool {
        let queue = &mut self.nics[host as usize].engines[usize::from(engine)];
        let Some(order) = queue.front_mut() else {
            return false;
        };
        let id = order.transfer;
        let (put, has_more) = match &mut order.window {
            Some((left, path)) => {
                let (path, next) = (*path, left.next());
                let has_more = left.start < left.end;
                if let Some(number) = next {
                    self.put_of_window(simulation, host, id, number, path);
                }
                (next.is_some(), has_more)
            }
            None if self.transfers.drop_over(id) => (false, false),
            None => (true, self.put_data(simulation, host, id)),
        };
        let nic = &mut self.nics[host as usize];
        let queue = &mut nic.engines[usize::from(engine)];
        if !has_more {
            queue.pop_front();
        }
        if !queue.is_empty() {
            nic.active.push_back(engine);
        }
        put
    }

    /// Hands over a control packet; returns whether its flow still lives, if it is about one.
    fn put_control(
        &mut self,
        simulation: &mut Simulation,
        host: u32,
        what: u64,
        rest: u64,
    ) -> bool {
        let Some((from, to)) = self.ends_of(what, rest) else {
            return false;
        };
        let word = if word::has_place(what) {
            self.stamp_control(what, rest)
        } else {
            word::of(what, rest)
        };
        let bytes = self.ranks[from as usize].stack.control_bytes();
        self.put(simulation, host, to, 0, bytes, word);
        true
    }

    /// From which rank to which one a control packet goes.
    fn ends_of(&self, what: u64, rest: u64) -> Option<(u32, u32)> {
        let (from, to) = if word::has_place(what) {
            let transfer = self.transfers.get(rest as u32);
            (transfer.from, transfer.to)
        } else {
            let flow = self.flows.get(self.flows.slot(rest)?);
            (flow.from, flow.to)
        };
        let forth = matches!(what, word::CHECK | word::ANNOUNCE);
        Some(if forth { (from, to) } else { (to, from) })
    }

    /// An announcement or a request goes, in the pass that its flow has now.
    fn stamp_control(&mut self, what: u64, rest: u64) -> u64 {
        let id = rest as u32;
        let number = Stamp::of(word::stamp(rest)).number;
        let pass = self.pass_of(what, id, number);
        let transfer = self.transfers.get_mut(id);
        transfer.flying += 1;
        match what {
            word::ANNOUNCE => transfer.announced = true,
            _ => transfer.requests += 1,
        }
        word::stamped(what, Stamp { pass, number }.bits(), id)
    }

    fn put_written(&mut self, simulation: &mut Simulation, host: u32, word: u64) {
        let (_, rest) = word::split(word);
        let transfer = *self.transfers.get(rest as u32);
        let stack = self.ranks[transfer.from as usize].stack;
        let number = Stamp::of(word::stamp(rest)).number;
        let bytes = stack.packet_bytes(transfer.bytes, transfer.payload, number);
        self.nics[host as usize].leaving = Some((transfer.from, bytes.div_ceil(PIO_BLOCK)));
        self.put(
            simulation,
            host,
            transfer.to,
            1 + transfer.path,
            bytes,
            word,
        );
    }

    /// Hands over a packet of a window for the first time.
    fn put_of_window(
        &mut self,
        simulation: &mut Simulation,
        host: u32,
        id: u32,
        number: u32,
        path: u32,
    ) {
        let transfer = self.transfers.get_mut(id);
        transfer.flying += 1;
        transfer.sent += 1;
        let now = *transfer;
        if now.sent == now.packets && !now.listed {
            self.sent(id);
        }
        let pass = self.pass_of(word::DATA, id, number);
        self.put_packet(simulation, host, id, Stamp { pass, number }, path);
    }

    /// Hands over the next packet of a transfer; returns whether the engines have more of it.
    fn put_data(&mut self, simulation: &mut Simulation, host: u32, id: u32) -> bool {
        let stamp = self.next_stamp(id);
        let transfer = self.transfers.get_mut(id);
        transfer.flying += 1;
        transfer.listed = transfer.has_more();
        let now = *transfer;
        if !now.listed && now.sent == now.packets && !now.read {
            self.sent(id);
        }
        self.put_packet(simulation, host, id, stamp, now.path);
        now.listed
    }

    fn put_packet(
        &mut self,
        simulation: &mut Simulation,
        host: u32,
        id: u32,
        stamp: Stamp,
        path: u32,
    ) {
        let transfer = self.transfers.get(id);
        let stack = &self.ranks[transfer.from as usize].stack;
        let bytes = stack.packet_bytes(transfer.bytes, transfer.payload, stamp.number);
        let word = word::stamped(word::DATA, stamp.bits(), id);
        let to = transfer.to;
        self.put(simulation, host, to, 1 + path, bytes, word);
    }

    /// The packet of a transfer that goes next: one that goes again, or a new one.
    fn next_stamp(&mut self, id: u32) -> Stamp {
        let transfer = self.transfers.get_mut(id);
        if transfer.again > 0 {
            transfer.again -= 1;
            if let Some(stamp) = self.flows.next_again(id) {
                return stamp;
            }
        }
        let transfer = self.transfers.get_mut(id);
        let number = transfer.sent;
        transfer.sent += 1;
        let pass = self.pass_of(word::DATA, id, number);
        Stamp { pass, number }
    }

    /// A packet to another rank by one of the paths to its LIDs.
    pub(super) fn put(
        &mut self,
        simulation: &mut Simulation,
        host: u32,
        rank: u32,
        path: u32,
        bytes: u32,
        tag: u64,
    ) {
        let Some(receiver) = self.ranks.get(rank as usize) else {
            return;
        };
        let (Some(from), Some(to)) = (self.hosts.get(host), self.hosts.get(receiver.host)) else {
            return;
        };
        self.nics[host as usize].full = true;
        self.tally.sent += 1;
        let dlid = Lid(to.lid.0 + lid_offset(path, to.lids));
        simulation.send(Parcel {
            from: from.port,
            dlid,
            sl: self.hosts.level_to(dlid, receiver.level),
            bytes,
            tag,
        });
    }
}

/// Index of the host's LID that a path uses: 0 the first, the others rotate over the rest.
fn lid_offset(path: u32, lids: u32) -> u32 {
    match (path, lids) {
        (0, _) | (_, 0 | 1) => 0,
        (path, lids) => 1 + (path - 1) % (lids - 1),
    }
}
