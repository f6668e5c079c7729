//! Recovery of dropped packets, by the rules of their sender.
//!
//! PSM2 numbers the packets that processors write for one other rank, those that its engines send it
//! eagerly, and those of each window of a rendezvous. A receiver drops out-of-order packets and
//! sends one NAK, until something arrives in order (of a window, once in each pass); the
//! sender goes back to that packet and resends everything from there. If nothing follows, or the NAK is
//! lost, the sender's timeout ends and it queries the receiver. Reliable connections use these rules, but the reader
//! retries its request. TCP resends an IP packet after three later ones have arrived, or after a timeout, and slows
//! down.
//!
//! Not modelled: PSM2's slower sending after marked packets, senders that give up after some tries, and
//! the teardown of an IPoIB connection, which is not to retry, at each loss.

use std::ops::Range;

use super::flow::{self, Key, Kind, Place, Stamp, Verdict};
use super::nic::Mpi;
use super::stack::{Method, Recovery};
use super::word;
use crate::constants::TCP_RESEND;
use crate::packets::{Picos, Simulation};

/// Fate of packets: each one `sent` ends as `taken`, `refused` or `lost`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Handed to the link, with what was sent again.
    pub sent: u64,
    /// Taken by their receivers: messages' packets in order, and control.
    pub taken: u64,
    /// Refused by their receivers: out of order after a lost one, or come twice.
    pub refused: u64,
    /// Dropped in transit, or by a receiving HFI.
    pub lost: u64,
    /// Of these, dropped because the queue of a user's context was full.
    pub overflowed: u64,
    /// Packets of messages given to the link a second time or more.
    pub again: u64,
    /// Number of NAKs.
    pub told: u64,
    /// Number of timeouts.
    pub timeouts: u64,
}

impl Mpi {
    /// The flow of a packet, and the ranks at its ends.
    fn flow_of(&self, what: u64, id: u32, number: u32) -> (Key, (u32, u32)) {
        let transfer = self.transfers.get(id);
        let stack = self.ranks[transfer.from as usize].stack;
        let part = |kind, packets: u32| Key {
            kind,
            one: id,
            other: number / packets.max(1),
        };
        let pair = |kind, (one, other)| Key { kind, one, other };
        let (forth, back) = ((transfer.from, transfer.to), (transfer.to, transfer.from));
        match (what, transfer.method) {
            (word::ASK, _) if transfer.read => (pair(Kind::Request, back), back),
            (word::ASK, _) => (pair(Kind::Pio, back), back),
            (word::ANNOUNCE, _) => (pair(Kind::Pio, forth), forth),
            _ if transfer.read => (pair(Kind::Response, forth), forth),
            _ if stack.recovery == Recovery::Tcp => {
                (part(Kind::Segment, stack.segment_packets()), forth)
            }
            (_, Method::Rendezvous) => (part(Kind::Window, stack.window_packets()), forth),
            (_, Method::Dma) => (pair(Kind::Dma, forth), forth),
            _ => (pair(Kind::Pio, forth), forth),
        }
    }

    fn place_of(&self, what: u64, id: u32, stamp: Stamp) -> Place {
        match what {
            word::ASK => Place {
                serial: stamp.number,
                number: 0,
            },
            _ => Place {
                serial: self.transfers.get(id).serial,
                number: stamp.number,
            },
        }
    }

    /// The pass in which a packet is sent.
    #[inline]
    pub(super) fn pass_of(&self, what: u64, id: u32, number: u32) -> u32 {
        if self.flows.is_empty() {
            return 0;
        }
        self.flows.pass(self.flow_of(what, id, number).0)
    }

    /// Whether a packet that has arrived is taken; else it was one of a flow that has lost something.
    #[inline]
    pub(super) fn takes(&mut self, simulation: &mut Simulation, what: u64, rest: u64) -> bool {
        let over = self.transfers.land(rest as u32);
        let in_order = self.flows.is_empty() && !simulation.may_overtake();
        let taken = !over && (in_order || self.judges(simulation, what, rest));
        self.tally.refused += u64::from(!taken);
        taken
    }

