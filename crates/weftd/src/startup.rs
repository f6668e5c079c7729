//! Opens everything that the daemon needs before it runs; refusals at the start come from here.

use std::path::PathBuf;
use std::time::Duration;

use tokio::net::TcpListener;
use tracing::{info, warn};
use weft_transport::Connection;

use crate::access::Access;
use crate::args::Args;
use crate::black_box::RecordingPlace;
use crate::config::{self, Loaded, Usable};
use crate::error::DaemonError;
use crate::etcd;
use crate::fabric::{ControlSocket, Source};
use crate::history::HistoryPlace;
use crate::kept_images::ImagePlace;
use crate::link_rules::log_rules;
use crate::listen::{Address, Listener};
use crate::logging::Log;
use crate::metrics_server;
use crate::page;
use crate::peer::Peer;
use crate::store::Store;
use crate::tls::Tls;

/// Where `opafmcmd` looks for a manager.
const OPAFMCMD: &str = "/var/lib/opa-fm";

/// What is there before the daemon begins: the configuration decides how it logs.
pub(crate) struct First {
    pub(crate) config: config::Source,
    pub(crate) loaded: Loaded,
    pub(crate) log: Log,
}

/// Everything that is opened.
pub(crate) struct Opened {
    pub(crate) config: config::Source,
    /// Settings of the configuration.
    pub(crate) usable: Usable,
    pub(crate) log: Log,
    pub(crate) store: Option<Store>,
    /// Time for which nodes and links that are gone are remembered.
    pub(crate) remember: Duration,
    /// Content of the state file.
    pub(crate) stored: Option<Vec<u8>>,
    pub(crate) tls: Option<Tls>,
    pub(crate) access: Access,
    /// Whom the metrics are for.
    pub(crate) metrics_door: metrics_server::Door,
    /// The other daemon of a pair.
    pub(crate) peer: Option<Peer>,
    /// Where mastership is asked for; none where datagrams alone decide.
    pub(crate) etcd: Option<etcd::Settings>,
    pub(crate) listeners: Listeners,
    pub(crate) source: Source,
    /// Where an emulated fabric takes changes.
    pub(crate) emulator_socket: Option<ControlSocket>,
    /// Connection to the fabric.
    pub(crate) connection: Connection,
    /// Description of the connection.
    pub(crate) connected_to: String,
    pub(crate) opafmcmd: Place,
    /// Where the past is kept; none where it is not.
    pub(crate) history: Option<HistoryPlace>,
    /// Where the manager's inputs are recorded; none where they are not.
    pub(crate) recording: Option<RecordingPlace>,
    /// Where images are kept; none where they are not.
    pub(crate) images: Option<ImagePlace>,
}

/// Where the vendor's `opafmcmd` finds this daemon.
pub(crate) struct Place {
    /// Directory of its sockets; none where it is not served.
    pub(crate) dir: Option<PathBuf>,
    pub(crate) instance: usize,
}

/// Listening sockets.
pub(crate) struct Listeners {
    pub(crate) api: Vec<Listener>,
    pub(crate) metrics: TcpListener,
    /// None where no page is served.
    pub(crate) page: Option<TcpListener>,
}

