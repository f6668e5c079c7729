//! An emulated fabric that lives on the wall clock: a thread that runs the core, and programs
//! attached to its hosts.
//!
//! [`spawn`] or [`spawn_task`] starts it; [`HostHandle::connect`] attaches a program. The fabric lives as long as a
//! handle or a connection does. [`crate::server`] lets programs of other processes in.

mod clients;
mod numbers;
mod outbox;
mod run;
mod status;

use std::io;
use std::sync::Arc;

use thiserror::Error;
use tokio::sync::{mpsc, oneshot};
use weft_fabric::{Guid, PortNum, Tick, Topology};
use weft_transport::{Attach, Connection, Endpoint, ToFabric, Welcome, pair};

use crate::io::{Control, ControlError};
use crate::traffic::TrafficReport;
use crate::{Emulator, Options};

/// Queue length of requests to the core; further senders wait.
const INBOX: usize = 1024;

/// Limits of what waits for a program that reads too slowly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Batches in flight.
    pub batches: usize,
    /// Most datagrams in a batch.
    pub batch_len: usize,
    /// Most datagrams that wait for a batch to be taken; more are lost.
    pub backlog: usize,
}

impl Patience {
    /// For programs in this process.
    pub const IN_PROCESS: Self = Self {
        batches: 64,
        batch_len: 1024,
        backlog: 196_608,
    };
    /// For sockets: at most 32 MiB of datagrams.
    pub const SOCKET: Self = Self {
        batches: 16,
        batch_len: 256,
        backlog: 12_288,
    };
}

/// Why a program cannot be where it wants to be.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum AttachError {
    /// No such HFI or port.
    #[error(transparent)]
    NoPlace(#[from] ControlError),
    /// No HFI has the name.
    #[error("no host is called {name:?} in the emulated fabric")]
    NoName {
        /// The name.
        name: String,
    },
    /// The fabric has no HFI.
    #[error("the emulated fabric has no host")]
    NoHosts,
    /// Another program serves a class there.
    #[error(
        "another program on port {port} of {node} serves management class {class:#04x} already"
    )]
    ClassTaken {
        /// The HFI.
        node: Guid,
        /// Its port.
        port: PortNum,
        /// The class.
        class: u8,
    },
    /// Too many programs.
    #[error("{max} programs are attached already")]
    Full {
        /// The maximum number.
        max: usize,
    },
    /// The fabric has been stopped.
    #[error("the emulated fabric has been stopped")]
    Stopped,
}

/// Why a change was not made.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum RequestError {
    /// It makes no sense.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The fabric has been stopped.
    #[error("the emulated fabric has been stopped")]
    Stopped,
}

type ClientId = u64;
type Inspection = Box<dyn FnOnce(&Emulator) + Send>;

/// Commands to the core's thread.
enum Command {
    Attach {
        attach: Attach,
        classes: Vec<u8>,
        patience: Patience,
        /// For the task that forwards the program's datagrams.
        inbox: mpsc::Sender<Command>,
        reply: oneshot::Sender<Result<Attached, AttachError>>,
    },
    Sent {
        client: ClientId,
        sent: ToFabric,
    },
    Detach {
        client: ClientId,
    },
    Control {
        control: Control,
        reply: oneshot::Sender<Result<Tick, ControlError>>,
    },
    Inspect(Inspection),
    Stop,
}

/// A program that was let in: its end, and where it is.
struct Attached {
    connection: Connection,
    welcome: Welcome,
}

/// Handle to a running fabric.
#[derive(Debug, Clone)]
pub struct HostHandle {
    inbox: mpsc::Sender<Command>,
}

impl std::fmt::Debug for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Command")
    }
}

/// Switches a fabric on and runs it on a thread of its own.
///
/// # Errors
/// [`SpawnError`] when the options are out of range or there is no thread to be had.
pub fn spawn(
    topology: impl Into<Arc<Topology>>,
    options: Options,
) -> Result<HostHandle, SpawnError> {
    let emulator = Emulator::new(topology, options)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    let (inbox, commands) = mpsc::channel(INBOX);
    std::thread::Builder::new()
        .name("fabric".to_owned())
        .spawn(move || runtime.block_on(run::run(emulator, commands)))?;
    Ok(HostHandle { inbox })
}

