//! The C functions with arguments that make no sense: an error each time, and the process lives.
#![allow(unsafe_code, clippy::unwrap_used)]

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use proptest::prelude::*;
use weft_emulator::host::{HostHandle, spawn};
use weft_emulator::server::Server;
use weft_fabric::FabricSpec;
use weft_transport::Address;
use weft_umad::ffi::*;
use weft_umad_abi::umad::{RegAttr, UmadCa, UmadPort, UserMad};

/// Bytes after the header in the tests' buffers.
const ROOM: usize = 2048;
/// Guard bytes after the buffer, which must not change.
const GUARD: usize = 64;
const CANARY: u8 = 0xA5;
/// Bytes before the datagram.
const HEADER: usize = size_of::<UserMad>();

/// A fabric that lives as long as the process, with this process on its first host.
fn fabric() {
    static FABRIC: OnceLock<(HostHandle, tempfile::TempDir)> = OnceLock::new();
    FABRIC.get_or_init(|| {
        let spec: FabricSpec = "one-switch:3".parse().unwrap();
        let host = spawn(spec.generate().unwrap(), Default::default()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let address = Address::Unix(directory.path().join("fabric.sock"));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let server = runtime.block_on(Server::listen(&address, false)).unwrap();
        runtime.spawn(server.run(host.clone(), std::future::pending()));
        // The server runs for as long as the process does.
        std::mem::forget(runtime);
        // SAFETY: every test begins here, and none reads the environment before.
        unsafe { std::env::set_var("WEFT_EMULATOR", address.to_string()) };
        (host, directory)
    });
    assert_eq!(umad_init(), 0);
}

/// A buffer of a program, with a guard behind it.
struct Buffer([u8; HEADER + ROOM + GUARD]);

impl Buffer {
    fn new(mad: &[u8]) -> Self {
        let mut bytes = [CANARY; HEADER + ROOM + GUARD];
        bytes[..HEADER].fill(0);
        bytes[HEADER..HEADER + mad.len()].copy_from_slice(mad);
        Self(bytes)
    }

    fn umad(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }

    /// Whether nothing was written beyond `room` bytes of message.
    fn is_whole(&self, room: usize) -> bool {
        self.0[HEADER + room..].iter().all(|byte| *byte == CANARY)
    }
}

#[test]
fn null_pointers_are_errors() {
    fabric();
    // SAFETY: null is what these functions find out.
    unsafe {
        assert_eq!(umad_get_port(null(), 0, null_mut()), -libc::EINVAL);
        assert_eq!(umad_get_ca(null(), null_mut()), -libc::EINVAL);
        assert_eq!(umad_release_ca(null_mut::<UmadCa>()), -libc::ENODEV);
        assert_eq!(umad_release_port(null_mut::<UmadPort>()), -libc::ENODEV);
        assert_eq!(umad_get_cas_names(null_mut(), 3), -libc::EINVAL);
        assert_eq!(umad_get_issm_path(null(), 1, null_mut(), 9), -libc::EINVAL);
        assert_eq!(umad_send(0, 0, null_mut(), 0, 0, 0), -libc::EINVAL);
        assert_eq!(umad_recv(0, null_mut(), null_mut(), 0), -libc::EINVAL);
        assert_eq!(umad_register2(0, null_mut(), null_mut()), libc::EINVAL);
        assert_eq!(umad_status(null_mut()), -libc::EINVAL);
        assert_eq!(umad_set_pkey(null_mut(), 1), -libc::EINVAL);
        assert_eq!(umad_set_grh(null_mut(), null_mut()), -libc::EINVAL);
        assert_eq!(ibv_close_device(null_mut()), -1);
        assert_eq!(ibv_get_async_event(null_mut(), null_mut()), -1);
    }
    assert!(umad_get_mad(null_mut()).is_null());
    assert!(umad_get_mad_addr(null_mut()).is_null());
}

/// A call of a program.
#[derive(Debug, Clone)]
enum Step {
    Register(RegAttr),
    Unregister(c_int),
    Send {
        agent: c_int,
        mad: Vec<u8>,
        timeout_ms: c_int,
        retries: c_int,
    },
    Receive(usize),
    Poll,
    Reopen,
}

fn registration() -> impl Strategy<Value = RegAttr> {
    let class = prop_oneof![Just(3u8), Just(0x32), Just(0x81), any::<u8>()];
    let numbers = (class, any::<u8>(), 0u32..3, any::<[u64; 2]>());
    (numbers, any::<u32>(), 0u8..3).prop_map(|((class, version, flags, mask), oui, rmpp)| RegAttr {
        mgmt_class: class,
        mgmt_class_version: version,
        flags,
        method_mask: mask,
        oui: oui & 0x00FF_FFFF,
        rmpp_version: rmpp,
    })
}

/// Mostly datagrams with a plausible header.
fn datagram() -> impl Strategy<Value = Vec<u8>> {
    let class = prop_oneof![Just(1u8), Just(3), Just(4), Just(0x81), any::<u8>()];
    let body = prop::collection::vec(any::<u8>(), 0..ROOM);
    (class, 0u8..0x16, body, any::<bool>()).prop_map(|(class, method, mut mad, sound)| {
        if sound && mad.len() >= 4 {
            mad[..4].copy_from_slice(&[0x80, class, 0x80, method]);
        }
        mad
    })
}

fn step() -> impl Strategy<Value = Step> {
    let number = || prop_oneof![0..8 as c_int, any::<c_int>()];
    let send = (number(), datagram(), -1..20 as c_int, -1..3 as c_int);
    prop_oneof![
        registration().prop_map(Step::Register),
        number().prop_map(Step::Unregister),
        send.prop_map(|(agent, mad, timeout_ms, retries)| Step::Send {
            agent,
            mad,
            timeout_ms,
            retries,
        }),
        (0..=ROOM).prop_map(Step::Receive),
        Just(Step::Poll),
        Just(Step::Reopen),
    ]
}

fn open() -> c_int {
    // SAFETY: null stands for the only adapter.
    let port = unsafe { umad_open_port(null(), 1) };
    assert!(port >= 0, "{port}");
    port
}

fn run(port: &mut c_int, step: &Step) {
    match step {
        Step::Register(asked) => {
            let (mut attr, mut number) = (*asked, 0);
            // SAFETY: both are there.
            let error = unsafe { umad_register2(*port, &raw mut attr, &raw mut number) };
            assert!(error >= 0, "{error}");
        }
        Step::Unregister(agent) => assert!(umad_unregister(*port, *agent) <= 0),
        Step::Send {
            agent,
            mad,
            timeout_ms,
            retries,
        } => {
            let mut buffer = Buffer::new(mad);
            let length = mad.len() as c_int;
            // SAFETY: the buffer has the stated number of bytes.
            let sent =
                unsafe { umad_send(*port, *agent, buffer.umad(), length, *timeout_ms, *retries) };
            assert!(sent == 0 || sent == -libc::EIO, "{sent}");
            assert!(buffer.is_whole(mad.len()));
        }
        Step::Receive(room) => {
            let mut buffer = Buffer::new(&[]);
            let mut length = *room as c_int;
            // SAFETY: the buffer has so much room and more.
            unsafe { umad_recv(*port, buffer.umad(), &raw mut length, 0) };
            assert!(buffer.is_whole(*room), "{room}");
        }
        Step::Poll => assert!(umad_poll(*port, 0) <= 0),
        Step::Reopen => {
            assert_eq!(umad_close_port(*port), 0);
            assert!(umad_poll(*port, 0) < 0, "closed");
            *port = open();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn unknown_numbers_are_errors(
        port in any::<c_int>(),
        agent in any::<c_int>(),
        length in -2048..=2048 as c_int,
        attr in registration(),
    ) {
        // No port of any test has such a number.
        prop_assume!(!(0..20_000).contains(&port));
        fabric();
        let mut buffer = Buffer::new(&[]);
        let (mut room, mut attr, mut number) = (length, attr, 0);
        // SAFETY: the buffer has room for 2048 bytes after its header, and no length is greater.
        unsafe {
            prop_assert_eq!(umad_send(port, agent, buffer.umad(), length, 0, 0), -libc::EIO);
            prop_assert!(umad_recv(port, buffer.umad(), &raw mut room, 0) < 0);
            prop_assert!(umad_register2(port, &raw mut attr, &raw mut number) > 0);
        }
        prop_assert!(umad_unregister(port, agent) < 0);
        prop_assert!(umad_poll(port, 0) < 0);
        prop_assert!(umad_close_port(port) < 0);
        prop_assert!(buffer.is_whole(0));
    }

    #[test]
    fn a_program_may_do_anything_at_its_port(steps in prop::collection::vec(step(), 1..60)) {
        fabric();
        let mut port = open();
        for step in &steps {
            run(&mut port, step);
        }
        prop_assert_eq!(umad_close_port(port), 0);
        prop_assert!(umad_close_port(port) < 0, "closed twice");
    }
}

#[test]
fn an_error_that_nobody_reads_is_no_panic() {
    let full = || {
        std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap()
    };
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_weft-run"));
    command.args(["--library", "/nonexistent.so", "/nonexistent/program"]);
    let status = command.stdout(full()).stderr(full()).status().unwrap();
    assert_eq!(status.code(), Some(1));
}
