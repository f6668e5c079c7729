//! A client of a daemon: connects, and returns values of the other crates.

use std::path::PathBuf;
use std::time::Duration;

use tokio_stream::StreamExt;
use tonic::Status;
use tonic::codegen::InterceptedService;
use tonic::service::Interceptor;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use weft_fabric::Snapshot;
use weft_fabric::text::innermost;

use crate::MAX_MESSAGE_LEN;
use crate::emulator_v1::emulator_service_client::EmulatorServiceClient;
use crate::snapshot::{Assembler, SnapshotError};
use crate::v1;
use crate::v1::audit_service_client::AuditServiceClient;
use crate::v1::cable_service_client::CableServiceClient;
use crate::v1::change_service_client::ChangeServiceClient;
use crate::v1::config_service_client::ConfigServiceClient;
use crate::v1::counter_service_client::CounterServiceClient;
use crate::v1::fabric_health_service_client::FabricHealthServiceClient;
use crate::v1::fabric_service_client::FabricServiceClient;
use crate::v1::history_service_client::HistoryServiceClient;
use crate::v1::incident_service_client::IncidentServiceClient;
use crate::v1::job_service_client::JobServiceClient;
use crate::v1::manager_service_client::ManagerServiceClient;
use crate::v1::multicast_service_client::MulticastServiceClient;
use crate::v1::operation_service_client::OperationServiceClient;
use crate::v1::peer_service_client::PeerServiceClient;
use crate::v1::perf_group_service_client::PerfGroupServiceClient;
use crate::v1::perf_service_client::PerfServiceClient;
use crate::v1::picture_service_client::PictureServiceClient;
use crate::v1::port_service_client::PortServiceClient;
use crate::v1::replacement_service_client::ReplacementServiceClient;
use crate::v1::route_service_client::RouteServiceClient;
use crate::v1::sweep_service_client::SweepServiceClient;
use crate::v1::virtual_fabric_service_client::VirtualFabricServiceClient;
use crate::v1::watch_service_client::WatchServiceClient;
use crate::v1::web_service_client::WebServiceClient;
use crate::v1::what_if_service_client::WhatIfServiceClient;

mod connector;
mod obstacle;

use connector::Connector;
use obstacle::Called;
pub use obstacle::Obstacle;

