//! An HFI port that is open, with its registrations.

use std::ffi::{CString, c_int};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use weft_wire::id::{Guid, PortNum};
use weft_wire::packet::Packet;

use super::PortSpec;
use super::agents::registrations;
use super::convert::{
    LEN_MIN, class_of, from_kernel, is_response, is_segment, set_transaction, to_kernel,
    transaction,
};
use super::error::{UmadError, hint};
use super::library::{Buffer, Library, NotReceived, PortInfo};
use super::presence::Presence;
use super::requests::Requests;

/// Time after which the kernel treats an answer as stray; the managers' timeouts are shorter, and they
/// retry themselves.
const ANSWER_TIMEOUT_MS: i32 = 2_000;
/// Maximum age of the cached LID and P_Keys.
const REFRESH: Duration = Duration::from_millis(500);
/// Name prefix of Omni-Path devices.
const DEVICE_PREFIX: &[u8] = b"hfi";
/// `O_NONBLOCK`: an IsSM file that another program has open is not waited for.
const NONBLOCK: i32 = libc::O_NONBLOCK;

/// An HFI port that is open.
pub(super) struct Port {
    library: Library,
    name: CString,
    number: u8,
    id: c_int,
    /// Class, version and the agent that is registered for it.
    agents: Vec<(u8, u8, u32)>,
    node_guid: u64,
    presence: Presence,
    info: Mutex<(Instant, PortInfo)>,
    requests: Mutex<Requests>,
    is_sm: Mutex<Option<File>>,
}

impl Port {
    /// Opens a port and registers for `classes`.
    pub(super) fn open(spec: &PortSpec, classes: &[u8]) -> Result<Self, UmadError> {
        let library = Library::load()?;
        let (name, number) = find(&library, spec)?;
        let gone = || UmadError::NoPort {
            spec: spec.clone(),
            there: there(&library),
        };
        let node_guid = library.ca(&name).ok_or_else(gone)?.node_guid;
        let info = library.port(&name, number).ok_or_else(gone)?;
        let what = label(&name, number);
        if info.port_guid == 0 || node_guid == 0 {
            return Err(UmadError::NoGuid {
                guid: Guid(info.port_guid),
                port: what,
            });
        }
        let presence = Presence::of(&name);
        let id = library.open(&name, number);
        let id = id.map_err(|error| cannot_open(what, error))?;
        let mut port = Self {
            library,
            name,
            number,
            id,
            agents: Vec::new(),
            node_guid,
            presence,
            info: Mutex::new((Instant::now(), info)),
            requests: Mutex::new(Requests::new()),
            is_sm: Mutex::new(None),
        };
        port.register(classes)?;
        Ok(port)
    }

    fn register(&mut self, classes: &[u8]) -> Result<(), UmadError> {
        for wanted in registrations(classes) {
            let agent = self.library.register(self.id, wanted.attr());
            let agent = agent.map_err(|error| UmadError::Register {
                class: wanted.class,
                version: wanted.version,
                port: self.label(),
                error,
            })?;
            self.agents.push((wanted.class, wanted.version, agent));
        }
        Ok(())
    }

    /// The device and the port, as `hfi1_0:1`.
    fn label(&self) -> String {
        label(&self.name, self.number)
    }

    pub(super) fn guid(&self) -> Guid {
        Guid(self.node_guid)
    }

    pub(super) fn number(&self) -> PortNum {
        PortNum(self.number)
    }

