//! libibumad: access to buffers.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

use weft_umad_abi::umad::{MadAddr, UserMad};

use super::guard::{fail, guard, say};
use super::memory::{read, write};

static DEBUG_LEVEL: AtomicI32 = AtomicI32::new(0);

/// `umad_size`: bytes before the datagram in a buffer.
#[unsafe(no_mangle)]
pub extern "C" fn umad_size() -> usize {
    size_of::<UserMad>()
}

/// `umad_get_mad`: the datagram in a buffer.
#[unsafe(no_mangle)]
pub extern "C" fn umad_get_mad(umad: *mut c_void) -> *mut c_void {
    match umad.is_null() {
        true => umad,
        false => umad.wrapping_byte_add(size_of::<UserMad>()),
    }
}

/// `umad_get_mad_addr`: the address in a buffer.
#[unsafe(no_mangle)]
pub extern "C" fn umad_get_mad_addr(umad: *mut c_void) -> *mut MadAddr {
    match umad.is_null() {
        true => std::ptr::null_mut(),
        false => umad
            .wrapping_byte_add(std::mem::offset_of!(UserMad, addr))
            .cast(),
    }
}

/// Reads a field of a buffer's header.
///
/// # Safety
/// `umad` is null or a buffer.
unsafe fn header<T>(umad: *mut c_void, field: impl FnOnce(&UserMad) -> T) -> Option<T> {
    // SAFETY: guaranteed by the caller.
    unsafe { read(umad.cast_const().cast::<UserMad>()) }.map(|header| field(&header))
}

/// Changes a buffer's header.
///
/// # Safety
/// `umad` is null or a buffer.
unsafe fn change(umad: *mut c_void, change: impl FnOnce(&mut UserMad)) -> c_int {
    let place = umad.cast::<UserMad>();
    // SAFETY: guaranteed by the caller.
    let Some(mut header) = (unsafe { read(place) }) else {
        return fail(libc::EINVAL);
    };
    change(&mut header);
    // SAFETY: guaranteed by the caller.
    unsafe { write(place, header) };
    0
}

/// `umad_status`.
///
/// # Safety
/// `umad` is null or a buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umad_status(umad: *mut c_void) -> c_int {
    // SAFETY: guaranteed by the caller.
    guard(-libc::EIO, || {
        match unsafe { header(umad, |own| own.status) } {
            Some(status) => status as c_int,
            None => fail(libc::EINVAL),
        }
    })
}

/// `umad_set_grh`: sets or, with null, takes away the global route; the flow label is in the
/// machine's order.
///
/// # Safety
/// `umad` is null or a buffer; `addr` is null or a [`MadAddr`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umad_set_grh(umad: *mut c_void, addr: *mut c_void) -> c_int {
    // SAFETY: guaranteed by the caller.
    guard(-libc::EIO, || unsafe { set_grh(umad, addr, u32::to_be) })
}

/// `umad_set_grh_net`: [`umad_set_grh`] with a flow label that is big-endian already.
///
/// # Safety
/// See [`umad_set_grh`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umad_set_grh_net(umad: *mut c_void, addr: *mut c_void) -> c_int {
    // SAFETY: guaranteed by the caller.
    guard(-libc::EIO, || unsafe { set_grh(umad, addr, |label| label) })
}

/// # Safety
/// See [`umad_set_grh`].
unsafe fn set_grh(umad: *mut c_void, addr: *mut c_void, order: fn(u32) -> u32) -> c_int {
    // SAFETY: guaranteed by the caller.
    let route = unsafe { read(addr.cast_const().cast::<MadAddr>()) };
    // SAFETY: guaranteed by the caller.
    unsafe {
        change(umad, |header| match route {
            None => header.addr.grh_present = 0,
            Some(route) => {
                header.addr.grh_present = 1;
                header.addr.gid = route.gid;
                header.addr.flow_label = order(route.flow_label);
                header.addr.hop_limit = route.hop_limit;
                header.addr.traffic_class = route.traffic_class;
            }
        })
    }
}

