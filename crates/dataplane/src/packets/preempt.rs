//! Preemption: a small packet is sent at once, in the middle of a large one of another lane; the large
//! one's tail follows.
//!
//! The registers of a port control it: the lanes that may preempt others (the
//! preemption matrix), the minimum size of preempted packets and the maximum size of preempting ones,
//! the number of bytes that may preempt one packet, and how much of it goes before and behind.
//! Arbitration chooses between several candidates. A packet large enough to be preempted preempts none,
//! so preemptions do not nest. Multicast packets preempt and are not preempted.
//!
//! The tail of a preempted packet is late, and its head may be several switches ahead by then.
//! So everything that depends on the tail of a packet that may be preempted, here or upstream, waits until the
//! tail leaves: credits, and delivery to an HFI. To a switch the head goes at once, with the tail's
//! known delay. Each time that the delay grows, a notice follows the head with a cable's latency and the
//! fastest latency across a switch, so never before the head nor behind the tail. The switch
//! postpones the tail of the packet in its buffer or, if that has moved on, the end of sending it, unless
//! it sends that late anyhow, and notifies the next one. If the link then waits for
//! the tail, that time counts as bubbles unless another packet preempts there too.

use weft_wire::Layout;
use weft_wire::sm::{PortInfo, VlArbMatrix};

use super::Picos;
use super::calendar::Event;
use super::event::{code, kind};
use super::multicast::is_group;
use super::simulation::Simulation;
use super::store::Packet;
use crate::constants::{
    FLIT_BYTES, PREEMPTION_LARGE_UNIT, PREEMPTION_LIMIT_UNIT, PREEMPTION_SMALL_UNIT,
    PREEMPTION_UNLIMITED,
};
use crate::network::{NONE, Network, PortIndex};
use crate::registers::PortTable;

/// Flits of a step of each limit.
const LARGE_UNIT: u16 = (PREEMPTION_LARGE_UNIT / FLIT_BYTES) as u16;
const SMALL_UNIT: u16 = (PREEMPTION_SMALL_UNIT / FLIT_BYTES) as u16;
const LIMIT_UNIT: u32 = PREEMPTION_LIMIT_UNIT / FLIT_BYTES;
/// Bits of the delay in a notice about a late tail, besides five bits for the lane: 16 µs. The
/// largest preempting packet takes 5.3 µs on one lane at half the speed.
const DELAY_BITS: u32 = 24;
const DELAY_MAX: Picos = (1 << DELAY_BITS) - 1;

/// Preemption of all ports; nothing but `large_min` where it was never on.
#[derive(Debug, Clone)]
pub(super) struct State {
    /// Flits of the smallest packet that some port may interrupt.
    pub(super) large_min: u16,
    rules: Vec<Rules>,
    sending: Vec<Sending>,
    /// By input port and lane.
    coming: Vec<Coming>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            large_min: u16::MAX,
            rules: Vec::new(),
            sending: Vec::new(),
            coming: Vec::new(),
        }
    }
}

impl State {
    /// Bytes that it takes.
    pub(super) fn memory(&self) -> usize {
        self.rules.len() * size_of::<Rules>()
            + self.sending.len() * size_of::<Sending>()
            + self.coming.len() * size_of::<Coming>()
    }
}

/// When a port interrupts; sizes in flits.
#[derive(Debug, Clone, Copy, Default)]
struct Rules {
    /// For each lane the lanes whose packets may interrupt its own.
    over: [u32; 32],
    large: u16,
    small: u16,
    /// Total size of all packets that preempt one.
    limit: u32,
    /// Least of the interrupted packet before and behind.
    initial: u16,
    tail: u16,
}

