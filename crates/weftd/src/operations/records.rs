//! What is remembered of operations: a bounded list.

use std::collections::VecDeque;

use tokio::sync::watch;
use weft_api::v1::{self, OperationState};

use super::OperationError;
use super::attempts::Attempts;

/// Operations that are remembered: the oldest that has ended is forgotten, or else the oldest.
pub(crate) const KEPT: usize = 128;
/// Longest identity, bytes.
pub(crate) const ID_MAX: usize = 64;
/// Steps of a sweep: discover, plan, program, activate.
pub(super) const STEPS: u32 = 4;

/// One operation.
#[derive(Debug)]
pub(super) struct Record {
    /// Counts up from 1.
    number: u64,
    pub(super) operation: v1::Operation,
    /// What a way back to a moment changes besides routes.
    pub(super) way_back: Option<v1::WayBack>,
    /// What links carry before and after its plan.
    pub(super) flows: Option<v1::PlannedFlows>,
    /// Ports are being switched: no sweep ends it before one has seen all of them.
    pub(super) switches: bool,
    /// Ports that were not switched, and why; none where all were.
    pub(super) not_switched: Option<String>,
    /// The sweeps that have tried to write it.
    pub(super) attempts: Attempts,
    cancelled: watch::Sender<bool>,
}

impl Record {
    pub(super) fn is(&self, id: &str) -> bool {
        self.operation.id == id
    }

    pub(super) fn has_plan(&self, plan: u64) -> bool {
        self.operation.plan_id == Some(plan)
    }

    pub(super) fn state(&self) -> OperationState {
        self.operation.state()
    }

    pub(super) fn has_ended(&self) -> bool {
        !self.can_be_cancelled() && self.state() != OperationState::Applying
    }

    /// Nothing is written yet.
    pub(super) fn can_be_cancelled(&self) -> bool {
        matches!(
            self.state(),
            OperationState::Planning | OperationState::Planned
        )
    }

    /// Tells who computes it that it is cancelled.
    pub(super) fn note_cancel(&self) {
        if self.state() == OperationState::Cancelled {
            self.cancelled.send_replace(true);
        }
    }
}

/// Whether it changes without another request.
pub(super) fn is_under_way(state: OperationState) -> bool {
    matches!(state, OperationState::Planning | OperationState::Applying)
}

/// All of them, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Records {
    last: u64,
    kept: VecDeque<Record>,
}

impl Records {
    /// The identity of the next one, which is `wanted` unless that is empty.
    ///
    /// # Errors
    /// [`OperationError::Taken`].
    pub(super) fn id(&self, wanted: &str) -> Result<String, OperationError> {
        if wanted.is_empty() {
            return Ok(format!("op-{}", self.last + 1));
        }
        match self.find(|one| one.is(wanted)) {
            None => Ok(wanted.to_owned()),
            Some(other) => Err(OperationError::Taken {
                id: wanted.to_owned(),
                what: other.operation.what.clone(),
            }),
        }
    }

    /// Adds one; the receiver hears when it is cancelled.
    pub(super) fn add(&mut self, operation: v1::Operation) -> watch::Receiver<bool> {
        if self.kept.len() >= KEPT {
            let ended = self.kept.iter().position(Record::has_ended);
            self.kept.remove(ended.unwrap_or(0));
        }
        self.last += 1;
        let (cancelled, hears) = watch::channel(false);
        self.kept.push_back(Record {
            number: self.last,
            operation,
            way_back: None,
            flows: None,
            switches: false,
            not_switched: None,
            attempts: Attempts::default(),
            cancelled,
        });
        hears
    }

    pub(super) fn find(&self, which: impl Fn(&Record) -> bool) -> Option<&Record> {
        self.kept.iter().rev().find(|one| which(one))
    }

    pub(super) fn find_mut(&mut self, which: impl Fn(&Record) -> bool) -> Option<&mut Record> {
        self.kept.iter_mut().rev().find(|one| which(one))
    }

    /// Those that a sweep applies.
    pub(super) fn applying(&mut self) -> impl Iterator<Item = &mut Record> {
        let all = self.kept.iter_mut();
        all.filter(|one| one.state() == OperationState::Applying)
    }

    /// All, the newest first, each with its number.
    pub(super) fn all(&self) -> Vec<(u64, v1::Operation)> {
        let all = self.kept.iter().rev();
        all.map(|one| (one.number, one.operation.clone())).collect()
    }
}
