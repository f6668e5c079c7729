//! Encryption of the API.

use std::net::SocketAddr;
use std::path::Path;

use tonic::transport::{Certificate, Identity, ServerTlsConfig};

use crate::args::Args;
use crate::error::DaemonError;

/// Certificates, PEM.
#[derive(Debug)]
pub(crate) struct Tls {
    identity: Identity,
    client_ca: Option<Certificate>,
}

impl Tls {
    /// What the command line names; none where it names nothing, which only loopback allows.
    pub(crate) fn new(args: &Args) -> Result<Option<Self>, DaemonError> {
        let complete = args.tls_cert.is_some() && args.tls_client_ca.is_some();
        if !args.listen.ip().is_loopback() && !complete {
            return Err(refusal(args.listen));
        }
        let (Some(cert), Some(key)) = (&args.tls_cert, &args.tls_key) else {
            return Ok(None);
        };
        Ok(Some(Self {
            identity: Identity::from_pem(read("certificate", cert)?, read("key", key)?),
            client_ca: match &args.tls_client_ca {
                Some(ca) => Some(Certificate::from_pem(read("authority", ca)?)),
                None => None,
            },
        }))
    }

    pub(crate) fn server_config(self) -> ServerTlsConfig {
        let config = ServerTlsConfig::new().identity(self.identity);
        match self.client_ca {
            Some(ca) => config.client_ca_root(ca),
            None => config,
        }
    }
}

fn refusal(listen: SocketAddr) -> DaemonError {
    DaemonError::Usage(format!(
        "--listen {listen} can be reached from other machines: it needs --tls-cert, --tls-key and \
         --tls-client-ca, because whoever reaches the API can switch ports off"
    ))
}

fn read(what: &'static str, file: &Path) -> Result<Vec<u8>, DaemonError> {
    std::fs::read(file).map_err(|source| DaemonError::File {
        what,
        file: file.to_owned(),
        source,
    })
}