/// Opens everything that the command line names.
pub(crate) async fn open(args: &Args, first: First) -> Result<Opened, DaemonError> {
    let First {
        config,
        loaded,
        log,
    } = first;
    let access = Access::open(&args.access, args.is_emulated())?;
    let addresses = args.listen();
    let page_at = args.web();
    let reached = addresses.iter().filter_map(Address::tcp);
    let reached = reached.map(|address| ("--listen", address));
    let reached = reached.chain(page_at.map(|address| ("--web", address)));
    let tls = Tls::new(&args.tls, reached)?;
    let metrics_door = args.metrics.door(tls.as_ref())?;
    let peer = args.peer.peer(args.tls.own())?;
    let etcd = args.etcd.settings()?;
    config::log_warnings(&loaded.findings);
    let usable = loaded.usable?;
    let file = config.file().map(|file| file.display().to_string());
    let instance = &usable.in_force.instance;
    info!(
        event = "configuration",
        config_file = file,
        instance,
        "configuration: {}, instance {instance}",
        file.as_deref().unwrap_or("built-in defaults")
    );
    if args.link_rules.is_some() {
        log_rules(usable.queries.link_rules.as_ref());
    }
    let store = open_store(args)?;
    let stores_in = store.as_ref().map(Store::dir);
    let history = args.history.place(stores_in, args.instance);
    // Keys stay in the daemon: a recording has masked ones, from which the next term's cannot be made.
    let recording = args.recording.place(stores_in, args.instance);
    let recording = recording.filter(|_| !args.fencing.is_on());
    if args.fencing.is_on() {
        info!(
            event = "fencing",
            "ports get M_Keys of each master's term; the manager's inputs are not recorded"
        );
    }
    let images = match args.is_emulated() {
        true => store.as_ref().map(|store| ImagePlace::Dir(store.images())),
        false => Some(ImagePlace::Configured),
    };
    let stored = match &store {
        Some(store) => store.load()?,
        None => None,
    };
    let listeners = Listeners {
        api: listen_all(args, &addresses).await?,
        metrics: listen("metrics (--metrics)", args.metrics()).await?,
        page: match page_at {
            Some(address) => Some(listen("the page (--web)", address).await?),
            None => None,
        },
    };
    let source = Source::open(args, usable.port.clone())?;
    let state = state_dir(args);
    let emulator_socket = match (&args.control, args.once) {
        (None, true) => None,
        (asked, _) => source.listen(asked.as_deref(), state.as_deref()).await?,
    };
    let connection = source.attach().await;
    let connection = connection.map_err(|error| advised(args, error))?;
    let connected_to = connected_to(args, &connection);
    info!(event = "attached", "attached to {connected_to}");
    write_addresses(args, &listeners, tls.is_some(), &metrics_door)?;
    Ok(Opened {
        config,
        usable,
        log,
        store,
        remember: args.remember(),
        stored,
        tls,
        access,
        metrics_door,
        peer,
        etcd,
        listeners,
        source,
        emulator_socket,
        connection,
        connected_to,
        opafmcmd: Place::new(args),
        history,
        recording,
        images,
    })
}

impl Place {
    fn new(args: &Args) -> Self {
        let emulated = args.is_emulated();
        let dir = match &args.opafmcmd {
            Some(dir) => Some(dir.clone()).filter(|dir| dir.as_os_str() != "off"),
            None => (!emulated).then(|| PathBuf::from(OPAFMCMD)),
        };
        let instance = args.instance.into();
        Self { dir, instance }
    }
}

/// The directory that keeps state, none where nothing is kept.
fn state_dir(args: &Args) -> Option<PathBuf> {
    // The first of the unit's directories is the daemon's own.
    let systemd = std::env::var_os("STATE_DIRECTORY");
    let systemd = systemd.and_then(|dirs| std::env::split_paths(&dirs).next());
    match (&args.state_dir, systemd, &args.emulate) {
        (Some(dir), ..) => Some(dir.clone()),
        (None, Some(dir), _) => Some(dir),
        (None, None, Some(_)) => None,
        (None, None, None) => Some(PathBuf::from("/var/lib/weft")),
    }
}

fn open_store(args: &Args) -> Result<Option<Store>, DaemonError> {
    let dir = state_dir(args);
    dir.map(|dir| Store::open(&dir, args.instance.into()))
        .transpose()
}

async fn listen(
    what: &'static str,
    address: std::net::SocketAddr,
) -> Result<TcpListener, DaemonError> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|source| DaemonError::Listen {
        what,
        address: address.to_string(),
        source,
    })
}

