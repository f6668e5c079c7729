//! A libibumad in C that fails on request, in this process in place of the real one.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use weft_umad_abi::umad::{UmadCa, UmadPort};

/// Behaviour of a device's `umad_recv` and `umad_send`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Behaviour {
    Quiet,
    ReadEio,
    WriteEnxio,
    Interrupted,
    ReadEnospc,
    Absent,
}

/// Counters of a device.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Count {
    Receives,
    Sends,
    Opens,
    Closes,
}

/// One of the library's devices.
pub(crate) struct Device(CString);

impl Device {
    /// The device of this name, which does nothing yet.
    pub(crate) fn new(name: &str) -> Self {
        let device = Self(CString::new(name).unwrap());
        device.set(Behaviour::Quiet);
        device
    }

    pub(crate) fn set(&self, behaviour: Behaviour) {
        type Set = unsafe extern "C" fn(*const c_char, c_int);
        // SAFETY: the type is that of the function in fake.c, and the name ends with NUL.
        unsafe {
            let set = library().get::<Set>(b"fake_set\0").unwrap();
            set(self.0.as_ptr(), behaviour as c_int);
        }
    }

    /// Receptions and sendings since it was last set; openings and closings since the start.
    pub(crate) fn count(&self, what: Count) -> i32 {
        type Get = unsafe extern "C" fn(*const c_char, c_int) -> c_int;
        // SAFETY: the type is that of the function in fake.c, and the name ends with NUL.
        unsafe {
            let count = library().get::<Get>(b"fake_count\0").unwrap();
            count(self.0.as_ptr(), what as c_int)
        }
    }
}

/// The library, loaded so that its functions are found in this process.
fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let file = compile();
        // SAFETY: the library has no constructors.
        let library = unsafe { Library::open(Some(file), RTLD_NOW | RTLD_GLOBAL) }.unwrap();
        give_templates(&library);
        library
    })
}

fn compile() -> std::path::PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/umad/fake.c");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libfake_umad.so");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-w", "-o"])
        .args([&file, &source])
        .status();
    assert!(compiled.unwrap().success(), "fake.c does not compile");
    file
}

/// Sets the attributes of every device and port.
fn give_templates(library: &Library) {
    type Templates = unsafe extern "C" fn(*const c_void, usize, *const c_void, usize);
    // SAFETY: all bits zero is a value of these plain structures.
    let (mut ca, mut port): (UmadCa, UmadPort) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    (ca.numports, ca.node_guid) = (1, 0x11_7501_0100_0001_u64.to_be());
    (port.portnum, port.port_guid, port.base_lid) = (1, ca.node_guid, 1);
    // SAFETY: the type is that of the function in fake.c, which copies both structures.
    unsafe {
        let give = library.get::<Templates>(b"fake_templates\0").unwrap();
        let (ca, port) = (&raw const ca, &raw const port);
        give(
            ca.cast(),
            size_of::<UmadCa>(),
            port.cast(),
            size_of::<UmadPort>(),
        );
    }
}