    /// A buffer for one datagram.
    pub(super) fn buffer(&self) -> Buffer<'_> {
        self.library.buffer(Packet::MAD_LEN_MAX)
    }

    /// Announces to the whole fabric whether a subnet manager runs here.
    pub(super) fn set_is_sm(&self, is_sm: bool) -> Result<(), UmadError> {
        let mut held = lock(&self.is_sm);
        if !is_sm {
            *held = None;
        } else if held.is_none() {
            let path = self.library.issm_path(&self.name, self.number);
            let path = path.map_err(|error| cannot_open(self.label(), error))?;
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .custom_flags(NONBLOCK)
                .open(&path);
            *held = Some(file.map_err(|error| cannot_open(path, error))?);
        }
        Ok(())
    }

    /// Sends a datagram. One that cannot go out is dropped, as on a link.
    ///
    /// # Errors
    /// When the device has gone.
    pub(super) fn send(&self, buffer: &mut Buffer<'_>, packet: &mut Packet) -> io::Result<()> {
        if packet.mad.len() < LEN_MIN || packet.mad.len() > Packet::MAD_LEN_MAX {
            return Ok(());
        }
        let key = class_of(&packet.mad);
        let agent = self.agents.iter().find(|agent| (agent.0, agent.1) == key);
        let to = self.with_info(|info| to_kernel(packet, info));
        let (Some((.., agent)), Some(to)) = (agent, to) else {
            return Ok(());
        };
        let mut timeout_ms = 0;
        if !is_response(&packet.mad) {
            let id = transaction(&packet.mad);
            let mut requests = lock(&self.requests);
            let id = match is_segment(&packet.mad) {
                true => requests.outgoing_segment(key.0, id),
                false => requests.outgoing(id),
            };
            drop(requests);
            set_transaction(&mut packet.mad, id);
            timeout_ms = ANSWER_TIMEOUT_MS;
        }
        match buffer.send(self.id, *agent, &to, &packet.mad, timeout_ms) {
            Err(error) if has_gone(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Waits up to `timeout_ms` for a datagram; none when there is none, or none for the program.
    ///
    /// # Errors
    /// When the device has gone, or the port cannot be read for another reason: opening it again
    /// is the cure for both.
    pub(super) fn receive(&self, buffer: &mut Buffer<'_>, timeout_ms: i32) -> io::Result<Received> {
        let (from, mad) = match buffer.receive(self.id, timeout_ms) {
            Ok(received) => received,
            Err(NotReceived::Late) if self.presence.has_gone() => {
                return Err(io::Error::from_raw_os_error(libc::ENODEV));
            }
            Err(NotReceived::Late | NotReceived::Interrupted) => return Ok(Received::Nothing),
            Err(NotReceived::Failed(error)) => return Err(error),
        };
        // A request that was not answered comes back with an error: the managers know by themselves.
        if from.status != 0 || mad.len() < LEN_MIN {
            return Ok(Received::Other);
        }
        let mut packet = self.with_info(|info| from_kernel(&from, mad, info));
        if is_response(mad) {
            let Some(id) = lock(&self.requests).incoming(transaction(mad)) else {
                return Ok(Received::Other);
            };
            set_transaction(&mut packet.mad, id);
        }
        Ok(Received::Packet(packet))
    }

    /// Looks at the port's LID and P_Keys, which are read again when they are old.
    fn with_info<R>(&self, look: impl FnOnce(&PortInfo) -> R) -> R {
        let mut held = lock(&self.info);
        if held.0.elapsed() > REFRESH {
            if let Some(info) = self.library.port(&self.name, self.number) {
                held.1 = info;
            }
            held.0 = Instant::now();
        }
        look(&held.1)
    }
}

/// Result of waiting for a datagram.
pub(super) enum Received {
    /// One for the program.
    Packet(Packet),
    /// One that is not for the program.
    Other,
    /// None in time.
    Nothing,
}

impl Drop for Port {
    fn drop(&mut self) {
        for (.., agent) in &self.agents {
            self.library.unregister(self.id, *agent);
        }
        self.library.close(self.id);
    }
}

/// A poisoned lock holds plain data that is whole.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether an error of sending says that the device has gone: EIO is what `ib_umad_write` of the
/// kernel (user_mad.c) says then.
fn has_gone(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::EIO
                | libc::ENXIO
                | libc::ENODEV
                | libc::EBADF
                | libc::EPIPE
                | libc::ECONNRESET
                | libc::ENOTCONN
        )
    )
}

fn cannot_open(what: String, error: io::Error) -> UmadError {
    let hint = hint(&error);
    UmadError::Open { what, error, hint }
}

fn label(name: &CString, number: u8) -> String {
    format!("{}:{number}", name.to_string_lossy())
}

/// The devices of Omni-Path with the numbers of their ports, in order of their names.
fn devices(library: &Library) -> Vec<(CString, u8)> {
    let names = library.names().into_iter();
    let mut devices: Vec<(CString, u8)> = names
        .filter(|name| name.as_bytes().starts_with(DEVICE_PREFIX))
        .filter_map(|name| {
            let ports = library.ca(&name)?.ports;
            Some((name, ports))
        })
        .collect();
    devices.sort();
    devices
}

fn there(library: &Library) -> String {
    let devices = devices(library);
    let names = devices
        .iter()
        .flat_map(|(name, ports)| (1..=*ports).map(|number| label(name, number)));
    let names: Vec<String> = names.collect();
    match names.is_empty() {
        true => "none; is the driver hfi1 loaded?".to_owned(),
        false => names.join(", "),
    }
}

fn find(library: &Library, spec: &PortSpec) -> Result<(CString, u8), UmadError> {
    let devices = devices(library);
    let found = match spec {
        PortSpec::Name { device, port } => devices
            .into_iter()
            .find(|(name, _)| name.as_bytes() == device.as_bytes())
            .map(|(name, ports)| (name, *port, ports)),
        PortSpec::Number { hfi, port } => (*hfi as usize)
            .checked_sub(1)
            .and_then(|place| devices.into_iter().nth(place))
            .map(|(name, ports)| (name, *port, ports)),
        PortSpec::Guid(guid) => devices.into_iter().find_map(|(name, ports)| {
            let is = |number: &u8| {
                let info = library.port(&name, *number);
                info.is_some_and(|info| info.port_guid == guid.0)
            };
            let number = (1..=ports).find(is)?;
            Some((name, number, ports))
        }),
    };
    let found = found.filter(|(_, port, ports)| (1..=*ports).contains(port));
    let found = found.map(|(name, port, _)| (name, port));
    found.ok_or_else(|| UmadError::NoPort {
        spec: spec.clone(),
        there: there(library),
    })
}
