//! The daemon from start to stop.

use std::path::PathBuf;
use std::sync::Arc;

use sd_notify::NotifyState;
use tokio::runtime::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tracing::info;
use weft_fabric::Tick;
use weft_manager::sm::{Mandate, Told};
use weft_replay::Recorded;

use crate::access::Access;
use crate::args::Args;
use crate::audit::Audit;
use crate::baselines::Baselines;
use crate::black_box;
use crate::clears::clears;
use crate::control::{Control, Drift, Parts, reload_and_tell};
use crate::engine::Engine;
use crate::error::DaemonError;
use crate::etcd::{Candidate, Lease, Mandates};
use crate::event_hub::{EventHub, unix_time_ns};
use crate::grpc::{
    self, CounterReaders, HistoryReaders, LastMade, LastStates, LastThen, Services, Workers,
};
use crate::health::{Checker, SeenFile, Sources};
use crate::heartbeat::{Heart, Hearts};
use crate::history::{self, History};
use crate::kept_images::KeptImages;
use crate::mad_dispatch::MadDispatch;
use crate::metrics::{self, Metrics};
use crate::metrics_server;
use crate::notify::{self, notify};
use crate::once_report;
use crate::opafmcmd;
use crate::operations;
use crate::otlp::{Exporter, Sweeps, Tracer};
use crate::page::{Links, Page};
use crate::panics;
use crate::pause_reminder;
use crate::peer;
use crate::planner::planner;
use crate::port_counters::{self, PortCounters, PortSeries};
use crate::port_metrics::{self, PortMetrics};
use crate::query_thread::{self, Queries};
use crate::registrations;
use crate::remote_write::RemoteWriter;
use crate::request::REQUESTS_MAX;
use crate::startup::{First, Opened, Place, open};
use crate::stopping::Stopping;
use crate::store::{self, Latest, Saved};
use crate::supervisor::Supervisor;
use crate::tls::Tls;
use crate::what_if::Forecasts;

/// Reason for the end of the daemon.
enum Ended {
    /// Stopped on request.
    Asked,
    /// A part of it did.
    Failed(DaemonError),
}

/// State of the loop that waits for signals.
struct Running {
    hub: Arc<EventHub>,
    control: Control,
    audit: Audit,
    access: Access,
    tls: Option<Tls>,
    links: Links,
    /// What holds the key in etcd.
    lease: Option<Lease>,
    stop: watch::Sender<bool>,
    parts: Supervisor,
}

/// Runs until a stop signal, the end of the first sweep (`--once`), or a failure.
pub(crate) async fn run(args: &Args, first: First) -> Result<(), DaemonError> {
    let signals = Signals::new()?;
    let opened = open(args, first).await?;
    let mut running = start(opened, args)?;
    let ended = running.until_the_end(args, signals).await;
    notify(&[NotifyState::Stopping, NotifyState::Status("stopping")]);
    running.stop.send_replace(true);
    let stopped = running.parts.finish().await;
    if let Some(lease) = running.lease {
        lease.give_back().await;
    }
    match ended {
        Ended::Failed(error) => Err(error),
        Ended::Asked => {
            stopped?;
            if args.once {
                return once_report::print(&running.hub);
            }
            info!(event = "stopped", "stopped");
            Ok(())
        }
    }
}

