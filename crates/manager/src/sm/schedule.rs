//! The next node to send.

use std::collections::{BTreeSet, VecDeque};

use weft_fabric::Tick;
use weft_state::State;

use super::devices::{Devices, Stage, Work};

/// Nodes that have work, and when they may do it.
#[derive(Debug, Clone, Default, State)]
pub(super) struct Schedule {
    /// Nodes that may have something to send.
    ready: VecDeque<u32>,
    /// Nodes that have to wait after a BUSY.
    waiting: BTreeSet<(Tick, u32)>,
    /// Requests of the sweep in flight.
    outstanding: usize,
}

impl Schedule {
    /// Puts a node that has work into the list of those that may send.
    pub(super) fn make_ready(&mut self, node: u32, work: &mut Work) {
        if !work.queued && work.stage != Stage::Idle {
            work.queued = true;
            self.ready.push_back(node);
        }
    }

    /// Gives a node a stage of work.
    pub(super) fn begin(&mut self, node: u32, work: &mut Work, stage: Stage) {
        work.enter(stage);
        self.make_ready(node, work);
    }

    /// Lets the switches go on with a stage that have waited for each other.
    pub(super) fn let_go(&mut self, devices: &mut Devices, stage: Stage) {
        for node in devices.numbers() {
            let device = &mut devices[node];
            if device.work.stage == Stage::Ready && device.is_switch() {
                self.begin(node, &mut device.work, stage);
            }
        }
    }

    /// The next node that may send.
    pub(super) fn next(&mut self, devices: &mut Devices) -> Option<u32> {
        let node = self.ready.pop_front()?;
        devices[node].work.queued = false;
        Some(node)
    }

    /// Lets a node wait until `at` before it sends again.
    pub(super) fn make_wait(&mut self, node: u32, work: &mut Work, at: Tick) {
        if work.wake_at.is_none() {
            work.wake_at = Some(at);
            self.waiting.insert((at, node));
        }
    }

    /// Lets those send again that have waited long enough.
    pub(super) fn wake(&mut self, now: Tick, devices: &mut Devices) {
        while let Some((at, node)) = self.waiting.first().copied().filter(|(at, _)| *at <= now) {
            self.waiting.remove(&(at, node));
            let work = &mut devices[node].work;
            work.wake_at = None;
            self.make_ready(node, work);
        }
    }

    /// When the first of those that wait may send again.
    pub(super) fn deadline(&self) -> Option<Tick> {
        self.waiting.first().map(|(at, _)| *at)
    }

    /// A request of a node's pipeline was sent.
    pub(super) fn sent(&mut self, work: &mut Work) {
        self.outstanding += 1;
        work.outstanding += 1;
        work.sent = true;
    }

    /// A request of a node's pipeline is over.
    pub(super) fn ended(&mut self, work: &mut Work) {
        self.outstanding -= 1;
        work.outstanding -= 1;
    }

    /// Whether no node has anything to send or to wait for.
    pub(super) fn is_idle(&self) -> bool {
        self.ready.is_empty() && self.outstanding == 0 && self.waiting.is_empty()
    }

    /// No node has anything more to do in this sweep. Requests in flight stay so.
    pub(super) fn clear(&mut self, devices: &mut Devices) {
        self.ready.clear();
        self.waiting.clear();
        devices.iter_mut().for_each(|device| device.work.stop());
    }
}