/// `umad_set_addr`: numbers in the machine's order.
///
/// # Safety
/// `umad` is null or a buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umad_set_addr(
    umad: *mut c_void,
    dlid: c_int,
    dqp: c_int,
    sl: c_int,
    qkey: c_int,
) -> c_int {
    let (lid, qpn, qkey) = (
        (dlid as u16).to_be(),
        (dqp as u32).to_be(),
        (qkey as u32).to_be(),
    );
    // SAFETY: guaranteed by the caller.
    guard(-libc::EIO, || unsafe {
        set_addr(umad, lid, qpn, sl as u8, qkey)
    })
}

/// `umad_set_addr_net`: numbers that are big-endian already.
///
/// # Safety
/// `umad` is null or a buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umad_set_addr_net(
    umad: *mut c_void,
    dlid: c_int,
    dqp: c_int,
    sl: c_int,
    qkey: c_int,
) -> c_int {
    let (lid, qpn, qkey) = (dlid as u16, dqp as u32, qkey as u32);
    // SAFETY: guaranteed by the caller.
    guard(-libc::EIO, || unsafe {
        set_addr(umad, lid, qpn, sl as u8, qkey)
    })
}

/// # Safety
/// `umad` is null or a buffer.
unsafe fn set_addr(umad: *mut c_void, lid: u16, qpn: u32, sl: u8, qkey: u32) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe {
        change(umad, |header| {
            header.addr.lid = lid;
            header.addr.qpn = qpn;
            header.addr.sl = sl;
            header.addr.qkey = qkey;
        })
    }
}

/// `umad_set_pkey`: the index of a partition key.
///
/// # Safety
/// `umad` is null or a buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umad_set_pkey(umad: *mut c_void, pkey_index: c_int) -> c_int {
    let set = |header: &mut UserMad| header.addr.pkey_index = pkey_index as u16;
    // SAFETY: guaranteed by the caller.
    guard(-libc::EIO, || unsafe { change(umad, set) })
}

/// `umad_get_pkey`.
///
/// # Safety
/// `umad` is null or a buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umad_get_pkey(umad: *mut c_void) -> c_int {
    // SAFETY: guaranteed by the caller.
    let index = || match unsafe { header(umad, |own| own.addr.pkey_index) } {
        Some(index) => c_int::from(index),
        None => fail(libc::EINVAL),
    };
    guard(-libc::EIO, index)
}

/// `umad_debug`: sets the level unless it is negative, and returns it.
#[unsafe(no_mangle)]
pub extern "C" fn umad_debug(level: c_int) -> c_int {
    if level >= 0 {
        DEBUG_LEVEL.store(level, Ordering::Relaxed);
    }
    DEBUG_LEVEL.load(Ordering::Relaxed)
}

/// `umad_addr_dump`: an address to stderr.
///
/// # Safety
/// `addr` is null or an address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umad_addr_dump(addr: *mut MadAddr) {
    guard((), || {
        // SAFETY: guaranteed by the caller.
        if let Some(addr) = unsafe { read(addr) } {
            print_addr(&addr);
        }
    });
}

fn print_addr(addr: &MadAddr) {
    say(&format!(
        "lid {} qpn {} qkey {:#x} sl {} pkey_index {}",
        u16::from_be(addr.lid),
        u32::from_be(addr.qpn),
        u32::from_be(addr.qkey),
        addr.sl,
        addr.pkey_index,
    ));
    if addr.grh_present != 0 {
        say(&format!("gid {:032x}", u128::from_be_bytes(addr.gid)));
    }
}

/// `umad_dump`: a buffer's header to stderr.
///
/// # Safety
/// `umad` is null or a buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umad_dump(umad: *mut c_void) {
    guard((), || {
        // SAFETY: guaranteed by the caller.
        if let Some(own) = unsafe { header(umad, |own| *own) } {
            let (agent, status, timeout) = (own.agent_id, own.status, own.timeout_ms);
            say(&format!(
                "agent {agent} status {status} timeout {timeout} ms"
            ));
            print_addr(&own.addr);
        }
    });
}
