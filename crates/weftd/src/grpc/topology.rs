//! Comparison of the fabric with a topology file that a client sends, or with a baseline.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_stream::{Stream, StreamExt};
use tonic::{Status, Streaming};
use weft_api::v1;
use weft_fabric::Snapshot;
use weft_fabric::import::{TOPOLOGY_FILE_MAX, import_topology};
use weft_fabric::intended::compare;

use super::details::detailed;
use super::facts::Facts;
use super::refusal::{limit_reached, not_there, wrong_field, wrong_field_with};
use crate::baselines::{BASELINES_MAX, BaselineError, Baselines};

/// Comparisons at the same time: each holds a whole file.
const COMPARISONS_MAX: usize = 2;
static COMPARISONS: Semaphore = Semaphore::const_new(COMPARISONS_MAX);
/// Longest time in which a client may send its file.
const SENDING_MAX: Duration = Duration::from_secs(60);
/// Differences in one message.
const PER_MESSAGE: usize = 1_000;

type Message = Result<v1::CompareTopologyResponse, Status>;

/// The differences of a snapshot from the file that a client sends, or from a baseline that it names.
pub(super) async fn differences(
    snapshot: Arc<Snapshot>,
    baselines: Arc<Baselines>,
    file: Streaming<v1::CompareTopologyRequest>,
) -> Result<impl Stream<Item = Message> + Send + use<>, Status> {
    let _permit = COMPARISONS.try_acquire().map_err(|_| {
        let what = "two topology files are compared already, which is the most";
        limit_reached(what, COMPARISONS_MAX)
    })?;
    let text = timeout(SENDING_MAX, received(file)).await;
    let received = text.map_err(|_| {
        let seconds = SENDING_MAX.as_secs();
        Status::deadline_exceeded(format!("data: the file did not come within {seconds} s"))
    })??;
    let compared = tokio::task::spawn_blocking(move || {
        let text = match received {
            Received::File(text) => text,
            Received::Baseline(name) => baselines.read(&name).map_err(|why| refused(&why))?,
        };
        messages(&snapshot, &text)
    });
    let messages = compared.await;
    let messages = messages.map_err(|error| Status::internal(error.to_string()))??;
    Ok(tokio_stream::iter(messages).map(Ok))
}

/// What to compare with.
enum Received {
    File(Vec<u8>),
    Baseline(String),
}

async fn received(mut file: Streaming<v1::CompareTopologyRequest>) -> Result<Received, Status> {
    let mut text = Vec::new();
    while let Some(part) = file.next().await {
        let part = part?;
        if !part.baseline.is_empty() {
            return match text.is_empty() && part.data.is_empty() {
                true => Ok(Received::Baseline(part.baseline)),
                false => Err(wrong_field("baseline", "a file was sent too; one of both")),
            };
        }
        text.extend(part.data);
        if text.len() as u64 > TOPOLOGY_FILE_MAX {
            let most = TOPOLOGY_FILE_MAX >> 20;
            let what = format!("the file is longer than {most} MiB");
            let facts = Facts::none().with("limit", TOPOLOGY_FILE_MAX);
            return Err(wrong_field_with("data", &what, facts));
        }
    }
    Ok(Received::File(text))
}

/// Works with the files of baselines, on a thread that may wait for the disk.
pub(super) async fn on_disk<R: Send + 'static>(
    work: impl FnOnce() -> Result<R, BaselineError> + Send + 'static,
) -> Result<R, Status> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(|error| Status::internal(error.to_string()))?;
    done.map_err(|why| refused(&why))
}

fn refused(why: &BaselineError) -> Status {
    let text = why.to_string();
    match why {
        BaselineError::NoDirectory => Status::failed_precondition(text),
        BaselineError::Name(_) => wrong_field("name", &text),
        BaselineError::Exists(name) => {
            let facts = Facts::none().with("name", name);
            detailed(&Status::already_exists(text), "EXISTS", facts)
        }
        BaselineError::Missing { name, .. } => not_there(&text, Facts::none().with("name", name)),
        BaselineError::TooMany => limit_reached(&text, BASELINES_MAX),
        BaselineError::Damaged(_) => Status::data_loss(text),
        BaselineError::File { .. } => Status::internal(text),
    }
}

/// The answer in parts; the first one comes without differences, too.
fn messages(snapshot: &Snapshot, text: &[u8]) -> Result<Vec<v1::CompareTopologyResponse>, Status> {
    let intended = import_topology(text);
    let intended = intended.map_err(|error| Status::invalid_argument(format!("data: {error}")))?;
    let found = compare(&intended, &snapshot.topology);
    let all: Vec<v1::TopologyDifference> = found.into_iter().map(Into::into).collect();
    let message = |differences: &[v1::TopologyDifference]| v1::CompareTopologyResponse {
        generation: snapshot.generation,
        differences: differences.to_vec(),
    };
    match all.is_empty() {
        true => Ok(vec![message(&[])]),
        false => Ok(all.chunks(PER_MESSAGE).map(message).collect()),
    }
}
