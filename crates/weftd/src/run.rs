//! The daemon from start to stop.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use sd_notify::NotifyState;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tracing::{error, info, warn};
use weft_manager::Manager;
use weft_transport::Connection;

use crate::args::Args;
use crate::config;
use crate::counted::{self, Counted};
use crate::engine::{Engine, REQUESTS_MAX, Request};
use crate::error::DaemonError;
use crate::fabric::Source;
use crate::grpc::{self, Services};
use crate::hub::Hub;
use crate::metrics::{self, Metrics};
use crate::notify::{self, notify};
use crate::once;
use crate::plans::Plans;
use crate::queries::{self, Queries};
use crate::reload::Reloader;
use crate::stopping::Stopping;
use crate::store::{self, Store};
use crate::switchboard::Switchboard;
use crate::tls::Tls;

/// What is listened on.
struct Listeners {
    api: TcpListener,
    metrics: TcpListener,
}

/// What ended the daemon.
enum Ended {
    /// Somebody asked for it.
    Asked,
    /// The manager's thread did.
    Manager(String),
}

/// Runs until a signal says stop, the first sweep has ended (`--once`), or something fails.
pub(crate) async fn run(args: &Args) -> Result<(), DaemonError> {
    let tls = Tls::new(args)?;
    let config_source = config::Source::new(args)?;
    let usable = config_source.load_first()?;
    let signals = Signals::new()?;
    let store = open_store(args)?;
    let stored = match &store {
        Some(store) => store.load()?,
        None => None,
    };
    let listeners = Listeners {
        api: listen("the API", args.listen).await?,
        metrics: listen("metrics", args.metrics).await?,
    };
    let source = Source::open(args, usable.port)?;
    let controller = source.controller();
    let connection = source.attach().await?;
    let connected_to = connected_to(args, &connection);
    info!(event = "attached", "attached to {connected_to}");
    write_addresses(args, &listeners, tls.is_some())?;

    let hub = Arc::new(Hub::new(usable.in_force));
    let counted = Arc::new(Counted::default());
    let metrics = Arc::new(Metrics::new(hub.clone(), counted.clone()));
    let to_read = counted.clone();
    let (stop, stopping) = Stopping::new();
    let (engine_requests, requests) = mpsc::channel(REQUESTS_MAX);
    let (persist, latest) = watch::channel(None);
    let (alive, last_alive) = watch::channel(Instant::now());
    let query_settings = watch::Sender::new(usable.queries);
    let (images, swept) = mpsc::channel(counted::IMAGES_MAX);
    let settings_in_force = query_settings.subscribe();
    let (feeds, to_queries, lines) = queries::feeds(query_settings.subscribe(), images);
    let reloader = Reloader::new(
        config_source,
        hub.clone(),
        engine_requests.clone(),
        query_settings,
    );
    let reloader = Arc::new(reloader);

    let mut tasks = JoinSet::new();
    if let Some(store) = store {
        tasks.spawn(store::keep(store, latest));
    }
    tasks.spawn(counted::keep(counted, swept));
    let services = Services {
        hub: hub.clone(),
        engine: engine_requests.clone(),
        plans: Arc::new(Plans::new(engine_requests, reloader.clone())),
        counted: to_read,
        query_settings: settings_in_force,
        controller,
        reloader: reloader.clone(),
        connected_to: connected_to.into(),
        stopping: stopping.clone(),
    };
    spawn_servers(&mut tasks, listeners, tls, services, metrics.clone());
    let watchdog = tokio::spawn(notify::watchdog(last_alive));

    let manager = Manager::new(usable.settings, stored.as_deref());
    let switchboard = Switchboard::new(Handle::current(), lines);
    let engine = Engine::new(
        manager,
        hub.clone(),
        metrics,
        persist,
        alive,
        switchboard,
        to_queries,
    );
    spawn_queries(Queries::new(feeds), stopping.receiver())?;
    let ended = spawn_engine(engine, source, connection, requests, stopping.receiver())?;
    let ended = supervise(args, signals, ended, &hub, &reloader).await;

    notify(&[NotifyState::Stopping, NotifyState::Status("stopping")]);
    stop.send_replace(true);
    watchdog.abort();
    ended.finish(args, &hub, &mut tasks).await
}

fn open_store(args: &Args) -> Result<Option<Store>, DaemonError> {
    let systemd = std::env::var_os("STATE_DIRECTORY").map(PathBuf::from);
    let dir = match (&args.state_dir, systemd, &args.emulate) {
        (Some(dir), ..) => dir.clone(),
        (None, Some(dir), _) => dir,
        (None, None, Some(_)) => return Ok(None),
        (None, None, None) => PathBuf::from("/var/lib/weft"),
    };
    Store::open(&dir, args.instance).map(Some)
}

async fn listen(
    what: &'static str,
    address: std::net::SocketAddr,
) -> Result<TcpListener, DaemonError> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|source| DaemonError::Listen {
        what,
        address,
        source,
    })
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