/// Listens at the addresses of the API. An emulated fabric does not hide that of this host's real one of the same
/// instance, where clients look first.
async fn listen_all(args: &Args, addresses: &[Address]) -> Result<Vec<Listener>, DaemonError> {
    let real = Address::stock(args.instance, false);
    if args.listens_at_stock()
        && args.is_emulated()
        && let Address::Unix(socket) = &real
        && std::os::unix::net::UnixStream::connect(socket).is_ok()
    {
        return Err(DaemonError::Usage(format!(
            "a daemon of instance {} runs on this host, at {real}: give the emulated fabric another instance \
             (--instance), or an address (--listen 127.0.0.1:PORT)",
            args.instance
        )));
    }
    let mut listeners = Vec::new();
    for address in addresses {
        listeners.push(address.listen().await?);
    }
    Ok(listeners)
}

/// Without an HFI and without a named fabric, suggests an emulated one.
fn advised(args: &Args, error: DaemonError) -> DaemonError {
    match (error, &args.emulate, &args.connect, &args.hfi) {
        (DaemonError::Fabric(why), None, None, None) => DaemonError::Fabric(format!(
            "{why}\nWithout an HFI there are emulated fabrics: weftd --emulate fattree:1152"
        )),
        (error, ..) => error,
    }
}

fn connected_to(args: &Args, connection: &Connection) -> String {
    let fabric = match (&args.emulate, &args.connect) {
        (Some(spec), _) => format!("the emulated fabric {spec}"),
        (None, Some(address)) => format!("the fabric at {address}"),
        (None, None) => "the fabric of this machine".to_owned(),
    };
    format!(
        "{fabric}, HFI {} port {}",
        connection.guid(),
        connection.port()
    )
}

/// Reports the addresses of the API and the metrics, in the log and in a file.
fn write_addresses(
    args: &Args,
    listeners: &Listeners,
    tls: bool,
    metrics_door: &metrics_server::Door,
) -> Result<(), DaemonError> {
    let urls = listeners.api.iter().map(|listener| listener.url(tls));
    let urls = urls.collect::<Result<Vec<String>, _>>();
    let urls = urls.map_err(|error| DaemonError::part("the API", error.to_string()))?;
    let metrics = listeners.metrics.local_addr();
    let metrics = metrics.map_err(|error| DaemonError::part("metrics", error.to_string()))?;
    let encrypted = metrics_door.tls.is_some();
    let scheme = if encrypted { "https" } else { "http" };
    if !metrics.ip().is_loopback() && !encrypted {
        warn!(
            event = "metrics_open",
            "metrics at {metrics} can be read from other machines, without encryption"
        );
    }
    let page = listeners.page.as_ref();
    let page = page.map(|listener| page::url(listener, tls)).transpose();
    let page = page.map_err(|error| DaemonError::part("page", error.to_string()))?;
    let told = page.as_ref().map(|url| format!(", page at {url}"));
    info!(
        event = "listening",
        "API at {}, metrics at {scheme}://{metrics}/metrics{}",
        urls.join(" and "),
        told.unwrap_or_default()
    );
    let Some(file) = &args.address_file else {
        return Ok(());
    };
    let mut text: String = urls.iter().map(|url| format!("api {url}\n")).collect();
    text.extend(page.map(|url| format!("page {url}\n")));
    text.push_str(&format!("metrics {scheme}://{metrics}/metrics\n"));
    std::fs::write(file, text).map_err(|source| DaemonError::File {
        what: "address file",
        file: file.clone(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn who_has_named_no_fabric_is_told_of_emulated_ones() {
        for (arguments, told) in [
            (&["weftd"][..], true),
            (&["weftd", "--hfi", "hfi1_0:1"], false),
            (&["weftd", "--connect", "unix:/absent"], false),
        ] {
            let args = Args::parse_from(arguments);
            let said = advised(&args, DaemonError::Fabric("gone".to_owned())).to_string();
            assert!(said.starts_with("gone"), "{arguments:?}: {said}");
            let has = said.contains("weftd --emulate fattree:1152");
            assert_eq!(has, told, "{arguments:?}: {said}");
        }
    }
}
