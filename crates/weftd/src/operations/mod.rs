//! Changes that take time, as operations that clients list, wait for and cancel.
//!
//! | module | contents |
//! |---|---|
//! | `records` | what is remembered of each |
//! | `follow` | progress, from the events of sweeps |
//! | `attempts` | sweeps that try again what devices have not taken |

mod attempts;
mod follow;
mod records;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thiserror::Error;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use weft_api::v1::{self, OperationKind, OperationState};

use crate::event::DaemonEvent;
use crate::event_hub::EventHub;
pub(crate) use follow::follow;
pub(crate) use records::{ID_MAX, KEPT};
use records::{Record, Records, STEPS};

/// Who asks for an operation, and its identity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Empty for one of the daemon.
    pub(crate) id: String,
    pub(crate) author: String,
    pub(crate) peer: String,
    pub(crate) reason: String,
}

impl Origin {
    fn asker(&self) -> v1::OperationAsker {
        v1::OperationAsker {
            author: self.author.clone(),
            peer: self.peer.clone(),
            reason: self.reason.clone(),
        }
    }
}

/// Why nothing is done about an operation.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum OperationError {
    #[error("operation {id:?} is not remembered; the last {KEPT} are")]
    Unknown { id: String },
    #[error("there is an operation {id:?} already: {what}")]
    Taken { id: String, what: String },
    #[error("operation {id:?} was cancelled: nothing was changed")]
    Cancelled { id: String },
    #[error(
        "operation {id:?} cannot be cancelled any more: it is in force, and sweep {sweep} writes it{remedy}"
    )]
    Applying {
        id: String,
        sweep: u64,
        remedy: String,
    },
    #[error("operation {id:?} cannot be cancelled: it has ended ({state})")]
    Ended { id: String, state: &'static str },
}

/// All operations. Every change of one is an event.
#[derive(Debug)]
pub(crate) struct Operations {
    hub: Arc<EventHub>,
    records: Mutex<Records>,
    /// Counts changes.
    changes: watch::Sender<u64>,
}

/// An operation that has begun.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) id: String,
    cancelled: watch::Receiver<bool>,
}