/// Starts all parts.
fn start(opened: Opened, args: &Args) -> Result<Running, DaemonError> {
    let chosen = args.port_metrics.clone();
    let Opened {
        config,
        usable,
        log,
        store,
        remember,
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
        opafmcmd: place,
        history,
        recording,
        images: image_place,
    } = opened;
    let mut parts = Supervisor::default();
    let (stop, stopping) = Stopping::new();
    let hub = Arc::new(EventHub::new(usable.in_force.clone()));
    hub.set_log_limits(usable.log.limits.clone());
    let port_metrics = Arc::new(PortMetrics::default());
    let port_counters = Arc::new(PortCounters::default());
    let (engine, requests) = mpsc::channel(REQUESTS_MAX);
    let (persist, latest) = watch::channel(Latest::default());
    let query_settings = watch::Sender::new(usable.queries.clone());
    let settings_in_force = query_settings.subscribe();
    let settings_of_history = query_settings.subscribe();
    let (images, swept) = mpsc::channel(port_metrics::IMAGES_MAX);
    let (cables, memories) = watch::channel(Arc::default());
    let cables_of_history = memories.clone();
    let kept = image_place.map(|place| KeptImages::start(&mut parts, place, &stopping));
    let (clears, to_clear) = clears();
    let (mut feeds, to_queries, lines) = query_thread::feeds(
        hub.clone(),
        query_settings.subscribe(),
        images,
        cables,
        kept.transpose()?,
        to_clear,
    );
    let seen = store.as_ref().map(|store| SeenFile(store.seen()));
    let pairing = peer::Pairing::new(
        stored.as_deref(),
        store.as_ref().map(store::Store::registrations),
    );
    let offer = pairing.offer.clone();
    parts.until_stop(
        "state for standbys",
        &stopping,
        peer::offer_state(offer.clone(), persist.subscribe()),
    );
    parts.until_stop(
        "settings for standbys",
        &stopping,
        peer::offer_settings(offer.clone(), hub.clone()),
    );
    parts.until_stop(
        "plans for standbys",
        &stopping,
        peer::offer_plan(offer.clone(), hub.clone()),
    );
    feeds.inherited = pairing.registrations.subscribe();
    let counters_of_peer = pairing.counters.subscribe();
    parts.until_stop(
        "copies at standbys",
        &stopping,
        peer::tell_copied(feeds.copied.subscribe(), engine.clone()),
    );
    let (peering, takers) = pairing.follow(&mut parts, &stopping, peer, &hub, &engine);
    let (manager_heart, queries_heart) = (Heart::new("manager"), Heart::new("queries"));
    let hearts = Hearts::new(vec![manager_heart.clone(), queries_heart.clone()]);
    let candidate = etcd.map(|settings| Candidate {
        settings,
        prefix: query_settings.borrow().subnet_prefix,
        hub: hub.clone(),
        engine: engine.clone(),
        hearts: hearts.clone(),
        offer: offer.clone(),
        takers,
    });
    let asks_for_mandate = candidate.is_some();
    let (mandates, lease) = ask_for_mandate(&mut parts, &stopping, candidate);
    let (checker, health) = Checker::new(Sources {
        mandates: mandates.clone(),
        hub: hub.clone(),
        engine: engine.clone(),
        port_metrics: port_metrics.clone(),
        settings: query_settings.subscribe(),
        cables: memories.clone(),
        file: seen,
        keep: remember,
    });
    let keeping = keep_registrations(&mut parts, store.as_ref(), offer.clone());
    let audit_dir = store.as_ref().map(store::Store::audit);
    let note = store.as_ref().map(store::Store::note);
    let totals = store.as_ref().map(store::Store::counters);
    let baselines = Baselines::new(store.as_ref().map(store::Store::baselines));
    let drift = Drift::open(note, &config, &usable);
    let (settings, configuration) = usable.split();
    let saved = keep_state(&mut parts, store, latest);
    let tracer = trace(&mut parts, args, &hub, &stopping);
    let (writer, remote_writes) = RemoteWriter::new(&args.remote_write, args.instance)?;
    let history = history.map(|place| Arc::new(History::new(place)));
    let audit = Audit::new(audit_dir, hub.clone());
    let recording = black_box::open(recording);
    let telling = panics::tell(panics::watch(), recording.black_box.clone());
    parts.until_stop("panics", &stopping, telling);
    let metrics = Arc::new(Metrics::new(metrics::Sources {
        hub: hub.clone(),
        port_metrics: port_metrics.clone(),
        port_series: PortSeries::new(chosen, port_counters.clone()),
        saved: saved.clone(),
        health: health.clone(),
        tracer: tracer.clone(),
        history: history.clone(),
        remote_writes,
        tls: tls.clone(),
        peering: peering.clone(),
        mandates: mandates.clone(),
    }));
    let (control, actor) = Control::new(Parts {
        source: config,
        hub: hub.clone(),
        engine: engine.clone(),
        queries: query_settings,
        saved,
        drift,
        log,
        configuration,
    });
    let page = Page::new(listeners.page.as_ref(), tls.as_ref());
    let links = page.links.clone();
    let services = Services {
        hub: hub.clone(),
        engine,
        control: control.clone(),
        port_metrics: port_metrics.clone(),
        port_counters: port_counters.clone(),
        clears,
        cables: memories,
        counter_readers: CounterReaders::default(),
        query_settings: settings_in_force,
        controller: source.controller(),
        connected_to: connected_to.into(),
        stopping: stopping.clone(),
        watchers: Arc::default(),
        baselines: Arc::new(baselines),
        health: health.clone(),
        tracer,
        history: history.clone(),
        history_readers: HistoryReaders::default(),
        last_then: LastThen::default(),
        last_states: LastStates::default(),
        last_made: LastMade::default(),
        workers: Workers::default(),
        forecasts: Forecasts::default(),
        audit: audit.clone(),
        access: access.clone(),
        black_box: recording.black_box,
        peering,
        mandates,
        heartbeat: args.peer.heartbeat(),
        page,
    };
    let stop_health = stopping.receiver();
    parts.task("health", async move {
        checker.run(stop_health).await;
        Ok(())
    });
    parts.until_stop("control", &stopping, actor.run(stopping.clone()));
    let kept_totals = (totals, history.clone());
    let following = operations::follow(control.operations().clone());
    parts.until_stop("operations", &stopping, following);
    if let Some(history) = history {
        let sources = history::Sources {
            hub: hub.clone(),
            totals: port_counters.subscribe(),
            settings: settings_of_history,
            health,
            cables: cables_of_history,
        };
        let keeping = history::keep(history, sources, stopping.clone());
        parts.task("history", keeping);
    }
    parts.task("counters", async move {
        // Ends with the queries thread, after the last totals.
        let others = port_counters::Others {
            offer,
            inherited: counters_of_peer,
        };
        port_counters::keep(port_metrics, port_counters, kept_totals, swept, others).await;
        Ok(())
    });
    parts.until_stop("watchdog", &stopping, notify::watchdog(hearts.clone()));
    parts.until_stop("status", &stopping, notify::status(hub.clone()));
    if let Some(socket) = emulator_socket {
        let stop = stopping.clone();
        parts.task("emulator's socket", async move {
            socket.run(stop.wait()).await;
            Ok(())
        });
    }
    serve_opafmcmd(&mut parts, place, &services);
    parts.until_stop("reminder", &stopping, pause_reminder::run(hub.clone()));
    if let Some(tls) = tls.clone() {
        parts.until_stop("certificates", &stopping, tls.renew(links.clone()));
    }
    let serving = grpc::serve(listeners.api, listeners.page, tls.clone(), services, hearts);
    parts.task("API", serving);
    if let Some(writer) = writer {
        let writing = writer.run(metrics.clone(), stopping.clone());
        parts.task("remote write", async move {
            writing.await;
            Ok(())
        });
    }
    let serving = metrics_server::serve(
        listeners.metrics,
        metrics_door,
        metrics.clone(),
        stopping.clone(),
    );
    parts.task("metrics", async move {
        let served = serving.await;
        served.map_err(|error| DaemonError::part("metrics", error.to_string()))
    });

    if let Some(keeping) = recording.keeping {
        let panics = parts.panics();
        parts.task(
            "recording",
            keeping.run(hub.clone(), panics, stopping.clone()),
        );
    }
    let now = Tick(unix_time_ns());
    let mut manager = Recorded::new(now, settings, stored.as_deref(), recording.recorder);
    if asks_for_mandate {
        manager.tell(now, Told::Mandate(Mandate::Withheld(None)));
    }
    let dispatch = MadDispatch::new(Handle::current(), lines, hub.clone());
    let (plans, planner) = planner();
    parts.worker("planner", &stopping, move || async move {
        planner.run().await;
        Ok(())
    })?;
    let manager = Engine::new(
        manager,
        plans,
        hub.clone(),
        metrics,
        persist,
        dispatch,
        to_queries,
    );
    let queries = Queries::new(feeds, keeping, recording.sa_recorder, manager.clock());
    let stop_queries = stopping.receiver();
    parts.thread(queries_heart, move || async move {
        queries.run(stop_queries).await;
        Ok(())
    })?;
    let stop_manager = stopping.receiver();
    parts.thread(manager_heart, move || async move {
        let result = manager
            .run(&source, connection, requests, stop_manager)
            .await;
        source.stop().await;
        result
    })?;
    Ok(Running {
        hub,
        control,
        audit,
        access,
        tls,
        links,
        lease,
        stop,
        parts,
    })
}

