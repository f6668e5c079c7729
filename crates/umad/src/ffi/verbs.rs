//! libibverbs: the device and its events, which is all that management programs use of it.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};
use std::sync::Arc;

use weft_umad_abi::verbs::{IbvAsyncEvent, IbvContext, IbvDevice, NODE_CA, TRANSPORT_IB};

use super::guard::{fail, guard, set_errno};
use super::memory::{allocate, fixed, release, write};
use super::messages::GONE_PAUSE;
use super::process::{OpenDevice, lock, session};
use crate::core::Event;
use crate::session::{Identity, Signal};
use crate::settings::HFI_NAME;

fn device() -> *mut IbvDevice {
    let mut process = lock();
    if process.device == 0 {
        let device = Box::new(IbvDevice {
            _ops: [std::ptr::null_mut(); 2],
            node_type: NODE_CA,
            transport_type: TRANSPORT_IB,
            name: fixed(HFI_NAME),
            dev_name: fixed("uverbs0"),
            dev_path: fixed("/sys/class/infiniband_verbs/uverbs0"),
            ibdev_path: fixed("/sys/class/infiniband/hfi1_0"),
        });
        // Kept: programs hold it as long as they like.
        process.device = Box::into_raw(device).expose_provenance();
    }
    std::ptr::with_exposed_provenance_mut(process.device)
}

/// `ibv_get_device_list`: the device and null.
///
/// # Safety
/// `count` is null or has room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_get_device_list(count: *mut c_int) -> *mut *mut IbvDevice {
    guard(std::ptr::null_mut(), || {
        let null = std::ptr::null_mut();
        let found = session().is_some();
        let list = if found {
            allocate(&[device(), null])
        } else {
            allocate(&[null])
        };
        // SAFETY: guaranteed by the caller.
        unsafe { write(count, c_int::from(found)) };
        list
    })
}

/// `ibv_free_device_list`.
///
/// # Safety
/// `list` is null or from [`ibv_get_device_list`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_free_device_list(list: *mut *mut IbvDevice) {
    // SAFETY: guaranteed by the caller.
    guard((), || unsafe { release(list) });
}

/// `ibv_get_device_name`.
///
/// # Safety
/// `asked` is null or a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_get_device_name(asked: *mut IbvDevice) -> *const c_char {
    guard(std::ptr::null(), || match asked == device() {
        true => asked
            .wrapping_byte_add(std::mem::offset_of!(IbvDevice, name))
            .cast_const()
            .cast(),
        false => std::ptr::null(),
    })
}

/// `ibv_get_device_guid`: big-endian; 0 for an invalid device.
///
/// # Safety
/// `asked` is null or a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_get_device_guid(asked: *mut IbvDevice) -> u64 {
    guard(0, || match session() {
        Some(session) if asked == device() => session.status().node_guid.0.to_be(),
        _ => 0,
    })
}

/// `ibv_open_device`: a context whose `async_fd` is readable when there is an event; null when
/// that is no device.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_open_device(asked: *mut IbvDevice) -> *mut IbvContext {
    guard(std::ptr::null_mut(), || {
        let Some(session) = session().filter(|_| asked == device()) else {
            set_errno(libc::ENODEV);
            return std::ptr::null_mut();
        };
        let opened = Signal::counting().and_then(|signal| Ok((signal.share()?, signal)));
        let Ok((shared, signal)) = opened else {
            set_errno(libc::EMFILE);
            return std::ptr::null_mut();
        };
        let signal = Arc::new(signal);
        let watch = session.add_watch(Arc::clone(&signal));
        let fd = shared.into_raw_fd();
        let context = Box::into_raw(Box::new(IbvContext {
            device: asked,
            ops: [std::ptr::null_mut(); 32],
            cmd_fd: -1,
            async_fd: fd,
            num_comp_vectors: 1,
            mutex: [0; 5],
            abi_compat: std::ptr::null_mut(),
        }));
        let open = OpenDevice {
            session: Some(session),
            watch,
            signal,
            fd,
        };
        lock().devices.insert(context.addr(), open);
        context
    })
}

/// `ibv_close_device`: 0, or -1 for an invalid context.
///
/// # Safety
/// The context is not used any longer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_close_device(context: *mut IbvContext) -> c_int {
    guard(-1, || {
        let Some(open) = lock().devices.remove(&context.addr()) else {
            fail(libc::EINVAL);
            return -1;
        };
        if let Some(session) = open.session {
            session.remove_watch(open.watch);
        }
        // SAFETY: it was made by `ibv_open_device` and is forgotten as of now.
        drop(unsafe { Box::from_raw(context) });
        // A program may have closed the descriptor itself, and its number may be another file's.
        if Identity::of(open.fd) == Some(open.signal.identity()) {
            // SAFETY: the descriptor was given to the program, which gives it back here.
            drop(unsafe { OwnedFd::from_raw_fd(open.fd) });
        }
        0
    })
}

/// `ibv_get_async_event`: waits for an event, unless the program has made `async_fd` non-blocking.
/// When the fabric is gone, the last event says that the device is; -1 with `EIO` follows.
///
/// # Safety
/// `event` is null or has room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_get_async_event(
    context: *mut IbvContext,
    event: *mut IbvAsyncEvent,
) -> c_int {
    guard(-1, || {
        let open = lock().devices.get(&context.addr()).cloned();
        let (Some(open), false) = (open, event.is_null()) else {
            fail(libc::EINVAL);
            return -1;
        };
        let Some(session) = open.session else {
            fail(libc::EBADF);
            return -1;
        };
        if let Err(error) = open.signal.take() {
            set_errno(error.raw_os_error().unwrap_or(libc::EIO));
            return -1;
        }
        let Some(next) = session.next_event(open.watch) else {
            if session.is_gone() {
                std::thread::sleep(GONE_PAUSE);
                fail(libc::EIO);
            } else {
                fail(libc::EAGAIN);
            }
            return -1;
        };
        let told = IbvAsyncEvent {
            element: match next {
                Event::DeviceFatal => 0,
                _ => u64::from(session.port()),
            },
            event_type: next as c_int,
        };
        // SAFETY: guaranteed by the caller.
        unsafe { write(event, told) };
        0
    })
}

/// `ibv_ack_async_event`.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_ack_async_event(_event: *mut IbvAsyncEvent) {}
