//! Common wrapper of every function at the boundary.
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

/// Writes a line about the library to standard error, as far as that is open. It takes no lock, which
/// another thread may have held when this process was forked.
pub(super) fn say(text: &str) {
    let line = format!("weft-umad: {text}\n");
    // SAFETY: the bytes are readable; a failed write cannot be reported.
    let _written = unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
}

/// Sets `errno` and returns the number, negative.
pub(super) fn fail(errno: c_int) -> c_int {
    set_errno(errno);
    -errno
}

/// Sets `errno`.
pub(super) fn set_errno(errno: c_int) {
    // SAFETY: the pointer is to the thread's own variable.
    unsafe { *libc::__errno_location() = errno };
}
