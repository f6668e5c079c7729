//! A connection over a port of a local HFI, through libibumad and the kernel.
//!
//! The library is loaded at run time: it is not needed to build, and a preloaded library in
//! its place takes effect. Requests are sent once each, and retries are up to the caller: the managers
//! know how long to wait, and for which device.

mod agents;
mod convert;
mod error;
mod library;
mod port;
mod presence;
mod requests;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tokio::sync::mpsc;
use weft_wire::header::class;
use weft_wire::id::Guid;

pub use error::UmadError;
use port::{Port, Received};
pub use presence::files_are_of_the_past;

use crate::connection::{Connection, Endpoint, FromFabric, ToFabric, pair};
use crate::port::Registration;

/// Queue length in each direction, batches.
const BATCHES: usize = 256;
/// Datagrams in one batch from the kernel.
const BATCH_MAX: usize = 256;
/// Polling interval of the receiving thread, after which it checks whether to end.
const WAIT_MS: i32 = 100;

/// Selects a port of an HFI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PortSpec {
    /// A device by its name, such as `hfi1_0`.
    Name {
        /// Its name.
        device: String,
        /// The port, from 1.
        port: u8,
    },
    /// A device by its number, as in `<Hfi>` and `<Port>` of opafm.xml.
    Number {
        /// The device in order of names, from 1.
        hfi: u32,
        /// The port, from 1.
        port: u8,
    },
    /// The port with this GUID (`<PortGUID>`).
    Guid(Guid),
}

impl fmt::Display for PortSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { device, port } => write!(f, "{device}:{port}"),
            Self::Number { hfi, port } => write!(f, "HFI {hfi} port {port}"),
            Self::Guid(guid) => write!(f, "the port with GUID {guid}"),
        }
    }
}

impl FromStr for PortSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (device, port) = text.split_once(':').unwrap_or((text, "1"));
        let port = port.parse::<u8>().ok().filter(|port| *port > 0);
        match port.filter(|_| !device.is_empty()) {
            Some(port) => Ok(Self::Name {
                device: device.to_owned(),
                port,
            }),
            None => Err(format!(
                "{text:?} is no HFI port, wanted DEVICE:PORT such as hfi1_0:1"
            )),
        }
    }
}

/// Opens an HFI port, to serve the management classes in `classes` there, and to read counters. A
/// program that serves subnet management counts as a subnet manager (IsSM) from here on until it
/// changes that. The connection ends within a second after the device has gone, with or without
/// traffic; call again to reconnect.
///
/// # Errors
/// [`UmadError`].
pub fn open(spec: &PortSpec, classes: &[u8]) -> Result<Connection, UmadError> {
    let port = Arc::new(Port::open(spec, classes)?);
    if classes.contains(&class::SM_DIRECTED_ROUTE) {
        port.set_is_sm(true)?;
    }
    let (connection, endpoint) = pair(port.guid(), port.number(), BATCHES);
    let Endpoint { receiver, sender } = endpoint;
    let over = Arc::new(AtomicBool::new(false));
    let (sending, receiving) = (Arc::clone(&port), port);
    let (ended, end) = (Arc::clone(&over), over);
    // A sender that is kept while nothing is to be sent would keep the connection open.
    let answers = sender.downgrade();
    spawn("umad-send", move || {
        send(&sending, receiver, &answers);
        ended.store(true, Ordering::Relaxed);
    })?;
    spawn("umad-recv", move || receive(&receiving, &sender, &end))?;
    Ok(connection)
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), UmadError> {
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(work);
    spawned.map(drop).map_err(UmadError::Thread)
}

/// Sends the program's datagrams until the program or the device has gone. The classes are fixed
/// when the port is opened, and the port's state is read from its agent.
fn send(
    port: &Port,
    mut from_program: mpsc::Receiver<ToFabric>,
    to_program: &mpsc::WeakSender<FromFabric>,
) {
    let mut buffer = port.buffer();
    while let Some(sent) = from_program.blocking_recv() {
        let done = match sent {
            ToFabric::IsSm(is_sm) => port.set_is_sm(is_sm).is_ok(),
            ToFabric::Packets(packets) => packets
                .into_iter()
                .all(|mut packet| port.send(&mut buffer, &mut packet).is_ok()),
            ToFabric::Register(Registration { token, .. }) => {
                let accepted = false;
                let answer = FromFabric::Registered { token, accepted };
                let to_program = to_program.upgrade();
                to_program.is_some_and(|to| to.blocking_send(answer).is_ok())
            }
            ToFabric::Watch | ToFabric::Unregister(_) => true,
        };
        if !done {
            return;
        }
    }
}

/// Receives for the program, until it has gone or the device has.
fn receive(port: &Port, to_program: &mpsc::Sender<FromFabric>, over: &AtomicBool) {
    let mut buffer = port.buffer();
    while !over.load(Ordering::Relaxed) {
        let mut batch = Vec::new();
        let mut wait_ms = WAIT_MS;
        while batch.len() < BATCH_MAX {
            match port.receive(&mut buffer, wait_ms) {
                Ok(Received::Packet(packet)) => batch.push(packet),
                Ok(Received::Other) => {}
                Ok(Received::Nothing) => break,
                Err(_) => return,
            }
            wait_ms = 0;
        }
        if !batch.is_empty()
            && to_program
                .blocking_send(FromFabric::Packets(batch))
                .is_err()
        {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_port_is_named_as_device_and_number() {
        let name = |device: &str, port| PortSpec::Name {
            device: device.to_owned(),
            port,
        };
        assert_eq!("hfi1_0:2".parse(), Ok(name("hfi1_0", 2)));
        assert_eq!("hfi1_1".parse(), Ok(name("hfi1_1", 1)));
        for wrong in ["", ":1", "hfi1_0:", "hfi1_0:0", "hfi1_0:256", "hfi1_0:x"] {
            assert!(wrong.parse::<PortSpec>().is_err(), "{wrong:?}");
        }
        assert_eq!(name("hfi1_0", 2).to_string(), "hfi1_0:2");
    }
}
