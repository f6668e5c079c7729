//! Access to a program's memory, by one rule: the program's pointer is null, which
//! is checked, or valid as the C interface requires.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_void};

/// The target of a pointer; `None` for null. Its alignment does not matter.
///
/// # Safety
/// A pointer that is not null points to a `T`.
pub(super) unsafe fn read<T: Copy>(from: *const T) -> Option<T> {
    // SAFETY: guaranteed by the caller.
    (!from.is_null()).then(|| unsafe { from.read_unaligned() })
}

/// Writes where a pointer points to; returns whether it is not null.
///
/// # Safety
/// A pointer that is not null points to memory for a `T`.
pub(super) unsafe fn write<T: Copy>(to: *mut T, value: T) -> bool {
    if to.is_null() {
        return false;
    }
    // SAFETY: guaranteed by the caller.
    unsafe { to.write_unaligned(value) };
    true
}

/// Copies bytes out of a program's memory.
///
/// # Safety
/// `from` points to `len` bytes.
pub(super) unsafe fn copy_in(from: *const u8, len: usize) -> Vec<u8> {
    // SAFETY: guaranteed by the caller.
    unsafe { std::slice::from_raw_parts(from, len) }.to_vec()
}

/// Copies bytes into a program's memory.
///
/// # Safety
/// `to` points to memory for them.
pub(super) unsafe fn copy_out(bytes: &[u8], to: *mut u8) {
    // SAFETY: guaranteed by the caller, and memory of ours does not overlap with a program's.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
}

/// A program's text; none for null.
///
/// # Safety
/// A pointer that is not null points to text that ends with NUL.
pub(super) unsafe fn text<'a>(from: *const c_char) -> Option<&'a [u8]> {
    // SAFETY: guaranteed by the caller.
    (!from.is_null()).then(|| unsafe { CStr::from_ptr(from) }.to_bytes())
}

/// Text in an array of `N` bytes, ended by NUL.
pub(super) fn fixed<const N: usize>(text: &str) -> [c_char; N] {
    let mut out = [0; N];
    let room = N.saturating_sub(1);
    for (to, from) in out[..room].iter_mut().zip(text.bytes()) {
        *to = from as c_char;
    }
    out
}

/// Memory of the C library that holds `values`, which the program may free; null when there is
/// none or no values are given.
pub(super) fn allocate<T: Copy>(values: &[T]) -> *mut T {
    if values.is_empty() {
        return std::ptr::null_mut();
    }
    // SAFETY: malloc takes a number.
    let memory: *mut T = unsafe { libc::malloc(size_of_val(values)) }.cast();
    if !memory.is_null() {
        // SAFETY: the memory is new, aligned for everything, and of that size.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), memory, values.len()) };
    }
    memory
}

/// Frees memory of [`allocate`].
///
/// # Safety
/// It is from there, or null, and not used any longer.
pub(super) unsafe fn release<T>(memory: *mut T) {
    // SAFETY: guaranteed by the caller.
    unsafe { libc::free(memory.cast::<c_void>()) };
}
