//! libibumad's functions, found at run time: those that are in the process already, so that a
//! preloaded library takes effect, else those of libibumad.so.3.
#![allow(
    unsafe_code,
    reason = "functions of a C library are called here and nowhere else"
)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;

use libloading::os::unix::Library as Handle;
use weft_umad_abi::umad::{DEVICES_MAX, MadAddr, NAME_LEN, RegAttr, UmadCa, UmadPort};

use super::error::UmadError;

/// The library's name with the version whose interface is used here.
const FILE: &str = "libibumad.so.3";
/// Longest path of a device.
const PATH_MAX: usize = 256;
/// P_Keys that a port can have: indexes are 16 bits wide.
const PKEYS_MAX: usize = 65_536;

macro_rules! functions {
    ($($name:ident: fn($($arg:ty),*) -> $ret:ty;)*) => {
        /// The functions that are used.
        struct Functions {
            $($name: unsafe extern "C" fn($($arg),*) -> $ret,)*
        }

        impl Functions {
            fn find(handle: &Handle, library: &'static str) -> Result<Self, UmadError> {
                Ok(Self { $($name: {
                    let function = concat!(stringify!($name), "\0");
                    // SAFETY: the type is that of the prototype in infiniband/umad.h.
                    let found = unsafe { handle.get(function.as_bytes()) };
                    *found.map_err(|_| UmadError::NoFunction {
                        library,
                        function: stringify!($name),
                    })?
                },)* })
            }
        }
    };
}

functions! {
    umad_init: fn() -> c_int;
    umad_get_cas_names: fn(*mut [c_char; NAME_LEN], c_int) -> c_int;
    umad_get_ca: fn(*const c_char, *mut UmadCa) -> c_int;
    umad_release_ca: fn(*mut UmadCa) -> c_int;
    umad_get_port: fn(*const c_char, c_int, *mut UmadPort) -> c_int;
    umad_release_port: fn(*mut UmadPort) -> c_int;
    umad_get_issm_path: fn(*const c_char, c_int, *mut c_char, c_int) -> c_int;
    umad_open_port: fn(*const c_char, c_int) -> c_int;
    umad_close_port: fn(c_int) -> c_int;
    umad_register2: fn(c_int, *mut RegAttr, *mut u32) -> c_int;
    umad_unregister: fn(c_int, c_int) -> c_int;
    umad_size: fn() -> usize;
    umad_get_mad: fn(*mut c_void) -> *mut c_void;
    umad_get_mad_addr: fn(*mut c_void) -> *mut MadAddr;
    umad_get_pkey: fn(*mut c_void) -> c_int;
    umad_set_pkey: fn(*mut c_void, c_int) -> c_int;
    umad_set_addr: fn(*mut c_void, c_int, c_int, c_int, c_int) -> c_int;
    umad_status: fn(*mut c_void) -> c_int;
    umad_send: fn(c_int, c_int, *mut c_void, c_int, c_int, c_int) -> c_int;
    umad_recv: fn(c_int, *mut c_void, *mut c_int, c_int) -> c_int;
}

/// libibumad, ready for calls.
pub(super) struct Library {
    functions: Functions,
    /// Keeps the functions where they are.
    _handle: Handle,
}

/// A device with its GUID and the number of its ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CaInfo {
    pub(super) node_guid: u64,
    pub(super) ports: u8,
}

/// Current state of a port.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PortInfo {
    pub(super) base_lid: u32,
    pub(super) port_guid: u64,
    pub(super) pkeys: Vec<u16>,
}

/// Destination of a datagram, in the kernel's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct To {
    pub(super) lid: u16,
    pub(super) qp: u32,
    pub(super) q_key: u32,
    pub(super) sl: u8,
    pub(super) pkey_index: u16,
}

