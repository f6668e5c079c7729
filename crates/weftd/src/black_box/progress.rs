//! How far the recording of this start is, for whoever asks.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing::warn;

use crate::event_hub::unix_time_ns;

/// How far the recording of this start is.
#[derive(Debug)]
pub(super) struct Progress {
    begun_unix_ms: u64,
    budget: u64,
    bytes: AtomicU64,
    /// When it ended, milliseconds since 1970, and why.
    end: OnceLock<(u64, String)>,
}

/// The same, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordingState {
    /// When it began, milliseconds since 1970.
    pub(crate) begun_unix_ms: u64,
    /// Bytes that it has, and may have.
    pub(crate) bytes: u64,
    pub(crate) budget: u64,
    /// When it ended, milliseconds since 1970, and why; none while it goes on.
    pub(crate) end: Option<(u64, String)>,
}

impl Progress {
    /// One that begins now.
    pub(super) fn new(budget: u64) -> Self {
        Self {
            begun_unix_ms: unix_ms(),
            budget,
            bytes: AtomicU64::new(0),
            end: OnceLock::new(),
        }
    }

    pub(super) fn has(&self, bytes: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    pub(super) fn is_over(&self) -> bool {
        self.end.get().is_some()
    }

    /// Nothing is recorded any more; the log tells the first reason.
    pub(super) fn end(&self, why: &str) {
        if self.end.set((unix_ms(), why.to_owned())).is_ok() {
            warn!(
                event = "recording_ended",
                "the manager's inputs are not recorded any more: {why}; `weft incident save` copies what there is, and the \
                 next start of weftd records again"
            );
        }
    }

    pub(super) fn state(&self) -> RecordingState {
        RecordingState {
            begun_unix_ms: self.begun_unix_ms,
            bytes: self.bytes.load(Ordering::Relaxed),
            budget: self.budget,
            end: self.end.get().cloned(),
        }
    }
}

fn unix_ms() -> u64 {
    unix_time_ns() / 1_000_000
}
