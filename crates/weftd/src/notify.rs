//! What systemd is told: readiness, status, and that the manager is alive.

use std::time::{Duration, Instant};

use sd_notify::NotifyState;
use tokio::sync::watch;
use tracing::warn;

/// Tells systemd; without systemd nothing happens.
pub(crate) fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        warn!(%error, "cannot notify systemd");
    }
}

/// Tells systemd that a reload begins. [`NotifyState::Ready`] ends it.
pub(crate) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => notify(&[NotifyState::Reloading, now]),
        Err(error) => warn!(%error, "cannot notify systemd of the reload"),
    }
}

/// Feeds systemd's watchdog as long as the manager's thread is alive.
pub(crate) async fn watchdog(alive: watch::Receiver<Instant>) {
    let Some(limit) = sd_notify::watchdog_enabled() else {
        return;
    };
    let mut ticks = tokio::time::interval((limit / 4).max(Duration::from_millis(10)));
    loop {
        ticks.tick().await;
        if alive.borrow().elapsed() < limit / 2 {
            notify(&[NotifyState::Watchdog]);
        }
    }
}

/// Tells systemd in words why the daemon ends.
pub(crate) fn failed(why: &str) {
    let line = why.lines().next().unwrap_or_default();
    // Whoever started the daemon reads standard error as well.
    let _ = sd_notify::notify(&[NotifyState::Status(line)]);
}