/// Source of a datagram, in the kernel's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct From {
    pub(super) lid: u16,
    pub(super) qp: u32,
    pub(super) sl: u8,
    pub(super) path_bits: u8,
    pub(super) pkey_index: u16,
    /// 0, or the number of the error with which a request came back.
    pub(super) status: u32,
}

impl Library {
    /// Finds the functions and starts the library.
    pub(super) fn load() -> Result<Self, UmadError> {
        let this = Handle::this();
        // SAFETY: only the address is looked up.
        let present = unsafe { this.get::<*const c_void>(b"umad_init\0") }.is_ok();
        let (handle, name) = match present {
            true => (this, "the preloaded library"),
            // SAFETY: the library's code for loading and unloading is sound: it keeps
            // a table of devices.
            false => match unsafe { Handle::new(FILE) } {
                Ok(handle) => (handle, FILE),
                Err(error) => {
                    let why = error.to_string();
                    return Err(UmadError::NoLibrary { why });
                }
            },
        };
        let functions = Functions::find(&handle, name)?;
        let library = Self {
            functions,
            _handle: handle,
        };
        // SAFETY: takes nothing.
        match unsafe { (library.functions.umad_init)() } {
            0.. => Ok(library),
            _ => Err(UmadError::Init),
        }
    }

    /// Names of the devices, in the library's order.
    pub(super) fn names(&self) -> Vec<CString> {
        let mut names = [[0; NAME_LEN]; DEVICES_MAX];
        // SAFETY: the array has room for the stated number of names.
        let count = unsafe {
            (self.functions.umad_get_cas_names)(names.as_mut_ptr(), DEVICES_MAX as c_int)
        };
        let count = usize::try_from(count).unwrap_or(0).min(DEVICES_MAX);
        names[..count]
            .iter()
            .filter_map(|name| text(name))
            .collect()
    }

    /// Description of a device; `None` if it has gone.
    pub(super) fn ca(&self, name: &CStr) -> Option<CaInfo> {
        // SAFETY: all bits zero is a value of this plain structure.
        let mut ca: UmadCa = unsafe { std::mem::zeroed() };
        // SAFETY: the name ends with NUL, the structure is the library's.
        if unsafe { (self.functions.umad_get_ca)(name.as_ptr(), &mut ca) } < 0 {
            return None;
        }
        let info = CaInfo {
            node_guid: u64::from_be(ca.node_guid),
            ports: u8::try_from(ca.numports).unwrap_or(0),
        };
        // SAFETY: it was filled by umad_get_ca, and is not used any more.
        unsafe { (self.functions.umad_release_ca)(&mut ca) };
        Some(info)
    }

    /// Current state of a port; `None` if it has gone.
    pub(super) fn port(&self, name: &CStr, port: u8) -> Option<PortInfo> {
        // SAFETY: all bits zero is a value of this plain structure.
        let mut raw: UmadPort = unsafe { std::mem::zeroed() };
        // SAFETY: the name ends with NUL, the structure is the library's.
        if unsafe { (self.functions.umad_get_port)(name.as_ptr(), c_int::from(port), &mut raw) } < 0
        {
            return None;
        }
        let pkeys = match raw.pkeys.is_null() {
            true => Vec::new(),
            false => {
                let count = (raw.pkeys_size as usize).min(PKEYS_MAX);
                // SAFETY: umad_get_port allocates `pkeys_size` entries.
                unsafe { std::slice::from_raw_parts(raw.pkeys, count) }.to_vec()
            }
        };
        let info = PortInfo {
            base_lid: raw.base_lid,
            port_guid: u64::from_be(raw.port_guid),
            pkeys,
        };
        // SAFETY: it was filled by umad_get_port, and is not used any more.
        unsafe { (self.functions.umad_release_port)(&mut raw) };
        Some(info)
    }