/// Switches a fabric on and runs it as a task of the caller's Tokio runtime. In a runtime of one
/// thread, which also serves the sockets, a datagram and its answer wake no other thread.
///
/// # Errors
/// [`ControlError`] when the options are out of range.
///
/// # Panics
/// Outside of a Tokio runtime with timers.
pub fn spawn_task(
    topology: impl Into<Arc<Topology>>,
    options: Options,
) -> Result<HostHandle, ControlError> {
    let emulator = Emulator::new(topology, options)?;
    let (inbox, commands) = mpsc::channel(INBOX);
    tokio::spawn(run::run(emulator, commands));
    Ok(HostHandle { inbox })
}

/// Why a fabric cannot be run.
#[derive(Debug, Error)]
pub enum SpawnError {
    /// An option is out of range.
    #[error(transparent)]
    Options(#[from] ControlError),
    /// The system cannot create a thread.
    #[error("no thread for the emulated fabric: {0}")]
    Thread(#[from] io::Error),
}

impl HostHandle {
    /// Attaches a program to a port of a host, to serve the management classes in `classes` there:
    /// requests and traps of those are for it, and the answers to its own requests.
    ///
    /// # Errors
    /// [`AttachError`].
    pub async fn connect(&self, attach: Attach, classes: &[u8]) -> Result<Connection, AttachError> {
        let attached = self.attach(attach, classes.to_vec(), Patience::IN_PROCESS);
        Ok(attached.await?.connection)
    }

    async fn attach(
        &self,
        attach: Attach,
        classes: Vec<u8>,
        patience: Patience,
    ) -> Result<Attached, AttachError> {
        let (reply, answer) = oneshot::channel();
        let command = Command::Attach {
            attach,
            classes,
            patience,
            inbox: self.inbox.clone(),
            reply,
        };
        self.tell(command)
            .await
            .map_err(|()| AttachError::Stopped)?;
        answer.await.map_err(|_| AttachError::Stopped)?
    }

    /// Like [`Self::connect`], for a socket's server: with stricter limits, and returns the program's port.
    ///
    /// # Errors
    /// [`AttachError`].
    pub(crate) async fn connect_socket(
        &self,
        attach: Attach,
        classes: Vec<u8>,
    ) -> Result<(Connection, Welcome), AttachError> {
        let attached = self.attach(attach, classes, Patience::SOCKET).await?;
        Ok((attached.connection, attached.welcome))
    }

    /// Changes the fabric; when that was, by its clock.
    ///
    /// # Errors
    /// [`RequestError`].
    pub async fn control(&self, control: Control) -> Result<Tick, RequestError> {
        let (reply, answer) = oneshot::channel();
        let told = self.tell(Command::Control { control, reply }).await;
        told.map_err(|()| RequestError::Stopped)?;
        Ok(answer.await.map_err(|_| RequestError::Stopped)??)
    }

    /// Looks at the fabric between two things that happen in it; meanwhile it stands still.
    ///
    /// # Errors
    /// [`RequestError::Stopped`].
    pub async fn inspect<R: Send + 'static>(
        &self,
        look: impl FnOnce(&Emulator) -> R + Send + 'static,
    ) -> Result<R, RequestError> {
        let (reply, answer) = oneshot::channel();
        let inspection: Inspection = Box::new(move |emulator| {
            // The requester may have gone.
            drop(reply.send(look(emulator)));
        });
        let told = self.tell(Command::Inspect(inspection)).await;
        told.map_err(|()| RequestError::Stopped)?;
        answer.await.map_err(|_| RequestError::Stopped)
    }

    /// Current state of the traffic jobs.
    ///
    /// # Errors
    /// [`RequestError::Stopped`].
    pub async fn traffic(&self) -> Result<TrafficReport, RequestError> {
        self.inspect(Emulator::traffic).await
    }

    /// Stops the fabric; all connections end.
    pub async fn stop(&self) {
        // It may have been stopped already.
        let _stopped = self.tell(Command::Stop).await;
    }

    async fn tell(&self, command: Command) -> Result<(), ()> {
        self.inbox.send(command).await.map_err(|_| ())
    }
}

/// Both ends of a connection for one program.
fn connection(guid: Guid, port: PortNum, patience: Patience) -> (Connection, Endpoint) {
    pair(guid, port, patience.batches)
}
