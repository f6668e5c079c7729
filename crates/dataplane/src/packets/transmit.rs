//! A packet leaves a port.

use super::calendar::Event;
use super::event::{PACKETS_MAX, code, credit, kind};
use super::lane::Port;
use super::multicast::is_group;
use super::simulation::{Notice, Simulation};
use super::store::{Packet, Parcel};
use super::{Picos, Queueing};
use crate::constants;
use crate::network::{NONE, PortIndex};

impl Simulation {
    /// Puts a new packet into its HFI's queue; returns whether it can be sent there. It is dropped if
    /// [`PACKETS_MAX`] are in flight.
    pub(super) fn inject(&mut self, parcel: &Parcel) -> bool {
        self.inject_marked(parcel, 0)
    }

    /// Puts a new packet with marks of congestion control into its HFI's queue.
    pub(super) fn inject_marked(&mut self, parcel: &Parcel, marks: u8) -> bool {
        let from = parcel.from.0;
        let map = |map: u16, key: u8| self.lane_maps[usize::from(map)][usize::from(key & 31)];
        let sc = map(self.sl_maps[from as usize], parcel.sl.0);
        let packet = Packet {
            tag: parcel.tag,
            born: self.now,
            entered: self.now,
            ready: self.now,
            tail: self.now,
            next: NONE,
            ingress: NONE,
            dlid: parcel.dlid.0,
            from,
            flits: parcel.bytes.div_ceil(8).clamp(1, u32::from(u16::MAX)) as u16,
            sl: parcel.sl.0 & 31,
            sc,
            lane: 0,
            hops: 0,
            epoch: 0,
            marks,
        };
        let lane = map(self.ports[from as usize].lane_map, sc);
        let full = self.store.len() >= PACKETS_MAX;
        let id = self.store.add(packet);
        self.enqueue(id, from, if full { u8::MAX } else { lane })
    }

    /// Puts a packet into the queue of its egress lane; returns whether it can leave there.
    pub(super) fn enqueue(&mut self, id: u32, egress: u32, lane: u8) -> bool {
        if usize::from(lane) >= self.width || !self.ports[egress as usize].up {
            self.errors[egress as usize].discards += 1;
            self.drop_packet(id, egress, lane);
            return false;
        }
        let at = egress as usize * self.width + usize::from(lane);
        let flits = self.store.get(id).flits;
        if flits > self.lanes[at].largest {
            self.discard(id, at, false);
            return false;
        }
        if self.rare[at].stalled_until > self.now {
            self.discard(id, at, true);
            return false;
        }
        let units = units(flits, &self.ports[egress as usize]);
        let state = &mut self.lanes[at];
        state.waiting += units;
        let is_first = state.queue.is_empty();
        if is_first {
            state.since = self.now;
            self.ports[egress as usize].waiting |= 1 << lane;
        }
        self.queue_up(id, at);
        if is_first {
            self.watch(at);
        }
        self.update_congestion_time(at);
        self.try_send(egress);
        true
    }

    /// Sends as much as a port can send now.
    pub(super) fn try_send(&mut self, egress: u32) {
        let index = egress as usize;
        loop {
            let port = &mut self.ports[index];
            if port.waiting == 0 || !port.up {
                return;
            }
            if port.free_at > self.now {
                if port.preempts && self.interrupt(index) {
                    continue;
                }
                self.wake_when_free(index);
                return;
            }
            let Some(lane) = self.choose(index) else {
                let port = &mut self.ports[index];
                port.idle_since = port.idle_since.min(self.now);
                self.wake_at_gate(index);
                return;
            };
            self.send_head(index, lane, false);
        }
    }

    /// Looks again once the port is free.
    #[inline(always)]
    fn wake_when_free(&mut self, index: usize) {
        let port = &mut self.ports[index];
        if !port.wakes {
            port.wakes = true;
            let event = code(kind::FREE, index as u32, 0);
            self.calendar.push(port.free_at, event);
        }
    }

    /// Sends the first packet of a lane, `within` the port's current packet or behind it; drops it
    /// if it has expired.
    #[inline(always)]
    pub(super) fn send_head(&mut self, index: usize, lane: u8, within: bool) {
        let at = index * self.width + usize::from(lane);
        let port = &self.ports[index];
        let overruns =
            self.is_lossy(port, lane) && !self.has_credits(port, index, usize::from(lane));
        let waited = self.has_waited_too_long(at);
        let Some(id) = self.take_head(at) else {
            return;
        };
        if overruns {
            self.discard_without_credits(id, at);
        } else if waited {
            self.discard_at_head(id, at);
        } else if self.is_too_old(id, index) {
            self.discard_old(id, at);
        } else if within {
            self.send_within(id, index, lane);
        } else {
            self.start(id, index, lane);
        }
    }