    /// The file that, while it is open, marks a port as a subnet manager's.
    pub(super) fn issm_path(&self, name: &CStr, port: u8) -> io::Result<String> {
        let mut path = [0; PATH_MAX];
        // SAFETY: the name ends with NUL, and the buffer has the stated size.
        let got = unsafe {
            (self.functions.umad_get_issm_path)(
                name.as_ptr(),
                c_int::from(port),
                path.as_mut_ptr(),
                PATH_MAX as c_int,
            )
        };
        let path = text(&path).and_then(|path| path.into_string().ok());
        path.filter(|_| got >= 0).ok_or_else(|| failed(got))
    }

    /// Opens a port; the number is for the other calls.
    pub(super) fn open(&self, name: &CStr, port: u8) -> io::Result<c_int> {
        // SAFETY: the name ends with NUL.
        let id = unsafe { (self.functions.umad_open_port)(name.as_ptr(), c_int::from(port)) };
        if id < 0 { Err(failed(id)) } else { Ok(id) }
    }

    /// Closes a port.
    pub(super) fn close(&self, port: c_int) {
        // SAFETY: takes a number.
        unsafe { (self.functions.umad_close_port)(port) };
    }

    /// Registers for a management class; the number is the agent's.
    pub(super) fn register(&self, port: c_int, mut attr: RegAttr) -> io::Result<u32> {
        let mut agent = 0;
        // SAFETY: both structures are the library's.
        let got = unsafe { (self.functions.umad_register2)(port, &mut attr, &mut agent) };
        match got {
            0 => Ok(agent),
            // Unlike the others it returns the error's number as it is.
            positive @ 1.. => Err(io::Error::from_raw_os_error(positive)),
            negative => Err(failed(negative)),
        }
    }

    /// Ends a registration.
    pub(super) fn unregister(&self, port: c_int, agent: u32) {
        // SAFETY: takes numbers.
        unsafe { (self.functions.umad_unregister)(port, agent as c_int) };
    }

    /// A buffer for one datagram of up to `len` bytes.
    pub(super) fn buffer(&self, len: usize) -> Buffer<'_> {
        // SAFETY: takes nothing.
        let header = unsafe { (self.functions.umad_size)() };
        // u64 for the alignment of the header.
        let words = (header + len).div_ceil(8);
        Buffer {
            library: self,
            words: vec![0; words],
            len,
        }
    }
}

/// The error behind a negative answer.
fn failed(answer: c_int) -> io::Error {
    let last = io::Error::last_os_error();
    match last.raw_os_error() {
        Some(1..) => last,
        _ => io::Error::from_raw_os_error(answer.saturating_neg()),
    }
}

/// Why no datagram was received.
#[derive(Debug)]
pub(super) enum NotReceived {
    /// None came in time.
    Late,
    /// A signal to the process ended the wait.
    Interrupted,
    /// The port cannot be read.
    Failed(io::Error),
}

/// The meaning of a negative answer of `umad_recv`. libibumad (umad.c, `dev_poll`) answers -EIO for
/// every `poll` that fails, an interrupted one too, and `errno` has the reason; the kernel
/// (user_mad.c, `ib_umad_read`) fails with EIO when the device is gone.
fn not_received(answer: c_int, errno: io::Error) -> NotReceived {
    let interrupted = errno.raw_os_error() == Some(libc::EINTR);
    match answer.saturating_neg() {
        libc::ETIMEDOUT | libc::EAGAIN => NotReceived::Late,
        libc::EINTR => NotReceived::Interrupted,
        libc::EIO if interrupted => NotReceived::Interrupted,
        // Not an error's number: the answer of a bare system call.
        1 => NotReceived::Failed(errno),
        error => NotReceived::Failed(io::Error::from_raw_os_error(error)),
    }
}

fn text(bytes: &[c_char]) -> Option<CString> {
    let bytes: Vec<u8> = bytes.iter().map(|byte| *byte as u8).collect();
    let text = CStr::from_bytes_until_nul(&bytes).ok()?;
    (!text.is_empty()).then(|| text.to_owned())
}

