//! What the manager wants done, in order, and what it counts of itself.

use std::collections::VecDeque;

use weft_fabric::Guid;

use super::status::Totals;
use crate::io::{CommandError, Event, Output, Reply};

/// Events of one kind that a single sweep may report; the rest is only counted.
const FAULTS_PER_SWEEP_MAX: u32 = 256;

/// Outputs that were not taken yet.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    queue: VecDeque<Output>,
    /// Faults of devices in this sweep.
    faults: u32,
    pub totals: Totals,
}

impl Outbox {
    pub(super) fn push(&mut self, output: Output) {
        self.queue.push_back(output);
    }

    pub(super) fn pop(&mut self) -> Option<Output> {
        self.queue.pop_front()
    }

    pub(super) fn event(&mut self, event: Event) {
        self.push(Output::Event(event));
    }

    /// Answers a command.
    pub(super) fn reply(&mut self, id: u64, result: Result<Reply, CommandError>) {
        self.push(Output::Reply { id, result });
    }

    /// Reports that a device broke the rules, unless this sweep has reported enough.
    pub(super) fn fault(&mut self, node: Option<Guid>, what: impl Into<String>) {
        self.faults += 1;
        if self.faults <= FAULTS_PER_SWEEP_MAX {
            self.event(Event::DeviceFault {
                node,
                what: what.into(),
            });
        }
    }

    /// A sweep begins, which may report faults anew.
    pub(super) fn begin_sweep(&mut self) {
        self.faults = 0;
    }

    /// A sweep has ended: its faults are counted.
    pub(super) fn end_sweep(&mut self) {
        self.totals.faults += u64::from(self.faults);
    }
}
