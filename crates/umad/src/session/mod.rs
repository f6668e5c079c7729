//! A process's connection to the fabric: the socket, the thread that reads it and keeps time, and
//! the file descriptors that programs wait on.

mod signal;
mod socket;
mod thread;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use thiserror::Error;
use weft_transport::frame::encode_packet;
use weft_transport::{Frame, PortStatus};

use crate::core::send::Outgoing;
use crate::core::{Agent, Core, Event, Message, PortId, Received, SendError, WatchId};
use crate::settings::Settings;
pub use signal::{Identity, Signal, wait_readable};
use socket::{Reader, Writer};

/// Timeout of requests to the fabric.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Why there is no session, or no more.
#[derive(Debug, Error)]
pub enum SessionError {
    /// The fabric cannot be reached.
    #[error("{address}: {error}")]
    Io {
        /// Its configured address.
        address: String,
        /// Why not.
        error: io::Error,
    },
    /// The fabric does not want the program.
    #[error("{address} refused: {reason}")]
    Refused {
        /// Its address.
        address: String,
        /// Why.
        reason: String,
    },
    /// It is no fabric.
    #[error("{address} is no Weft emulator: {what}")]
    Foreign {
        /// Its address.
        address: String,
        /// Its message.
        what: String,
    },
}

/// Why an agent is not registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RegisterError {
    /// The port is not open, or has too many agents.
    #[error("the port is not open or has too many agents")]
    NoRoom,
    /// Another agent on the host's port has some of the methods.
    #[error("another agent has registered for some of these methods")]
    Taken,
    /// The fabric is gone.
    #[error("the fabric is gone")]
    Gone,
}

/// Result of a program's attempt to receive.
#[derive(Debug)]
pub enum Reception {
    /// A message.
    Message(Message),
    /// A message that does not fit, its length in bytes, and whether its first segment would fit.
    TooLong {
        /// Bytes.
        len: usize,
        /// It has several segments, and the first would fit.
        first_fits: bool,
    },
    /// Nothing in time.
    Nothing,
    /// A signal to the process came first.
    Interrupted,
    /// The port is not open.
    NoPort,
    /// The fabric is gone.
    Gone,
}

/// Data behind the session's lock.
#[derive(Debug)]
struct State {
    core: Core,
    /// Signals for threads that wait for a message.
    ports: BTreeMap<PortId, Arc<Signal>>,
    /// Signals for threads that wait for an event.
    watches: BTreeMap<WatchId, Arc<Signal>>,
    next_watch: WatchId,
    /// The fabric's answers to registrations.
    registered: BTreeMap<u32, bool>,
    /// The fabric has said how the port stands.
    greeted: bool,
    /// The connection has ended.
    gone: bool,
}

/// A process's connection to the fabric.
#[derive(Debug)]
pub struct Session {
    state: Mutex<State>,
    /// Something came that a thread may wait for.
    news: Condvar,
    writer: Mutex<Writer>,
    /// Wakes the thread that keeps time.
    wake: Signal,
    start: Instant,
    port: u8,
    /// The socket's descriptors, as they were when it was opened.
    sockets: [RawFd; 2],
    /// Identity of the socket while it is open.
    socket: Option<Identity>,
}

