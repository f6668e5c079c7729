//! The API `weft.v1`.

mod accept;
mod audit;
mod background;
mod cable;
mod change;
mod chunks;
mod config;
mod counter_clear;
mod counter_watch;
mod counters;
mod counters_then;
mod details;
mod emulator;
mod fabric;
mod fabric_health;
mod facts;
mod health;
mod history;
mod incident;
mod job;
mod last_read;
mod limits;
mod loop_test;
mod manager;
mod multicast;
mod operation;
mod page;
mod past;
mod peer;
mod perf;
mod perf_group;
mod picture;
mod plan;
mod plan_back;
mod port;
mod port_lists;
mod ports;
mod reason;
mod refusal;
mod replacement;
mod route;
mod route_details;
mod site_limits;
mod survive;
mod sweep;
mod topology;
mod virtual_fabric;
mod virtual_fabric_ports;
mod watch;
mod web;
mod web_then;
mod what_if;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use axum::middleware::{from_fn, from_fn_with_state, map_response};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch as observed};
use tonic::Status;
use tonic::service::Routes;
use tonic_health::pb::health_server::{Health, HealthServer};
use weft_api::emulator_v1::emulator_service_server::EmulatorServiceServer;
use weft_api::time::timestamp;
use weft_api::v1;
use weft_api::v1::audit_service_server::AuditServiceServer;
use weft_api::v1::cable_service_server::CableServiceServer;
use weft_api::v1::change_service_server::ChangeServiceServer;
use weft_api::v1::config_service_server::ConfigServiceServer;
use weft_api::v1::counter_service_server::CounterServiceServer;
use weft_api::v1::fabric_health_service_server::FabricHealthServiceServer;
use weft_api::v1::fabric_service_server::FabricServiceServer;
use weft_api::v1::history_service_server::HistoryServiceServer;
use weft_api::v1::incident_service_server::IncidentServiceServer;
use weft_api::v1::job_service_server::JobServiceServer;
use weft_api::v1::manager_service_server::ManagerServiceServer;
use weft_api::v1::multicast_service_server::MulticastServiceServer;
use weft_api::v1::operation_service_server::OperationServiceServer;
use weft_api::v1::peer_service_server::PeerServiceServer;
use weft_api::v1::perf_group_service_server::PerfGroupServiceServer;
use weft_api::v1::perf_service_server::PerfServiceServer;
use weft_api::v1::picture_service_server::PictureServiceServer;
use weft_api::v1::port_service_server::PortServiceServer;
use weft_api::v1::replacement_service_server::ReplacementServiceServer;
use weft_api::v1::route_service_server::RouteServiceServer;
use weft_api::v1::sweep_service_server::SweepServiceServer;
use weft_api::v1::virtual_fabric_service_server::VirtualFabricServiceServer;
use weft_api::v1::watch_service_server::WatchServiceServer;
use weft_api::v1::web_service_server::WebServiceServer;
use weft_api::v1::what_if_service_server::WhatIfServiceServer;
use weft_api::{DESCRIPTORS, MAX_MESSAGE_LEN};
use weft_emulator::control::Controller;
use weft_fabric::{CableMemories, Guid, PortNum, Snapshot};
use weft_manager::CommandError;
use weft_report::{Point, Selection};
use weft_web::Reach;

use crate::access::{Access, admit, not_too_often};
use crate::attachment::Attachment;
use crate::audit::{Audit, record_call};
use crate::baselines::Baselines;
use crate::black_box::BlackBox;
use crate::clears::ClearRequest;
use crate::control::{Control, Refusal};
use crate::error::DaemonError;
use crate::etcd::Mandates;
use crate::event_hub::EventHub;
use crate::heartbeat::Hearts;
use crate::history::History;
use crate::listen::Listener;
use crate::otlp::{RequestSpans, Tracer};
use crate::page::{Entrance, Page, recognise};
use crate::peer::Peering;
use crate::port_counters::PortCounters;
use crate::port_metrics::PortMetrics;
use crate::query_thread::QuerySettings;
use crate::request::Request;
use crate::stopping::Stopping;
use crate::tls::Tls;
use crate::what_if::Forecasts;

pub(crate) use counters::CounterReaders;
pub(crate) use counters_then::LastThen;
pub(crate) use details::DOMAIN;
pub(crate) use fabric_health::{color, health_page};
pub(crate) use facts::Facts;
pub(crate) use history::HistoryReaders;
use limits::Limits;
pub(crate) use limits::Watchers;
pub(crate) use past::LastStates;
pub(crate) use route_details::LastMade;
use survive::survive;
pub(crate) use watch::{place_of, token};
pub(crate) use workers::Workers;

