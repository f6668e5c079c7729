//! The API `weft.v1`.

mod config;
mod emulator;
mod fabric;
mod page;
mod perf;
mod plan;
mod port;
mod route;
mod sweep;
mod watch;

use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch as observed};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::Status;
use tonic::transport::Server;
use weft_api::v1;
use weft_api::v1::config_service_server::ConfigServiceServer;
use weft_api::v1::emulator_service_server::EmulatorServiceServer;
use weft_api::v1::fabric_service_server::FabricServiceServer;
use weft_api::v1::perf_service_server::PerfServiceServer;
use weft_api::v1::port_service_server::PortServiceServer;
use weft_api::v1::route_service_server::RouteServiceServer;
use weft_api::v1::sweep_service_server::SweepServiceServer;
use weft_api::v1::watch_service_server::WatchServiceServer;
use weft_api::{DESCRIPTORS, MAX_MESSAGE_LEN};
use weft_emulator::control::Controller;
use weft_fabric::Snapshot;
use weft_fabric::enums::SmState;
use weft_manager::CommandError;
use weft_report::{Point, Selection};

use crate::counted::Counted;
use crate::engine::Request;
use crate::error::DaemonError;
use crate::hub::Hub;
use crate::plans::Plans;
use crate::queries::QuerySettings;
use crate::reload::Reloader;
use crate::stopping::Stopping;
use crate::tls::Tls;

/// Calls of one connection that are carried out at the same time.
const CALLS_PER_CONNECTION: usize = 64;

/// What the services need.
#[derive(Clone)]
pub(crate) struct Services {
    pub(crate) hub: Arc<Hub>,
    pub(crate) engine: mpsc::Sender<Request>,
    pub(crate) reloader: Arc<Reloader>,
    pub(crate) plans: Arc<Plans>,
    /// What ports counted.
    pub(crate) counted: Arc<Counted>,
    pub(crate) query_settings: observed::Receiver<QuerySettings>,
    /// The way to an emulated fabric, none to a real one.
    pub(crate) controller: Option<Controller>,
    pub(crate) connected_to: Arc<str>,
    pub(crate) stopping: Stopping,
}

impl Services {
    /// Refuses what only a master can do.
    fn must_be_master(&self) -> Result<(), Status> {
        let status = self.hub.status();
        match (status.role, status.master) {
            (role @ (SmState::STANDBY | SmState::NOT_ACTIVE), Some(master)) => {
                let error = CommandError::NotMaster { role, master };
                Err(Status::failed_precondition(error.to_string()))
            }
            _ => Ok(()),
        }
    }

    /// Asks the manager's thread.
    async fn ask(&self, request: Request) -> Result<(), Status> {
        let sent = self.engine.try_send(request);
        sent.map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => {
                Status::resource_exhausted("too many requests wait already; try again later")
            }
            mpsc::error::TrySendError::Closed(_) => stopping(),
        })
    }
}

fn stopping() -> Status {
    Status::unavailable("the daemon is stopping")
}

/// What a point of a request names. Files are not read for clients.
fn select(snapshot: &Snapshot, field: &str, text: &str) -> Result<Selection, Status> {
    let no_files = |_: &str| Err("the daemon reads no files for clients".to_owned());
    let point = Point::parse(text, &no_files);
    let point = point.map_err(|error| Status::invalid_argument(format!("{field}: {error}")))?;
    point
        .select(snapshot)
        .map_err(|error| Status::not_found(format!("{field}: {error}")))
}

/// Serves until `services.stopping` says so. `ready` is true once the first sweep has ended.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<Tls>,
    services: Services,
    health: tonic_health::server::HealthReporter,
    health_server: tonic_health::pb::health_server::HealthServer<
        impl tonic_health::pb::health_server::Health,
    >,
) -> Result<(), DaemonError> {
    let wrong = |error: &dyn std::error::Error| DaemonError::Tls(error.to_string());
    let mut server = Server::builder().concurrency_limit_per_connection(CALLS_PER_CONNECTION);
    if let Some(tls) = tls {
        server = server
            .tls_config(tls.server_config())
            .map_err(|error| wrong(&error))?;
    }
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()
        .map_err(|error| wrong(&error))?;
    let stopping = services.stopping.clone();
    tokio::spawn(report_health(health, services.clone()));
    let config = ConfigServiceServer::new(services.clone())
        .max_decoding_message_size(2 * weft_config::MAX_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_LEN);
    let routes = RouteServiceServer::new(services.clone())
        .max_decoding_message_size(2 * weft_config::MAX_BYTES);
    let router = server
        .add_service(health_server)
        .add_service(reflection)
        .add_service(FabricServiceServer::new(services.clone()))
        .add_service(routes)
        .add_service(PortServiceServer::new(services.clone()))
        .add_service(SweepServiceServer::new(services.clone()))
        .add_service(config)
        .add_service(PerfServiceServer::new(services.clone()))
        .add_service(EmulatorServiceServer::new(services.clone()))
        .add_service(WatchServiceServer::new(services));
    let incoming = TcpListenerStream::new(listener);
    let served = router
        .serve_with_incoming_shutdown(incoming, stopping.wait())
        .await;
    served.map_err(|error| wrong(&error))
}

/// The health service says SERVING once the first sweep has ended.
async fn report_health(reporter: tonic_health::server::HealthReporter, services: Services) {
    use tonic_health::ServingStatus::{NotServing, Serving};
    let names = [
        "",
        "weft.v1.FabricService",
        "weft.v1.RouteService",
        "weft.v1.PortService",
        "weft.v1.SweepService",
        "weft.v1.ConfigService",
        "weft.v1.WatchService",
        "weft.v1.PerfService",
        "weft.v1.EmulatorService",
    ];
    for name in names {
        reporter.set_service_status(name, NotServing).await;
    }
    services.hub.first_sweep().await;
    for name in names {
        reporter.set_service_status(name, Serving).await;
    }
}

/// Links, ports and nodes in order of GUID and port.
type Key = (u64, u8);

fn end_key(id: &v1::PortId) -> Key {
    (id.node_guid, u8::try_from(id.port).unwrap_or(u8::MAX))
}