    fn judges(&mut self, simulation: &mut Simulation, what: u64, rest: u64) -> bool {
        let (id, stamp) = (rest as u32, Stamp::of(word::stamp(rest)));
        let (key, ends) = self.flow_of(what, id, stamp.number);
        if let Some(slot) = self.flows.find(key) {
            let place = self.place_of(what, id, stamp);
            let verdict = self.flows.get_mut(slot).judge(stamp, place);
            if verdict != Verdict::Taken {
                self.refuse(simulation, slot, verdict == Verdict::Missing);
                return false;
            }
        }
        // What has overtaken a packet that is lost comes again with it.
        let in_part = matches!(key.kind, Kind::Window | Kind::Segment);
        if in_part && simulation.may_overtake() && !self.flows.note(id, stamp.number) {
            return false;
        }
        if key.kind == Kind::Segment {
            self.tell_of_earlier(simulation, id, stamp.number, ends);
        }
        true
    }

    /// A receiving processor examines packets that it drops; the card drops a window's packets by itself.
    fn refuse(&mut self, simulation: &mut Simulation, slot: u32, tells: bool) {
        let flow = self.flows.get(slot);
        let (kind, receiver) = (flow.key.kind, flow.to);
        let rank = &mut self.ranks[receiver as usize];
        let work = match kind {
            Kind::Window => 0,
            _ => rank.stack.receive,
        };
        let at = rank.receive(simulation.now(), work);
        if tells {
            simulation.set_timer(at, word::of(word::COMPLAIN, self.flows.word(slot)));
        }
    }

    /// After a complete IP packet, missing earlier ones are one step closer to counting as
    /// lost.
    fn tell_of_earlier(
        &mut self,
        simulation: &mut Simulation,
        id: u32,
        number: u32,
        (from, to): (u32, u32),
    ) {
        let transfer = *self.transfers.get(id);
        let segment = self.ranks[from as usize].stack.segment_packets();
        let last = (number + 1).is_multiple_of(segment) || number + 1 == transfer.packets;
        if !last {
            return;
        }
        for slot in self.flows.open_segments(from, to) {
            let key = self.flows.get(slot).key;
            let before = self.transfers.get(key.one).serial;
            let age = transfer.serial.wrapping_sub(before) as i32;
            let later = age > 0 || age == 0 && key.other < number / segment;
            if later && self.flows.get_mut(slot).count_later() {
                let at = self.ranks[to as usize].serve(simulation.now(), 0);
                simulation.set_timer(at, word::of(word::COMPLAIN, self.flows.word(slot)));
            }
        }
    }

    /// The receiver sends a NAK.
    pub(super) fn complain(&mut self, simulation: &mut Simulation, word: u64) {
        if let Some(slot) = self.flows.slot(word) {
            self.tally.told += 1;
            let host = self.host(self.flows.get(slot).to);
            self.control(simulation, host, word::MISSING, word);
        }
    }

    /// A NAK has arrived at the sender, or a query at the receiver.
    pub(super) fn hear(&mut self, simulation: &mut Simulation, what: u64, word: u64) {
        let Some(slot) = self.flows.slot(word) else {
            return;
        };
        let flow = self.flows.get(slot);
        let (kind, rank) = match what {
            word::CHECK => (flow.key.kind, flow.to),
            _ => (flow.key.kind, flow.from),
        };
        let work = match (what, kind) {
            (word::MISSING, Kind::Request | Kind::Response) => {
                let work = self.ranks[rank as usize].stack.receive;
                return self.receive(simulation, rank, work, what, word);
            }
            (word::MISSING, Kind::Dma | Kind::Window) => self.ranks[rank as usize].stack.call,
            _ => 0,
        };
        self.serve(simulation, rank, work, what, word);
    }

    /// The receiver answers the sender's query. If nothing is missing it sends nothing: that would
    /// change nothing.
    pub(super) fn answer(&mut self, simulation: &mut Simulation, word: u64) {
        if let Some(slot) = self.flows.slot(word)
            && self.flows.get_mut(slot).check()
        {
            self.complain(simulation, word);
        }
    }