/// Dependencies of the services.
#[derive(Clone)]
pub(crate) struct Services {
    pub(crate) hub: Arc<EventHub>,
    pub(crate) engine: mpsc::Sender<Request>,
    pub(crate) control: Control,
    /// The last image of the performance manager.
    pub(crate) port_metrics: Arc<PortMetrics>,
    /// Running totals of port counters.
    pub(crate) port_counters: Arc<PortCounters>,
    /// Counters to be set to zero.
    pub(crate) clears: mpsc::Sender<ClearRequest>,
    /// Memories of cables.
    pub(crate) cables: observed::Receiver<Arc<CableMemories>>,
    pub(crate) counter_readers: CounterReaders,
    pub(crate) query_settings: observed::Receiver<QuerySettings>,
    /// Handle to an emulated fabric; `None` for a real one.
    pub(crate) controller: Option<Controller>,
    pub(crate) connected_to: Arc<str>,
    pub(crate) stopping: Stopping,
    pub(crate) watchers: Arc<Watchers>,
    /// Saved topology files.
    pub(crate) baselines: Arc<Baselines>,
    /// The page of what is wrong.
    pub(crate) health: crate::health::Health,
    /// Where spans of requests go.
    pub(crate) tracer: Tracer,
    /// Counters and events of the past, where they are kept.
    pub(crate) history: Option<Arc<History>>,
    pub(crate) history_readers: HistoryReaders,
    /// The reading of the past that was asked for last.
    pub(crate) last_then: LastThen,
    pub(crate) last_states: LastStates,
    pub(crate) last_made: LastMade,
    /// Bounds those whose answers take a while to make.
    pub(crate) workers: Workers,
    /// Bounds those who ask what would be.
    pub(crate) forecasts: Forecasts,
    /// The record of changes.
    pub(crate) audit: Audit,
    /// Who may do what.
    pub(crate) access: Access,
    /// The recording of the manager's inputs.
    pub(crate) black_box: BlackBox,
    /// Other managers that this one follows, or that follow it.
    pub(crate) peering: Peering,
    /// What etcd says of who is to be master.
    pub(crate) mandates: Mandates,
    /// From one sign of life for them to the next.
    pub(crate) heartbeat: Duration,
    /// The page in a browser.
    pub(crate) page: Page,
}

impl Services {
    /// Nothing of a port was read: why, with the name that people know.
    fn unread(&self, what: &str, (node, port): (Guid, PortNum)) -> Status {
        let name = match self.hub.name_of(node) {
            name if name.is_empty() => format!("node {node}"),
            name => name,
        };
        let why = match self.hub.snapshot().topology.find(node) {
            Some(_) => "it has not been read",
            None => "the node is not in the fabric",
        };
        let what = format!("port: nothing is known of {what} {name} port {port}: {why}");
        refusal::not_there(&what, Facts::port(node, port))
    }

    /// Refuses commands that only a master can execute.
    fn must_be_master(&self) -> Result<(), Status> {
        match self.hub.leader() {
            Some((role, master)) => {
                let error = CommandError::NotMaster { role, master };
                Err(refusal::port_refused(&error))
            }
            None => Ok(()),
        }
    }

    /// Refuses commands that need a sweep while sweeps are paused.
    fn must_not_be_paused(&self) -> Result<(), Status> {
        match self.hub.status().pause {
            Some(_) => Err(refusal::port_refused(&CommandError::Paused)),
            None => Ok(()),
        }
    }

    /// Refuses commands that need the fabric while it is gone.
    fn must_be_attached(&self) -> Result<(), Status> {
        let required = self.hub.attachment().required();
        required.map_err(|detached| refusal::status(&detached.into()))
    }
}

fn stopping() -> Status {
    refusal::status(&Refusal::Stopping)
}

/// Resolves a point in a request. Files are not read for clients.
fn select(snapshot: &Snapshot, field: &str, text: &str) -> Result<Selection, Status> {
    let no_files = |_: &str| Err("the daemon reads no files for clients".to_owned());
    let point = Point::parse(text, &no_files);
    let point = point.map_err(|error| Status::invalid_argument(format!("{field}: {error}")))?;
    point.select(snapshot).map_err(|error| {
        let facts = Facts::none().field(field).with("point", text);
        refusal::not_there(&format!("{field}: {error}"), facts)
    })
}

