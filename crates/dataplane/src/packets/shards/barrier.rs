//! Threads that wait for each other very often: they spin for a while and sleep then.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Looks before a thread sleeps: some microseconds.
const SPINS: u32 = 512;

/// A barrier for a number of threads.
#[derive(Debug)]
pub(super) struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    /// Number of completed meetings.
    meetings: AtomicUsize,
    broken: AtomicBool,
    /// Number of sleeping threads.
    sleepers: Mutex<usize>,
    wake: Condvar,
}

impl Barrier {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            threads,
            arrived: AtomicUsize::new(0),
            meetings: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            sleepers: Mutex::new(0),
            wake: Condvar::new(),
        }
    }

    /// Waits for all others; returns whether they have come, which they do not when one has panicked.
    pub(super) fn wait(&self) -> bool {
        let meeting = self.meetings.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.release();
        } else {
            self.wait_for(meeting);
        }
        !self.broken.load(Ordering::Acquire)
    }

    fn wait_for(&self, meeting: usize) {
        let waits = || {
            let met = self.meetings.load(Ordering::Acquire) != meeting;
            !met && !self.broken.load(Ordering::Acquire)
        };
        for _ in 0..SPINS {
            if !waits() {
                return;
            }
            std::hint::spin_loop();
        }
        let mut sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        *sleepers += 1;
        while waits() {
            let woken = self.wake.wait(sleepers);
            sleepers = woken.unwrap_or_else(PoisonError::into_inner);
        }
        *sleepers -= 1;
    }

    /// Releases all waiting threads.
    fn release(&self) {
        let sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        self.meetings.fetch_add(1, Ordering::AcqRel);
        if *sleepers > 0 {
            self.wake.notify_all();
        }
    }
}

/// Breaks a barrier when its thread panics, so that the others do not wait for ever.
#[derive(Debug)]
pub(super) struct Member<'a>(pub(super) &'a Barrier);

impl Drop for Member<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Release);
            self.0.release();
        }
    }
}