/// Says where the API and the metrics are, in the log and in a file.
fn write_addresses(args: &Args, listeners: &Listeners, tls: bool) -> Result<(), DaemonError> {
    let failed = |what, address, source| DaemonError::Listen {
        what,
        address,
        source,
    };
    let api = listeners.api.local_addr();
    let api = api.map_err(|source| failed("the API", args.listen, source))?;
    let metrics = listeners.metrics.local_addr();
    let metrics = metrics.map_err(|source| failed("metrics", args.metrics, source))?;
    if !metrics.ip().is_loopback() {
        warn!("metrics at {metrics} can be read from other machines, without encryption");
    }
    let scheme = if tls { "https" } else { "http" };
    info!(
        event = "listening",
        "API at {scheme}://{api}, metrics at http://{metrics}/metrics"
    );
    let Some(file) = &args.address_file else {
        return Ok(());
    };
    let text = format!("api {scheme}://{api}\nmetrics http://{metrics}/metrics\n");
    std::fs::write(file, text).map_err(|source| DaemonError::File {
        what: "address file",
        file: file.clone(),
        source,
    })
}

fn spawn_servers(
    tasks: &mut JoinSet<()>,
    listeners: Listeners,
    tls: Option<Tls>,
    services: Services,
    metrics: Arc<Metrics>,
) {
    let stopping = services.stopping.clone();
    let (reporter, health) = tonic_health::server::health_reporter();
    tasks.spawn(async move {
        let served = grpc::serve(listeners.api, tls, services, reporter, health).await;
        if let Err(error) = served {
            error!(%error, "the API has ended");
        }
    });
    tasks.spawn(async move {
        if let Err(error) = metrics::serve(listeners.metrics, metrics, stopping).await {
            error!(%error, "the metrics have ended");
        }
    });
}

/// Runs the manager on a thread of its own, so that long computations delay no reader. The answer
/// comes when the thread ends; no answer means that it panicked.
fn spawn_engine(
    engine: Engine,
    source: Source,
    connection: Connection,
    requests: mpsc::Receiver<Request>,
    stop: watch::Receiver<bool>,
) -> Result<oneshot::Receiver<Result<(), String>>, DaemonError> {
    let (done, ended) = oneshot::channel();
    let failed = |error: std::io::Error| DaemonError::Manager(error.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(failed)?;
    let work = move || {
        let result = runtime.block_on(async {
            let result = engine.run(&source, connection, requests, stop).await;
            source.stop().await;
            result
        });
        // Who waits for it may have gone.
        let _ = done.send(result);
    };
    let spawned = std::thread::Builder::new()
        .name("manager".to_owned())
        .spawn(work);
    spawned.map_err(failed)?;
    Ok(ended)
}

/// Runs what answers queries on a thread of its own; it ends when `stop` says so, and with the
/// manager's thread.
fn spawn_queries(queries: Queries, stop: watch::Receiver<bool>) -> Result<(), DaemonError> {
    let failed = |error: std::io::Error| DaemonError::Manager(error.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(failed)?;
    let spawned = std::thread::Builder::new()
        .name("queries".to_owned())
        .spawn(move || runtime.block_on(queries.run(stop)));
    spawned.map(drop).map_err(failed)
}

struct Signals {
    hangup: Signal,
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> Result<Self, DaemonError> {
        let listen = |kind| {
            signal(kind).map_err(|error| DaemonError::Manager(format!("no signals: {error}")))
        };
        Ok(Self {
            hangup: listen(SignalKind::hangup())?,
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
        })
    }
}

/// What is left of the manager's thread when it is time to stop.
enum Engineering {
    Running(oneshot::Receiver<Result<(), String>>),
    Over(Ended),
}

async fn supervise(
    args: &Args,
    mut signals: Signals,
    mut engine: oneshot::Receiver<Result<(), String>>,
    hub: &Hub,
    reloader: &Reloader,
) -> Engineering {
    let mut up = false;
    loop {
        tokio::select! {
            ended = &mut engine => return Engineering::Over(ended_by(ended)),
            _ = signals.terminate.recv() => return Engineering::Running(engine),
            _ = signals.interrupt.recv() => return Engineering::Running(engine),
            _ = signals.hangup.recv() => {
                notify::reloading();
                reloader.reload_and_tell().await;
                notify(&[NotifyState::Ready]);
            }
            () = hub.first_sweep(), if !up => {
                up = true;
                let status = hub.journal().sweeps().last().map(|sweep| crate::narrate::fabric_up(sweep));
                notify(&[NotifyState::Ready, NotifyState::Status(&status.unwrap_or_default())]);
                if args.once {
                    return Engineering::Running(engine);
                }
            }
        }
    }
}

fn ended_by(ended: Result<Result<(), String>, oneshot::error::RecvError>) -> Ended {
    match ended {
        Ok(Ok(())) => Ended::Asked,
        Ok(Err(why)) => Ended::Manager(why),
        Err(_) => Ended::Manager("it panicked; the message is above".to_owned()),
    }
}

impl Engineering {
    /// Waits for everything to end, the last write of the state included.
    async fn finish(
        self,
        args: &Args,
        hub: &Hub,
        tasks: &mut JoinSet<()>,
    ) -> Result<(), DaemonError> {
        let ended = match self {
            Self::Running(engine) => ended_by(engine.await),
            Self::Over(ended) => ended,
        };
        while tasks.join_next().await.is_some() {}
        match ended {
            Ended::Manager(why) => Err(DaemonError::Manager(why)),
            Ended::Asked if args.once => once::print(hub),
            Ended::Asked => {
                info!(event = "stopped", "stopped");
                Ok(())
            }
        }
    }
}
