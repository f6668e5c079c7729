//! Handling of forks.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::sync::MutexGuard;

use super::process::{Process, lock};

thread_local! {
    /// The tables, which the thread that forks holds from before the fork until after it, so that no
    /// other thread is in the middle of changing them.
    static HELD: RefCell<Option<MutexGuard<'static, Process>>> = const { RefCell::new(None) };
}

/// Registers handlers for every fork of this process.
pub(super) fn watch() {
    // SAFETY: the functions do only operations that are allowed around a fork: they take no lock except that of the
    // tables, which this thread does not hold when it calls fork.
    unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
}

extern "C" fn before() {
    HELD.with_borrow_mut(|held| *held = Some(lock()));
}

extern "C" fn in_parent() {
    HELD.with_borrow_mut(|held| *held = None);
}

extern "C" fn in_child() {
    HELD.with_borrow_mut(|held| {
        let sockets = held.take().map(|mut process| process.begin_anew());
        for fd in sockets.into_iter().flatten() {
            // SAFETY: these are the child's copies of the parent's sockets, whose owner the child has
            // forgotten.
            unsafe { libc::close(fd) };
        }
    });
}
