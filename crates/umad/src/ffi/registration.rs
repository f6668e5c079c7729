//! libibumad: agents.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_long};

use weft_transport::port::has_oui;
use weft_umad_abi::umad::{RegAttr, USER_RMPP};

use super::guard::{fail, guard};
use super::memory::{read, write};
use super::process::at_port;
use crate::core::transfer::header_len;
use crate::core::{Agent, RmppOwner};
use crate::session::RegisterError;

/// The vendor's identifier of agents that name none.
const OPENIB_OUI: u32 = 0x0000_1405;
/// Longs in a method mask: 128 bits.
const MASK_LONGS: usize = 2;
/// Bits of a vendor's identifier.
const OUI_MASK: u32 = 0x00FF_FFFF;

fn register(agent: Agent) -> Result<u32, c_int> {
    let session = at_port(agent.port)?;
    session.register(agent).map_err(|error| match error {
        RegisterError::NoRoom => libc::ENOMEM,
        RegisterError::Taken => libc::EINVAL,
        RegisterError::Gone => libc::EIO,
    })
}

/// Whether the kernel does RMPP: only of classes that have it.
fn owner(class: u8, rmpp_version: u8, user: bool) -> Result<RmppOwner, c_int> {
    match (rmpp_version, user) {
        (_, true) => Ok(RmppOwner::User),
        (0, false) => Ok(RmppOwner::Nobody),
        _ if header_len(class).is_none() => Err(libc::EINVAL),
        _ => Ok(RmppOwner::Kernel),
    }
}

fn methods(mask: [u64; MASK_LONGS]) -> u128 {
    u128::from(mask[1]) << 64 | u128::from(mask[0])
}

/// # Safety
/// `mask` is null or an array of two longs.
unsafe fn read_mask(mask: *const c_long) -> u128 {
    // SAFETY: guaranteed by the caller.
    let mask = unsafe { read(mask.cast::<[u64; MASK_LONGS]>()) };
    methods(mask.unwrap_or_default())
}

/// Common part of the two older functions.
fn register_plain(
    port: c_int,
    (class, version, oui): (c_int, c_int, u32),
    rmpp_version: u8,
    methods: u128,
) -> c_int {
    let (Ok(class), Ok(version)) = (u8::try_from(class), u8::try_from(version)) else {
        return fail(libc::EINVAL);
    };
    let registered = owner(class, rmpp_version, false).and_then(|rmpp| {
        register(Agent {
            port,
            class,
            version,
            oui,
            methods,
            rmpp,
        })
    });
    match registered {
        Ok(number) => number as c_int,
        Err(errno) => {
            fail(errno);
            -libc::EPERM
        }
    }
}

/// `umad_register`: the agent's number, or -EPERM with `errno` set.
///
/// # Safety
/// `mask` is null or an array of two longs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umad_register(
    port: c_int,
    mgmt_class: c_int,
    mgmt_version: c_int,
    rmpp_version: u8,
    mask: *mut c_long,
) -> c_int {
    guard(-libc::EIO, || {
        // SAFETY: guaranteed by the caller.
        let methods = unsafe { read_mask(mask) };
        let what = (mgmt_class, mgmt_version, OPENIB_OUI);
        register_plain(port, what, rmpp_version, methods)
    })
}

/// `umad_register_oui`: the same for vendor classes, whose version is 1.
///
/// # Safety
/// `oui` is null or three bytes; `mask` is null or an array of two longs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umad_register_oui(
    port: c_int,
    mgmt_class: c_int,
    rmpp_version: u8,
    oui: *mut u8,
    mask: *mut c_long,
) -> c_int {
    guard(-libc::EIO, || {
        // SAFETY: guaranteed by the caller.
        let oui = unsafe { read(oui.cast::<[u8; 3]>()) };
        let (Some(oui), 0x30..=0x4F) = (oui, mgmt_class) else {
            return fail(libc::EINVAL);
        };
        let oui = u32::from_be_bytes([0, oui[0], oui[1], oui[2]]);
        // SAFETY: guaranteed by the caller.
        let methods = unsafe { read_mask(mask) };
        register_plain(port, (mgmt_class, 1, oui), rmpp_version, methods)
    })
}

/// `umad_register2`: 0 with the agent's number in `agent`, or an errno, which is positive.
///
/// # Safety
/// `attr` is null or a registration; `agent` is null or has room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umad_register2(port: c_int, attr: *mut RegAttr, agent: *mut u32) -> c_int {
    guard(libc::EIO, || {
        // SAFETY: guaranteed by the caller.
        let (Some(mut asked), false) = (unsafe { read(attr) }, agent.is_null()) else {
            return libc::EINVAL;
        };
        if asked.flags & !USER_RMPP != 0 {
            asked.flags = USER_RMPP;
            // SAFETY: guaranteed by the caller.
            unsafe { write(attr, asked) };
            return libc::EINVAL;
        }
        match register_asked(port, &asked) {
            Ok(number) => {
                // SAFETY: guaranteed by the caller.
                unsafe { write(agent, number) };
                0
            }
            Err(errno) => errno,
        }
    })
}

fn register_asked(port: c_int, asked: &RegAttr) -> Result<u32, c_int> {
    let class = asked.mgmt_class;
    if has_oui(class) && (asked.oui & OUI_MASK == 0 || asked.oui & !OUI_MASK != 0) {
        return Err(libc::EINVAL);
    }
    let user = asked.flags & USER_RMPP != 0;
    register(Agent {
        port,
        class,
        version: asked.mgmt_class_version,
        oui: asked.oui,
        methods: methods(asked.method_mask),
        rmpp: owner(class, asked.rmpp_version, user)?,
    })
}

/// `umad_unregister`: 0, or -EINVAL when there is no such agent.
#[unsafe(no_mangle)]
pub extern "C" fn umad_unregister(port: c_int, agent: c_int) -> c_int {
    guard(-libc::EIO, || {
        let session = at_port(port);
        let gone = session.is_ok_and(|session| session.unregister_agent(port, agent as u32));
        if gone { 0 } else { fail(libc::EINVAL) }
    })
}
