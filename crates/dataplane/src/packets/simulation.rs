//! The simulation: its state, its events, and its traffic.

use std::collections::BTreeMap;

use weft_fabric::Vl;

use super::arbiter::Arbiter;
use super::calendar::{Calendar, Event};
use super::event::{self, kind};
use super::feeds::Feeds;
use super::hold::Hold;
use super::lane::{Errors, Lane, Port, Queue, Rare, Received};
use super::share::Share;
use super::store::Store;
use super::{Delivery, Loss, Options, Parcel, Picos, adaptive, congestion, multicast, preempt};
use crate::network::{Network, PortIndex};

/// Notices for a [`Traffic`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// A packet has arrived.
    Delivered(Delivery),
    /// A packet was dropped.
    Lost(Loss),
    /// The last packet that waited at an HFI's port has begun to leave: there is room for the next.
    Room(PortIndex),
    /// A timer that was set has run out.
    Timer(u64),
}

/// A sender. Receives notices of events, and may then call [`Simulation::send`] and
/// [`Simulation::set_timer`].
pub trait Traffic {
    /// Something has happened at [`Simulation::now`].
    fn handle(&mut self, simulation: &mut Simulation, notice: Notice);
}

/// Packets since the beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Handed over for sending.
    pub sent: u64,
    /// Copies of multicast packets made by switches, without the first of each.
    pub copies: u64,
    /// Arrived.
    pub delivered: u64,
    /// Dropped.
    pub lost: u64,
    /// Links crossed by packets of this simulation.
    pub hops: u64,
    /// Events handled.
    pub events: u64,
}

impl std::iter::Sum for Totals {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |sum, part| Self {
            sent: sum.sent + part.sent,
            copies: sum.copies + part.copies,
            delivered: sum.delivered + part.delivered,
            lost: sum.lost + part.lost,
            hops: sum.hops + part.hops,
            events: sum.events + part.events,
        })
    }
}

/// Packets in a fabric, in virtual time.
#[derive(Debug, Clone)]
pub struct Simulation {
    pub(super) options: Options,
    pub(super) share: Share,
    pub(super) now: Picos,
    pub(super) calendar: Calendar,
    pub(super) store: Store,
    pub(super) ports: Vec<Port>,
    /// By port and lane; there are `width` lanes for each port.
    pub(super) lanes: Vec<Lane>,
    pub(super) rare: Vec<Rare>,
    pub(super) received: Vec<Received>,
    /// With [`Queueing::Fifo`](super::Queueing::Fifo): what waits behind the head, by input port and lane.
    pub(super) inputs: Vec<Input>,
    pub(super) width: usize,
    pub(super) arbiters: Vec<Arbiter>,
    pub(super) lane_maps: Vec<[u8; 32]>,
    pub(super) switches: Vec<Switch>,
    pub(super) adaptive: adaptive::State,
    pub(super) congestion: congestion::State,
    pub(super) preemption: preempt::State,
    /// Lifetimes at the head of a lane's queue, by port and lane; [`Picos::MAX`] is for ever.
    pub(super) hoq: Vec<Picos>,
    pub(super) stall_count: Vec<u8>,
    pub(super) feeds: Feeds,
    /// LIDs of end ports, base and LMC; 0 where there is none; marked while the port is held.
    pub(super) lids: Vec<(u32, u8)>,
    /// HFIs that take no packets, by port.
    pub(super) held: BTreeMap<u32, Hold>,
    /// Service level to service channel of end ports, among `lane_maps`.
    pub(super) sl_maps: Vec<u16>,
    pub(super) errors: Vec<Errors>,
    pub(super) settled: super::settle::Settled,
    /// By port: flits sent when its link last changed its rate, and the time that they took.
    pub(super) paces: Vec<(u64, Picos)>,
    pub(super) notices: Vec<Notice>,
    /// Second buffer for notices while the first is being delivered.
    spare: Vec<Notice>,
    pub(super) totals: Totals,
}

/// A switch's tables.
#[derive(Debug, Clone, Default)]
pub(super) struct Switch {
    /// Egress port by LID, as programmed and then moved by adaptive routing.
    pub(super) routes: Vec<u8>,
    /// Egress ports as programmed.
    pub(super) programmed: Vec<u8>,
    /// Ports of each group.
    pub(super) multicast: Vec<multicast::Row>,
    /// Service channel to service channel by ingress and egress port, where that changes any.
    pub(super) channels: Option<Vec<[u8; 32]>>,
    /// Lifetime of a packet.
    pub(super) lifetime: Picos,
    pub(super) base: u32,
    pub(super) ports: u8,
}

/// Packets behind the head of an input queue.
#[derive(Debug, Clone, Default)]
pub(super) struct Input {
    pub(super) behind: Queue,
    /// The head waits for its egress port or leaves.
    pub(super) busy: bool,
}

impl Simulation {
    /// A simulation of a fabric whose registers are as they are now.
    pub fn new(network: &Network, options: Options) -> Self {
        Self::of_share(network, options, Share::default())
    }