/// Asks for the mandate to be master, where etcd is named.
fn ask_for_mandate(
    parts: &mut Supervisor,
    stopping: &Stopping,
    candidate: Option<Candidate>,
) -> (Mandates, Option<Lease>) {
    let Some(candidate) = candidate else {
        return (Mandates::default(), None);
    };
    let (lease, mandates) = candidate.begin(parts, stopping);
    (mandates, Some(lease))
}

/// Sends spans to the collector, where one is given.
fn trace(parts: &mut Supervisor, args: &Args, hub: &Arc<EventHub>, stopping: &Stopping) -> Tracer {
    let Some(endpoint) = args.otlp_endpoint.clone() else {
        return Tracer::default();
    };
    let (exporter, tracer) = Exporter::new(endpoint, args.instance.into());
    let sweeps = Sweeps::new(tracer.clone(), hub);
    let (stop_exporter, stop_sweeps) = (stopping.receiver(), stopping.receiver());
    parts.task("spans", async move {
        exporter.run(stop_exporter).await;
        Ok(())
    });
    parts.task("spans of sweeps", async move {
        sweeps.run(stop_sweeps).await;
        Ok(())
    });
    tracer
}

/// Serves the vendor's `opafmcmd` where it is to be served.
fn serve_opafmcmd(parts: &mut Supervisor, place: Place, services: &Services) {
    let Some(dir) = place.dir else { return };
    let commands = opafmcmd::Commands {
        hub: services.hub.clone(),
        control: services.control.clone(),
        engine: services.engine.clone(),
        connected_to: services.connected_to.clone(),
        audit: services.audit.clone(),
        instance: place.instance,
    };
    let serving = opafmcmd::serve(dir, commands);
    parts.until_stop("opafmcmd", &services.stopping, serving);
}

