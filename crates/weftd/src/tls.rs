//! Encryption of the API.

use std::net::SocketAddr;
use std::path::Path;

use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};
use weft_fabric::text::innermost;

use crate::args::Args;
use crate::error::DaemonError;

/// Certificates that can be used.
#[derive(Debug)]
pub(crate) struct Tls(ServerTlsConfig);

impl Tls {
    /// Loads the certificates named on the command line; `None` without any, which only loopback allows.
    ///
    /// # Errors
    /// [`DaemonError::Usage`] if certificates are missing, [`DaemonError::File`] if a file cannot
    /// be read, and [`DaemonError::Tls`] if its content cannot be used.
    pub(crate) fn new(args: &Args) -> Result<Option<Self>, DaemonError> {
        let complete = args.tls_cert.is_some() && args.tls_client_ca.is_some();
        if !args.listen().ip().is_loopback() && !complete {
            return Err(refusal(args.listen()));
        }
        let (Some(cert), Some(key)) = (&args.tls_cert, &args.tls_key) else {
            return Ok(None);
        };
        let identity = Identity::from_pem(read("certificate", cert)?, read("key", key)?);
        let mut config = ServerTlsConfig::new().identity(identity);
        try_out(&config).map_err(|why| {
            let (cert, key) = (cert.display(), key.display());
            DaemonError::Tls(format!(
                "--tls-cert {cert} and --tls-key {key} cannot be used: {why}; expected a certificate and \
                 the private key that belongs to it, PEM"
            ))
        })?;
        if let Some(ca) = &args.tls_client_ca {
            config = config.client_ca_root(Certificate::from_pem(read("authority", ca)?));
            try_out(&config).map_err(|why| {
                let ca = ca.display();
                DaemonError::Tls(format!(
                    "--tls-client-ca {ca} cannot be used: {why}; expected the authority's certificate, PEM"
                ))
            })?;
        }
        Ok(Some(Self(config)))
    }

    pub(crate) fn server_config(self) -> ServerTlsConfig {
        self.0
    }
}

/// Loads the certificates as a server does; on failure describes the reason.
fn try_out(config: &ServerTlsConfig) -> Result<(), String> {
    let Err(error) = Server::builder().tls_config(config.clone()) else {
        return Ok(());
    };
    Err(innermost(&error))
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
