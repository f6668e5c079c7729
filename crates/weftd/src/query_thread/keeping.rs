//! Keeps the registrations over a restart.

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot;

use crate::registrations::{Write, Writes};

/// Keeps registrations over a restart.
pub(crate) struct Keeping {
    writes: Writes,
    /// The stored registrations must be marked stale before anything more is sent.
    pub(super) stale: bool,
    /// Registrations to store.
    pub(super) save: Option<Vec<u8>>,
}

impl Keeping {
    /// With the channel for writes.
    pub(crate) fn new(writes: Writes) -> Self {
        Self {
            writes,
            stale: false,
            save: None,
        }
    }

    /// Returns the channel if the stored registrations must be marked stale. Otherwise submits pending
    /// registrations; if the channel is full they wait for the next call.
    pub(super) fn next_stale(&mut self) -> Option<Writes> {
        if std::mem::take(&mut self.stale) {
            return Some(self.writes.clone());
        }
        let write = self.save.take().map(Write::Save)?;
        if let Err(TrySendError::Full(Write::Save(bytes))) = self.writes.try_send(write) {
            self.save = Some(bytes);
        }
        None
    }

    /// Submits all remaining writes, including `unsaved`.
    pub(super) async fn finish(self, unsaved: Option<Vec<u8>>) {
        if self.stale {
            make_stale(self.writes.clone()).await;
        }
        if let Some(bytes) = unsaved.or(self.save) {
            // The writer may have gone.
            let _ = self.writes.send(Write::Save(bytes)).await;
        }
    }
}

/// Waits until the stored registrations are marked stale.
pub(super) async fn make_stale(writes: Writes) {
    let (done, told) = oneshot::channel();
    if writes.send(Write::Stale(done)).await.is_ok() {
        // Where that failed, it has been logged.
        let _ = told.await;
    }
}