    /// A packet was dropped that was handed over for sending at `born`.
    pub(super) fn lose(&mut self, simulation: &mut Simulation, tag: u64, born: Picos) {
        self.tally.lost += 1;
        let (what, rest) = word::split(tag);
        let (id, stamp) = (rest as u32, Stamp::of(word::stamp(rest)));
        if !word::has_place(what) || self.transfers.land(id) {
            return;
        }
        let (key, ends) = self.flow_of(what, id, stamp.number);
        let place = self.place_of(what, id, stamp);
        let slot = self.flows.open(key, ends);
        if !self.flows.get_mut(slot).lose(stamp, place) {
            return;
        }
        let packets = self.together(key, id);
        let stack = &self.ranks[ends.0 as usize].stack;
        let timeout = stack.timeout(packets);
        let flow = self.flows.get_mut(slot);
        flow.timeout = match flow.timeout {
            // A segment that is lost again waits as long as it would have without an answer.
            before if key.kind == Kind::Segment && before > 0 => before.max(TCP_RESEND),
            _ => timeout,
        };
        let timeout = flow.timeout;
        flow.deadline = (born + timeout).max(simulation.now());
        self.arm(simulation, slot);
    }

    /// Packets that a timeout stands for: one call to the engines sends all of a message or window.
    fn together(&self, key: Key, id: u32) -> u32 {
        let transfer = self.transfers.get(id);
        let window = self.ranks[transfer.from as usize].stack.window_packets();
        match key.kind {
            Kind::Window => (transfer.packets - key.other * window).min(window),
            Kind::Dma => transfer.packets.min(window),
            _ => 1,
        }
    }

    /// Sets a flow's timer, unless it runs out soon enough.
    fn arm(&mut self, simulation: &mut Simulation, slot: u32) {
        let word = self.flows.word(slot);
        let flow = self.flows.get_mut(slot);
        if flow.deadline < flow.armed {
            flow.armed = flow.deadline;
            simulation.set_timer(flow.deadline, word::of(word::RESEND, word));
        }
    }

    /// A timer has run out, which means something if a packet is missing for as long.
    pub(super) fn time_out(&mut self, simulation: &mut Simulation, word: u64) {
        let Some(slot) = self.flows.slot(word) else {
            return;
        };
        let now = simulation.now();
        let flow = self.flows.get_mut(slot);
        if flow.armed <= now {
            flow.armed = Picos::MAX;
        }
        if flow.missing.is_none() {
            return;
        }
        if flow.deadline <= now {
            self.tally.timeouts += 1;
            let (kind, from, to, timeout) = (flow.key.kind, flow.from, flow.to, flow.timeout);
            flow.timeout = self.ranks[from as usize].stack.timeout_after(timeout);
            flow.deadline = now + flow.timeout;
            if kind == Kind::Segment {
                self.hears_nothing(from, to, timeout);
            }
            self.act(simulation, slot, word);
        }
        self.arm(simulation, slot);
    }

    /// Action at the end of a timeout: PSM2 queries, kernels that read request again, connections and TCP go back.
    fn act(&mut self, simulation: &mut Simulation, slot: u32, word: u64) {
        let flow = self.flows.get(slot);
        let goes_back = self.ranks[flow.from as usize].stack.is_connection();
        match flow.key.kind {
            Kind::Dma if goes_back => self.go_back(simulation, word),
            Kind::Pio | Kind::Dma | Kind::Window => {
                let host = self.host(flow.from);
                self.control(simulation, host, word::CHECK, word);
            }
            Kind::Response => self.complain(simulation, word),
            Kind::Request | Kind::Segment => self.go_back(simulation, word),
        }
    }

    /// The sender has read what its receiver misses.
    pub(super) fn is_told(&mut self, simulation: &mut Simulation, word: u64) {
        if let Some(slot) = self.flows.slot(word) {
            let flow = self.flows.get(slot);
            if flow.key.kind == Kind::Segment {
                let (from, to) = (flow.from, flow.to);
                self.slow_down(from, to);
            }
            self.go_back(simulation, word);
        }
    }

