//! Options of the metrics.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use super::{Door, token};
use crate::error::DaemonError;
use crate::tls::Tls;

/// Options of the metrics.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct MetricsArgs {
    /// Address of the metrics for Prometheus, by default 127.0.0.1 with port 9315 for instance 0, 9325 for instance 1 and so
    /// on; without encryption unless --metrics-tls is given.
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<SocketAddr>,
    /// Encrypt the metrics with the certificate of the API; readers need none.
    #[arg(long, requires = "tls_cert")]
    metrics_tls: bool,
    /// Answer only readers of the metrics with the token that this file holds (Authorization: Bearer); read for each.
    #[arg(long, value_name = "FILE")]
    metrics_token: Option<PathBuf>,
}

impl MetricsArgs {
    /// Address of the metrics, at this port where none is given.
    pub(crate) fn address(&self, port: u16) -> SocketAddr {
        self.metrics.unwrap_or((Ipv4Addr::LOCALHOST, port).into())
    }

    /// Whom the metrics are for.
    ///
    /// # Errors
    /// [`DaemonError::Usage`] where the token cannot be read.
    pub(crate) fn door(&self, tls: Option<&Tls>) -> Result<Door, DaemonError> {
        if let Some(file) = &self.metrics_token {
            token(file).map_err(|why| DaemonError::Usage(format!("--metrics-token {why}")))?;
        }
        Ok(Door {
            tls: tls.filter(|_| self.metrics_tls).cloned(),
            token: self.metrics_token.clone(),
        })
    }
}
