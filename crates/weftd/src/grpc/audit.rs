//! AuditService: the record is read on threads for blocking work, a bounded number at a time.

use std::path::PathBuf;

use tokio::sync::mpsc;
use tokio::task;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};
use weft_api::time::{timestamp, unix_ns};
use weft_api::v1;
use weft_api::v1::audit_service_server::AuditService;
use weft_history::audit::{Fault, Hash, Record, Verdict, read, verify};

use super::Services;
use super::history::status;

/// Messages that wait in a reader's own stream.
const AHEAD: usize = 16;
/// Authors of one request.
const AUTHORS_MAX: usize = 1_000;

#[tonic::async_trait]
impl AuditService for Services {
    type ListAuditRecordsStream = ReceiverStream<Result<v1::ListAuditRecordsResponse, Status>>;

    async fn list_audit_records(
        &self,
        request: Request<v1::ListAuditRecordsRequest>,
    ) -> Result<Response<Self::ListAuditRecordsStream>, Status> {
        let request = request.into_inner();
        if request.authors.len() > AUTHORS_MAX {
            let why = format!("authors: at most {AUTHORS_MAX}");
            return Err(Status::invalid_argument(why));
        }
        let dir = self.audit_dir()?;
        let permit = self.history_readers.enter().await?;
        let (sender, receiver) = mpsc::channel(AHEAD);
        task::spawn_blocking(move || {
            let _permit = permit;
            let filter = Filter::of(request);
            let read = read(&dir, filter.span_ns, &mut |record| {
                if filter.wants(&record) {
                    // A reader that has gone needs no more; what is left is read in vain.
                    let _ = sender.blocking_send(Ok(message(record)));
                }
            });
            if let Err(error) = read {
                let _ = sender.blocking_send(Err(status(&error)));
            }
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn verify_audit(
        &self,
        request: Request<v1::VerifyAuditRequest>,
    ) -> Result<Response<v1::VerifyAuditResponse>, Status> {
        let known = match &request.get_ref().known[..] {
            "" => None,
            text => Some(Hash::parse(text).ok_or_else(|| {
                Status::invalid_argument("known: expected 64 hexadecimal digits in lower case")
            })?),
        };
        let dir = self.audit_dir()?;
        let permit = self.history_readers.enter().await?;
        let directory = dir.display().to_string();
        let verified = task::spawn_blocking(move || {
            let _permit = permit;
            verify(&dir, known)
        });
        let verified = verified.await;
        let verified = verified.map_err(|error| Status::internal(error.to_string()))?;
        let verdict = verified.map_err(|error| status(&error))?;
        Ok(Response::new(verdict_message(verdict, directory)))
    }
}

impl Services {
    pub(super) fn audit_dir(&self) -> Result<PathBuf, Status> {
        let dir = self.audit.dir().map(ToOwned::to_owned);
        dir.ok_or_else(|| {
            Status::failed_precondition(
                "weftd keeps no record of changes: it runs without a state directory",
            )
        })
    }
}

/// Which requests a reader wants.
struct Filter {
    span_ns: (u64, u64),
    authors: Vec<String>,
    /// In lower case.
    text: String,
    refused: bool,
}

impl Filter {
    fn of(request: v1::ListAuditRecordsRequest) -> Self {
        let from = unix_ns(request.from);
        let to = request.to.map_or(u64::MAX, |to| unix_ns(Some(to)));
        Self {
            span_ns: (from, to),
            authors: request.authors,
            text: request.text.to_lowercase(),
            refused: request.refused,
        }
    }

    fn wants(&self, record: &Record) -> bool {
        let asked = &record.asked;
        let ended = record.ended.as_ref().map(|(_, ended)| ended);
        let is_refused = ended.is_some_and(|ended| ended.result != "ok");
        if self.refused && !is_refused {
            return false;
        }
        if !self.authors.is_empty() && !self.authors.contains(&asked.author) {
            return false;
        }
        let has = |text: &str| text.to_lowercase().contains(&self.text);
        self.text.is_empty()
            || [&asked.method, &asked.author, &asked.reason]
                .iter()
                .any(|text| has(text))
            || has(&asked.request.to_string())
            || asked.nodes.values().any(|name| has(name))
            || ended.is_some_and(|ended| has(&ended.message))
    }
}

fn message(record: Record) -> v1::ListAuditRecordsResponse {
    let Record {
        sequence,
        unix_time_ns,
        hash,
        asked,
        ended,
    } = record;
    let end_time = ended.as_ref().map(|(time, _)| timestamp(*time));
    let ended = ended.map(|(_, ended)| ended).unwrap_or_default();
    v1::ListAuditRecordsResponse {
        sequence,
        time: Some(timestamp(unix_time_ns)),
        way: asked.way,
        author: asked.author,
        peer: asked.peer,
        identity: asked.identity,
        method: asked.method,
        digest: asked.digest,
        request: asked.request.to_string(),
        reason: asked.reason,
        plan_id: ended.plan,
        generation_before: asked.generation,
        generation_after: ended.generation,
        end_time,
        result: ended.result,
        message: ended.message,
        hash: hash.to_string(),
        nodes: asked.nodes.into_iter().filter_map(node).collect(),
    }
}

/// A node of a request by its GUID as `0x…`.
fn node((guid, name): (String, String)) -> Option<v1::AuditNode> {
    let digits = guid.strip_prefix("0x")?;
    let guid = u64::from_str_radix(digits, 16).ok()?;
    Some(v1::AuditNode { guid, name })
}

fn verdict_message(verdict: Verdict, directory: String) -> v1::VerifyAuditResponse {
    let fault = |fault: Fault| v1::AuditFault {
        file: fault.path.display().to_string(),
        line: fault.line,
        why: fault.why,
    };
    v1::VerifyAuditResponse {
        entries: verdict.entries,
        first: verdict.first,
        last: verdict.last,
        head: verdict.head.to_string(),
        has_known: verdict.has_known,
        faults: verdict.faults.into_iter().map(fault).collect(),
        faults_in_all: verdict.faults_in_all,
        directory,
    }
}
