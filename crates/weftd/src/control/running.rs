//! Orders about the manager while it runs: log level, pause of sweeps, priority, counts. None outlasts a restart.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tracing::{info, warn};
use weft_manager::CommandError;
use weft_manager::sm::pause::Pause;

use super::actor::begins;
use super::requester::Requester;
use super::{Asker, Refusal};
use crate::counters::{Counted, Scope};
use crate::event_hub::EventHub;
use crate::logging::{LogLevel, LogLevels};
use crate::request::{Request, ask};

/// An order about the running manager.
pub(super) enum RunningOrder {
    /// Another log level; empty for the one of the start.
    LogLevel(String, Requester<LogLevel>),
    Pause(Duration, Requester<Pause>),
    /// The answer is whether sweeps were paused.
    Resume(Requester<bool>),
    RestorePriority(Requester<Restored>),
    /// The answer is the counts before.
    ResetCounters(Scope, Requester<Counted>),
}

/// The priority before and after it was restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Restored {
    pub(crate) before: u8,
    pub(crate) now: u8,
}

/// Carries these orders out.
pub(super) struct Running {
    pub(super) engine: mpsc::Sender<Request>,
    pub(super) hub: Arc<EventHub>,
    pub(super) log: LogLevels,
}

impl Running {
    pub(super) async fn carry_out(&self, order: RunningOrder, by: Asker) {
        match order {
            RunningOrder::LogLevel(filter, requester) => {
                if begins(&requester, "the log level stays as it is") {
                    requester.answer(self.log_level(&filter, by));
                }
            }
            RunningOrder::Pause(time, requester) => {
                if begins(&requester, "sweeps are not paused") {
                    requester.answer(self.pause(time, by).await);
                }
            }
            RunningOrder::Resume(requester) => {
                if begins(&requester, "sweeps are not resumed") {
                    requester.answer(self.resume(by).await);
                }
            }
            RunningOrder::RestorePriority(requester) => {
                if begins(&requester, "the priority is not restored") {
                    requester.answer(self.restore_priority(by).await);
                }
            }
            RunningOrder::ResetCounters(scope, requester) => {
                if begins(&requester, "no count is reset") {
                    let counted = self.hub.counters().reset(&self.hub.status(), scope);
                    info!(
                        event = "counters_reset",
                        by = by.0,
                        "counts are reset by {by}"
                    );
                    requester.answer(Ok(counted));
                }
            }
        }
    }

    fn log_level(&self, filter: &str, by: Asker) -> Result<LogLevel, Refusal> {
        let level = match filter {
            "" => self.log.reset(),
            filter => self.log.set(filter, by.0),
        };
        let level = level.map_err(Refusal::LogLevel)?;
        // At a level that every filter but the tightest shows: a log that falls silent says why.
        warn!(
            event = "log_level",
            by = by.0,
            "the log level is {}, set by {}",
            level.filter,
            level.set_by
        );
        Ok(level)
    }

    async fn pause(&self, time: Duration, by: Asker) -> Result<Pause, Refusal> {
        let (done, answer) = oneshot::channel();
        ask(&self.engine, Request::Pause { time, done })?;
        let pause = told(answer).await??;
        info!(
            event = "sweeps_pause_asked",
            by = by.0,
            "{by} pauses sweeps for {} s",
            time.as_secs()
        );
        Ok(pause)
    }

    async fn resume(&self, by: Asker) -> Result<bool, Refusal> {
        let (done, answer) = oneshot::channel();
        ask(&self.engine, Request::Resume(done))?;
        let was_paused = told(answer).await?;
        info!(
            event = "sweeps_resume_asked",
            by = by.0,
            "{by} resumes sweeps"
        );
        Ok(was_paused)
    }

    async fn restore_priority(&self, by: Asker) -> Result<Restored, Refusal> {
        let (done, answer) = oneshot::channel();
        ask(&self.engine, Request::RestorePriority(done))?;
        let (before, now) = told(answer).await??;
        match before == now {
            true => info!(
                event = "priority_restored",
                by = by.0,
                "{by} restores the priority: it is {now} and was not elevated"
            ),
            false => info!(
                event = "priority_restored",
                by = by.0,
                "{by} restores the priority {now}, it was elevated to {before}; a standby that goes before takes over"
            ),
        }
        Ok(Restored { before, now })
    }
}

async fn told<T>(answer: oneshot::Receiver<T>) -> Result<T, Refusal> {
    answer.await.map_err(|_| Refusal::Stopping)
}

/// What a pause of sweeps keeps from being done.
pub(super) fn not_paused(hub: &EventHub) -> Result<(), Refusal> {
    match hub.status().pause {
        Some(_) => Err(CommandError::Paused.into()),
        None => Ok(()),
    }
}