impl Rules {
    /// None where the port interrupts nothing.
    fn of(info: &PortInfo, table: &[u8]) -> Option<Self> {
        let interleaves =
            info.is_vl_marker_enabled || info.interleave_max_nest_level_tx_enabled > 0;
        let matrix = VlArbMatrix::decode(table).unwrap_or_default().matrix;
        let over = over(&matrix);
        if !interleaves || info.preemption_limit == 0 || over == [0; 32] {
            return None;
        }
        let steps = |value: u8| u16::from(value) + 1;
        Some(Self {
            over,
            large: LARGE_UNIT * steps(info.preemption_large_pkt_limit),
            small: SMALL_UNIT * steps(info.preemption_small_pkt_limit),
            limit: match info.preemption_limit {
                PREEMPTION_UNLIMITED => u32::MAX,
                limit => LIMIT_UNIT * u32::from(limit),
            },
            initial: info.preemption_min_initial.max(1),
            tail: info.preemption_min_tail.max(1),
        })
    }
}

/// The matrix by the lane that is interrupted; no lane interrupts itself.
fn over(matrix: &[u32; 32]) -> [u32; 32] {
    std::array::from_fn(|lane| {
        let may = |by: &usize| *by != lane && matrix[*by] & 1 << lane != 0;
        (0..32).filter(may).map(|by| 1 << by).sum()
    })
}

/// The last packet that a port has begun to send of those whose tail may get late.
#[derive(Debug, Clone, Copy)]
struct Sending {
    /// Its tail has not gone.
    active: bool,
    lane: u8,
    /// The packet as it was in its buffer here.
    packet: Packet,
    /// The packet itself where it goes to an HFI, when its tail goes; [`NONE`] where its head went.
    lands: u32,
    /// Input port and lane by which its tail still comes, [`NONE`] when it is here.
    input: u32,
    begin: Picos,
    /// When it is sent if its tail comes early enough.
    whole: Picos,
    /// When its tail can go at the earliest.
    tail: Picos,
    /// Time of its tail in the calendar.
    due: Picos,
    /// Flits that have interrupted it.
    spent: u32,
    /// A packet that interrupts it goes until then.
    held: Picos,
    /// The last wake-up that was set for a packet that waits to interrupt.
    wake: Picos,
}

impl Sending {
    fn end(&self) -> Picos {
        self.whole.max(self.tail)
    }
}

impl Default for Sending {
    fn default() -> Self {
        Self {
            active: false,
            lane: 0,
            packet: Packet::default(),
            lands: NONE,
            input: NONE,
            begin: 0,
            whole: 0,
            tail: 0,
            due: 0,
            spent: 0,
            held: 0,
            wake: 0,
        }
    }
}

/// The last large packet whose head came in on a lane.
#[derive(Debug, Clone, Copy)]
struct Coming {
    /// It waits here; [`NONE`] where it does not.
    id: u32,
    /// It is being sent by this port; [`NONE`] where it is not.
    egress: u32,
}

const NOTHING_COMES: Coming = Coming {
    id: NONE,
    egress: NONE,
};

impl Simulation {
    pub(super) fn read_preemption(&mut self, network: &Network) {
        let mut on = false;
        for index in 0..self.ports.len() {
            let registers = network.port(PortIndex(index as u32));
            let rules = Rules::of(registers.info(), registers.table(PortTable::VlArbMatrix));
            self.ports[index].preempts = rules.is_some();
            let Some(rules) = rules else { continue };
            if !std::mem::replace(&mut on, true) {
                self.make_room_to_preempt();
            }
            self.preemption.rules[index] = rules;
            self.preemption.large_min = self.preemption.large_min.min(rules.large);
        }
    }

    fn make_room_to_preempt(&mut self) {
        let state = &mut self.preemption;
        state.rules.resize(self.ports.len(), Rules::default());
        state.sending.resize(self.ports.len(), Sending::default());
        state.coming.resize(self.lanes.len(), NOTHING_COMES);
    }

    /// The head of a large packet has come in.
    #[cold]
    pub(super) fn begins_to_come(&mut self, id: u32, input: usize) {
        self.preemption.coming[input] = Coming {
            id,
            ..NOTHING_COMES
        };
    }

    /// A large packet that came in by a port and lane is dropped or handed over.
    #[cold]
    pub(super) fn stops_coming(&mut self, id: u32, ingress: u32, lane: u8) {
        let input = self.input_lane(ingress, lane);
        let coming = self.preemption.coming.get_mut(input);
        if let Some(coming) = coming.filter(|coming| coming.id == id) {
            *coming = NOTHING_COMES;
        }
    }