/// Serves until `services.stopping`.
pub(crate) async fn serve(
    listeners: Vec<Listener>,
    page: Option<TcpListener>,
    tls: Option<Tls>,
    services: Services,
    hearts: Hearts,
) -> Result<(), DaemonError> {
    let (reporter, health_server) = tonic_health::server::health_reporter();
    health::begin(&reporter, &hearts).await;
    let (hub, stopping) = (services.hub.clone(), services.stopping.clone());
    let links = services.page.links.clone();
    let (access, audit) = (services.access.clone(), services.audit.clone());
    let api = router(services, health_server)?;
    let serving_page = async {
        let Some(listener) = page else {
            return Ok(());
        };
        let reach = match tls {
            Some(_) => Reach::Encrypted,
            None => Reach::Loopback,
        };
        let address = listener.local_addr();
        let address = address.map_err(|error| DaemonError::part("page", error.to_string()))?;
        let entrance = Entrance::new(links.clone(), access, audit, address.port());
        let listeners = vec![Listener::Tcp(listener)];
        let incoming = accept::incoming(listeners, tls.clone(), Limits::USUAL, Some(links));
        // Without TLS browsers speak HTTP/1.1 alone.
        let mut server = Limits::USUAL.server().accept_http1(true);
        let recognising = from_fn_with_state(entrance.clone(), recognise);
        let api = api.clone().layer(recognising);
        let routes = Routes::from(weft_web::serve(api, entrance.router(), reach));
        server
            .add_routes(routes)
            .serve_with_incoming_shutdown(incoming, stopping.clone().wait())
            .await
            .map_err(|error| DaemonError::part("page", error.to_string()))
    };
    let incoming = accept::incoming(listeners, tls.clone(), Limits::USUAL, None);
    let mut server = Limits::USUAL.server();
    let serving = async {
        server
            .add_routes(Routes::from(api.clone()))
            .serve_with_incoming_shutdown(incoming, stopping.clone().wait())
            .await
            .map_err(|error| DaemonError::Tls(error.to_string()))
    };
    // Each waits for its own calls at the end.
    let both = async { tokio::try_join!(serving, serving_page).map(|_| ()) };
    tokio::select! {
        served = both => served,
        () = health::report(reporter, &hub, &hearts) => Ok(()),
    }
}

/// All services, behind what decides on each call and records it.
fn router(
    services: Services,
    health: HealthServer<impl Health>,
) -> Result<axum::Router, DaemonError> {
    let wrong = |error: &dyn std::error::Error| DaemonError::Tls(error.to_string());
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()
        .map_err(|error| wrong(&error))?;
    let config = ConfigServiceServer::new(services.clone())
        .max_decoding_message_size(2 * weft_config::MAX_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_LEN);
    let route_service = RouteServiceServer::new(services.clone())
        .max_decoding_message_size(2 * weft_config::MAX_BYTES);
    let counters =
        CounterServiceServer::new(services.clone()).max_encoding_message_size(MAX_MESSAGE_LEN);
    let fabrics = VirtualFabricServiceServer::new(services.clone())
        .max_decoding_message_size(2 * weft_config::MAX_BYTES);
    let multicast =
        MulticastServiceServer::new(services.clone()).max_encoding_message_size(MAX_MESSAGE_LEN);
    let jobs = JobServiceServer::new(services.clone())
        .max_decoding_message_size(MAX_MESSAGE_LEN)
        .max_encoding_message_size(MAX_MESSAGE_LEN);
    let forecasts = WhatIfServiceServer::new(services.clone())
        .max_decoding_message_size(2 * weft_config::MAX_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_LEN);
    let (access, audit) = (services.access.clone(), services.audit.clone());
    let limiting = from_fn_with_state(access.clone(), not_too_often);
    let recording = from_fn_with_state(audit.clone(), record_call);
    let admitting = from_fn_with_state((access, audit), admit);
    let spans = RequestSpans(services.tracer.clone());
    let mut routes = Routes::builder();
    routes
        .add_service(health)
        .add_service(reflection)
        .add_service(FabricServiceServer::new(services.clone()))
        .add_service(route_service)
        .add_service(PortServiceServer::new(services.clone()))
        .add_service(ReplacementServiceServer::new(services.clone()))
        .add_service(OperationServiceServer::new(services.clone()))
        .add_service(CableServiceServer::new(services.clone()))
        .add_service(SweepServiceServer::new(services.clone()))
        .add_service(ManagerServiceServer::new(services.clone()))
        .add_service(config)
        .add_service(PeerServiceServer::new(services.clone()))
        .add_service(PerfServiceServer::new(services.clone()))
        .add_service(PerfGroupServiceServer::new(services.clone()))
        .add_service(PictureServiceServer::new(services.clone()))
        .add_service(counters)
        .add_service(EmulatorServiceServer::new(services.clone()))
        .add_service(fabrics)
        .add_service(multicast)
        .add_service(HistoryServiceServer::new(services.clone()))
        .add_service(AuditServiceServer::new(services.clone()))
        .add_service(ChangeServiceServer::new(services.clone()))
        .add_service(jobs)
        .add_service(forecasts)
        .add_service(IncidentServiceServer::new(services.clone()))
        .add_service(FabricHealthServiceServer::new(services.clone()))
        .add_service(WebServiceServer::new(services.clone()))
        .add_service(WatchServiceServer::new(services));
    let router = routes.routes().into_axum_router();
    // A call passes them from the last one to the first.
    Ok(router
        .layer(from_fn(survive))
        .layer(admitting)
        .layer(map_response(details::complete))
        .layer(recording)
        .layer(limiting)
        .layer(spans))
}

/// State of the connection to the fabric as a message.
fn attachment(attachment: Attachment) -> v1::Attachment {
    v1::Attachment {
        attached: attachment.attached,
        since_time: Some(timestamp(attachment.since_unix_ns)),
    }
}

/// Links, ports and nodes in order of GUID and port.
type Key = (u64, u8);

fn end_key(id: &v1::PortId) -> Key {
    (id.node_guid, u8::try_from(id.port).unwrap_or(u8::MAX))
}