/// A datagram with the kernel's header.
pub(super) struct Buffer<'a> {
    library: &'a Library,
    words: Vec<u64>,
    len: usize,
}

impl Buffer<'_> {
    fn raw(&mut self) -> *mut c_void {
        self.words.as_mut_ptr().cast()
    }

    /// Sends a datagram; one that expects an answer comes back by itself when there is none within
    /// `timeout_ms`.
    pub(super) fn send(
        &mut self,
        port: c_int,
        agent: u32,
        to: &To,
        mad: &[u8],
        timeout_ms: i32,
    ) -> io::Result<()> {
        let (functions, len) = (&self.library.functions, mad.len().min(self.len));
        let raw = self.raw();
        // SAFETY: the buffer has room for the header and `self.len` bytes behind it.
        let sent = unsafe {
            let at = (functions.umad_get_mad)(raw).cast::<u8>();
            at.copy_from_nonoverlapping(mad.as_ptr(), len);
            (functions.umad_set_addr)(
                raw,
                c_int::from(to.lid),
                to.qp as c_int,
                c_int::from(to.sl),
                to.q_key as c_int,
            );
            (functions.umad_set_pkey)(raw, c_int::from(to.pkey_index));
            (functions.umad_send)(port, agent as c_int, raw, len as c_int, timeout_ms, 0)
        };
        if sent < 0 { Err(failed(sent)) } else { Ok(()) }
    }

    /// Waits up to `timeout_ms` for a datagram.
    pub(super) fn receive(
        &mut self,
        port: c_int,
        timeout_ms: i32,
    ) -> Result<(From, &[u8]), NotReceived> {
        let (functions, most) = (&self.library.functions, self.len);
        let mut len = most as c_int;
        let raw = self.raw();
        // SAFETY: the buffer has room for the header and `len` bytes behind it.
        let got = unsafe { (functions.umad_recv)(port, raw, &mut len, timeout_ms) };
        if got < 0 {
            return Err(not_received(got, io::Error::last_os_error()));
        }
        let len = usize::try_from(len).unwrap_or(0).min(most);
        // SAFETY: umad_recv has filled the header and `len` bytes behind it; both live as long as
        // the buffer, which stays borrowed. The address is a part of that header (umad.c,
        // `umad_get_mad_addr`), hence not null, and aligned as the buffer is.
        unsafe {
            let addr = *(functions.umad_get_mad_addr)(raw);
            let from = From {
                lid: u16::from_be(addr.lid),
                qp: u32::from_be(addr.qpn),
                sl: addr.sl,
                path_bits: addr.path_bits,
                pkey_index: (functions.umad_get_pkey)(raw) as u16,
                status: (functions.umad_status)(raw) as u32,
            };
            let mad = (functions.umad_get_mad)(raw).cast::<u8>();
            Ok((from, std::slice::from_raw_parts(mad, len)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_wait_is_no_lost_device() {
        let cases = [
            (-libc::ETIMEDOUT, 0, "Late"),
            (-libc::EAGAIN, libc::EAGAIN, "Late"),
            (-libc::EIO, libc::EINTR, "Interrupted"),
            (-libc::EINTR, libc::EINTR, "Interrupted"),
            (-libc::EIO, libc::EIO, "Failed 5"),
            (-libc::EIO, libc::ENOMEM, "Failed 5"),
            (-libc::ENODEV, libc::ENODEV, "Failed 19"),
            (-1, libc::EBADF, "Failed 9"),
        ];
        for (answer, errno, wanted) in cases {
            let got = match not_received(answer, io::Error::from_raw_os_error(errno)) {
                NotReceived::Late => "Late".to_owned(),
                NotReceived::Interrupted => "Interrupted".to_owned(),
                NotReceived::Failed(error) => {
                    format!("Failed {}", error.raw_os_error().unwrap_or_default())
                }
            };
            assert_eq!(got, wanted, "answer {answer}, errno {errno}");
        }
    }
}
