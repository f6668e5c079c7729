//! Notifications to systemd: readiness, status, and that the manager is alive.

use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;
use tracing::warn;

use crate::event_hub::EventHub;
use crate::heartbeat::Hearts;

/// Notifies systemd; does nothing without systemd.
pub(crate) fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        warn!(event = "systemd_not_told", %error, "cannot notify systemd");
    }
}

/// Notifies systemd that a reload begins. [`NotifyState::Ready`] ends it.
pub(crate) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => notify(&[NotifyState::Reloading, now]),
        Err(error) => {
            warn!(event = "systemd_not_told", %error, "cannot notify systemd of the reload")
        }
    }
}

/// Feeds systemd's watchdog as long as every thread is alive; for ever, also where there is none.
pub(crate) async fn watchdog(hearts: Hearts) {
    let Some(limit) = sd_notify::watchdog_enabled() else {
        return std::future::pending().await;
    };
    let mut ticks = tokio::time::interval((limit / 4).max(Duration::from_millis(10)));
    loop {
        ticks.tick().await;
        if hearts.beat_within(limit / 2) {
            notify(&[NotifyState::Watchdog]);
        }
    }
}

/// Sets systemd's status line when the fabric is lost, and when it is back.
pub(crate) async fn status(hub: Arc<EventHub>) {
    let mut attachments = hub.attachments();
    while attachments.changed().await.is_ok() {
        let attachment = *attachments.borrow_and_update();
        notify(&[NotifyState::Status(&attachment.line())]);
    }
}

/// Sets systemd's status line to the reason of the daemon's end.
pub(crate) fn failed(why: &str) {
    let line = why.lines().next().unwrap_or_default();
    // Standard error has the same message.
    let _ = sd_notify::notify(&[NotifyState::Status(line)]);
}
