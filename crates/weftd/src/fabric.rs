//! The fabric that the manager runs: at an HFI of this machine, emulated in this process, or behind
//! a socket.

use std::path::Path;
use std::time::Duration;

use tracing::{info, warn};
use weft_emulator::Options;
use weft_emulator::control::Controller;
use weft_emulator::host::{HostHandle, spawn};
use weft_emulator::server::{DEFAULT_ADDRESS, Server};
use weft_fabric::{FabricSpec, Guid, PortNum, Topology, powered_on};
use weft_transport::umad::{self, PortSpec};
use weft_transport::{Address, AddressError, Attach, Connection};
use weft_wire::header::class;

use crate::args::Args;
use crate::error::DaemonError;

/// Management classes that the daemon serves.
const CLASSES: [u8; 5] = [
    class::SM_LID_ROUTED,
    class::SM_DIRECTED_ROUTE,
    class::SUBN_ADM,
    class::PA,
    class::SM_DBSYNC,
];
/// Time limit for attaching.
const ATTACH: Duration = Duration::from_secs(10);
/// The port of an HFI that the manager runs on.
const PORT: PortNum = PortNum(1);

/// Location of the fabric.
pub(crate) enum Source {
    /// In this process.
    Emulated {
        /// The emulator's thread.
        host: HostHandle,
        /// The HFI that the manager runs on.
        attach: Attach,
    },
    /// Behind a socket.
    Socket {
        /// Where.
        address: Address,
        /// The HFI that the manager runs on.
        attach: Attach,
    },
    /// At an HFI of this machine.
    Hardware {
        /// Its port.
        port: PortSpec,
    },
}

impl Source {
    /// Brings the fabric about that the command line names, else the one at the HFI port that the
    /// configuration names.
    pub(crate) fn open(args: &Args, configured: PortSpec) -> Result<Self, DaemonError> {
        let attach = match args.host {
            Some(guid) => Attach::Node { guid, port: PORT },
            None => Attach::FirstHost,
        };
        match (&args.emulate, &args.connect) {
            (Some(spec), _) => {
                let options = Options {
                    seed: args.seed,
                    ..Options::default()
                };
                let mut topology = topology(spec)?;
                let own: Vec<Guid> = args.host.into_iter().collect();
                powered_on::limit_managers(&mut topology, powered_on::MANAGERS, &own);
                let host = spawn(topology, options);
                let host = host.map_err(|error| DaemonError::Fabric(error.to_string()))?;
                Ok(Self::Emulated { host, attach })
            }
            (None, Some(address)) => {
                let address = address.parse::<Address>();
                let address = address.map_err(|error| DaemonError::Fabric(error.to_string()))?;
                Ok(Self::Socket { address, attach })
            }
            (None, None) => Ok(Self::Hardware {
                port: args.hfi.clone().unwrap_or(configured),
            }),
        }
    }

    /// Attaches to the HFI that the manager runs on.
    ///
    /// # Errors
    /// [`DaemonError::Fabric`], also on a timeout: an address may silently drop all
    /// packets.
    pub(crate) async fn attach(&self) -> Result<Connection, DaemonError> {
        let attached = tokio::time::timeout(ATTACH, self.attach_at_length()).await;
        let seconds = ATTACH.as_secs();
        attached.unwrap_or_else(|_| {
            let why = format!("the fabric has not answered for {seconds} s");
            Err(DaemonError::Fabric(why))
        })
    }

    async fn attach_at_length(&self) -> Result<Connection, DaemonError> {
        match self {
            Self::Emulated { host, attach } => {
                let attached = host.connect(attach.clone(), &CLASSES).await;
                attached.map_err(|error| DaemonError::Fabric(error.to_string()))
            }
            Self::Socket { address, attach } => {
                let attached = weft_transport::connect(address, attach.clone(), CLASSES.to_vec());
                attached
                    .await
                    .map_err(|error| DaemonError::Fabric(error.to_string()))
            }
            Self::Hardware { port } => {
                umad::open(port, &CLASSES).map_err(|error| DaemonError::Fabric(error.to_string()))
            }
        }
    }