/// Ends the session when the thread that reads its socket ends, by a panic too.
struct EndOnDrop<'a>(&'a Session);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Session {
    /// Connects and waits until the fabric has said how the port stands.
    ///
    /// # Errors
    /// [`SessionError`].
    pub fn open(settings: &Settings) -> Result<Arc<Self>, SessionError> {
        let (mut reader, writer, welcome) = socket::connect(settings)?;
        let failed = |error| SessionError::Io {
            address: settings.emulator.to_string(),
            error,
        };
        let sockets = [reader.as_fd().as_raw_fd(), writer.as_fd().as_raw_fd()];
        let session = Arc::new(Self {
            state: Mutex::new(State {
                core: Core::new(welcome.client.wrapping_add(1)),
                ports: BTreeMap::new(),
                watches: BTreeMap::new(),
                next_watch: 0,
                registered: BTreeMap::new(),
                greeted: false,
                gone: false,
            }),
            news: Condvar::new(),
            writer: Mutex::new(writer),
            wake: Signal::new().map_err(failed)?,
            start: Instant::now(),
            port: welcome.port.0,
            sockets,
            socket: Identity::of(sockets[0]),
        });
        let own = Arc::clone(&session);
        let work = move || own.run(|| own.turn(&mut reader));
        thread::spawn("weft-umad", work).map_err(failed)?;
        session.write_frame(&Frame::Watch);
        let state = session.wait_until(|state| state.greeted);
        let greeted = state.greeted;
        drop(state);
        match greeted {
            true => Ok(session),
            false => Err(failed(io::ErrorKind::TimedOut.into())),
        }
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something holds, the connection ends, or the fabric took too long.
    fn wait_until(&self, holds: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let until = Instant::now() + ANSWER_TIMEOUT;
        let mut state = self.lock();
        while !holds(&state) && !state.gone {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let woken = self.news.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        state
    }

    fn write_frame(&self, frame: &Frame) {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        self.write(&bytes);
    }

    fn write(&self, bytes: &[u8]) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if writer.write(bytes).is_err() {
            drop(writer);
            self.end();
        }
    }

    /// The number of the host's port.
    pub fn port(&self) -> u8 {
        self.port
    }

    /// State of the port.
    pub fn status(&self) -> PortStatus {
        self.lock().core.status().clone()
    }

    /// The socket's descriptors that are open, which a child of a fork has too: as long as it keeps
    /// them so, the fabric takes its parent for alive. Takes no lock.
    pub fn sockets(&self) -> impl Iterator<Item = RawFd> {
        let open = |fd: &RawFd| Identity::of(*fd) == self.socket;
        self.sockets.into_iter().filter(open)
    }

    /// Whether the connection has ended.
    pub fn is_gone(&self) -> bool {
        self.lock().gone
    }

    /// Opens a port that wakes by `signal` and is named by the descriptor of that.
    pub fn open_port(&self, id: PortId, signal: Arc<Signal>) {
        let mut state = self.lock();
        let closed = state.core.open_port(id);
        state.ports.insert(id, signal);
        drop(state);
        self.unregister(&closed);
    }

    /// Closes a port; returns whether it was open.
    pub fn close_port(&self, id: PortId) -> bool {
        let mut state = self.lock();
        let closed = state.core.close_port(id);
        let signal = state.ports.remove(&id);
        drop(state);
        self.unregister(&closed);
        // A thread that still waits at the port finds it closed.
        signal.map(|signal| signal.end()).is_some()
    }

    fn unregister(&self, keys: &[u32]) {
        for key in keys {
            self.write_frame(&Frame::Unregister { token: *key });
        }
    }

    /// The signal of a port.
    pub fn signal(&self, id: PortId) -> Option<Arc<Signal>> {
        self.lock().ports.get(&id).cloned()
    }

    /// Lets an agent in and returns its number at its port.
    ///
    /// # Errors
    /// [`RegisterError`].
    pub fn register(&self, agent: Agent) -> Result<u32, RegisterError> {
        let mut state = self.lock();
        if state.gone {
            return Err(RegisterError::Gone);
        }
        let (key, number) = state.core.add_agent(agent).ok_or(RegisterError::NoRoom)?;
        drop(state);
        let Some(registration) = agent.registration(key) else {
            return Ok(number);
        };
        self.write_frame(&Frame::Register(registration));
        let mut state = self.wait_until(|state| state.registered.contains_key(&key));
        let accepted = state.registered.remove(&key);
        if accepted == Some(true) {
            return Ok(number);
        }
        state.core.remove_agent(agent.port, number);
        Err(match accepted {
            Some(_) => RegisterError::Taken,
            None => RegisterError::Gone,
        })
    }

    /// Takes an agent out; returns whether it was there.
    pub fn unregister_agent(&self, port: PortId, number: u32) -> bool {
        let key = self.lock().core.remove_agent(port, number);
        self.unregister(key.as_slice());
        key.is_some()
    }

    /// Sends a message.
    ///
    /// # Errors
    /// [`SendError`].
    pub fn send(&self, port: PortId, outgoing: Outgoing) -> Result<(), SendError> {
        let mut state = self.lock();
        if state.gone {
            return Err(SendError::Gone);
        }
        let before = state.core.deadline();
        state.core.send(self.now(), port, outgoing)?;
        let sooner = state.core.deadline() != before;
        let bytes = state.packets();
        drop(state);
        self.write(&bytes);
        if sooner {
            self.wake.raise();
        }
        Ok(())
    }

    /// Waits for a message of at most `capacity` bytes; without a time, for ever.
    pub fn receive(&self, port: PortId, capacity: usize, patience: Option<Duration>) -> Reception {
        let until = patience.map(|patience| Instant::now() + patience);
        loop {
            let Some(signal) = self.signal(port) else {
                return Reception::NoPort;
            };
            match self.try_receive(port, capacity, &signal) {
                Reception::Nothing => {}
                found => return found,
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Reception::Nothing;
            }
            if wait_readable(signal.as_fd(), left).is_err() {
                return Reception::Interrupted;
            }
        }
    }

    fn try_receive(&self, port: PortId, capacity: usize, signal: &Signal) -> Reception {
        let mut state = self.lock();
        let received = state.core.receive(port, capacity);
        if !state.core.has_message(port) && !state.gone {
            signal.lower();
        }
        match received {
            Received::Message(message) => Reception::Message(message),
            Received::TooLong { len, first_fits } => Reception::TooLong { len, first_fits },
            Received::NoPort => Reception::NoPort,
            Received::Nothing if state.gone => Reception::Gone,
            Received::Nothing => Reception::Nothing,
        }
    }

    /// Announces a subnet manager here, until the process ends.
    pub fn set_is_sm(&self) {
        self.write_frame(&Frame::IsSm(true));
    }

    /// Starts to note events, each of which raises `signal`.
    pub fn add_watch(&self, signal: Arc<Signal>) -> WatchId {
        let mut state = self.lock();
        if state.gone {
            signal.end();
        }
        let id = state.next_watch;
        state.next_watch += 1;
        state.core.add_watch(id);
        state.watches.insert(id, signal);
        id
    }

    /// Stops it.
    pub fn remove_watch(&self, id: WatchId) {
        let mut state = self.lock();
        state.core.remove_watch(id);
        state.watches.remove(&id);
    }

    /// The next event.
    pub fn next_event(&self, id: WatchId) -> Option<Event> {
        self.lock().core.next_event(id)
    }

    /// Takes turns until one fails, which ends the session.
    fn run(&self, mut turn: impl FnMut() -> io::Result<()>) {
        let _end = EndOnDrop(self);
        while turn().is_ok() {}
    }

    /// Reads the socket, or lets time pass.
    ///
    /// # Errors
    /// When the connection has ended.
    fn turn(&self, reader: &mut Reader) -> io::Result<()> {
        let deadline = self.lock().core.deadline();
        let left = deadline.map(|at| at.saturating_sub(self.now()));
        let (readable, woken) = signal::wait_either(reader.as_fd(), self.wake.as_fd(), left);
        if woken {
            self.wake.lower();
        }
        let frames = match readable {
            true => reader.read()?,
            false => Vec::new(),
        };
        let mut state = self.lock();
        for frame in frames {
            state.take_in(self.now(), frame)?;
        }
        state.core.tick(self.now());
        state.raise();
        let bytes = state.packets();
        drop(state);
        self.news.notify_all();
        if !bytes.is_empty() {
            self.write(&bytes);
        }
        Ok(())
    }

    /// The connection has ended: wakes all waiting threads for good.
    fn end(&self) {
        let mut state = self.lock();
        if !std::mem::replace(&mut state.gone, true) {
            state.core.lose_device();
            state.raise();
        }
        let ports = state.ports.values();
        ports
            .chain(state.watches.values())
            .for_each(|signal| signal.end());
        drop(state);
        self.news.notify_all();
        self.wake.raise();
    }
}

impl State {
    fn take_in(&mut self, now: Duration, frame: Frame) -> io::Result<()> {
        match frame {
            Frame::Mad(packet) => self.core.arrive(now, packet),
            Frame::Port(status) => {
                self.core.set_status(status);
                self.greeted = true;
            }
            Frame::Registered { token, accepted } => {
                self.registered.insert(token, accepted);
            }
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
        Ok(())
    }

    /// Wakes the programs for which something has come.
    fn raise(&mut self) {
        for port in self.core.take_ready() {
            if let Some(signal) = self.ports.get(&port) {
                signal.raise();
            }
        }
        for (watch, count) in self.core.take_alert() {
            if let Some(signal) = self.watches.get(&watch) {
                signal.add(count);
            }
        }
    }

    /// The datagrams to send, as frames.
    fn packets(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for packet in self.core.take_packets() {
            encode_packet(&packet, &mut bytes);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::{Read, Write};
    use std::os::unix::net::{UnixListener, UnixStream};

    use weft_transport::{Address, Attach, Welcome};
    use weft_wire::id::{Guid, PortNum};

    use super::*;

    /// A session with a fabric that answers only the requests needed to open it.
    fn open() -> (Arc<Session>, UnixStream) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fabric.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let accepted = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let welcome = Welcome {
                guid: Guid(1),
                port: PortNum(1),
                client: 0,
            };
            // Hello is answered by Welcome, Watch by Port.
            for answer in [Frame::Welcome(welcome), Frame::Port(PortStatus::default())] {
                assert!(stream.read(&mut [0; 256]).unwrap() > 0);
                let mut bytes = Vec::new();
                answer.encode(&mut bytes);
                stream.write_all(&bytes).unwrap();
            }
            stream
        });
        let settings = Settings {
            emulator: Address::Unix(path),
            attach: Attach::FirstHost,
        };
        let session = Session::open(&settings).unwrap();
        (session, accepted.join().unwrap())
    }

    #[test]
    fn a_panic_of_the_thread_that_reads_wakes_everybody() {
        let (session, _fabric) = open();
        let (port, watch) = (
            Signal::new().unwrap(),
            Arc::new(Signal::counting().unwrap()),
        );
        session.open_port(3, Arc::new(port));
        let id = session.add_watch(Arc::clone(&watch));
        std::thread::scope(|scope| {
            let receiving = scope.spawn(|| session.receive(3, 2048, None));
            let watching = scope.spawn(|| watch.take());
            let reading = scope.spawn(|| session.run(|| panic!("as a mistake would")));
            assert!(reading.join().is_err());
            assert!(matches!(receiving.join().unwrap(), Reception::Gone));
            watching.join().unwrap().unwrap();
        });
        assert_eq!(session.next_event(id), Some(Event::DeviceFatal));
        assert!(session.is_gone());
    }
}