    /// The sender resends missing packets and all that followed; does nothing if it already has.
    pub(super) fn go_back(&mut self, simulation: &mut Simulation, word: u64) {
        let Some(slot) = self.flows.slot(word) else {
            return;
        };
        let flow = self.flows.get_mut(slot);
        let Some(missing) = flow.go_back() else {
            return;
        };
        let (key, from, to, pass) = (flow.key, flow.from, flow.to, flow.pass);
        match key.kind {
            Kind::Pio => self.write_again(simulation, from, to),
            Kind::Dma => self.list_again(simulation, from, to, pass),
            Kind::Response => self.respond_again(simulation, from, to),
            Kind::Request => self.request_again(simulation, from, to),
            Kind::Window => {
                let window = self.window_of(key.one);
                let end = (key.other + 1) * window;
                self.part_again(simulation, key.one, missing.number..end, pass);
            }
            Kind::Segment => {
                let segment = self.ranks[from as usize].stack.segment_packets();
                let begin = key.other * segment;
                self.part_again(simulation, key.one, begin..begin + segment, pass);
            }
        }
    }

    /// Packets that processors write, announcements and requests for windows.
    fn write_again(&mut self, simulation: &mut Simulation, from: u32, to: u32) {
        let host = self.host(from);
        let mut writing: Vec<u32> = self.ranks[from as usize].writing.iter().copied().collect();
        for id in self.transfers.between(from, to) {
            let transfer = self.transfers.get_mut(id);
            if transfer.is_written() && transfer.written > transfer.received {
                self.tally.again += u64::from(transfer.written - transfer.received);
                if transfer.written == transfer.packets {
                    writing.push(id);
                }
                transfer.written = transfer.received;
            } else if transfer.announced && !transfer.known {
                transfer.announced = false;
                self.control(simulation, host, word::ANNOUNCE, u64::from(id));
            }
        }
        self.transfers.sort(&mut writing);
        self.ranks[from as usize].writing = writing.into();
        self.request_again(simulation, from, to);
        self.write(simulation, from);
    }

    /// Resends packets that the engines send eagerly. Those that a kernel has not made yet follow when they are.
    fn list_again(&mut self, simulation: &mut Simulation, from: u32, to: u32, pass: u32) {
        for id in self.transfers.between(from, to) {
            let transfer = *self.transfers.get(id);
            let here = !transfer.read && transfer.method == Method::Dma;
            if here && transfer.sent > transfer.received {
                self.part_again(simulation, id, transfer.received..transfer.granted, pass);
            }
        }
    }

    /// Resends a kernel's answers to a read; that takes no time of its processor.
    fn respond_again(&mut self, simulation: &mut Simulation, from: u32, to: u32) {
        for id in self.transfers.between(from, to) {
            let transfer = self.transfers.get_mut(id);
            if transfer.read && transfer.sent > transfer.received {
                self.tally.again += u64::from(transfer.sent - transfer.received);
                transfer.sent = transfer.received;
                self.list(simulation, id);
            }
        }
    }

    /// Requests for windows or reads that rank `to` has not got.
    fn request_again(&mut self, simulation: &mut Simulation, from: u32, to: u32) {
        let host = self.host(from);
        for id in self.transfers.between(to, from) {
            let transfer = self.transfers.get_mut(id);
            let missing = transfer.requests - transfer.heard;
            transfer.requests = transfer.heard;
            for _ in 0..missing {
                self.request(simulation, host, id);
            }
        }
    }

    /// Packets of a message, a window or an IP packet that the engines resend in a new pass, after
    /// their earlier orders.
    fn part_again(&mut self, simulation: &mut Simulation, id: u32, numbers: Range<u32>, pass: u32) {
        let left = self.take_back(id, &numbers);
        let transfer = self.transfers.get_mut(id);
        let numbers = numbers.start..numbers.end.min(transfer.packets);
        let rest = match (transfer.method, left) {
            (Method::Rendezvous, left) => left.unwrap_or_default(),
            _ => transfer.sent.max(numbers.start)..numbers.end,
        };
        transfer.again += rest.len() as u32 + numbers.len() as u32;
        transfer.sent = match transfer.method {
            Method::Rendezvous => transfer.sent + rest.len() as u32,
            _ => transfer.sent.max(numbers.end),
        };
        self.tally.again += numbers.len() as u64;
        self.flows.repeat(id, rest, flow::before(pass));
        self.flows.repeat(id, numbers, pass);
        self.list(simulation, id);
    }
}
