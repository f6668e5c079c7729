//! What every function does at the boundary.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the inside of a function; a panic becomes `failure`.
pub(super) fn guard<T>(failure: T, inside: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(inside)).unwrap_or_else(|_| {
        set_errno(libc::EIO);
        failure
    })
}

/// Sets `errno` and gives the number back, negative.
pub(super) fn fail(errno: c_int) -> c_int {
    set_errno(errno);
    -errno
}

/// Sets `errno`.
pub(super) fn set_errno(errno: c_int) {
    // SAFETY: the pointer is to the thread's own variable.
    unsafe { *libc::__errno_location() = errno };
}