/// Timeout for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a call gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is no address.
    #[error(
        "'{address}' is no address of a daemon: {why}; expected unix:/PATH, http://HOST:PORT or https://HOST:PORT"
    )]
    Address {
        /// The address as given.
        address: String,
        /// Why it is invalid.
        why: String,
    },
    /// The daemon cannot be reached, or it is no daemon.
    #[error("no weftd at {address}: {why}")]
    Unreachable {
        /// The address that was tried.
        address: String,
        /// The obstacle, and its remedy.
        why: Obstacle,
    },
    /// The daemon refused.
    #[error("{}", status_text(.0))]
    Refused(#[from] Status),
    /// The daemon's snapshot makes no sense.
    #[error("the daemon sent a snapshot that makes no sense: {0}")]
    Snapshot(#[from] SnapshotError),
}

fn status_text(status: &Status) -> String {
    match status.message() {
        "" => format!("the daemon answered {:?}", status.code()),
        message => message.to_owned(),
    }
}

/// Certificates for an encrypted connection, PEM.
#[derive(Debug, Clone, Default)]
pub struct Tls {
    /// Authority that signed the daemon's certificate.
    pub ca: Vec<u8>,
    /// The client's own certificate and key, if the daemon requires one.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    /// Name in the daemon's certificate, where it is not the address's host.
    pub domain: Option<String>,
}

/// A connection to a daemon.
#[derive(Debug, Clone)]
pub struct Client {
    channel: Channel,
    called: Called,
    deadline: Deadline,
}

/// A channel that sends the daemon the deadline of each call.
pub type Calls = InterceptedService<Channel, Deadline>;

/// Puts `grpc-timeout` into each call.
#[derive(Debug, Clone, Copy, Default)]
pub struct Deadline(Option<Duration>);

impl Interceptor for Deadline {
    fn call(&mut self, mut request: tonic::Request<()>) -> Result<tonic::Request<()>, Status> {
        if let Some(limit) = self.0 {
            request.set_timeout(limit);
        }
        Ok(request)
    }
}

impl Client {
    /// Health of a service by `grpc.health.v1`: SERVING, NOT_SERVING, SERVICE_UNKNOWN or UNKNOWN; of the daemon as a
    /// whole for an empty name.
    ///
    /// # Errors
    /// The daemon's refusal, such as that it does not know the service.
    pub async fn service_health(&self, service: &str) -> Result<&'static str, Status> {
        let channel = InterceptedService::new(self.channel.clone(), self.deadline);
        let service = service.to_owned();
        let mut client = HealthClient::new(channel);
        let checked = client.check(HealthCheckRequest { service }).await?;
        Ok(checked.into_inner().status().as_str_name())
    }

    /// Connects to `address`: `unix:/PATH`, `http://HOST:PORT`, or `https://HOST:PORT` with `tls`.
    ///
    /// # Errors
    /// [`ClientError::Address`] or [`ClientError::Unreachable`].
    pub async fn connect(address: &str, tls: Option<Tls>) -> Result<Self, ClientError> {
        let wrong = |why: String| ClientError::Address {
            address: address.to_owned(),
            why,
        };
        let socket = address.strip_prefix("unix:").map(PathBuf::from);
        if socket.as_ref().is_some_and(|path| !path.is_absolute()) {
            return Err(wrong("the path is not absolute".to_owned()));
        }
        if socket.is_some() && tls.is_some() {
            return Err(wrong("a Unix socket takes no certificates".to_owned()));
        }
        // HTTP/2 names a host, also where none is connected to.
        let named = socket.as_ref().map_or(address, |_| "http://localhost");
        let endpoint = Endpoint::from_shared(named.to_owned());
        let mut endpoint = endpoint.map_err(|error| wrong(error.to_string()))?;
        let called = Called {
            address: endpoint.uri().clone(),
            socket: socket.clone(),
            identified: tls.as_ref().is_some_and(|tls| tls.identity.is_some()),
        };
        match (called.address.scheme_str(), &tls) {
            (Some("http"), None) | (Some("https"), Some(_)) => {}
            (Some("https"), None) => return Err(wrong("https needs --tls-ca".to_owned())),
            (Some("http"), Some(_)) => return Err(wrong("certificates need https".to_owned())),
            _ => return Err(wrong("the scheme is missing".to_owned())),
        }
        if let Some(tls) = tls {
            let config = tls_config(tls);
            endpoint = endpoint
                .tls_config(config)
                .map_err(|error| wrong(innermost(&error)))?;
        }
        let deadline = Deadline::default();
        let endpoint = endpoint.connect_timeout(CONNECT_TIMEOUT);
        match endpoint
            .connect_with_connector(Connector::new(socket))
            .await
        {
            Ok(channel) => Ok(Self {
                channel,
                called,
                deadline,
            }),
            Err(error) => Err(ClientError::Unreachable {
                address: address.to_owned(),
                why: obstacle::of_connect(&called, &error).await,
            }),
        }
    }

    /// Limits each call from now on: the daemon receives the deadline, so that it does not start
    /// calls that have been given up.
    #[must_use]
    pub fn within(mut self, limit: Duration) -> Self {
        self.deadline = Deadline(Some(limit));
        self
    }

    /// Interprets the status of a call: a refusal by the daemon, or no daemon at all.
    pub async fn explain(&self, status: Status) -> ClientError {
        match obstacle::of_status(&self.called, &status).await {
            Some(why) => ClientError::Unreachable {
                address: self.called.text(),
                why,
            },
            None => ClientError::Refused(status),
        }
    }

    fn calls(&self) -> Calls {
        InterceptedService::new(self.channel.clone(), self.deadline)
    }

    /// The service that reads the fabric.
    pub fn fabric(&self) -> FabricServiceClient<Calls> {
        FabricServiceClient::new(self.calls()).max_decoding_message_size(MAX_MESSAGE_LEN)
    }

    /// The service that answers how packets travel.
    pub fn routes(&self) -> RouteServiceClient<Calls> {
        RouteServiceClient::new(self.calls()).max_decoding_message_size(MAX_MESSAGE_LEN)
    }

    /// The service that changes ports.
    pub fn ports(&self) -> PortServiceClient<Calls> {
        PortServiceClient::new(self.calls())
    }

    /// The service for cables.
    pub fn cables(&self) -> CableServiceClient<Calls> {
        CableServiceClient::new(self.calls())
    }

    /// Pictures of the fabric.
    pub fn pictures(&self) -> PictureServiceClient<Calls> {
        PictureServiceClient::new(self.calls())
    }

    /// The service for HFIs in the place of others.
    pub fn replacements(&self) -> ReplacementServiceClient<Calls> {
        ReplacementServiceClient::new(self.calls())
    }

    /// The service for the page of what is wrong.
    pub fn health(&self) -> FabricHealthServiceClient<Calls> {
        FabricHealthServiceClient::new(self.calls()).max_decoding_message_size(MAX_MESSAGE_LEN)
    }

    /// The service for counters and events of the past.
    pub fn history(&self) -> HistoryServiceClient<Calls> {
        HistoryServiceClient::new(self.calls()).max_decoding_message_size(MAX_MESSAGE_LEN)
    }

    /// The service for the record of changes.
    pub fn audit(&self) -> AuditServiceClient<Calls> {
        AuditServiceClient::new(self.calls())
    }

    /// The service for who or what changed a part of the fabric.
    pub fn changes(&self) -> ChangeServiceClient<Calls> {
        ChangeServiceClient::new(self.calls())
    }

    /// The service for what the fabric did to a job.
    pub fn jobs(&self) -> JobServiceClient<Calls> {
        JobServiceClient::new(self.calls()).max_decoding_message_size(MAX_MESSAGE_LEN)
    }

    /// The service for multicast groups.
    pub fn multicast(&self) -> MulticastServiceClient<Calls> {
        MulticastServiceClient::new(self.calls()).max_decoding_message_size(MAX_MESSAGE_LEN)
    }

    /// The service for what would come of a change.
    pub fn what_if(&self) -> WhatIfServiceClient<Calls> {
        WhatIfServiceClient::new(self.calls()).max_decoding_message_size(MAX_MESSAGE_LEN)
    }

    /// The service for copies of the recording.
    pub fn incidents(&self) -> IncidentServiceClient<Calls> {
        IncidentServiceClient::new(self.calls())
    }

    /// The service of the page.
    pub fn web(&self) -> WebServiceClient<Calls> {
        WebServiceClient::new(self.calls())
    }

    /// The service for sweeps.
    pub fn sweeps(&self) -> SweepServiceClient<Calls> {
        SweepServiceClient::new(self.calls())
    }

    /// The service for operations.
    pub fn operations(&self) -> OperationServiceClient<Calls> {
        OperationServiceClient::new(self.calls()).max_decoding_message_size(MAX_MESSAGE_LEN)
    }

    /// The service for the configuration.
    pub fn config(&self) -> ConfigServiceClient<Calls> {
        ConfigServiceClient::new(self.calls()).max_decoding_message_size(MAX_MESSAGE_LEN)
    }

    /// The service for virtual fabrics.
    pub fn virtual_fabrics(&self) -> VirtualFabricServiceClient<Calls> {
        VirtualFabricServiceClient::new(self.calls()).max_decoding_message_size(MAX_MESSAGE_LEN)
    }

    /// The service by which managers hand on their state.
    pub fn peers(&self) -> PeerServiceClient<Calls> {
        PeerServiceClient::new(self.calls()).max_decoding_message_size(MAX_MESSAGE_LEN)
    }

    /// The service for link loads.
    pub fn perf(&self) -> PerfServiceClient<Calls> {
        PerfServiceClient::new(self.calls())
    }

    /// The service for groups of ports.
    pub fn perf_groups(&self) -> PerfGroupServiceClient<Calls> {
        PerfGroupServiceClient::new(self.calls())
    }

    /// The service for counters of ports.
    pub fn counters(&self) -> CounterServiceClient<Calls> {
        CounterServiceClient::new(self.calls()).max_decoding_message_size(MAX_MESSAGE_LEN)
    }

    /// The service that controls the manager while it runs.
    pub fn manager(&self) -> ManagerServiceClient<Calls> {
        ManagerServiceClient::new(self.calls())
    }

    /// The service for traffic in an emulated fabric.
    pub fn emulator(&self) -> EmulatorServiceClient<Calls> {
        EmulatorServiceClient::new(self.calls())
    }

    /// The service for events.
    pub fn watch(&self) -> WatchServiceClient<Calls> {
        WatchServiceClient::new(self.calls())
    }

    /// The whole fabric as the daemon sees it now. Subnet managers come without their keys.
    ///
    /// # Errors
    /// [`ClientError::Refused`] or [`ClientError::Snapshot`].
    pub async fn snapshot(&self) -> Result<Snapshot, ClientError> {
        self.snapshot_with(&[]).await
    }

    /// The whole fabric with extras. Those that an older daemon does not have are lacking, see
    /// [`weft_fabric::Lacking`].
    ///
    /// # Errors
    /// [`ClientError::Refused`] or [`ClientError::Snapshot`].
    pub async fn snapshot_with(
        &self,
        extras: &[v1::SnapshotExtra],
    ) -> Result<Snapshot, ClientError> {
        let (snapshot, _) = self.snapshot_at(extras, None).await?;
        Ok(snapshot)
    }

    /// The whole fabric with extras at a moment of the past, and which moment it is; the fabric of now where none is
    /// given.
    ///
    /// # Errors
    /// [`ClientError::Refused`] or [`ClientError::Snapshot`].
    pub async fn snapshot_at(
        &self,
        extras: &[v1::SnapshotExtra],
        at: Option<v1::Moment>,
    ) -> Result<(Snapshot, Option<v1::MomentShown>), ClientError> {
        let extras = extras.iter().map(|extra| i32::from(*extra)).collect();
        let request = v1::GetSnapshotRequest { extras, at };
        let response = self.fabric().get_snapshot(request).await?;
        let mut parts = response.into_inner();
        let mut assembler = Assembler::default();
        while let Some(part) = parts.next().await {
            assembler.push(part?)?;
        }
        let moment = assembler.moment().cloned();
        Ok((assembler.finish()?, moment))
    }
}

