//! What would come of a change, for the traffic that there is.
//!
//! | module | contents |
//! |---|---|
//! | `traffic` | what links carry, from the last image or from the history |
//! | `given` | traffic that a client gives |

mod given;
mod traffic;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(crate) use given::given;
pub(crate) use traffic::{Counted, of_image, of_past};

/// Bounds forecasts: each takes a core for seconds, and hundreds of MB for a thousand hosts.
#[derive(Debug, Clone)]
pub(crate) struct Forecasts(Arc<Semaphore>);

impl Default for Forecasts {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl Forecasts {
    /// Waits for the turn; none when the daemon is stopping.
    pub(crate) async fn enter(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0).acquire_owned().await.ok()
    }
}

/// Tells a computation to end when its client has gone: it is dropped with the call.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Arc<AtomicBool>);

impl Waiting {
    /// What the computation asks.
    pub(crate) fn has_gone(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let gone = Arc::clone(&self.0);
        move || gone.load(Ordering::Relaxed)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
