//! How far the recording of this start is, for whoever asks.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tracing::{info, warn};
use weft_replay::SaRest;

use crate::event_hub::unix_time_ns;

/// How far the recording of this start is.
#[derive(Debug)]
pub(super) struct Progress {
    /// When the daemon did, milliseconds since 1970.
    started: u64,
    /// When its oldest file begins, milliseconds since 1970.
    begun_unix_ms: AtomicU64,
    budget: u64,
    /// Of all its files.
    bytes: AtomicU64,
    /// The next file is to begin with a checkpoint.
    is_full: AtomicBool,
    /// Counts the files that the manager's thread has begun.
    file: AtomicU64,
    /// The last file in which the inputs of subnet administration rest, 0 for none.
    sa_rests_in: AtomicU64,
    /// When it ended, milliseconds since 1970, and why.
    end: OnceLock<(u64, String)>,
}

/// The same, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordingState {
    /// When its oldest file begins, milliseconds since 1970.
    pub(crate) begun_unix_ms: u64,
    /// Bytes that its files have, and all recordings may have.
    pub(crate) bytes: u64,
    pub(crate) budget: u64,
    /// When it ended, milliseconds since 1970, and why; none while it goes on.
    pub(crate) end: Option<(u64, String)>,
}

impl Progress {
    /// One that begins now.
    pub(super) fn new(budget: u64) -> Self {
        let started = unix_ms();
        Self {
            started,
            begun_unix_ms: AtomicU64::new(started),
            budget,
            bytes: AtomicU64::new(0),
            is_full: AtomicBool::new(false),
            file: AtomicU64::new(1),
            sa_rests_in: AtomicU64::new(0),
            end: OnceLock::new(),
        }
    }

    pub(super) fn started(&self) -> u64 {
        self.started
    }

    /// Its files have so many bytes, and the oldest begins then.
    pub(super) fn has(&self, bytes: u64, begun_unix_ms: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
        self.begun_unix_ms.store(begun_unix_ms, Ordering::Relaxed);
    }

    /// Whether the next file is to begin.
    pub(super) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed) && !self.is_over()
    }

    pub(super) fn set_full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::Relaxed);
    }

    /// The manager's thread has begun the next file.
    pub(super) fn next_file(&self) {
        self.file.fetch_add(1, Ordering::Release);
    }

    /// The number of the newest file.
    pub(super) fn file(&self) -> u64 {
        self.file.load(Ordering::Acquire)
    }

    /// Inputs of subnet administration have no more room in a file; the log tells it once for each.
    pub(super) fn let_sa_rest(&self, file: u64, why: SaRest) {
        if self.sa_rests_in.swap(file, Ordering::Relaxed) != file {
            let why = why.words();
            info!(
                event = "sa_recording_rests",
                "inputs of subnet administration are not recorded until the next file of the recording begins: {why}"
            );
        }
    }

    /// Whether that is so.
    pub(super) fn sa_rests_in(&self, file: u64) -> bool {
        self.sa_rests_in.load(Ordering::Relaxed) == file
    }

    pub(super) fn is_over(&self) -> bool {
        self.end.get().is_some()
    }

    /// Nothing is recorded any more; the log tells the first reason.
    pub(super) fn end(&self, why: &str) {
        if self.end.set((unix_ms(), why.to_owned())).is_ok() {
            warn!(
                event = "recording_ended",
                "inputs are not recorded any more: {why}; `weft incident save` copies what there is, and the \
                 next start of weftd records again"
            );
        }
    }

    pub(super) fn state(&self) -> RecordingState {
        RecordingState {
            begun_unix_ms: self.begun_unix_ms.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            budget: self.budget,
            end: self.end.get().cloned(),
        }
    }
}

fn unix_ms() -> u64 {
    unix_time_ns() / 1_000_000
}
