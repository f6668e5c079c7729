//! The kernel's MAD layer between programs and a port, without I/O.
//!
//! The owner calls [`Core::send`], [`Core::arrive`], [`Core::tick`] with the time, then sends the packets
//! from [`Core::take_packets`] and wakes the ports in [`Core::take_ready`].
//!
//! | module | purpose |
//! |---|---|
//! | [`agents`] | registrations |
//! | [`requests`] | requests that wait for an answer |
//! | [`assembly`] | reassembly of segments, for agents that leave RMPP to the kernel |
//! | [`transfer`] | segmentation of messages, for these agents |
//! | [`deadlines`] | deadlines of all of these |
//! | [`address`] | user addresses to packets and back |
//! | [`port`] | state of the port, and the events when that changes |

pub mod address;
pub mod agents;
mod arrive;
pub mod assembly;
pub mod deadlines;
pub mod port;
pub mod requests;
pub mod send;
pub mod transfer;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use thiserror::Error;
use weft_transport::PortStatus;
use weft_wire::Layout;
use weft_wire::header::MadHeader;
use weft_wire::packet::Packet;

pub use address::{Address, GlobalRoute};
use agents::Agents;
pub use agents::{Agent, RmppOwner};
use assembly::Assemblies;
pub use port::{Event, Watch};
use requests::Requests;
use transfer::Transfers;

/// The name that a program has for an open port: its file descriptor.
pub type PortId = i32;
/// The name that a program has for a registered device context.
pub type WatchId = u64;

/// Most messages that wait for a program at one open port; later ones are dropped.
pub const QUEUE_MAX: usize = 65_536;
/// Status of a message that is returned without an answer (`ETIMEDOUT`).
pub const STATUS_TIMED_OUT: u32 = 110;

/// A message that a program gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The agent that it is for, by its number at the open port.
    pub agent: u32,
    /// 0, or [`STATUS_TIMED_OUT`].
    pub status: u32,
    /// Timeout of a returned request, milliseconds; 0 otherwise.
    pub timeout_ms: u32,
    /// Number of retries of a returned request; 0 otherwise.
    pub retries: u32,
    /// Its source, or the destination of a returned request.
    pub address: Address,
    /// The datagram, or the message put together from several.
    pub data: Vec<u8>,
}

/// Why a message is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SendError {
    /// The port is not open.
    #[error("the port is not open")]
    NoPort,
    /// No agent has the number at this port.
    #[error("no agent has this number at this port")]
    NoAgent,
    /// The message is too short for its header, or too long for one datagram.
    #[error("a message of {len} bytes")]
    Length {
        /// Its length.
        len: usize,
    },
    /// The P_Key table has no such entry.
    #[error("no entry {index} in the P_Key table")]
    PKeyIndex {
        /// The index.
        index: u16,
    },
    /// The agent waits for the answer to a message with the same transaction id already.
    #[error("the transaction id is in use")]
    Duplicate,
    /// Too much waits already.
    #[error("too many messages wait for their answers")]
    Busy,
    /// There is no fabric any more.
    #[error("the fabric is gone")]
    Gone,
}

/// Result of receiving at a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    /// Nothing yet.
    Nothing,
    /// The port is not open.
    NoPort,
    /// A message.
    Message(Message),
    /// A message that does not fit; it stays.
    TooLong {
        /// Its length.
        len: usize,
        /// It has several segments, and the first would fit.
        first_fits: bool,
    },
}

#[derive(Debug, Default)]
struct OpenPort {
    queue: VecDeque<Message>,
}

/// A kernel's view of one HFI port and of the programs on it.
#[derive(Debug)]
pub struct Core {
    status: PortStatus,
    ports: BTreeMap<PortId, OpenPort>,
    agents: Agents,
    requests: Requests,
    assemblies: Assemblies,
    transfers: Transfers,
    watches: BTreeMap<WatchId, Watch>,
    packets: Vec<Packet>,
    ready: BTreeSet<PortId>,
    alert: BTreeSet<WatchId>,
}

impl Core {
    /// A port without programs. `client` is the fabric's number of this process; it keeps the
    /// transaction ids of its agents apart from those of others.
    pub fn new(client: u32) -> Self {
        Self {
            status: PortStatus::default(),
            ports: BTreeMap::new(),
            agents: Agents::new(client),
            requests: Requests::default(),
            assemblies: Assemblies::default(),
            transfers: Transfers::default(),
            watches: BTreeMap::new(),
            packets: Vec::new(),
            ready: BTreeSet::new(),
            alert: BTreeSet::new(),
        }
    }

    /// State of the port.
    pub fn status(&self) -> &PortStatus {
        &self.status
    }

    /// Sets the state of the port.
    pub fn set_status(&mut self, status: PortStatus) {
        let events = port::events(&self.status, &status);
        self.status = status;
        for (id, watch) in &mut self.watches {
            if watch.add(&events) {
                self.alert.insert(*id);
            }
        }
    }

