//! Packets that are dropped: lifetimes, stalled lanes, lost links.
//!
//! A head-of-queue lifetime ends in a lane that stands still; with [`HeadOfQueue::Input`] also if
//! other inputs' packets go first for too long.

use weft_fabric::Vl;

use super::congestion::BECN;
use super::event::{code, kind};
use super::simulation::{Notice, Simulation};
use super::store::{Loss, Packet};
use super::transmit::units;
use super::{HeadOfQueue, Picos, Queueing, lane::Queue};
use crate::constants::STALL_LIFETIMES;
use crate::network::{NONE, PortIndex};

impl Simulation {
    /// Drops a packet at the egress lane `at` and counts it.
    pub(super) fn discard(&mut self, id: u32, at: usize, by_congestion: bool) {
        self.rare[at].discards += 1;
        self.rare[at].congestion += u64::from(by_congestion);
        let port = at / self.width;
        self.drop_packet(id, port as u32, Self::vl(at, self.width).0);
        let port = &mut self.ports[port];
        if port.waiting == 0 {
            port.end_wait(self.now);
        }
    }

    /// Drops a packet that has been counted.
    pub(super) fn drop_packet(&mut self, id: u32, at: u32, lane: u8) {
        let packet = self.store.remove(id);
        if packet.flits >= self.preemption.large_min {
            self.stops_coming(id, packet.ingress, packet.lane);
        }
        self.release(&packet, self.now.max(packet.tail));
        let port = &mut self.ports[at as usize];
        let of_own = packet.ingress == NONE && port.switch == NONE;
        if of_own && !std::mem::replace(&mut port.makes_way, true) {
            // It takes its time, so that a sender at full load does not loop without end.
            let time = Self::wire_time(u32::from(packet.flits) * 8);
            self.calendar.push(self.now + time, code(kind::ROOM, at, 0));
        }
        self.tell_lost(&packet, at, lane);
    }

    /// The sender at an HFI's port hands over the next packet, if none waits.
    pub(super) fn make_way(&mut self, at: u32) {
        self.ports[at as usize].makes_way = false;
        if self.ports[at as usize].waiting == 0 {
            self.notices.push(Notice::Room(PortIndex(at)));
        }
    }

    fn tell_lost(&mut self, packet: &Packet, at: u32, lane: u8) {
        self.totals.lost += 1;
        if packet.marks & BECN != 0 {
            return;
        }
        self.notices.push(Notice::Lost(Loss {
            at: PortIndex(at),
            vl: Vl(lane),
            tag: packet.tag,
            born: packet.born,
        }));
    }

    /// A packet was on a link that has gone down: its sender counts it.
    pub(super) fn lose_on_link(&mut self, id: u32, upstream: usize) {
        let packet = self.store.remove(id);
        let at = upstream * self.width + usize::from(packet.lane);
        self.rare[at].lost += 1;
        self.rare[at].discards += 1;
        self.tell_lost(&packet, upstream as u32, packet.lane);
    }

    /// The link of a port has gone down: what waits for it is dropped, its credits are all back.
    pub(super) fn lose_link(&mut self, index: usize) {
        self.cut_off(index);
        self.ports[index].epoch = self.ports[index].epoch.wrapping_add(1);
        self.ports[index].up = false;
        for at in index * self.width..(index + 1) * self.width {
            self.flush(at, false);
            self.lanes[at].used = 0;
            self.lanes[at].discards = 0;
            self.rare[at].stalled_until = 0;
        }
        let port = &mut self.ports[index];
        port.shared_used = 0;
        port.free_at = self.now;
        port.end_wait(self.now);
    }

    /// Drops all that waits in a lane.
    fn flush(&mut self, at: usize, by_congestion: bool) {
        while let Some(id) = self.take_head(at) {
            self.discard(id, at, by_congestion);
        }
        self.lanes[at].queue = Queue::default();
    }

    /// Drops waiting packets that are longer than the lane's new limit: they would never
    /// find the credits, and nothing behind them would move. A port sends no packet above
    /// its limit (XmitDiscards: "packet length exceeded"), whether it arrived before or after the change.
    pub(super) fn discard_too_long(&mut self, at: usize) {
        let (index, lane) = (at / self.width, at % self.width);
        let first = self.lanes[at].queue.head;
        let by_turns = self.options.queueing == Queueing::RoundRobin;
        let mut kept = Queue::default();
        self.ports[index].waiting &= !(1 << lane);
        while let Some(id) = self.lanes[at].queue.pop(&self.store) {
            if by_turns {
                self.next_of_input(id, at);
            }
            let flits = self.store.get(id).flits;
            if flits <= self.lanes[at].largest {
                kept.push(&mut self.store, id);
                continue;
            }
            self.lanes[at].waiting -= units(flits, &self.ports[index]);
            self.note_left(id, at);
            self.discard(id, at, false);
        }
        while let Some(id) = kept.pop(&self.store) {
            self.queue_up(id, at);
        }
        let state = &mut self.lanes[at];
        if state.queue.head != first {
            state.since = self.now;
        }
        self.ports[index].waiting |= u32::from(!state.queue.is_empty()) << lane;
        self.update_congestion_time(at);
    }

