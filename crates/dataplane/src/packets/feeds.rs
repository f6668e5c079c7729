//! Inputs that feed an egress lane, where something depends on which of them a packet came by:
//! inputs that take turns, and head-of-queue lifetimes by input.
//!
//! Where inputs take turns, the queue of a lane has the first packet of each input, in the order of
//! their turns; what an input has behind it waits here, and comes to the end of the queue when that one
//! leaves.

use super::lane::Queue;
use super::simulation::Simulation;
use super::{HeadOfQueue, MILLI, Picos, Queueing};
use crate::network::NONE;

/// A longer head-of-queue lifetime ends only in a lane that stands still: the buffers of all inputs
/// of a switch hold less than one link carries in this time.
const HOQ_SHORT: Picos = 2 * MILLI;

/// An input of an egress lane.
#[derive(Debug, Clone, Default)]
pub(super) struct Feed {
    /// When its last packet left.
    left: Picos,
    /// Where inputs take turns: its packets behind the one in the lane's queue.
    behind: Queue,
    /// It has one there.
    in_turn: bool,
}

/// Feeds of all lanes of switches.
#[derive(Debug, Clone, Default)]
pub(super) struct Feeds {
    /// By lane and input; empty where nothing depends on them.
    all: Vec<Feed>,
    /// Inputs of each lane.
    inputs: usize,
}

impl Feeds {
    /// Bytes that they take.
    pub(super) fn memory(&self) -> usize {
        self.all.len() * size_of::<Feed>()
    }
}

impl Simulation {
    /// Makes room for feeds where something depends on them: the turns of inputs, or lifetimes that
    /// are so short that packets can wait too long for other inputs while their lane moves.
    pub(super) fn watch_inputs(&mut self) {
        let by_turns = self.options.queueing == Queueing::RoundRobin;
        let by_input = self.options.head_of_queue == HeadOfQueue::Input
            && self.hoq.iter().any(|life| *life <= HOQ_SHORT);
        if !self.feeds.all.is_empty() || !by_turns && !by_input {
            return;
        }
        let most = self.switches.iter().map(|switch| switch.ports).max();
        self.feeds.inputs = usize::from(most.unwrap_or(0)) + 1;
        self.feeds.all = vec![Feed::default(); self.lanes.len() * self.feeds.inputs];
    }

    /// The place of the feed of the lane `at` that a packet came by, where there are feeds; none for
    /// copies of multicast packets that hold no input buffer.
    #[inline]
    pub(super) fn feed_of(&self, id: u32, at: usize) -> Option<usize> {
        if self.feeds.all.is_empty() {
            return None;
        }
        let port = &self.ports[at / self.width];
        let ingress = self.store.get(id).ingress;
        let from_switch = port.switch != NONE && ingress != NONE;
        from_switch.then(|| at * self.feeds.inputs + (ingress - port.base) as usize)
    }

    /// Notes that a packet has left the lane `at`.
    #[inline]
    pub(super) fn note_left(&mut self, id: u32, at: usize) {
        if let Some(place) = self.feed_of(id, at) {
            self.feeds.all[place].left = self.now;
        }
    }

    /// Since when a packet is the first of its input for the lane `at`, where that is kept.
    pub(super) fn first_since(&self, id: u32, at: usize) -> Option<Picos> {
        let place = self.feed_of(id, at)?;
        Some(self.feeds.all[place].left.max(self.store.get(id).entered))
    }

    /// A packet comes to the end of the queue of the lane `at`, or where inputs take turns and one of its
    /// input is there, behind that one.
    #[inline(always)]
    pub(super) fn queue_up(&mut self, id: u32, at: usize) {
        if self.options.queueing != Queueing::RoundRobin || self.take_turn(id, at) {
            self.lanes[at].queue.push(&mut self.store, id);
        }
    }

    /// Where inputs take turns: whether a new packet is the first of its input; else it waits behind
    /// that one.
    #[cold]
    fn take_turn(&mut self, id: u32, at: usize) -> bool {
        let Some(place) = self.feed_of(id, at) else {
            return true;
        };
        let feed = &mut self.feeds.all[place];
        if feed.in_turn {
            feed.behind.push(&mut self.store, id);
            return false;
        }
        feed.in_turn = true;
        true
    }

    /// Where inputs take turns: the next packet of the input of one that has just left the queue of
    /// the lane `at` comes to the end of that queue.
    #[cold]
    pub(super) fn next_of_input(&mut self, id: u32, at: usize) {
        let Some(place) = self.feed_of(id, at) else {
            return;
        };
        let feed = &mut self.feeds.all[place];
        match feed.behind.pop(&self.store) {
            Some(next) => self.lanes[at].queue.push(&mut self.store, next),
            None => feed.in_turn = false,
        }
    }

    /// All packets that wait in a lane, those behind the first ones of their inputs last.
    pub(super) fn waiting_in(&self, at: usize) -> impl Iterator<Item = u32> {
        let by_turns = self.options.queueing == Queueing::RoundRobin;
        let inputs = if by_turns { self.feeds.inputs } else { 0 };
        let behind = self.feeds.all.get(at * inputs..(at + 1) * inputs);
        let behind = behind.unwrap_or_default().iter().map(|feed| feed.behind);
        let queues = std::iter::once(self.lanes[at].queue).chain(behind);
        queues.flat_map(|queue| self.packets_of(queue))
    }

    /// Packets of a queue, in order.
    pub(super) fn packets_of(&self, queue: Queue) -> impl Iterator<Item = u32> {
        let some = |id: u32| Some(id).filter(|id| *id != NONE);
        std::iter::successors(some(queue.head), move |id| some(self.store.get(*id).next))
    }
}
