//! Outputs of the manager, in order, and its counters.

use std::collections::VecDeque;
use std::sync::Arc;

use weft_fabric::{Guid, Snapshot};
use weft_state::State;

use super::devices::Device;
use super::notices::Lately;
use super::status::Totals;
use crate::io::{CommandError, Event, Output, Reply};

/// Events of one kind that a single sweep may report; the rest is only counted.
const FAULTS_PER_SWEEP_MAX: u32 = 256;

/// Different things that are remembered as reported of a device in one sweep; beyond that, one may be
/// reported again.
const TOLD_MAX: usize = 16;

/// Pending outputs, and the last published state.
#[derive(Debug, Clone, Default, State)]
pub(super) struct Outbox {
    /// Empty at the end of an input.
    #[state(skip)]
    queue: VecDeque<Output>,
    /// Faults of devices in this sweep.
    faults: u32,
    /// What nobody known does wrong was reported in this sweep.
    told_of_nobody: bool,
    pub totals: Totals,
    /// Traps that were passed on lately.
    pub lately: Lately,
    /// Last state passed to stable storage.
    pub persisted: Vec<u8>,
    /// The published snapshot.
    pub published: Arc<Snapshot>,
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

    /// Has what outlasts a restart written, if it has changed.
    pub(super) fn persist(&mut self, bytes: Vec<u8>) {
        if bytes != self.persisted {
            self.persisted.clone_from(&bytes);
            self.push(Output::Persist(bytes));
        }
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

    /// Reports a fault of a device once per sweep; returns whether that was the first time.
    pub(super) fn fault_once(&mut self, device: &mut Device, what: &str) -> bool {
        let told = &mut device.work.told;
        let first = !told.iter().any(|told| told == what);
        if first && told.len() < TOLD_MAX {
            told.push(what.to_owned());
        }
        if first {
            self.fault(Some(device.identity.guid), what);
        }
        first
    }

    /// Reports a fault of a device that is not known, once per sweep.
    pub(super) fn fault_of_nobody(&mut self, what: &str) {
        if !std::mem::replace(&mut self.told_of_nobody, true) {
            self.fault(None, what);
        }
    }

    /// A sweep begins, which may report faults anew.
    pub(super) fn begin_sweep(&mut self) {
        self.faults = 0;
        self.told_of_nobody = false;
    }

    /// A sweep has ended: its faults are counted.
    pub(super) fn end_sweep(&mut self) {
        self.totals.faults += u64::from(self.faults);
    }
}
