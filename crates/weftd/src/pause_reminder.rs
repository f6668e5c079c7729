//! Reminds of a pause of sweeps in the log, so that none is forgotten.

use std::sync::Arc;
use std::time::Duration;

use tracing::warn;
use weft_manager::sm::pause::Pause;

use crate::event_hub::{EventHub, unix_time_ns};
use crate::event_log::span;

/// Time between two reminders.
const EVERY: Duration = Duration::from_secs(300);
/// Interval at which the pause is looked at.
const LOOK: Duration = Duration::from_secs(10);

/// Reminds for ever.
pub(crate) async fn run(hub: Arc<EventHub>) {
    let mut ticks = tokio::time::interval(LOOK);
    let mut told_ns = 0;
    loop {
        ticks.tick().await;
        let Some(pause) = hub.status().pause else {
            told_ns = 0;
            continue;
        };
        let now = unix_time_ns();
        if is_due(&pause, told_ns, now) {
            told_ns = now;
            remind(&pause, now);
        }
    }
}

/// The pause itself is logged when it begins.
fn is_due(pause: &Pause, told_ns: u64, now: u64) -> bool {
    now.saturating_sub(told_ns.max(pause.since.0)) >= EVERY.as_nanos() as u64
}

fn remind(pause: &Pause, now: u64) {
    let left = Duration::from_nanos(pause.until.0.saturating_sub(now));
    warn!(
        event = "sweeps_still_paused",
        until_unix_ns = pause.until.0,
        "sweeps are still paused, for {} more; 'weft fm resume' ends that",
        span(left)
    );
}

#[cfg(test)]
mod tests {
    use weft_fabric::Tick;

    use super::*;

    #[test]
    fn reminders_come_every_five_minutes_after_the_beginning() {
        let every = EVERY.as_nanos() as u64;
        let pause = Pause {
            since: Tick(1000),
            until: Tick(10 * every),
        };
        assert!(!is_due(&pause, 0, 1000 + every - 1));
        assert!(is_due(&pause, 0, 1000 + every));
        assert!(!is_due(&pause, 1000 + every, 1000 + every + 1));
        assert!(is_due(&pause, 1000 + every, 1000 + 2 * every));
    }
}
