//! Progress of operations, from the events of the sweeps that apply them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use tokio::time::{self, Instant, MissedTickBehavior};
use weft_api::v1::watch_response::Content;
use weft_api::v1::{self, OperationState, SweepPhase};
use weft_manager::SweepReport;

use super::attempts::Judgement;
use super::records::{Record, STEPS};
use super::{Operations, ended};
use crate::event::DaemonEvent;

/// How often it is looked whether sweeps have tried for long enough.
const LOOKS_EVERY: Duration = Duration::from_secs(5);

/// Keeps operations up to date until the daemon ends.
pub(crate) async fn follow(operations: Arc<Operations>) {
    let mut events = operations.hub.subscribe(None).coming;
    let current = operations.hub.journal().current();
    let mut running = current.map_or(0, |sweep| sweep.number);
    let mut looks = time::interval(LOOKS_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            event = events.recv() => match event {
                Ok(event) => operations.note(&event.content, &mut running),
                Err(RecvError::Lagged(_)) => operations.catch_up(),
                Err(RecvError::Closed) => return,
            },
            _ = looks.tick() => operations.catch_up(),
        }
    }
}

impl Operations {
    /// Takes in an event; `running` is the number of the running sweep.
    fn note(&self, content: &Content, running: &mut u64) {
        match content {
            Content::SweepStarted(started) => *running = started.number,
            Content::PhaseEntered(entered) => self.entered(*running, entered.phase()),
            Content::SweepEnded(_) => self.catch_up(),
            Content::RoleChanged(role) if role.role != "Master" && role.role != "Discovering" => {
                self.lost(&format!("this manager is {} now: {}", role.role, role.why));
            }
            _ => {}
        }
    }

    /// A sweep has entered a phase.
    fn entered(&self, sweep: u64, phase: SweepPhase) {
        let done = match phase {
            SweepPhase::Plan => 1,
            SweepPhase::Program => 2,
            SweepPhase::Activate => 3,
            _ => return,
        };
        for record in self.records().applying() {
            let operation = &mut record.operation;
            if (1..=sweep).contains(&operation.sweep) && operation.steps_done < done {
                operation.steps_done = done;
                self.tell(DaemonEvent::OperationProgress(v1::OperationProgress {
                    id: operation.id.clone(),
                    steps_done: done,
                    steps: STEPS,
                }));
            }
        }
    }

    /// Ends operations whose sweep has ended, unless it is tried again.
    pub(super) fn catch_up(&self) {
        self.catch_up_at(Instant::now());
    }

    /// The same at a given time.
    pub(super) fn catch_up_at(&self, now: Instant) {
        let reports: Vec<Arc<SweepReport>> = self.hub.journal().sweeps().cloned().collect();
        let mut records = self.records();
        let applying = records.applying().filter(|record| !record.switches);
        for record in applying.filter(|record| record.operation.sweep > 0) {
            let before = (record.state(), record.operation.sweep);
            for report in reports.iter().rev() {
                record.swept(report, now);
            }
            if record.state() == OperationState::Applying && record.attempts.is_too_long(now) {
                record.gives_up();
            }
            if before != (record.state(), record.operation.sweep) {
                self.tell(DaemonEvent::Operation(Box::new(record.operation.clone())));
            }
        }
    }

    /// No sweep of this manager applies anything any more.
    fn lost(&self, why: &str) {
        let mut records = self.records();
        for record in records.applying() {
            record.operation.note.clear();
            ended(&mut record.operation, OperationState::Failed, why);
            self.tell(DaemonEvent::Operation(Box::new(record.operation.clone())));
        }
    }
}

impl Record {
    /// A sweep has ended: the operation ends with it, or goes on with the next one.
    fn swept(&mut self, report: &SweepReport, now: Instant) {
        let operation = &mut self.operation;
        if operation.state() != OperationState::Applying || report.number < operation.sweep {
            return;
        }
        let judgement = self.attempts.judge(report, operation.kind(), now);
        operation.note = self.attempts.note();
        match judgement {
            Judgement::Confirmed => {
                operation.steps_done = STEPS;
                self.ends(None);
            }
            Judgement::TriedAgain => {
                operation.sweep = report.number + 1;
                operation.steps_done = 0;
            }
            Judgement::Failed => self.gives_up(),
        }
    }

    /// What devices have not taken by now is not waited for any more.
    fn gives_up(&mut self) {
        let why = self.attempts.left_undone().to_owned();
        self.operation.note.clear();
        self.ends(Some(why));
    }

    fn ends(&mut self, failed: Option<String>) {
        let why: Vec<String> = failed
            .into_iter()
            .chain(self.not_switched.clone())
            .collect();
        let state = match why.is_empty() {
            true => OperationState::Done,
            false => OperationState::Failed,
        };
        ended(&mut self.operation, state, &why.join("; "));
    }
}