    /// A simulation of some of its devices.
    pub(super) fn of_share(network: &Network, options: Options, share: Share) -> Self {
        let mut simulation = Self {
            calendar: Calendar::new(options.order),
            options,
            share,
            now: 0,
            store: Store::new(),
            ports: Vec::new(),
            lanes: Vec::new(),
            rare: Vec::new(),
            received: Vec::new(),
            inputs: Vec::new(),
            width: 0,
            arbiters: Vec::new(),
            lane_maps: Vec::new(),
            switches: Vec::new(),
            adaptive: adaptive::State::default(),
            congestion: congestion::State::default(),
            preemption: preempt::State::default(),
            hoq: Vec::new(),
            stall_count: Vec::new(),
            feeds: Feeds::default(),
            lids: Vec::new(),
            held: BTreeMap::new(),
            sl_maps: Vec::new(),
            errors: Vec::new(),
            settled: super::settle::Settled::default(),
            paces: Vec::new(),
            notices: Vec::new(),
            spare: Vec::new(),
            totals: Totals::default(),
        };
        simulation.configure(network);
        simulation
    }

    /// The time.
    pub fn now(&self) -> Picos {
        self.now
    }

    /// Packets since the beginning.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Packets handed over that have neither arrived nor been dropped.
    pub fn in_flight(&self) -> usize {
        self.store.len()
    }

    /// When the next event is.
    pub fn deadline(&self) -> Option<Picos> {
        self.calendar.peek()
    }

    /// Has [`Notice::Timer`] given at a time with `tag`, of which the lower 60 bits count.
    pub fn set_timer(&mut self, at: Picos, tag: u64) {
        self.calendar.push(at.max(self.now), event::timer(tag));
    }

    /// Lets everything happen up to and at `until`.
    pub fn run(&mut self, traffic: &mut impl Traffic, until: Picos) {
        self.tell(traffic);
        while let Some(event) = self.calendar.pop(until) {
            self.now = event.at.max(self.now);
            self.totals.events += 1;
            self.handle(event);
            if !self.notices.is_empty() {
                self.tell(traffic);
            }
        }
        self.now = self.now.max(until);
    }

    /// Runs until no packet is in flight, at most up to `until`; returns whether
    /// none is.
    pub fn drain(&mut self, traffic: &mut impl Traffic, until: Picos) -> bool {
        self.tell(traffic);
        while self.in_flight() > 0 {
            let Some(event) = self.calendar.pop(until) else {
                return false;
            };
            self.now = event.at.max(self.now);
            self.totals.events += 1;
            self.handle(event);
            self.tell(traffic);
        }
        true
    }

    pub(super) fn tell(&mut self, traffic: &mut impl Traffic) {
        let spare = std::mem::take(&mut self.spare);
        let mut notices = std::mem::replace(&mut self.notices, spare);
        while !notices.is_empty() {
            for notice in notices.drain(..) {
                traffic.handle(self, notice);
            }
            std::mem::swap(&mut notices, &mut self.notices);
        }
        self.spare = notices;
    }

    #[inline]
    fn handle(&mut self, event: Event) {
        let (place, rest) = (event::place_of(event.code), event::rest_of(event.code));
        let lane = || place as usize * self.width + rest as usize;
        match event::kind_of(event.code) {
            kind::ARRIVE => self.arrive(rest),
            kind::DELIVER => self.deliver(rest),
            kind::CREDIT => self.take_credits(place, rest),
            kind::FREE => {
                self.ports[place as usize].wakes = false;
                self.try_send(place);
            }
            kind::ADVANCE => self.advance(lane()),
            kind::LIFETIME => self.check_lifetime(lane()),
            kind::ADAPT => self.adapt(place as usize),
            kind::CALM => self.calm(place as usize, rest as usize),
            kind::GATE => self.try_send(place),
            kind::TAIL => self.tail_goes(place as usize),
            kind::LATE => self.tail_is_late(place, rest),
            kind::ROOM => self.make_way(place),
            kind::TAKE => self.take_waiting(place),
            _ => self
                .notices
                .push(Notice::Timer(event::timer_tag(event.code))),
        }
    }

    /// Credits come back; those of a link that has gone down since mean nothing.
    #[inline]
    fn take_credits(&mut self, port: u32, rest: u32) {
        let (lane, epoch, units) = ((rest >> 24) as usize, (rest >> 16) as u8, rest & 0xFFFF);
        let end = &mut self.ports[port as usize];
        if end.epoch != epoch {
            return;
        }
        let at = port as usize * self.width + lane;
        let lane = &mut self.lanes[at];
        let before = lane.shared_used();
        lane.used -= units;
        end.shared_used -= before - lane.shared_used();
        if end.waiting != 0 && (end.free_at <= self.now || end.preempts) {
            self.try_send(port);
        }
    }

    /// Hands a packet over for sending; returns whether its port and service level can carry it.
    pub fn send(&mut self, parcel: Parcel) -> bool {
        self.totals.sent += 1;
        self.inject(&parcel)
    }

    pub(super) fn vl(at: usize, width: usize) -> Vl {
        Vl((at % width) as u8)
    }

    /// Bytes that ports, lanes and their tables take, and bytes that packets take.
    pub fn memory(&self) -> (usize, usize) {
        let lane = size_of::<Lane>()
            + size_of::<Rare>()
            + size_of::<Received>()
            + size_of::<Input>()
            + size_of::<Picos>()
            + 1;
        let ports = self.ports.len() * (size_of::<Port>() + size_of::<Arbiter>());
        let routes = self.switches.iter().map(|switch| 2 * switch.routes.len());
        let feeds = self.feeds.memory();
        let preemption = self.preemption.memory();
        let fabric = ports + self.lanes.len() * lane + feeds + routes.sum::<usize>() + preemption;
        (fabric, self.store.memory())
    }
}