fn tls_config(tls: Tls) -> ClientTlsConfig {
    let mut config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(tls.ca));
    if let Some((certificate, key)) = tls.identity {
        config = config.identity(Identity::from_pem(certificate, key));
    }
    match tls.domain {
        Some(domain) => config.domain_name(domain),
        None => config,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_connection_that_ends_at_once_is_not_made_again_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let accepted = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&accepted);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                drop(stream);
            }
        });
        let client = Client::connect(&address, None).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        let status = client.snapshot().await.unwrap_err();
        assert!(matches!(&status, ClientError::Refused(_)), "{status}");
        assert_eq!(accepted.load(Ordering::Relaxed), 1);
        let ClientError::Refused(status) = status else {
            return;
        };
        let told = client.explain(status).await.to_string();
        assert!(told.contains("ended as soon as it was made"), "{told}");
    }

    #[test]
    fn the_daemon_is_told_how_long_a_call_may_take() {
        let mut deadline = Deadline(Some(Duration::from_secs(10)));
        let request = deadline.call(tonic::Request::new(())).unwrap();
        let told = request.metadata().get("grpc-timeout").unwrap();
        assert_eq!(told, "10000000u", "microseconds");
        let request = Deadline(None).call(tonic::Request::new(())).unwrap();
        assert_eq!(request.metadata().get("grpc-timeout"), None);
    }
}