    /// The place of an input port's lane, beyond all where the packet is at its sender.
    fn input_lane(&self, ingress: u32, lane: u8) -> usize {
        (ingress as usize).saturating_mul(self.width) + usize::from(lane)
    }

    /// A port has begun to send a large packet. Returns whether its tail may get late: what depends on
    /// that waits for it then.
    #[cold]
    pub(super) fn hold(&mut self, id: u32, index: usize, lane: u8, begin: Picos) -> bool {
        let packet = *self.store.get(id);
        if is_group(packet.dlid) {
            return false;
        }
        let flit = Picos::from(self.ports[index].flit);
        let whole = begin + Picos::from(packet.flits) * flit;
        // Bubbles are counted when the tail goes.
        let at = index * self.width + usize::from(lane);
        self.rare[at].bubbles -= packet.tail.saturating_sub(whole) / flit;
        if self.preemption.sending[index].active {
            self.finish(index);
        }
        let end = whole.max(packet.tail);
        let peer = self.ports[index].peer as usize;
        let to_hfi = self.ports[peer].switch == NONE;
        self.preemption.sending[index] = Sending {
            active: true,
            lane,
            packet,
            lands: if to_hfi { id } else { NONE },
            input: self.follow(id, index, &packet),
            begin,
            whole,
            tail: packet.tail,
            due: end,
            ..Sending::default()
        };
        self.calendar.push(end, code(kind::TAIL, index as u32, 0));
        if !to_hfi {
            self.fly(id, index, lane, (begin, end));
        }
        true
    }

    /// Forwards a notice of a packet's tail to the port that sends it now; returns its source.
    fn follow(&mut self, id: u32, index: usize, packet: &Packet) -> u32 {
        let input = self.input_lane(packet.ingress, packet.lane);
        let coming = self.preemption.coming.get_mut(input);
        let Some(coming) = coming.filter(|coming| coming.id == id) else {
            return NONE;
        };
        *coming = Coming {
            id: NONE,
            egress: index as u32,
        };
        input as u32
    }

    /// The tail of a packet may go now.
    #[cold]
    pub(super) fn tail_goes(&mut self, index: usize) {
        let now = self.now;
        let sending = &mut self.preemption.sending[index];
        if !sending.active || sending.due != now {
            return;
        }
        let end = sending.end();
        if end == now {
            self.finish(index);
            return;
        }
        sending.due = end;
        self.calendar.push(end, code(kind::TAIL, index as u32, 0));
    }

    /// Completes everything that waited for the tail of a packet.
    fn finish(&mut self, index: usize) {
        let sending = &mut self.preemption.sending[index];
        sending.active = false;
        let sending = *sending;
        let end = sending.end();
        if end > sending.whole {
            let at = index * self.width + usize::from(sending.lane);
            self.rare[at].bubbles += (end - sending.whole) / Picos::from(self.ports[index].flit);
        }
        if let Some(coming) = self.preemption.coming.get_mut(sending.input as usize)
            && coming.egress == index as u32
        {
            *coming = NOTHING_COMES;
        }
        self.release(&sending.packet, end);
        if sending.lands != NONE {
            self.fly(sending.lands, index, sending.lane, (sending.begin, end));
        }
    }

    /// The link of a port goes down while it sends.
    #[cold]
    pub(super) fn cut_off(&mut self, index: usize) {
        let sending = self.preemption.sending.get(index);
        if sending.is_some_and(|sending| sending.active) {
            self.finish(index);
        }
    }

    /// Lets a small packet interrupt the large one that a port sends; returns whether one went, or was
    /// dropped because it had waited for too long.
    #[cold]
    pub(super) fn interrupt(&mut self, index: usize) -> bool {
        let Some((can, from)) = self.interrupters(index) else {
            return false;
        };
        if from > self.now {
            self.wake_to_interrupt(index, from);
            return false;
        }
        let lane = match can.is_power_of_two() {
            true => can.trailing_zeros() as u8,
            false => self.arbiters[index].choose(can),
        };
        self.send_head(index, lane, true);
        true
    }