/// Stores the manager's state if there is a directory for it; returns the progress of writing.
fn keep_state(
    parts: &mut Supervisor,
    store: Option<store::Store>,
    latest: watch::Receiver<Latest>,
) -> watch::Receiver<Saved> {
    let Some(store) = store else {
        return watch::channel(Saved::everything()).1;
    };
    let (saved, receiver) = watch::channel(Saved::default());
    parts.task("state", async move {
        // Ends with the manager's thread, after its last state.
        store::keep(store, latest, saved).await;
        Ok(())
    });
    receiver
}

/// Keeps registrations where there is a place for them: the file, and where writes are handed in.
fn keep_registrations(
    parts: &mut Supervisor,
    store: Option<&store::Store>,
    offer: Arc<peer::Offer>,
) -> Option<(PathBuf, registrations::Writes)> {
    let file = store?.registrations();
    let (writes, received) = registrations::writes();
    let keeping = registrations::keep(file.clone(), received, registrations::RETRY, offer);
    parts.task("registrations", async move {
        // Ends with the thread that answers queries, after its last write.
        keeping.await;
        Ok(())
    });
    Some((file, writes))
}

struct Signals {
    hangup: Signal,
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> Result<Self, DaemonError> {
        let listen =
            |kind| signal(kind).map_err(|error| DaemonError::part("signals", error.to_string()));
        Ok(Self {
            hangup: listen(SignalKind::hangup())?,
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
        })
    }
}

impl Running {
    /// Serves signals until a stop signal arrives, the first sweep has ended with `--once`, or a part
    /// ends.
    async fn until_the_end(&mut self, args: &Args, mut signals: Signals) -> Ended {
        let mut up = false;
        loop {
            tokio::select! {
                reason = self.parts.first_end() => return Ended::Failed(reason),
                _ = signals.terminate.recv() => return Ended::Asked,
                _ = signals.interrupt.recv() => return Ended::Asked,
                _ = signals.hangup.recv() => {
                    notify::reloading();
                    reload_and_tell(&self.control, &self.hub, &self.audit).await;
                    self.access.reload().await;
                    if let Some(tls) = &self.tls {
                        tls.reload(&self.links).await;
                    }
                    notify(&[NotifyState::Ready]);
                }
                () = self.hub.first_sweep(), if !up => {
                    up = true;
                    let sweep = self.hub.journal().sweeps().last().cloned();
                    let status = sweep.map(|sweep| crate::event_log::fabric_up(&sweep));
                    notify(&[NotifyState::Ready, NotifyState::Status(&status.unwrap_or_default())]);
                    if args.once {
                        return Ended::Asked;
                    }
                }
            }
        }
    }
}
