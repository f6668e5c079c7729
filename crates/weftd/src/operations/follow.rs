//! Progress of operations, from the events of the sweeps that apply them.

use std::sync::Arc;

use tokio::sync::broadcast::error::RecvError;
use weft_api::v1::watch_response::Content;
use weft_api::v1::{self, OperationState, SweepPhase};
use weft_manager::SweepReport;

use super::records::STEPS;
use super::{Operations, ended};
use crate::event::DaemonEvent;

/// Keeps operations up to date until the daemon ends.
pub(crate) async fn follow(operations: Arc<Operations>) {
    let mut events = operations.hub.subscribe(None).coming;
    let current = operations.hub.journal().current();
    let mut running = current.map_or(0, |sweep| sweep.number);
    loop {
        match events.recv().await {
            Ok(event) => operations.note(&event.content, &mut running),
            Err(RecvError::Lagged(_)) => operations.catch_up(),
            Err(RecvError::Closed) => return,
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

    /// Ends operations whose sweep has ended.
    pub(super) fn catch_up(&self) {
        let reports: Vec<Arc<SweepReport>> = self.hub.journal().sweeps().cloned().collect();
        let mut records = self.records();
        let applying = records.applying().filter(|record| !record.switches);
        for record in applying {
            let operation = &mut record.operation;
            // The first sweep that has seen the change.
            let seen = |report: &&Arc<SweepReport>| report.number >= operation.sweep;
            let Some(report) = reports.iter().rev().find(seen) else {
                continue;
            };
            if operation.sweep == 0 {
                continue;
            }
            let confirmed = report.unfinished.is_empty() || report.only_links;
            if confirmed {
                operation.steps_done = STEPS;
            }
            let sweep = format!("sweep {}: {}", report.number, report.unfinished.join("; "));
            let failed = [(!confirmed).then_some(&sweep), record.not_switched.as_ref()];
            let failed: Vec<&str> = failed.into_iter().flatten().map(|why| &**why).collect();
            match failed.is_empty() {
                true => ended(operation, OperationState::Done, ""),
                false => ended(operation, OperationState::Failed, &failed.join("; ")),
            }
            self.tell(DaemonEvent::Operation(Box::new(operation.clone())));
        }
    }

    /// No sweep of this manager applies anything any more.
    fn lost(&self, why: &str) {
        let mut records = self.records();
        for record in records.applying() {
            ended(&mut record.operation, OperationState::Failed, why);
            self.tell(DaemonEvent::Operation(Box::new(record.operation.clone())));
        }
    }
}