    /// The lanes whose first packets may preempt the port's current packet, and the earliest time.
    fn interrupters(&self, index: usize) -> Option<(u32, Picos)> {
        let sending = &self.preemption.sending[index];
        let rules = &self.preemption.rules[index];
        let port = &self.ports[index];
        if !sending.active || sending.end() <= self.now || sending.packet.flits < rules.large {
            return None;
        }
        let span = |flits: u16| Picos::from(flits) * Picos::from(port.flit);
        let from = sending.held.max(sending.begin + span(rules.initial));
        let until = sending.end().saturating_sub(span(rules.tail));
        let small = rules.small.min(self.preemption.large_min - 1);
        let may = |lane: &usize| {
            let packet = self
                .store
                .get(self.lanes[index * self.width + lane].queue.head);
            packet.flits <= small
                && sending.spent.saturating_add(u32::from(packet.flits)) <= rules.limit
                && from.max(self.now).max(packet.ready) <= until
                && self.can_send(port, index, *lane)
        };
        let lanes = rules.over[usize::from(sending.lane)] & port.waiting;
        let lanes = (0..self.width).filter(|lane| lanes & 1 << lane != 0);
        let can = lanes.filter(may).map(|lane| 1 << lane).sum();
        (can != 0).then_some((can, from))
    }

    fn wake_to_interrupt(&mut self, index: usize, at: Picos) {
        let sending = &mut self.preemption.sending[index];
        if sending.wake != at {
            sending.wake = at;
            self.calendar.push(at, code(kind::GATE, index as u32, 0));
        }
    }

    /// Sends a packet in the middle of another.
    #[cold]
    pub(super) fn send_within(&mut self, id: u32, index: usize, lane: u8) {
        let packet = self.store.get(id);
        let (begin, flits) = (self.now.max(packet.ready), packet.flits);
        self.start(id, index, lane);
        let port = &mut self.ports[index];
        let held = port.free_at;
        let tail = Picos::from(self.preemption.rules[index].tail) * Picos::from(port.flit);
        let sending = &mut self.preemption.sending[index];
        let before = sending.end();
        sending.held = held;
        sending.spent += u32::from(flits);
        sending.whole = (sending.whole + held - begin).max(held + tail);
        port.free_at = sending.end();
        let delay = port.free_at - before;
        self.tell_late(index, delay);
    }

    /// The port's current packet will end later by `delay`: notifies the switch that it goes to.
    fn tell_late(&mut self, index: usize, delay: Picos) {
        let (port, sending) = (&self.ports[index], &self.preemption.sending[index]);
        if delay == 0 || sending.lands != NONE {
            return;
        }
        let rest = u32::from(sending.lane) << DELAY_BITS | delay.min(DELAY_MAX) as u32;
        // The head may still be crossing this switch.
        let from = self.now.max(sending.begin);
        let event = Event {
            at: from + self.options.cable + self.options.block_latency,
            code: code(kind::LATE, port.peer, rest),
        };
        if port.away {
            self.send_away(port.peer, event);
        } else {
            self.calendar.push(event.at, event.code);
        }
    }

    /// The tail of the packet that comes in by a port and lane is later than was known.
    #[cold]
    pub(super) fn tail_is_late(&mut self, ingress: u32, rest: u32) {
        let lane = (rest >> DELAY_BITS) as usize;
        let delay = Picos::from(rest) & DELAY_MAX;
        let input = ingress as usize * self.width + lane;
        let Coming { id, egress } = self.preemption.coming[input];
        if id != NONE {
            self.store.get_mut(id).tail += delay;
        } else if egress != NONE {
            self.put_off(egress as usize, input, delay);
        }
    }

    /// The tail of the packet that a port sends comes later.
    fn put_off(&mut self, index: usize, input: usize, delay: Picos) {
        let sending = &mut self.preemption.sending[index];
        if !sending.active || sending.input != input as u32 {
            return;
        }
        let before = sending.end();
        sending.tail += delay;
        let after = sending.end();
        self.ports[index].free_at = after;
        self.tell_late(index, after - before);
    }
}
