//! Why an HFI port cannot be used.

use std::io;

use thiserror::Error;
use weft_wire::id::Guid;

use super::PortSpec;

/// Why an HFI port cannot be used.
#[derive(Debug, Error)]
pub enum UmadError {
    /// libibumad is not there.
    #[error(
        "libibumad.so.3 cannot be loaded: {why}; it is in the package libibumad3 (Debian, Ubuntu) \
         or libibumad (RHEL, SLES)"
    )]
    NoLibrary {
        /// The loader's message.
        why: String,
    },
    /// It lacks a function.
    #[error(
        "{library} has no function {function}; version 3 of libibumad has it (package libibumad3)"
    )]
    NoFunction {
        /// Name of the library.
        library: &'static str,
        /// Its name.
        function: &'static str,
    },
    /// The library does not start.
    #[error("libibumad does not start; is the kernel module ib_umad loaded (modprobe ib_umad)?")]
    Init,
    /// No such HFI or port.
    #[error("{spec}: no such HFI port here; there are: {there}")]
    NoPort {
        /// The requested port.
        spec: PortSpec,
        /// The available ports.
        there: String,
    },
    /// The device cannot be opened.
    #[error("{what}: {error}{hint}")]
    Open {
        /// The device.
        what: String,
        /// Why.
        error: io::Error,
        /// The remedy.
        hint: &'static str,
    },
    /// A management class is not given to this program.
    #[error(
        "class {class:#04x} version {version:#04x} on {port}: {error}; another program serves it \
         already, or the driver does not carry it"
    )]
    Register {
        /// The class.
        class: u8,
        /// Its version.
        version: u8,
        /// The port.
        port: String,
        /// Why.
        error: io::Error,
    },
    /// The port is no subnet manager's port.
    #[error("port {guid} of {port} has no GUID that can be used")]
    NoGuid {
        /// The GUID that it reports.
        guid: Guid,
        /// The port.
        port: String,
    },
    /// A thread cannot be started.
    #[error("no thread for the HFI port: {0}")]
    Thread(io::Error),
}

/// Remedy for an error on opening a device.
pub(super) fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "; run as root, or give the daemon's group read and write on /dev/infiniband/umad* and \
             issm* by a udev rule (60-weft.rules)"
        }
        io::ErrorKind::NotFound => "; is the kernel module ib_umad loaded (modprobe ib_umad)?",
        io::ErrorKind::WouldBlock | io::ErrorKind::ResourceBusy => {
            "; another subnet manager runs on this port"
        }
        _ => "",
    }
}
