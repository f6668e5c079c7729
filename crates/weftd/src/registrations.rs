//! Stores registrations at subnet administration over restarts: a file next to the LIDs', which
//! exists only while it is valid.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time;
use tracing::{error, info, warn};
use weft_fabric::Tick;
use weft_manager::{Sa, SaSettings};

use crate::peer::{Offer, PartKind};
use crate::store::{read, replace};

/// Size limit of the file on reading, bytes: above the maximum number of registrations of each kind.
const MAX_LEN: u64 = 64 << 20;
/// Writes that wait for the disk.
const WRITES_MAX: usize = 8;
/// From a write that failed to the next attempt.
pub(crate) const RETRY: Duration = Duration::from_secs(10);

/// An operation on the file.
pub(crate) enum Write {
    /// Invalidates the file; answered when that is durable.
    Stale(oneshot::Sender<()>),
    /// This counts from now on.
    Save(Vec<u8>),
}

/// Channel for writes.
pub(crate) type Writes = mpsc::Sender<Write>;

/// Creates a channel for writes and its receiver.
pub(crate) fn writes() -> (Writes, mpsc::Receiver<Write>) {
    mpsc::channel(WRITES_MAX)
}

/// Creates a subnet administration, with the content of the file if there is one.
pub(crate) fn restored(settings: SaSettings, file: Option<&Path>) -> Sa {
    let Some(stored) = file.and_then(stored) else {
        return Sa::new(settings);
    };
    match Sa::restored(settings.clone(), &stored, Tick(0)) {
        Ok(sa) => sa,
        Err(error) => {
            warn!(event = "registrations_refused", %error, "the stored registrations cannot be used; hosts will be asked to register again");
            Sa::new(settings)
        }
    }
}

fn stored(file: &Path) -> Option<Vec<u8>> {
    match read(file, MAX_LEN) {
        Ok(Some(bytes)) => Some(bytes),
        Ok(None) => {
            info!(
                event = "registrations_absent",
                "no registrations are stored; hosts will be asked to register again"
            );
            None
        }
        Err(error) => {
            let file = file.display();
            warn!(event = "registrations_refused", %error, "cannot read {file}; hosts will be asked to register again");
            None
        }
    }
}

/// The content of the file; none where it cannot be read, which [`restored`] tells.
pub(crate) fn bytes(file: &Path) -> Option<Vec<u8>> {
    read(file, MAX_LEN).ok().flatten()
}

/// Executes writes one after the other until all senders have gone. Retries a failed save
/// after `retry`, until another write replaces it.
/// What followers have is as what is stored.
pub(crate) async fn keep(
    file: PathBuf,
    mut writes: mpsc::Receiver<Write>,
    retry: Duration,
    offer: Arc<Offer>,
) {
    let file = Arc::new(file);
    let mut failed: Option<Vec<u8>> = None;
    loop {
        let write = tokio::select! {
            write = writes.recv() => write,
            () = time::sleep(retry), if failed.is_some() => failed.take().map(Write::Save),
        };
        failed = match write {
            None => return,
            Some(Write::Stale(done)) => {
                let file = Arc::clone(&file);
                let removed = tokio::task::spawn_blocking(move || remove(&file)).await;
                if let Ok(Err(error)) = removed {
                    error!(event = "registrations_unsaved", %error, "cannot remove the stored registrations, which do not hold any more");
                }
                offer.void_registrations().await;
                // The requester may have gone.
                let _ = done.send(());
                None
            }
            Some(Write::Save(bytes)) => {
                offer.put(PartKind::Registrations, Some(bytes.as_slice().into()));
                save(&file, bytes).await
            }
        };
    }
}

/// Writes the file; the bytes back where that failed.
async fn save(file: &Arc<PathBuf>, bytes: Vec<u8>) -> Option<Vec<u8>> {
    let file = Arc::clone(file);
    let saved = tokio::task::spawn_blocking(move || (replace(&file, &bytes), bytes)).await;
    let (Err(error), bytes) = saved.ok()? else {
        return None;
    };
    error!(event = "registrations_unsaved", %error, "cannot write registrations to the state directory; after a restart hosts will be asked to register again");
    Some(bytes)
}

/// Removes the file, so that a crash does not bring it back.
fn remove(file: &Path) -> io::Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        removed => removed?,
    }
    let dir = file.parent().unwrap_or(Path::new("."));
    std::fs::File::open(dir)?.sync_all()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_file_is_gone_before_staleness_is_told_and_back_when_it_is_saved() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("registrations.0");
        let (writes, receiver) = writes();
        let task = tokio::spawn(keep(file.clone(), receiver, RETRY, Arc::default()));
        for number in 0..3_u8 {
            writes.send(Write::Save(vec![number])).await.unwrap();
            let (done, told) = oneshot::channel();
            writes.send(Write::Stale(done)).await.unwrap();
            told.await.unwrap();
            assert!(!file.exists());
        }
        writes.send(Write::Save(vec![7])).await.unwrap();
        drop(writes);
        task.await.unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), [7]);
    }

    #[tokio::test]
    async fn a_save_that_fails_is_tried_again() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        let file = state.join("registrations.0");
        let (writes, receiver) = writes();
        let retry = Duration::from_millis(20);
        let task = tokio::spawn(keep(file.clone(), receiver, retry, Arc::default()));
        writes.send(Write::Save(vec![1])).await.unwrap();
        time::sleep(3 * retry).await;
        std::fs::create_dir(&state).unwrap();
        let back = async {
            while !file.exists() {
                time::sleep(retry).await;
            }
        };
        time::timeout(Duration::from_secs(30), back).await.unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), [1]);
        drop(writes);
        task.await.unwrap();
    }
}
