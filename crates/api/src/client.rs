//! A client of a daemon: connects, and gives values of the other crates back.

use std::time::Duration;

use tokio_stream::StreamExt;
use tonic::Status;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use weft_fabric::Snapshot;

use crate::MAX_MESSAGE_LEN;
use crate::snapshot::{Assembler, SnapshotError};
use crate::v1;
use crate::v1::config_service_client::ConfigServiceClient;
use crate::v1::emulator_service_client::EmulatorServiceClient;
use crate::v1::fabric_service_client::FabricServiceClient;
use crate::v1::perf_service_client::PerfServiceClient;
use crate::v1::port_service_client::PortServiceClient;
use crate::v1::route_service_client::RouteServiceClient;
use crate::v1::sweep_service_client::SweepServiceClient;
use crate::v1::watch_service_client::WatchServiceClient;

/// How long a connection may take to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a call gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is no address.
    #[error(
        "'{address}' is no address of a daemon: {why}; expected http://HOST:PORT or https://HOST:PORT"
    )]
    Address {
        /// What was given.
        address: String,
        /// What is wrong with it.
        why: String,
    },
    /// Nobody answers there.
    #[error(
        "weftd is not running at {address} ({why}); start it with `weftd --config FILE --emulate FABRIC`, or name another address with --address"
    )]
    NotRunning {
        /// Where it was looked for.
        address: String,
        /// What the system said.
        why: String,
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
    /// The client's own certificate and key, where the daemon asks for one.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    /// Name in the daemon's certificate, where it is not the address's host.
    pub domain: Option<String>,
}

/// A connection to a daemon.
#[derive(Debug, Clone)]
pub struct Client {
    channel: Channel,
}

impl Client {
    /// Connects to `address`, `http://HOST:PORT`, or `https://HOST:PORT` with `tls`.
    ///
    /// # Errors
    /// [`ClientError::Address`] or [`ClientError::NotRunning`].
    pub async fn connect(address: &str, tls: Option<Tls>) -> Result<Self, ClientError> {
        let wrong = |why: String| ClientError::Address {
            address: address.to_owned(),
            why,
        };
        let endpoint = Endpoint::from_shared(address.to_owned());
        let mut endpoint = endpoint.map_err(|error| wrong(error.to_string()))?;
        let scheme = endpoint.uri().scheme_str().map(str::to_owned);
        match (scheme.as_deref(), &tls) {
            (Some("http"), None) | (Some("https"), Some(_)) => {}
            (Some("https"), None) => return Err(wrong("https needs --tls-ca".to_owned())),
            (Some("http"), Some(_)) => return Err(wrong("certificates need https".to_owned())),
            _ => return Err(wrong("the scheme is missing".to_owned())),
        }
        if let Some(tls) = tls {
            let config = tls_config(tls);
            endpoint = endpoint
                .tls_config(config)
                .map_err(|error| wrong(causes(&error)))?;
        }
        let channel = endpoint.connect_timeout(CONNECT_TIMEOUT).connect().await;
        let channel = channel.map_err(|error| ClientError::NotRunning {
            address: address.to_owned(),
            why: causes(&error),
        })?;
        Ok(Self { channel })
    }

    /// The service that reads the fabric.
    pub fn fabric(&self) -> FabricServiceClient<Channel> {
        FabricServiceClient::new(self.channel.clone()).max_decoding_message_size(MAX_MESSAGE_LEN)
    }

    /// The service that answers how packets travel.
    pub fn routes(&self) -> RouteServiceClient<Channel> {
        RouteServiceClient::new(self.channel.clone()).max_decoding_message_size(MAX_MESSAGE_LEN)
    }

    /// The service that changes ports.
    pub fn ports(&self) -> PortServiceClient<Channel> {
        PortServiceClient::new(self.channel.clone())
    }

    /// The service for sweeps.
    pub fn sweeps(&self) -> SweepServiceClient<Channel> {
        SweepServiceClient::new(self.channel.clone())
    }

    /// The service for the configuration.
    pub fn config(&self) -> ConfigServiceClient<Channel> {
        ConfigServiceClient::new(self.channel.clone()).max_decoding_message_size(MAX_MESSAGE_LEN)
    }

    /// The service that tells what links carry.
    pub fn perf(&self) -> PerfServiceClient<Channel> {
        PerfServiceClient::new(self.channel.clone())
    }

    /// The service for traffic in an emulated fabric.
    pub fn emulator(&self) -> EmulatorServiceClient<Channel> {
        EmulatorServiceClient::new(self.channel.clone())
    }

    /// The service that tells what happens.
    pub fn watch(&self) -> WatchServiceClient<Channel> {
        WatchServiceClient::new(self.channel.clone())
    }

    /// The whole fabric as the daemon sees it now. Subnet managers come without their keys.
    ///
    /// # Errors
    /// [`ClientError::Refused`] or [`ClientError::Snapshot`].
    pub async fn snapshot(&self) -> Result<Snapshot, ClientError> {
        let response = self
            .fabric()
            .get_snapshot(v1::GetSnapshotRequest {})
            .await?;
        let mut parts = response.into_inner();
        let mut assembler = Assembler::default();
        while let Some(part) = parts.next().await {
            assembler.push(part?)?;
        }
        Ok(assembler.finish()?)
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

/// The innermost cause of an error, which says most.
fn causes(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
