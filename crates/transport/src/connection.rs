//! A program's end of its connection to the fabric.

use thiserror::Error;
use tokio::sync::mpsc;
use weft_wire::id::{Guid, PortNum};
use weft_wire::packet::Packet;

use crate::port::{PortStatus, Registration};

/// Messages from a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToFabric {
    /// Datagrams from its port.
    Packets(Vec<Packet>),
    /// It runs a subnet manager, or does no longer: then SMInfo requests are for it.
    IsSm(bool),
    /// It wants to know how its port stands.
    Watch,
    /// It wants certain requests and traps.
    Register(Registration),
    /// It does not want them any longer; the registration's token.
    Unregister(u32),
}

/// Messages to a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FromFabric {
    /// Datagrams for its port.
    Packets(Vec<Packet>),
    /// State of the program's port, if it asked for it.
    Port(PortStatus),
    /// Whether a registration holds.
    Registered {
        /// Which.
        token: u32,
        /// Whether it holds.
        accepted: bool,
    },
}

/// The other end has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the connection to the fabric is closed")]
pub struct Closed;

/// A program's end: datagrams of one HFI port, in batches, in both directions.
#[derive(Debug)]
pub struct Connection {
    guid: Guid,
    port: PortNum,
    sender: ConnectionSender,
    receiver: ConnectionReceiver,
}

/// The sending half of a [`Connection`].
#[derive(Debug, Clone)]
pub struct ConnectionSender(mpsc::Sender<ToFabric>);

/// The receiving half of a [`Connection`].
#[derive(Debug)]
pub struct ConnectionReceiver(mpsc::Receiver<FromFabric>);

/// The fabric's end of a [`Connection`].
#[derive(Debug)]
pub struct Endpoint {
    /// Messages from the program; ends when the program has dropped its end.
    pub receiver: mpsc::Receiver<ToFabric>,
    /// Messages to the program. A full channel means that the program is too slow.
    pub sender: mpsc::Sender<FromFabric>,
}

/// The two ends of a connection in one process; each direction holds up to `batches` batches.
///
/// # Panics
/// When `batches` is 0.
pub fn pair(guid: Guid, port: PortNum, batches: usize) -> (Connection, Endpoint) {
    let (to_fabric, from_program) = mpsc::channel(batches);
    let (to_program, from_fabric) = mpsc::channel(batches);
    let connection = Connection {
        guid,
        port,
        sender: ConnectionSender(to_fabric),
        receiver: ConnectionReceiver(from_fabric),
    };
    let endpoint = Endpoint {
        receiver: from_program,
        sender: to_program,
    };
    (connection, endpoint)
}

impl Connection {
    /// The HFI that the program is on.
    pub fn guid(&self) -> Guid {
        self.guid
    }

    /// Its port.
    pub fn port(&self) -> PortNum {
        self.port
    }

    /// See [`ConnectionSender::send`].
    ///
    /// # Errors
    /// [`Closed`].
    pub async fn send(&self, packets: Vec<Packet>) -> Result<(), Closed> {
        self.sender.send(packets).await
    }

    /// See [`ConnectionSender::set_is_sm`].
    ///
    /// # Errors
    /// [`Closed`].
    pub async fn set_is_sm(&self, is_sm: bool) -> Result<(), Closed> {
        self.sender.set_is_sm(is_sm).await
    }

    /// See [`ConnectionReceiver::recv`].
    pub async fn recv(&mut self) -> Option<Vec<Packet>> {
        self.receiver.recv().await
    }

    /// Both halves, to be used by two tasks.
    pub fn split(self) -> (ConnectionSender, ConnectionReceiver) {
        (self.sender, self.receiver)
    }
}

impl ConnectionSender {
    /// Sends datagrams; waits while the channel is full.
    ///
    /// # Errors
    /// [`Closed`] when the other end has gone.
    pub async fn send(&self, packets: Vec<Packet>) -> Result<(), Closed> {
        let sent = self.0.send(ToFabric::Packets(packets)).await;
        sent.map_err(|_| Closed)
    }

    /// Sends a message; waits while the channel is full.
    ///
    /// # Errors
    /// [`Closed`] when the other end has gone.
    pub async fn tell(&self, what: ToFabric) -> Result<(), Closed> {
        self.0.send(what).await.map_err(|_| Closed)
    }

    /// Reports whether the program runs a subnet manager.
    ///
    /// # Errors
    /// [`Closed`] when the other end has gone.
    pub async fn set_is_sm(&self, is_sm: bool) -> Result<(), Closed> {
        let sent = self.0.send(ToFabric::IsSm(is_sm)).await;
        sent.map_err(|_| Closed)
    }
}

impl ConnectionReceiver {
    /// The next datagrams; none when the other end has gone. Whatever else comes is passed over.
    pub async fn recv(&mut self) -> Option<Vec<Packet>> {
        loop {
            if let FromFabric::Packets(packets) = self.0.recv().await? {
                return Some(packets);
            }
        }
    }

    /// Datagrams that are there already. Whatever else comes is passed over.
    pub fn try_recv(&mut self) -> Option<Vec<Packet>> {
        loop {
            if let FromFabric::Packets(packets) = self.0.try_recv().ok()? {
                return Some(packets);
            }
        }
    }

    /// The next of anything; none when the other end has gone.
    pub async fn recv_any(&mut self) -> Option<FromFabric> {
        self.0.recv().await
    }

    /// Returns a message that is already there.
    pub fn try_recv_any(&mut self) -> Option<FromFabric> {
        self.0.try_recv().ok()
    }
}
