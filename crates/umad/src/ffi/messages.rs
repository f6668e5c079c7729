//! libibumad: sending and receiving.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::os::fd::AsFd;
use std::time::Duration;

use weft_umad_abi::umad::{MadAddr, UserMad};

use super::buffer::umad_get_mad;
use super::guard::{fail, guard, set_errno};
use super::memory::{copy_in, copy_out, read, write};
use super::process::at_port;
use crate::core::assembly::MESSAGE_MAX;
use crate::core::send::Outgoing;
use crate::core::{Address, GlobalRoute, Message, SendError};
use crate::session::{Reception, wait_readable};

/// Shortest time between two looks at a fabric that is gone: asking without pause would only keep a
/// core busy.
pub(super) const GONE_PAUSE: Duration = Duration::from_millis(100);

/// `umad_send`: 0, or -EIO with `errno` set.
///
/// # Safety
/// `umad` is null or a buffer with `length` bytes after its header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umad_send(
    port: c_int,
    agent: c_int,
    umad: *mut c_void,
    length: c_int,
    timeout_ms: c_int,
    retries: c_int,
) -> c_int {
    guard(-libc::EIO, || {
        // SAFETY: guaranteed by the caller.
        let Some(mut header) = (unsafe { read(umad.cast::<UserMad>()) }) else {
            return fail(libc::EINVAL);
        };
        header.agent_id = agent as u32;
        header.timeout_ms = timeout_ms as u32;
        header.retries = retries as u32;
        // SAFETY: guaranteed by the caller.
        unsafe { write(umad.cast::<UserMad>(), header) };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > MESSAGE_MAX {
            set_errno(libc::EINVAL);
            return -libc::EIO;
        }
        // SAFETY: guaranteed by the caller.
        let data = unsafe { copy_in(umad_get_mad(umad).cast(), length) };
        let outgoing = Outgoing {
            agent: header.agent_id,
            address: address(&header.addr),
            data,
            timeout_ms: header.timeout_ms,
            retries: header.retries,
        };
        let session = at_port(port).map_err(|_| SendError::NoPort);
        match session.and_then(|session| session.send(port, outgoing)) {
            Ok(()) => 0,
            Err(error) => {
                set_errno(errno(error));
                -libc::EIO
            }
        }
    })
}

fn errno(error: SendError) -> c_int {
    match error {
        SendError::NoPort => libc::EBADF,
        SendError::Busy => libc::ENOMEM,
        SendError::Gone => libc::EIO,
        _ => libc::EINVAL,
    }
}

fn address(addr: &MadAddr) -> Address {
    let route = GlobalRoute {
        gid: addr.gid,
        flow_label: u32::from_be(addr.flow_label),
        traffic_class: addr.traffic_class,
        hop_limit: addr.hop_limit,
    };
    Address {
        qpn: u32::from_be(addr.qpn),
        qkey: u32::from_be(addr.qkey),
        lid: u16::from_be(addr.lid),
        sl: addr.sl,
        path_bits: addr.path_bits,
        pkey_index: addr.pkey_index,
        route: (addr.grh_present != 0).then_some(route),
    }
}

fn user_address(address: &Address) -> MadAddr {
    let route = address.route.unwrap_or_default();
    MadAddr {
        qpn: address.qpn.to_be(),
        qkey: address.qkey.to_be(),
        lid: address.lid.to_be(),
        sl: address.sl,
        path_bits: address.path_bits,
        grh_present: u8::from(address.route.is_some()),
        hop_limit: route.hop_limit,
        traffic_class: route.traffic_class,
        gid: route.gid,
        flow_label: route.flow_label.to_be(),
        pkey_index: address.pkey_index,
        ..MadAddr::default()
    }
}

/// `umad_recv`: the number of the agent that the message is for; -ETIMEDOUT, or -EAGAIN without
/// time to wait; for a message that is too long -ENOSPC or -EINVAL, with its length in `length`.
///
/// # Safety
/// `umad` is null or a buffer with room for `length` bytes after its header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umad_recv(
    port: c_int,
    umad: *mut c_void,
    length: *mut c_int,
    timeout_ms: c_int,
) -> c_int {
    guard(-libc::EIO, || {
        // SAFETY: guaranteed by the caller.
        let room = unsafe { read(length) }.and_then(|room| usize::try_from(room).ok());
        let (Some(room), false) = (room, umad.is_null()) else {
            return fail(libc::EINVAL);
        };
        let patience = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
        let session = match at_port(port) {
            Ok(session) => session,
            Err(errno) => return fail(errno),
        };
        match session.receive(port, room, patience) {
            // SAFETY: the message is not longer than the room that the caller says there is.
            Reception::Message(message) => unsafe { hand_over(&message, umad, length) },
            Reception::TooLong { len, first_fits } => {
                // SAFETY: guaranteed by the caller.
                unsafe { write(length, c_int::try_from(len).unwrap_or(c_int::MAX)) };
                fail(if first_fits {
                    libc::ENOSPC
                } else {
                    libc::EINVAL
                })
            }
            Reception::Nothing if timeout_ms == 0 => fail(libc::EAGAIN),
            Reception::Nothing => fail(libc::ETIMEDOUT),
            Reception::Interrupted => {
                set_errno(libc::EINTR);
                -libc::EIO
            }
            Reception::NoPort => fail(libc::EBADF),
            Reception::Gone => {
                std::thread::sleep(patience.unwrap_or(GONE_PAUSE).min(GONE_PAUSE));
                fail(libc::EIO)
            }
        }
    })
}

/// # Safety
/// `umad` is a buffer with room for the message, `length` is not null.
unsafe fn hand_over(message: &Message, umad: *mut c_void, length: *mut c_int) -> c_int {
    let len = message.data.len();
    let header = UserMad {
        agent_id: message.agent,
        status: message.status,
        timeout_ms: message.timeout_ms,
        retries: message.retries,
        length: (size_of::<UserMad>() + len) as u32,
        addr: user_address(&message.address),
    };
    // SAFETY: guaranteed by the caller.
    unsafe {
        write(umad.cast::<UserMad>(), header);
        copy_out(&message.data, umad_get_mad(umad).cast());
        write(length, len as c_int);
    }
    message.agent as c_int
}

/// `umad_poll`: 0 when there is a message, or -ETIMEDOUT.
#[unsafe(no_mangle)]
pub extern "C" fn umad_poll(port: c_int, timeout_ms: c_int) -> c_int {
    guard(-libc::EIO, || {
        let session = at_port(port).ok();
        let Some(signal) = session.and_then(|session| session.signal(port)) else {
            return fail(libc::EBADF);
        };
        let patience = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
        match wait_readable(signal.as_fd(), patience) {
            Ok(true) => 0,
            Ok(false) => fail(libc::ETIMEDOUT),
            Err(error) => {
                set_errno(error.raw_os_error().unwrap_or(libc::EIO));
                -libc::EIO
            }
        }
    })
}

/// `umad_get_fd`: the descriptor itself.
#[unsafe(no_mangle)]
pub extern "C" fn umad_get_fd(port: c_int) -> c_int {
    port
}
