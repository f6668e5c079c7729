//! To the daemon.

use std::path::Path;

use weft_api::client::{Client, Tls};

use crate::args::Daemon;
use crate::error::CliError;

/// Connects as the command line says.
pub(crate) async fn connect(daemon: &Daemon) -> Result<Client, CliError> {
    let tls = match &daemon.tls_ca {
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
    };
    Ok(Client::connect(&daemon.address, tls).await?)
}

fn read(file: &Path) -> Result<Vec<u8>, CliError> {
    std::fs::read(file).map_err(|source| CliError::file(file, source))
}