    /// Whether a packet has been in its switch for longer than it may.
    #[inline]
    pub(super) fn is_too_old(&self, id: u32, index: usize) -> bool {
        let switch = self.ports[index].switch;
        switch != NONE
            && self.now - self.store.get(id).entered.min(self.now)
                > self.switches[switch as usize].lifetime
    }

    /// Whether a lane's first packet has been first of its input for longer than it may.
    #[inline]
    pub(super) fn has_waited_too_long(&self, at: usize) -> bool {
        let head = self.lanes[at].queue.head;
        if self.options.head_of_queue != HeadOfQueue::Input || head == NONE {
            return false;
        }
        let since = self.first_since(head, at);
        since.is_some_and(|since| self.now.saturating_sub(since) > self.hoq[at])
    }

    /// Drops the packet that was first for too long, and the whole lane after too many in a row.
    pub(super) fn discard_at_head(&mut self, id: u32, at: usize) {
        let stalls = self.count_in_row(at);
        self.lanes[at].since = self.now;
        self.discard(id, at, true);
        if stalls {
            self.stall(at);
        }
    }

    /// Drops the packet that was first and has been in its switch for too long. The lane did not stand
    /// still, so this does not count towards its stalling.
    pub(super) fn discard_old(&mut self, id: u32, at: usize) {
        self.lanes[at].since = self.now;
        self.discard(id, at, true);
    }

    /// Drops the first packet of a lane without flow control that found no credits: the sender
    /// drops it (XmitDiscards: "flow control disabled and insufficient credits available"), and a
    /// switch counts it for congestion.
    #[cold]
    pub(super) fn discard_without_credits(&mut self, id: u32, at: usize) {
        self.lanes[at].since = self.now;
        let of_switch = self.ports[at / self.width].switch != NONE;
        self.discard(id, at, of_switch);
    }

    /// Sets the lifetime timer of a lane whose queue has just got its head.
    #[inline]
    pub(super) fn watch(&mut self, at: usize) {
        if !self.lanes[at].timed
            && let Some(end) = self.lifetime_end(at)
        {
            self.lanes[at].timed = true;
            let event = self.of_lane(kind::LIFETIME, at);
            self.calendar.push(end, event);
        }
    }

    /// Starts a new watch of a lane that waits already, if its lifetime has become shorter.
    pub(super) fn watch_anew(&mut self, at: usize) {
        if let Some(end) = self.lifetime_end(at) {
            self.lanes[at].timed = true;
            let event = self.of_lane(kind::LIFETIME, at);
            self.calendar.push(end.max(self.now), event);
        }
    }

    /// An event of a lane.
    fn of_lane(&self, kind: u64, at: usize) -> u64 {
        code(kind, (at / self.width) as u32, (at % self.width) as u32)
    }

    /// When the lifetime of a lane's first packet is over.
    fn lifetime_end(&self, at: usize) -> Option<Picos> {
        let switch = self.ports[at / self.width].switch;
        let head = self.lanes[at].queue.head;
        if switch == NONE || head == NONE {
            return None;
        }
        let at_head = self.lanes[at].since.saturating_add(self.hoq[at]);
        let life = self.switches[switch as usize].lifetime;
        let in_switch = self.store.get(head).entered.saturating_add(life);
        let end = at_head.min(in_switch);
        (end != Picos::MAX).then_some(end)
    }

    /// A lifetime may be over: drops expired packets, and the whole lane after too many in a row.
    pub(super) fn check_lifetime(&mut self, at: usize) {
        self.lanes[at].timed = false;
        while self.lifetime_end(at).is_some_and(|end| end <= self.now) {
            let stands = self.lanes[at].since.saturating_add(self.hoq[at]) <= self.now;
            let Some(id) = self.take_head(at) else { break };
            match stands {
                true => self.discard_at_head(id, at),
                false => self.discard_old(id, at),
            }
        }
        self.watch(at);
        self.try_send((at / self.width) as u32);
    }

    /// Counts a discard at the head; returns whether they are as many in a row as stall the lane.
    fn count_in_row(&mut self, at: usize) -> bool {
        let lane = &mut self.lanes[at];
        lane.discards = lane.discards.saturating_add(1);
        let most = self.stall_count[at];
        most != 0 && lane.discards >= most
    }

    /// The lane drops all that it has, and all that comes for a while.
    fn stall(&mut self, at: usize) {
        self.lanes[at].discards = 0;
        let span = self.hoq[at].saturating_mul(STALL_LIFETIMES);
        self.rare[at].stalled_until = self.now.saturating_add(span);
        self.flush(at, true);
    }
}