impl Begun {
    /// Ends when the operation is cancelled.
    pub(crate) async fn cancelled(&mut self) {
        if self.cancelled.wait_for(|is| *is).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Operations {
    pub(crate) fn new(hub: Arc<EventHub>) -> Self {
        Self {
            hub,
            records: Mutex::default(),
            changes: watch::Sender::new(0),
        }
    }

    /// Begins one.
    ///
    /// # Errors
    /// [`OperationError::Taken`] where another one has this identity.
    pub(crate) fn begin(
        &self,
        origin: &Origin,
        kind: OperationKind,
        state: OperationState,
        what: &str,
    ) -> Result<Begun, OperationError> {
        let mut records = self.records();
        let id = records.id(&origin.id)?;
        let operation = v1::Operation {
            id: id.clone(),
            kind: kind.into(),
            what: what.to_owned(),
            state: state.into(),
            asked: Some(origin.asker()),
            begin_time: Some(std::time::SystemTime::now().into()),
            steps: STEPS,
            ..v1::Operation::default()
        };
        let cancelled = records.add(operation.clone());
        self.tell(DaemonEvent::Operation(Box::new(operation)));
        Ok(Begun { id, cancelled })
    }

    /// Its plan is there; false where it was cancelled meanwhile.
    pub(crate) fn planned(&self, id: &str, plan_id: u64, plan: v1::RoutePlan) -> bool {
        self.change(
            |one| one.is(id) && one.state() == OperationState::Planning,
            |operation| {
                operation.set_state(OperationState::Planned);
                operation.plan_id = Some(plan_id);
                operation.plan = Some(plan);
            },
        )
    }

    /// Keeps what a way back to a moment changes besides routes, for who looks at it before it is applied.
    pub(crate) fn leads_back(&self, id: &str, way_back: v1::WayBack) {
        if let Some(record) = self.records().find_mut(|one| one.is(id)) {
            record.way_back = Some(way_back);
        }
    }

    /// Keeps what links carry before and after its plan.
    pub(crate) fn carries(&self, id: &str, flows: v1::PlannedFlows) {
        if let Some(record) = self.records().find_mut(|one| one.is(id)) {
            record.flows = Some(flows);
        }
    }

    /// What links carry before and after its plan.
    pub(crate) fn flows(&self, id: &str) -> Option<v1::PlannedFlows> {
        let records = self.records();
        records.find(|one| one.is(id))?.flows.clone()
    }

    /// What one changes besides routes.
    pub(crate) fn way_back(&self, id: &str) -> Option<v1::WayBack> {
        let records = self.records();
        records.find(|one| one.is(id))?.way_back.clone()
    }

    /// It has failed, unless it has ended before.
    pub(crate) fn failed(&self, id: &str, why: &str) {
        self.change(
            |one| one.is(id) && !one.has_ended(),
            |operation| ended(operation, OperationState::Failed, why),
        );
    }

    /// It cannot be done as the fabric or the configuration is: nothing was changed.
    pub(crate) fn refused(&self, id: &str, why: &str) {
        self.change(
            |one| one.is(id) && !one.has_ended(),
            |operation| ended(operation, OperationState::Refused, why),
        );
    }

    /// A plan is about to be applied: it cannot be cancelled any more.
    ///
    /// # Errors
    /// [`OperationError::Cancelled`].
    pub(crate) fn applies(&self, plan_id: u64, by: &Origin) -> Result<(), OperationError> {
        let asker = by.asker();
        let begun = self.change(
            |one| one.has_plan(plan_id) && one.state() == OperationState::Planned,
            |operation| {
                operation.set_state(OperationState::Applying);
                operation.applied = Some(asker);
                operation.error.clear();
            },
        );
        let records = self.records();
        let found = records.find(|one| one.has_plan(plan_id));
        match found.filter(|one| !begun && one.state() == OperationState::Cancelled) {
            Some(one) => Err(OperationError::Cancelled {
                id: one.operation.id.clone(),
            }),
            None => Ok(()),
        }
    }

    /// A plan was not applied; it can be tried again unless that is over.
    pub(crate) fn not_applied(&self, plan_id: u64, why: &str, over: bool) {
        self.change(
            |one| one.has_plan(plan_id) && one.state() == OperationState::Applying,
            |operation| match over {
                true => ended(operation, OperationState::Failed, why),
                false => {
                    operation.set_state(OperationState::Planned);
                    operation.error = why.to_owned();
                }
            },
        );
    }

    /// A plan is forgotten: it cannot be applied any more.
    pub(crate) fn outdated(&self, plan_id: u64, why: &str) {
        self.change(
            |one| one.has_plan(plan_id) && one.state() == OperationState::Planned,
            |operation| ended(operation, OperationState::Failed, why),
        );
    }

    /// The sweep that ends an operation.
    pub(crate) fn sweeps(&self, id: &str, sweep: u64) {
        self.change(
            |one| one.is(id) && one.state() == OperationState::Applying,
            |operation| operation.sweep = sweep,
        );
        self.catch_up();
    }

    /// It switches ports, while a sweep that may see a link at one of its ends only writes its routes: that sweep does not end it.
    pub(crate) fn switches(&self, id: &str) {
        if let Some(record) = self.records().find_mut(|one| one.is(id)) {
            record.switches = true;
        }
    }

    /// Its ports are switched, but for those that a text names with the reason, and a sweep with this number will have seen that;
    /// none where there is no such sweep.
    pub(crate) fn switched(&self, id: &str, not_switched: Option<String>, sweep: Option<u64>) {
        if let Some(record) = self.records().find_mut(|one| one.is(id)) {
            (record.switches, record.not_switched) = (false, not_switched);
        }
        match sweep {
            Some(sweep) => self.sweeps(id, sweep),
            None => self.catch_up(),
        }
    }

    /// Identity of the operation of a plan; empty if it is forgotten.
    pub(crate) fn of_plan(&self, plan_id: u64) -> String {
        let records = self.records();
        let found = records.find(|one| one.has_plan(plan_id));
        found.map_or_else(String::new, |one| one.operation.id.clone())
    }

    /// One of them.
    ///
    /// # Errors
    /// [`OperationError::Unknown`].
    pub(crate) fn get(&self, id: &str) -> Result<v1::Operation, OperationError> {
        let records = self.records();
        let found = records.find(|one| one.is(id));
        found
            .map(|one| one.operation.clone())
            .ok_or_else(|| OperationError::Unknown { id: id.to_owned() })
    }

    /// All, the newest first, each with its number.
    pub(crate) fn all(&self) -> Vec<(u64, v1::Operation)> {
        self.records().all()
    }

    /// Cancels one before anything is written.
    ///
    /// # Errors
    /// [`OperationError`], where it is unknown, being applied, or has ended.
    pub(crate) fn cancel(
        &self,
        id: &str,
        by: v1::OperationAsker,
    ) -> Result<v1::Operation, OperationError> {
        let cancelled = self.change(
            |one| one.is(id) && one.can_be_cancelled(),
            |operation| {
                ended(operation, OperationState::Cancelled, "");
                operation.cancelled = Some(by);
            },
        );
        let operation = self.get(id)?;
        let id = id.to_owned();
        match operation.state() {
            _ if cancelled => Ok(operation),
            OperationState::Applying => Err(OperationError::Applying {
                id,
                sweep: operation.sweep,
                remedy: operation.plan_id.map_or_else(String::new, |plan| {
                    format!("; RollBackRoutes (`weft route rollback {plan}`) undoes it")
                }),
            }),
            state => Err(OperationError::Ended {
                id,
                state: word(state),
            }),
        }
    }

    /// Waits until nothing of it is under way; as it is at `by`, and whether that is so.
    ///
    /// # Errors
    /// [`OperationError::Unknown`].
    pub(crate) async fn settled(
        &self,
        id: &str,
        by: Instant,
    ) -> Result<(v1::Operation, bool), OperationError> {
        let mut changes = self.changes.subscribe();
        loop {
            changes.borrow_and_update();
            let operation = self.get(id)?;
            if !records::is_under_way(operation.state()) {
                return Ok((operation, true));
            }
            if !matches!(timeout_at(by, changes.changed()).await, Ok(Ok(()))) {
                return Ok((self.get(id)?, false));
            }
        }
    }

    fn change(
        &self,
        which: impl Fn(&Record) -> bool,
        how: impl FnOnce(&mut v1::Operation),
    ) -> bool {
        let mut records = self.records();
        let Some(record) = records.find_mut(which) else {
            return false;
        };
        how(&mut record.operation);
        record.note_cancel();
        let event = DaemonEvent::Operation(Box::new(record.operation.clone()));
        // Told under the lock, so that events are in the order of changes.
        self.tell(event);
        true
    }

    fn tell(&self, event: DaemonEvent) {
        self.hub.tell(event);
        self.changes.send_modify(|count| *count += 1);
    }

    fn records(&self) -> MutexGuard<'_, Records> {
        // A panic under this lock leaves at worst an event unsaid.
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends an operation.
fn ended(operation: &mut v1::Operation, state: OperationState, why: &str) {
    operation.set_state(state);
    operation.end_time = Some(std::time::SystemTime::now().into());
    operation.error = why.to_owned();
}

fn word(state: OperationState) -> &'static str {
    match state {
        OperationState::Unspecified => "unknown",
        OperationState::Planning => "planning",
        OperationState::Planned => "planned",
        OperationState::Applying => "applying",
        OperationState::Done => "done",
        OperationState::Failed => "failed",
        OperationState::Refused => "refused",
        OperationState::Cancelled => "cancelled",
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
