//! Comparison of the fabric with a topology file that a client sends.

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

/// Comparisons at the same time: each holds a whole file.
static COMPARISONS: Semaphore = Semaphore::const_new(2);
/// Longest time in which a client may send its file.
const SENDING_MAX: Duration = Duration::from_secs(60);
/// Differences in one message.
const PER_MESSAGE: usize = 1_000;

type Message = Result<v1::CompareTopologyResponse, Status>;

/// The differences of a snapshot from the file that a client sends.
pub(super) async fn differences(
    snapshot: Arc<Snapshot>,
    file: Streaming<v1::CompareTopologyRequest>,
) -> Result<impl Stream<Item = Message> + Send + use<>, Status> {
    let _permit = COMPARISONS.try_acquire().map_err(|_| {
        Status::resource_exhausted("two topology files are compared already, which is the most")
    })?;
    let text = timeout(SENDING_MAX, received(file)).await;
    let text = text.map_err(|_| {
        let seconds = SENDING_MAX.as_secs();
        Status::deadline_exceeded(format!("data: the file did not come within {seconds} s"))
    })??;
    let compared = tokio::task::spawn_blocking(move || messages(&snapshot, &text));
    let messages = compared.await;
    let messages = messages.map_err(|error| Status::internal(error.to_string()))??;
    Ok(tokio_stream::iter(messages).map(Ok))
}

async fn received(mut file: Streaming<v1::CompareTopologyRequest>) -> Result<Vec<u8>, Status> {
    let mut text = Vec::new();
    while let Some(part) = file.next().await {
        text.extend(part?.data);
        if text.len() as u64 > TOPOLOGY_FILE_MAX {
            let most = TOPOLOGY_FILE_MAX >> 20;
            let why = format!("data: the file is longer than {most} MiB");
            return Err(Status::invalid_argument(why));
        }
    }
    Ok(text)
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
