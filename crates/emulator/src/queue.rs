//! Pending events, in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use weft_dataplane::PortIndex;
use weft_fabric::{NodeId, Tick};
use weft_wire::packet::Packet;

use crate::trap::News;

/// Something that happens later.
#[derive(Debug)]
pub(crate) enum Event {
    /// A datagram comes in by a port.
    Arrive(Arrival),
    /// A node's agent has had its time and answers.
    Answer(Arrival),
    /// A node may have a trap to send again.
    Trap { node: NodeId, news: News },
    /// Traffic takes other paths: tables have changed, or switches check for congestion.
    Traffic,
    /// The link of a port that flaps goes down or comes up; the number is that of its flapping.
    Flap { at: PortIndex, number: u64 },
    /// A cable damages more packets; the number is that of its rise.
    Rise { at: PortIndex, number: u64 },
    /// A node is powered on that was off for a while; the number is that of the change that took its power.
    PowerOn { node: NodeId, number: u64 },
    /// The time of a state of a link on its way up is over; the number is that of the attempts.
    Training {
        at: PortIndex,
        number: u64,
        fails: bool,
    },
}

/// A datagram at the node that it is for.
#[derive(Debug, Clone)]
pub(crate) struct Arrival {
    /// The port that sent it.
    pub(crate) from: PortIndex,
    /// The port that it comes in by.
    pub(crate) at: PortIndex,
    pub(crate) packet: Packet,
}

#[derive(Debug)]
struct Entry {
    at: Tick,
    /// Events of the same time happen in the order in which they were put in.
    number: u64,
    event: Event,
}

impl Entry {
    fn key(&self) -> (Tick, u64) {
        (self.at, self.number)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// Most events that wait.
pub(crate) const EVENTS_MAX: usize = 1 << 20;

/// Events in order of time.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    heap: BinaryHeap<Reverse<Entry>>,
    next_number: u64,
}

impl Queue {
    /// Inserts an event; returns false if [`EVENTS_MAX`] wait already.
    pub(crate) fn push(&mut self, at: Tick, event: Event) -> bool {
        if self.heap.len() >= EVENTS_MAX {
            return false;
        }
        let number = self.next_number;
        self.next_number += 1;
        self.heap.push(Reverse(Entry { at, number, event }));
        true
    }

    /// When the first event is.
    pub(crate) fn next(&self) -> Option<Tick> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    /// The first event, if its time has come.
    pub(crate) fn pop(&mut self, now: Tick) -> Option<(Tick, Event)> {
        self.next().filter(|at| *at <= now)?;
        let Reverse(entry) = self.heap.pop()?;
        Some((entry.at, entry.event))
    }
}