    /// Handle for changes of an emulated fabric; `None` for a real one.
    pub(crate) fn controller(&self) -> Option<Controller> {
        match self {
            Self::Emulated { host, .. } => Some(Controller::Here(host.clone())),
            Self::Socket { address, .. } => Some(Controller::Socket(address.clone())),
            Self::Hardware { .. } => None,
        }
    }

    /// The socket at which the emulated fabric of this process takes changes: the one that is asked for, else one in the
    /// state directory, else the one where `weft-emulator ctl` looks by itself. One that is not asked for is only missed in
    /// the log where it cannot be opened, as where another emulator has it.
    pub(crate) async fn listen(
        &self,
        asked: Option<&str>,
        state: Option<&Path>,
    ) -> Result<Option<ControlSocket>, DaemonError> {
        let Self::Emulated { host, .. } = self else {
            return Ok(None);
        };
        let refuse = |why: String| DaemonError::Fabric(format!("--control: {why}"));
        let address = match (asked, state) {
            (Some(text), _) => text
                .parse()
                .map_err(|error: AddressError| refuse(error.to_string()))?,
            (None, Some(dir)) => Address::Unix(dir.join("emulator.sock")),
            (None, None) => DEFAULT_ADDRESS
                .parse()
                .map_err(|error: AddressError| refuse(error.to_string()))?,
        };
        if matches!(address, Address::Tcp { .. }) {
            return Err(refuse(format!("{address} is no path, allowed: unix:PATH")));
        }
        match Server::listen(&address, false).await {
            Ok(server) => {
                info!(
                    event = "emulator_control",
                    address = %server.address(),
                    "faults by hand: weft-emulator ctl --connect {} link-down 5%",
                    server.address()
                );
                let host = host.clone();
                Ok(Some(ControlSocket { server, host }))
            }
            Err(error) if asked.is_some() => Err(refuse(error.to_string())),
            Err(error) => {
                warn!(
                    event = "emulator_control",
                    "no faults by hand: {error}; --control chooses another socket"
                );
                Ok(None)
            }
        }
    }

    /// Ends the emulator in this process, if there is one.
    pub(crate) async fn stop(&self) {
        if let Self::Emulated { host, .. } = self {
            host.stop().await;
        }
    }

    /// Why it cannot come back to this process, if it cannot.
    pub(crate) fn lost_for_good(&self) -> Option<DaemonError> {
        match self {
            Self::Emulated { .. } => {
                let why = "the emulated fabric has ended".to_owned();
                Some(DaemonError::Manager(why))
            }
            Self::Hardware { .. } if umad::files_are_of_the_past() => {
                let why = "/dev/infiniband was removed, and this process does not see the new one; started anew it does";
                Some(DaemonError::Fabric(why.to_owned()))
            }
            Self::Hardware { .. } | Self::Socket { .. } => None,
        }
    }
}

/// A socket of an emulated fabric.
pub(crate) struct ControlSocket {
    server: Server,
    host: HostHandle,
}

impl ControlSocket {
    /// Takes changes until the daemon stops; the socket is removed then.
    pub(crate) async fn run(self, stop: impl Future<Output = ()>) {
        self.server.run(self.host, stop).await;
    }
}

fn topology(text: &str) -> Result<Topology, DaemonError> {
    let refuse = |why: String| DaemonError::Fabric(format!("--emulate {text}: {why}"));
    let spec: FabricSpec = text
        .parse()
        .map_err(|error: weft_fabric::SpecError| refuse(error.to_string()))?;
    let FabricSpec::File(path) = &spec else {
        return spec.generate().map_err(|error| refuse(error.to_string()));
    };
    let bytes = std::fs::read(path).map_err(|error| refuse(error.to_string()))?;
    let snapshot = weft_fabric::import::import_fabric(&bytes);
    let snapshot = snapshot.map_err(|error| refuse(error.to_string()))?;
    // What was recorded of a running fabric is left: the emulated one has just been switched on.
    powered_on::restart(&snapshot.topology).map_err(|error| refuse(error.to_string()))
}