    /// The lane that sends next, none when no lane has the credits for its first packet.
    #[inline]
    fn choose(&mut self, index: usize) -> Option<u8> {
        let port = &self.ports[index];
        let first = port.waiting.trailing_zeros() as usize;
        if port.waiting.is_power_of_two() {
            return self.can_send(port, index, first).then_some(first as u8);
        }
        let mut can = 0;
        let mut left = port.waiting;
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            left &= left - 1;
            can |= u32::from(self.can_send(port, index, lane)) << lane;
        }
        (can != 0).then(|| self.arbiters[index].choose(can))
    }

    #[inline]
    pub(super) fn can_send(&self, port: &Port, index: usize, lane: usize) -> bool {
        (self.has_credits(port, index, lane) || self.is_lossy(port, lane as u8))
            && !self.is_held_back(index * self.width + lane)
    }

    /// Whether a lane has no flow control: it does not wait for credits.
    #[inline]
    pub(super) fn is_lossy(&self, port: &Port, lane: u8) -> bool {
        port.lossy & 1 << lane != 0
    }

    #[inline]
    pub(super) fn has_credits(&self, port: &Port, index: usize, lane: usize) -> bool {
        let lane = &self.lanes[index * self.width + lane];
        let flits = self.store.get(lane.queue.head).flits;
        let shared = (port.shared_used, u32::from(port.shared_limit));
        lane.may_take(units(flits, port), lane.used, shared)
    }

    /// Takes the first packet out of a lane's queue.
    pub(super) fn take_head(&mut self, at: usize) -> Option<u32> {
        let id = self.lanes[at].queue.pop(&self.store)?;
        if self.options.queueing == Queueing::RoundRobin {
            self.next_of_input(id, at);
        }
        let state = &mut self.lanes[at];
        let port = &mut self.ports[at / self.width];
        state.waiting -= units(self.store.get(id).flits, port);
        if state.queue.is_empty() {
            port.waiting &= !(1 << (at % self.width));
        }
        self.update_congestion_time(at);
        self.note_left(id, at);
        Some(id)
    }

    /// The first flit goes. Every packet on every link comes by here: no call.
    #[inline(always)]
    pub(super) fn start(&mut self, id: u32, index: usize, lane: u8) {
        let at = index * self.width + usize::from(lane);
        let packet = *self.store.get(id);
        let port = &mut self.ports[index];
        let state = &mut self.lanes[at];
        let units = units(packet.flits, port);
        let before = state.shared_used();
        state.used += units;
        port.shared_used += state.shared_used() - before;
        state.data += u64::from(packet.flits);
        state.packets += 1;
        state.discards = 0;
        let waited = self.now - state.since.max(port.free_at).min(self.now);
        state.wait += waited;
        state.since = self.now;
        port.end_wait(self.now);
        let begin = self.now.max(packet.ready);
        let full = begin + Picos::from(packet.flits) * Picos::from(port.flit);
        let end = full.max(packet.tail);
        if end > full {
            self.rare[at].bubbles += (end - full) / Picos::from(port.flit);
        }
        port.free_at = end;
        let of_hfi = port.switch == NONE;
        if port.waiting != 0 {
            self.arbiters[index].sent(lane, u32::from(packet.flits) * 8);
        } else if of_hfi {
            self.notices.push(Notice::Room(PortIndex(index as u32)));
        }
        if of_hfi {
            self.hold_back(index, at, packet.sl, (begin, end - begin));
        }
        self.mark(id, at, waited > 0);
        if is_group(packet.dlid) {
            self.errors[index].groups_sent += 1;
        }
        self.totals.hops += 1;
        if packet.flits >= self.preemption.large_min && self.hold(id, index, lane, begin) {
            return;
        }
        self.release(&packet, end);
        self.fly(id, index, lane, (begin, end));
    }

    /// On the cable.
    #[inline(always)]
    pub(super) fn fly(&mut self, id: u32, index: usize, lane: u8, (begin, end): (Picos, Picos)) {
        let port = &self.ports[index];
        let packet = self.store.get_mut(id);
        packet.ingress = port.peer;
        packet.lane = lane;
        packet.epoch = port.epoch;
        packet.hops = packet.hops.saturating_add(1);
        packet.entered = begin + self.options.cable;
        packet.tail = end + self.options.cable;
        if port.away {
            self.fly_away(id);
        } else {
            self.land(id);
        }
    }

    /// A packet will come to the other end of its cable.
    #[inline]
    pub(super) fn land(&mut self, id: u32) {
        let packet = self.store.get(id);
        let (at, kind) = self.landing(packet);
        let event = code(kind, packet.ingress, id);
        self.calendar.push(at, event);
    }

    /// When a packet on a cable is heeded at its other end, and as what.
    #[inline]
    pub(super) fn landing(&self, packet: &Packet) -> (Picos, u64) {
        if self.ports[packet.ingress as usize].switch == NONE {
            (packet.tail + self.options.receive, kind::DELIVER)
        } else {
            (packet.entered + self.options.block_latency, kind::ARRIVE)
        }
    }

    /// The tail leaves the buffer where the packet was, at `end`: credits go back, the next one of
    /// an input queue comes to its head.
    #[inline]
    pub(super) fn release(&mut self, packet: &Packet, end: Picos) {
        if packet.ingress == NONE {
            return;
        }
        let ingress = &self.ports[packet.ingress as usize];
        let (upstream, away, of_switch) = (ingress.peer, ingress.away, ingress.switch != NONE);
        let units = units(packet.flits, &self.ports[upstream as usize]);
        let event = Event {
            at: end + self.options.cable + self.options.credit_return,
            code: credit(upstream, packet.lane, packet.epoch, units),
        };
        if away {
            self.send_away(upstream, event);
        } else {
            self.calendar.push(event.at, event.code);
        }
        if of_switch && self.options.queueing == Queueing::Fifo {
            let event = code(kind::ADVANCE, packet.ingress, u32::from(packet.lane));
            self.calendar.push(end, event);
        }
    }

    /// Time that a packet of `bytes` takes on a link of full width and speed.
    pub fn wire_time(bytes: u32) -> Picos {
        Picos::from(bytes.div_ceil(8)) * constants::FLIT_ONE_LANE / 4
    }
}

/// Units of the neighbour's buffer that a packet takes up.
#[inline]
pub(super) fn units(flits: u16, port: &Port) -> u32 {
    (u32::from(flits) + (1 << port.unit_bits) - 1) >> port.unit_bits
}
