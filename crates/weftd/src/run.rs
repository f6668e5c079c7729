//! The daemon from start to stop.

use std::sync::Arc;
use std::time::Instant;

use sd_notify::NotifyState;
use tokio::runtime::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tracing::{error, info};
use weft_manager::Manager;
use weft_transport::Connection;

use crate::applied::Applied;
use crate::args::Args;
use crate::counted::{self, Counted};
use crate::engine::{Engine, REQUESTS_MAX, Request};
use crate::error::DaemonError;
use crate::fabric::Source;
use crate::grpc::{self, Services};
use crate::hub::Hub;
use crate::metrics::{self, Metrics};
use crate::notify::{self, notify};
use crate::once;
use crate::open::{Listeners, Opened, open};
use crate::plans::Plans;
use crate::queries::{self, Queries};
use crate::reload::Reloader;
use crate::stopping::Stopping;
use crate::store;
use crate::switchboard::Switchboard;
use crate::tls::Tls;

/// What ended the daemon.
enum Ended {
    /// Somebody asked for it.
    Asked,
    /// The manager's thread did.
    Manager(String),
}

/// Runs until a signal says stop, the first sweep has ended (`--once`), or something fails.
pub(crate) async fn run(args: &Args) -> Result<(), DaemonError> {
    let signals = Signals::new()?;
    let Opened {
        config,
        usable,
        store,
        stored,
        tls,
        listeners,
        source,
        connection,
        connected_to,
    } = open(args).await?;

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
    let note = store.as_ref().map(store::Store::note);
    let reloader = Reloader::new(
        config,
        hub.clone(),
        engine_requests.clone(),
        query_settings,
        Arc::new(Applied::open(note, &usable.settings)),
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
        controller: source.controller(),
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