    /// Notifies all programs that the device is gone.
    pub fn lose_device(&mut self) {
        for (id, watch) in &mut self.watches {
            watch.add_last(Event::DeviceFatal);
            self.alert.insert(*id);
        }
    }

    /// Opens a port; one that was open by this number is closed first.
    pub fn open_port(&mut self, id: PortId) -> Vec<u32> {
        let closed = self.close_port(id);
        self.ports.insert(id, OpenPort::default());
        closed
    }

    /// Closes a port with its agents; returns which registrations end with it.
    pub fn close_port(&mut self, id: PortId) -> Vec<u32> {
        self.ports.remove(&id);
        self.ready.remove(&id);
        let keys = self.agents.remove_port(id);
        keys.iter().for_each(|key| self.forget(*key));
        keys
    }

    /// Whether a port is open.
    pub fn is_open(&self, id: PortId) -> bool {
        self.ports.contains_key(&id)
    }

    /// Lets an agent in and returns its key, which the fabric knows it by, and its number at the port.
    pub fn add_agent(&mut self, agent: Agent) -> Option<(u32, u32)> {
        if !self.is_open(agent.port) {
            return None;
        }
        self.agents.add(agent)
    }

    /// Takes an agent out and returns its key.
    pub fn remove_agent(&mut self, port: PortId, number: u32) -> Option<u32> {
        let key = self.agents.remove(port, number)?;
        self.forget(key);
        Some(key)
    }

    fn forget(&mut self, key: u32) {
        self.requests.forget(key);
        self.assemblies.forget(key);
        self.transfers.forget(key);
    }

    /// Passes a message to a program that accepts up to `capacity` bytes.
    pub fn receive(&mut self, id: PortId, capacity: usize) -> Received {
        let Some(port) = self.ports.get_mut(&id) else {
            return Received::NoPort;
        };
        let Some(first) = port.queue.front() else {
            return Received::Nothing;
        };
        let len = first.data.len();
        if len > capacity {
            let segment = transfer::segment_len(&first.data);
            return Received::TooLong {
                len,
                first_fits: len > segment && capacity >= segment,
            };
        }
        match port.queue.pop_front() {
            Some(message) => Received::Message(message),
            None => Received::Nothing,
        }
    }

    /// Whether something waits at a port.
    pub fn has_message(&self, id: PortId) -> bool {
        let port = self.ports.get(&id);
        port.is_some_and(|port| !port.queue.is_empty())
    }

    /// Puts a message where its agent's program finds it.
    fn give(&mut self, port: PortId, message: Message) {
        if let Some(open) = self.ports.get_mut(&port)
            && open.queue.len() < QUEUE_MAX
        {
            open.queue.push_back(message);
            self.ready.insert(port);
        }
    }

    /// Starts to note events for a program.
    pub fn add_watch(&mut self, id: WatchId) {
        self.watches.insert(id, Watch::default());
    }

    /// Stops it.
    pub fn remove_watch(&mut self, id: WatchId) {
        self.watches.remove(&id);
        self.alert.remove(&id);
    }

    /// The next event for a program.
    pub fn next_event(&mut self, id: WatchId) -> Option<Event> {
        self.watches.get_mut(&id)?.next()
    }

    /// The datagrams to send now.
    pub fn take_packets(&mut self) -> Vec<Packet> {
        std::mem::take(&mut self.packets)
    }

    /// The ports at which messages have come in.
    pub fn take_ready(&mut self) -> BTreeSet<PortId> {
        std::mem::take(&mut self.ready)
    }

    /// The watches with new events, with the number of events of each.
    pub fn take_alert(&mut self) -> Vec<(WatchId, usize)> {
        let alert = std::mem::take(&mut self.alert);
        let news = |id: WatchId| Some((id, self.watches.get_mut(&id)?.take_news()));
        alert.into_iter().filter_map(news).collect()
    }

    /// When [`Self::tick`] has something to do next.
    pub fn deadline(&self) -> Option<Duration> {
        let requests = self.requests.deadline();
        let assemblies = self.assemblies.deadline();
        let transfers = self.transfers.deadline();
        [requests, assemblies, transfers]
            .into_iter()
            .flatten()
            .min()
    }

    /// Retries overdue requests, and returns those that failed.
    pub fn tick(&mut self, now: Duration) {
        self.assemblies.expire(now);
        while let Some(due) = self.requests.due(now) {
            match due {
                requests::Due::Again(packet) => self.packets.push(packet),
                requests::Due::Over(request) => self.give_back(request.returned),
            }
        }
        while let Some(over) = self.transfers.due(now, &mut self.packets) {
            self.give_back(over);
        }
    }

    /// Returns an unanswered message, as far as a kernel does: its common header.
    fn give_back(&mut self, (port, mut message): (PortId, Message)) {
        message.status = STATUS_TIMED_OUT;
        message.data.truncate(MadHeader::LEN);
        self.give(port, message);
    }
}
