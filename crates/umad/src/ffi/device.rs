//! libibumad: adapters and ports.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};
use std::sync::Arc;

use weft_transport::PortStatus;
use weft_umad_abi::umad::{CA_PORTS_MAX, NAME_LEN, UmadCa, UmadPort};

use super::guard::{fail, guard};
use super::memory::{allocate, copy_out, fixed, read, release, text, write};
use super::process::{OpenPort, add_port, session, take_port};
use crate::session::{Identity, Session, Signal};
use crate::settings::HFI_NAME;

/// `node_type` of an adapter.
const NODE_TYPE_CA: u32 = 1;
/// File that keeps a subnet manager's claim open; asking for its path is the claim.
const ISSM_PATH: &str = "/dev/null";

/// The session, if a program's name for the adapter is valid: null is any.
///
/// # Safety
/// See [`text`].
unsafe fn adapter(name: *const c_char) -> Result<Arc<Session>, c_int> {
    // SAFETY: the caller's duty is the same.
    let name = unsafe { text(name) };
    if name.is_some_and(|name| name != HFI_NAME.as_bytes()) {
        return Err(libc::ENODEV);
    }
    session().ok_or(libc::ENODEV)
}

/// Whether a program's number for the port is right: 0 is any.
fn is_port(session: &Session, number: c_int) -> bool {
    number == 0 || number == c_int::from(session.port())
}

/// `umad_init`: 0, or -1 when there is no fabric.
#[unsafe(no_mangle)]
pub extern "C" fn umad_init() -> c_int {
    guard(-1, || if session().is_some() { 0 } else { -1 })
}

/// `umad_done`: 0.
#[unsafe(no_mangle)]
pub extern "C" fn umad_done() -> c_int {
    0
}

/// `umad_get_cas_names`: how many names were written.
///
/// # Safety
/// `names` is null or has room for `max` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umad_get_cas_names(names: *mut [c_char; NAME_LEN], max: c_int) -> c_int {
    guard(-libc::EIO, || {
        if names.is_null() || max < 0 {
            return fail(libc::EINVAL);
        }
        if max == 0 || session().is_none() {
            return 0;
        }
        // SAFETY: there is room for one name.
        unsafe { write(names, fixed(HFI_NAME)) };
        1
    })
}

/// `umad_get_ca_portguids`: how many GUIDs were written, from port 0.
///
/// # Safety
/// `name` is null or text; `guids` is null or has room for `max`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umad_get_ca_portguids(
    name: *const c_char,
    guids: *mut u64,
    max: c_int,
) -> c_int {
    guard(-libc::EIO, || {
        // SAFETY: guaranteed by the caller.
        let session = match unsafe { adapter(name) } {
            Ok(session) => session,
            Err(errno) => return fail(errno),
        };
        if guids.is_null() {
            return 0;
        }
        let count = usize::from(session.port()) + 1;
        if usize::try_from(max).is_ok_and(|max| max < count) || max < 0 {
            return fail(libc::ENOMEM);
        }
        for port in 0..count {
            let guid = match port + 1 == count {
                true => session.status().port_guid.0.to_be(),
                false => 0,
            };
            // SAFETY: there is room for as many.
            unsafe { write(guids.add(port), guid) };
        }
        count as c_int
    })
}

/// `umad_get_ca`.
///
/// # Safety
/// `name` is null or text; `ca` is null or has room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umad_get_ca(name: *const c_char, ca: *mut UmadCa) -> c_int {
    guard(-libc::EIO, || {
        if ca.is_null() {
            return fail(libc::EINVAL);
        }
        // SAFETY: guaranteed by the caller.
        let session = match unsafe { adapter(name) } {
            Ok(session) => session,
            Err(errno) => return fail(errno),
        };
        let status = session.status();
        let port = allocate(&[user_port(&status, session.port())]);
        if port.is_null() {
            return fail(libc::ENOMEM);
        }
        let mut ports = [std::ptr::null_mut(); CA_PORTS_MAX];
        ports[usize::from(session.port()) % CA_PORTS_MAX] = port;
        let filled = UmadCa {
            ca_name: fixed(HFI_NAME),
            node_type: NODE_TYPE_CA,
            numports: c_int::from(session.port()),
            fw_ver: fixed("1.27.0"),
            ca_type: fixed("Weft emulated HFI"),
            hw_ver: fixed("10"),
            node_guid: status.node_guid.0.to_be(),
            system_guid: status.system_guid.0.to_be(),
            ports,
        };
        // SAFETY: guaranteed by the caller.
        unsafe { write(ca, filled) };
        0
    })
}

fn user_port(status: &PortStatus, number: u8) -> UmadPort {
    let p_keys = allocate(&status.p_keys);
    UmadPort {
        ca_name: fixed(HFI_NAME),
        portnum: c_int::from(number),
        base_lid: status.base_lid.0,
        lmc: u32::from(status.lmc.0),
        sm_lid: status.sm_lid.0,
        sm_sl: u32::from(status.sm_sl.0),
        state: u32::from(status.state),
        phys_state: u32::from(status.phys_state),
        rate: u32::from(status.rate),
        capmask: status.capability_mask.to_be(),
        gid_prefix: status.subnet_prefix.to_be(),
        port_guid: status.port_guid.0.to_be(),
        pkeys_size: if p_keys.is_null() {
            0
        } else {
            status.p_keys.len() as u32
        },
        pkeys: p_keys,
        link_layer: fixed("InfiniBand"),
    }
}

