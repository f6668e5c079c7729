//! The record of changes: who asked for each, from where, why, and what came of it.
//!
//! | module | contents |
//! |---|---|
//! | `grpc` | records calls of the API |
//! | `answer` | an answer whose end is recorded before the client has it |
//! | `nodes` | names of the nodes in a request |
//!
//! `opafmcmd` and SIGHUP record by themselves. Where the record cannot be written, changes are made all the same, and the
//! log has what the record lacks: who repairs a fabric must not have to free a disk first.

mod answer;
mod grpc;
mod nodes;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::spawn_blocking;
use tracing::{error, info};
use weft_fabric::text::asker;
use weft_history::HistoryError;
use weft_history::audit::{Asked, AuditLog, Body, Ended, Hash};

use crate::event_hub::{EventHub, unix_time_ns};
pub(crate) use grpc::{record_call, refused_read};

/// Writes the record; none where there is no place for it.
#[derive(Debug, Clone)]
pub(crate) struct Audit {
    hub: Arc<EventHub>,
    writer: Option<Arc<Writer>>,
}

#[derive(Debug)]
struct Writer {
    dir: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// None before the first entry, and after one that could not be written.
    log: Option<AuditLog>,
    failing: bool,
}

/// A request whose outcome is to be recorded. Dropped without one, its outcome is unknown.
#[derive(Debug)]
pub(crate) struct OpenRequest {
    audit: Audit,
    /// None where it has its outcome.
    asked: Option<Box<Asked>>,
    /// Place of the request; none where it could not be recorded.
    sequence: Option<u64>,
}

/// What came of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// `ok`, or the gRPC code in lower case.
    pub(crate) result: String,
    /// The refusal in words.
    pub(crate) message: String,
    /// The plan that was made, applied or undone; 0 for none.
    pub(crate) plan: u64,
}

impl Outcome {
    pub(crate) fn ok() -> Self {
        Self {
            result: "ok".to_owned(),
            ..Self::default()
        }
    }

    /// Of a refusal.
    pub(crate) fn of(status: &tonic::Status) -> Self {
        let message = status.message();
        Self::refused(
            &answer::word(status.code()),
            message[..message.floor_char_boundary(4_000)].to_owned(),
        )
    }

    pub(crate) fn refused(result: &str, message: String) -> Self {
        Self {
            result: result.to_owned(),
            message,
            plan: 0,
        }
    }
}

impl Audit {
    /// Keeps the record in a directory.
    pub(crate) fn new(dir: Option<PathBuf>, hub: Arc<EventHub>) -> Self {
        let writer = dir.map(|dir| {
            Arc::new(Writer {
                dir,
                state: Mutex::default(),
            })
        });
        Self { hub, writer }
    }

    /// Where the record is; none where none is kept.
    pub(crate) fn dir(&self) -> Option<&Path> {
        self.writer.as_ref().map(|writer| writer.dir.as_path())
    }

    /// Records a request; when that returns, it is on the disk.
    pub(crate) async fn asked(&self, mut asked: Asked) -> OpenRequest {
        let snapshot = self.hub.snapshot();
        asked.generation = snapshot.generation;
        asked.nodes = nodes::named(&asked.request, &snapshot.topology);
        let entry = self.append(Body::Asked(asked.clone())).await;
        OpenRequest {
            audit: self.clone(),
            asked: Some(Box::new(asked)),
            sequence: entry.map(|(sequence, _)| sequence),
        }
    }

    async fn append(&self, body: Body) -> Option<(u64, Hash)> {
        let writer = Arc::clone(self.writer.as_ref()?);
        // A panic of the thread is told by its hook.
        spawn_blocking(move || writer.append(body)).await.ok()?
    }

    /// Records the outcome, and tells both in the log.
    async fn ended(&self, sequence: Option<u64>, asked: &Asked, outcome: Outcome) {
        let Outcome {
            result,
            message,
            plan,
        } = outcome;
        let generation = self.hub.snapshot().generation;
        let entry = match sequence {
            Some(of) => {
                let (result, message) = (result.clone(), message.clone());
                let ended = Ended {
                    of,
                    result,
                    message,
                    plan,
                    generation,
                };
                self.append(Body::Ended(ended)).await
            }
            None => None,
        };
        let hash = entry.map(|(_, hash)| hash.to_string());
        let Asked {
            way,
            author,
            peer,
            identity,
            method,
            digest,
            reason,
            ..
        } = asked;
        info!(
            event = "change_asked",
            sequence,
            hash,
            way,
            author,
            peer,
            identity,
            method,
            digest,
            reason,
            result,
            plan,
            "{}: {result}{}{message}",
            words(asked),
            if message.is_empty() { "" } else { ": " },
        );
    }
}

/// Who asks for what, and why.
fn words(asked: &Asked) -> String {
    let who = match asker(&asked.author, &asked.peer, "") {
        nobody if nobody.is_empty() => asked.way.clone(),
        who => who,
    };
    let why = match &asked.reason[..] {
        "" => String::new(),
        reason => format!(" ({reason})"),
    };
    let (_, method) = asked.method.rsplit_once('/').unwrap_or(("", &asked.method));
    format!("{who} asks for {method}{why}")
}

impl Writer {
    fn append(&self, body: Body) -> Option<(u64, Hash)> {
        // A panic under this lock leaves at worst a line that the next one continues.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let appended = state.append(&self.dir, body);
        match &appended {
            Ok(_) if state.failing => {
                state.failing = false;
                info!(
                    event = "audit_written",
                    "the record of changes is written again"
                );
            }
            Err(error) if !state.failing => {
                state.failing = true;
                error!(
                    event = "audit_unwritten", %error,
                    "the record of changes cannot be written: {error}; changes are made all the same, and this log has them"
                );
            }
            _ => {}
        }
        appended.ok()
    }
}

impl State {
    fn append(&mut self, dir: &Path, body: Body) -> Result<(u64, Hash), HistoryError> {
        let log = match &mut self.log {
            Some(log) => log,
            none => none.insert(AuditLog::open(dir)?),
        };
        let appended = log.append(unix_time_ns(), body);
        if matches!(appended, Err(HistoryError::Io { .. })) {
            // The directory may have been replaced: the next entry opens it again.
            self.log = None;
        }
        appended
    }
}

impl OpenRequest {
    /// Records the outcome; when that returns, it is on the disk.
    pub(crate) async fn ended(mut self, outcome: Outcome) {
        if let Some(asked) = self.asked.take() {
            self.audit.ended(self.sequence, &asked, outcome).await;
        }
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let Some(asked) = self.asked.take() else {
            return;
        };
        let (audit, sequence) = (self.audit.clone(), self.sequence);
        let why = "the client went away before it was answered".to_owned();
        // At the end of the daemon there is no runtime, and the request stays without an outcome.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let outcome = Outcome::refused("unknown", why);
                audit.ended(sequence, &asked, outcome).await;
            });
        }
    }
}
