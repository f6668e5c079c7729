//! Signs of life of the daemon's threads, for the watchdog and the health service.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Interval of signs of life from an idle thread.
pub(crate) const BEAT: Duration = Duration::from_millis(250);

/// When a thread gave its last sign of life.
#[derive(Debug, Clone)]
pub(crate) struct Heart {
    name: &'static str,
    start: Instant,
    /// Milliseconds since `start`.
    last_ms: Arc<AtomicU64>,
}

impl Heart {
    /// For the thread with this name, which is alive now.
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            start: Instant::now(),
            last_ms: Arc::default(),
        }
    }

    /// The thread's name.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Beats as long as it is polled, which a thread does between its computations.
    pub(crate) async fn keep_beating<T>(&self) -> T {
        let mut beats = tokio::time::interval(BEAT);
        loop {
            beats.tick().await;
            let since = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.last_ms.store(since, Ordering::Relaxed);
        }
    }

    /// Time since the last sign of life.
    pub(crate) fn silence(&self) -> Duration {
        let last = Duration::from_millis(self.last_ms.load(Ordering::Relaxed));
        self.start.elapsed().saturating_sub(last)
    }
}

/// The hearts of all threads.
#[derive(Debug, Clone)]
pub(crate) struct Hearts(Arc<[Heart]>);

impl Hearts {
    /// For these threads.
    pub(crate) fn new(hearts: Vec<Heart>) -> Self {
        Self(hearts.into())
    }

    /// Each.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Heart> {
        self.0.iter()
    }

    /// Whether every thread gave a sign of life within `limit`.
    pub(crate) fn beat_within(&self, limit: Duration) -> bool {
        self.iter().all(|heart| heart.silence() < limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_thread_that_hangs_is_noticed() {
        let (busy, idle) = (Heart::new("busy"), Heart::new("idle"));
        let hearts = Hearts::new(vec![busy, idle.clone()]);
        assert!(hearts.beat_within(BEAT));
        std::thread::sleep(BEAT);
        let _ = tokio::time::timeout(BEAT, idle.keep_beating::<()>()).await;
        assert!(!hearts.beat_within(BEAT), "busy has not given any");
        let silent = hearts.iter().filter(|heart| heart.silence() >= BEAT);
        assert_eq!(silent.map(Heart::name).collect::<Vec<_>>(), ["busy"]);
    }
}
