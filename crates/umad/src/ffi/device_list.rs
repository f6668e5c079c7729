//! libibumad: adapters as a list.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int};

use weft_umad_abi::umad::{DeviceNode, NAME_LEN};

use super::guard::guard;
use super::memory::{allocate, fixed, read, release, write};
use super::process::session;
use crate::settings::HFI_NAME;

/// Maximum number of adapters in a program's list: a circular list has no end.
const LIST_MAX: usize = 65_536;

/// `umad_get_ca_device_list`: the adapter, in memory that [`umad_free_ca_device_list`] frees; null when
/// there is none.
#[unsafe(no_mangle)]
pub extern "C" fn umad_get_ca_device_list() -> *mut DeviceNode {
    guard(std::ptr::null_mut(), || {
        if session().is_none() {
            return std::ptr::null_mut();
        }
        let name: [c_char; NAME_LEN] = fixed(HFI_NAME);
        let ca_name = allocate(&name);
        if ca_name.is_null() {
            return std::ptr::null_mut();
        }
        allocate(&[DeviceNode {
            next: std::ptr::null_mut(),
            ca_name: ca_name.cast_const(),
        }])
    })
}

/// `umad_free_ca_device_list`.
///
/// # Safety
/// `head` is null or from [`umad_get_ca_device_list`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umad_free_ca_device_list(head: *mut DeviceNode) {
    guard((), || {
        let mut at = head;
        // SAFETY: guaranteed by the caller; each node is read before it is freed.
        while let Some(node) = unsafe { read(at) } {
            // SAFETY: both are from `allocate`, and are forgotten here.
            unsafe {
                release(node.ca_name.cast_mut());
                release(at);
            }
            at = node.next;
        }
    });
}

/// `umad_sort_ca_device_list`: sorts a list by name; returns 0. With a `size` other than 0 only
/// that many entries, from the first, are sorted.
///
/// # Safety
/// `head` is null, or points to null or to a list with names that end with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umad_sort_ca_device_list(
    head: *mut *mut DeviceNode,
    size: usize,
) -> c_int {
    guard(-libc::EIO, || {
        let most = if size == 0 {
            LIST_MAX
        } else {
            size.min(LIST_MAX)
        };
        let mut nodes = Vec::new();
        // SAFETY: guaranteed by the caller.
        let mut at = unsafe { read(head.cast_const()) }.unwrap_or(std::ptr::null_mut());
        // SAFETY: guaranteed by the caller.
        while nodes.len() < most
            && let Some(node) = unsafe { read(at.cast_const()) }
        {
            nodes.push((at, node.ca_name));
            at = node.next;
        }
        // SAFETY: guaranteed by the caller.
        nodes.sort_by_key(|(_, name)| unsafe { CStr::from_ptr(*name) });
        let rest = at;
        for (place, (node, ca_name)) in nodes.iter().enumerate() {
            let next = nodes.get(place + 1).map_or(rest, |(next, _)| *next);
            let ca_name = *ca_name;
            // SAFETY: the node was read above.
            unsafe { write(*node, DeviceNode { next, ca_name }) };
        }
        if let Some((first, _)) = nodes.first() {
            // SAFETY: it was read above.
            unsafe { write(head, *first) };
        }
        0
    })
}