/// `umad_release_ca`.
///
/// # Safety
/// `ca` is null or from [`umad_get_ca`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umad_release_ca(ca: *mut UmadCa) -> c_int {
    guard(-libc::EIO, || {
        // SAFETY: guaranteed by the caller.
        let Some(mut filled) = (unsafe { read(ca) }) else {
            return fail(libc::ENODEV);
        };
        for port in &mut filled.ports {
            let port = std::mem::replace(port, std::ptr::null_mut());
            // SAFETY: port and keys are from `allocate`, and are forgotten here.
            unsafe {
                if let Some(own) = read(port) {
                    release(own.pkeys);
                }
                release(port);
            }
        }
        // SAFETY: guaranteed by the caller.
        unsafe { write(ca, filled) };
        0
    })
}

/// `umad_get_port`.
///
/// # Safety
/// `name` is null or text; `port` is null or has room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umad_get_port(
    name: *const c_char,
    number: c_int,
    port: *mut UmadPort,
) -> c_int {
    guard(-libc::EIO, || {
        if port.is_null() {
            return fail(libc::EINVAL);
        }
        // SAFETY: guaranteed by the caller.
        match unsafe { adapter(name) } {
            Ok(session) if is_port(&session, number) => {
                let filled = user_port(&session.status(), session.port());
                // SAFETY: guaranteed by the caller.
                unsafe { write(port, filled) };
                0
            }
            Ok(_) => fail(libc::EIO),
            Err(errno) => fail(errno),
        }
    })
}

/// `umad_release_port`.
///
/// # Safety
/// `port` is null or from [`umad_get_port`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umad_release_port(port: *mut UmadPort) -> c_int {
    guard(-libc::EIO, || {
        // SAFETY: guaranteed by the caller.
        let Some(mut filled) = (unsafe { read(port) }) else {
            return fail(libc::ENODEV);
        };
        let keys = std::mem::replace(&mut filled.pkeys, std::ptr::null_mut());
        filled.pkeys_size = 0;
        // SAFETY: the keys are from `allocate`, and are forgotten here.
        unsafe {
            release(keys);
            write(port, filled);
        }
        0
    })
}

/// `umad_get_issm_path`: the path of a file that a subnet manager holds open. A program that asks for it
/// counts as one until its process ends.
///
/// # Safety
/// `name` is null or text; `path` is null or has room for `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umad_get_issm_path(
    name: *const c_char,
    number: c_int,
    path: *mut c_char,
    max: c_int,
) -> c_int {
    guard(-libc::EIO, || {
        let room = usize::try_from(max).unwrap_or(0);
        if path.is_null() || room <= ISSM_PATH.len() {
            return fail(libc::EINVAL);
        }
        // SAFETY: guaranteed by the caller.
        match unsafe { adapter(name) } {
            Ok(session) if is_port(&session, number) => {
                let text = [ISSM_PATH.as_bytes(), &[0]].concat();
                // SAFETY: there is room for it.
                unsafe { copy_out(&text, path.cast()) };
                session.set_is_sm();
                0
            }
            Ok(_) => fail(libc::EINVAL),
            Err(errno) => fail(errno),
        }
    })
}

/// `umad_open_port`: a descriptor that is readable when there is a message.
///
/// # Safety
/// `name` is null or text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umad_open_port(name: *const c_char, number: c_int) -> c_int {
    guard(-libc::EIO, || {
        // SAFETY: guaranteed by the caller.
        match unsafe { adapter(name) } {
            Ok(session) if is_port(&session, number) => open(session),
            Ok(_) => fail(libc::EINVAL),
            Err(errno) => fail(errno),
        }
    })
}

fn open(session: Arc<Session>) -> c_int {
    let opened = Signal::new().and_then(|signal| Ok((signal.share()?, signal)));
    match opened {
        Ok((shared, signal)) => {
            let (id, identity) = (shared.into_raw_fd(), signal.identity());
            session.open_port(id, Arc::new(signal));
            let session = Some(session);
            add_port(id, OpenPort { session, identity });
            id
        }
        Err(error) => fail(error.raw_os_error().unwrap_or(libc::EIO)),
    }
}

/// `umad_close_port`.
#[unsafe(no_mangle)]
pub extern "C" fn umad_close_port(port: c_int) -> c_int {
    guard(-libc::EIO, || {
        let Some(open) = take_port(port) else {
            return fail(libc::EBADF);
        };
        if let Some(session) = open.session {
            session.close_port(port);
        }
        // A program may have closed the descriptor itself, and its number may be another file's.
        if Identity::of(port) == Some(open.identity) {
            // SAFETY: the descriptor was given to the program by `open`, which gives it back here.
            drop(unsafe { OwnedFd::from_raw_fd(port) });
        }
        0
    })
}
