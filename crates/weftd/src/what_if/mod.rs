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

use tokio::sync::{Mutex, OwnedMutexGuard};

pub(crate) use given::{FLOWS_MAX, given};
pub(crate) use traffic::{Counted, of_image, of_past};

/// Bounds forecasts: each takes a core for seconds, and hundreds of MB for a thousand hosts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Forecasts(Arc<Mutex<()>>);

impl Forecasts {
    /// Waits for the turn.
    pub(crate) async fn enter(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.0).lock_owned().await
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
