//! Waits for the manager's state to be on disk.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::Refusal;
use crate::store::Saved;

/// Time limit for a change to reach the disk; its client then gets an error.
const DURABLE: Duration = Duration::from_secs(5);

/// The state directory, as far as it has been written.
#[derive(Clone)]
pub(super) struct Disk(watch::Receiver<Saved>);

impl Disk {
    pub(super) fn new(saved: watch::Receiver<Saved>) -> Self {
        Self(saved)
    }

    /// When a change that is made now has to be on disk.
    pub(super) fn deadline() -> Instant {
        Instant::now() + DURABLE
    }

    /// Waits until the state of this number is on disk.
    ///
    /// # Errors
    /// [`Refusal::NotDurable`], which says `what` was done, where it cannot be written or is not by
    /// `deadline`; [`Refusal::Stopping`].
    pub(super) async fn has(
        &mut self,
        state: u64,
        deadline: Instant,
        what: impl FnOnce() -> String,
    ) -> Result<(), Refusal> {
        let settled = self
            .0
            .wait_for(|saved| saved.number >= state || saved.failure.is_some());
        let why = match timeout_at(deadline, settled).await {
            Ok(Ok(saved)) if saved.number >= state => return Ok(()),
            Ok(Ok(saved)) => saved.failure.clone().unwrap_or_default(),
            Ok(Err(_)) => return Err(Refusal::Stopping),
            Err(_) => format!("the disk has not answered for {} s", DURABLE.as_secs()),
        };
        let what = what();
        Err(Refusal::NotDurable { what, why })
    }
}
