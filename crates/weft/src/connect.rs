//! To the daemon, with a deadline for every call.

use std::path::Path;
use std::time::Duration;

use tonic::{Code, Response, Status};
use weft_api::client::{Client, ClientError, Tls};
use weft_api::v1;
use weft_fabric::Snapshot;

use crate::args::Daemon;
use crate::error::CliError;

/// Class of a call, which sets its default timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Answered from the daemon's memory.
    Look,
    /// One device changes, or the whole fabric is read.
    Work,
    /// Routes are computed, or a sweep of the whole fabric is waited for.
    Long,
}

impl Effort {
    fn limit(self) -> Duration {
        Duration::from_secs(match self {
            Self::Look => 10,
            Self::Work => 60,
            Self::Long => 900,
        })
    }
}

/// A connection to the daemon. Every call through it ends by its deadline.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    client: Client,
    address: String,
    asked: Option<Duration>,
}

/// Connects by the command line's options.
pub(crate) async fn connect(daemon: &Daemon) -> Result<Session, CliError> {
    let tls = tls(daemon)?;
    let address = address(daemon)?;
    let limit = daemon.timeout.unwrap_or(Effort::Look.limit());
    let client = tokio::time::timeout(limit, Client::connect(&address, tls)).await;
    let Ok(client) = client else {
        return Err(CliError::Late { address, limit });
    };
    Ok(Session {
        client: client?,
        address,
        asked: daemon.timeout,
    })
}

/// The address that is named, or that of an instance on this host.
pub(crate) fn address(daemon: &Daemon) -> Result<String, CliError> {
    match (&daemon.address, daemon.instance) {
        (Some(address), None) => Ok(address.clone()),
        (None, instance) => {
            let instance = instance.unwrap_or(0);
            let socket = weft_api::api_socket(instance);
            if Path::new(&socket).exists() {
                return Ok(format!("unix:{socket}"));
            }
            let port = weft_api::api_port(instance);
            Ok(format!("http://127.0.0.1:{port}"))
        }
        (Some(address), Some(instance)) => Err(CliError::Usage(format!(
            "instance {instance} (--instance or WEFT_INSTANCE) is that of this host, but the address is {address} \
             (--address or WEFT_ADDRESS): give one of them"
        ))),
    }
}

impl Session {
    /// The daemon's services, each call of which the daemon gives up after the limit for this effort.
    pub(crate) fn services(&self, effort: Effort) -> Client {
        self.client.clone().within(self.limit(effort))
    }

    /// The daemon's services for calls that go on until the client ends them.
    pub(crate) fn endless(&self) -> &Client {
        &self.client
    }

    /// The daemon's address.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The answer to a call.
    ///
    /// # Errors
    /// [`CliError::Late`] where none comes in time, or why the daemon refused, or that there is none.
    pub(crate) async fn answer<T>(
        &self,
        effort: Effort,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, CliError> {
        let answer = self.in_time(effort, async { Ok(call.await) }).await?;
        match answer {
            Ok(response) => Ok(response.into_inner()),
            Err(status) => Err(self.explain(effort, status).await),
        }
    }

    /// Runs calls to the daemon with a timeout.
    ///
    /// # Errors
    /// Those of the calls, or [`CliError::Late`].
    pub(crate) async fn in_time<T>(
        &self,
        effort: Effort,
        work: impl Future<Output = Result<T, CliError>>,
    ) -> Result<T, CliError> {
        let done = tokio::time::timeout(self.limit(effort), work).await;
        done.unwrap_or_else(|_| Err(self.late(effort)))
    }

    /// Translates a status to an error for users.
    pub(crate) async fn explain(&self, effort: Effort, status: Status) -> CliError {
        let expired = std::error::Error::source(&status).is_some();
        match status.code() {
            Code::Cancelled if expired => self.late(effort),
            _ => self.client.explain(status).await.into(),
        }
    }

    /// The whole fabric.
    pub(crate) async fn snapshot(&self) -> Result<Snapshot, CliError> {
        let (snapshot, _) = self.snapshot_at(&[], None).await?;
        Ok(snapshot)
    }

    /// The whole fabric with parts that only come when they are asked for, at a moment of the past or now.
    pub(crate) async fn snapshot_at(
        &self,
        extras: &[v1::SnapshotExtra],
        at: Option<v1::Moment>,
    ) -> Result<(Snapshot, Option<v1::MomentShown>), CliError> {
        let client = self.services(Effort::Work);
        let snapshot = async { Ok(client.snapshot_at(extras, at).await) };
        match self.in_time(Effort::Work, snapshot).await? {
            Err(ClientError::Refused(status)) => Err(self.explain(Effort::Work, status).await),
            other => Ok(other?),
        }
    }

    fn limit(&self, effort: Effort) -> Duration {
        self.asked.unwrap_or(effort.limit())
    }

    fn late(&self, effort: Effort) -> CliError {
        CliError::Late {
            address: self.address.clone(),
            limit: self.limit(effort),
        }
    }
}

fn tls(daemon: &Daemon) -> Result<Option<Tls>, CliError> {
    Ok(match &daemon.tls_ca {
        None if daemon.tls_cert.is_some() || daemon.tls_domain.is_some() => {
            return Err(CliError::Usage(
                "--tls-cert and --tls-domain need --tls-ca".to_owned(),
            ));
        }
        None => None,
        Some(ca) => Some(Tls {
            ca: read(ca)?,
            identity: match (&daemon.tls_cert, &daemon.tls_key) {
                (Some(cert), Some(key)) => Some((read(cert)?, read(key)?)),
                _ => None,
            },
            domain: daemon.tls_domain.clone(),
        }),
    })
}

fn read(file: &Path) -> Result<Vec<u8>, CliError> {
    std::fs::read(file).map_err(|source| CliError::file(file, source))
}
