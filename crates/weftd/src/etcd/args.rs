//! Options of mastership by etcd.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::value_parser;
use tonic::transport::{Certificate, ClientTlsConfig, Identity};

use super::place::Place;
use super::user;
use crate::error::DaemonError;
use crate::tls::read_certificate;

/// Where etcd is.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct EtcdArgs {
    /// Be master by a key in etcd, etcd://HOST:PORT[,HOST:PORT…]/FABRIC: of the managers that name the same FABRIC there, the
    /// one whose lease holds the key is. Where etcd cannot be reached, the master stays, and datagrams decide.
    #[arg(long, value_name = "URL", conflicts_with = "once")]
    ha: Option<Place>,
    /// CA of etcd's certificate, PEM; needed where etcd is on another machine.
    #[arg(long, value_name = "FILE", requires = "ha")]
    ha_ca: Option<PathBuf>,
    /// This daemon's certificate for etcd, PEM.
    #[arg(long, value_name = "FILE", requires_all = ["ha_ca", "ha_key"])]
    ha_cert: Option<PathBuf>,
    /// Key of that certificate, PEM.
    #[arg(long, value_name = "FILE", requires = "ha_cert")]
    ha_key: Option<PathBuf>,
    /// File with one line USER:PASSWORD for etcd, that only the file's user may read.
    #[arg(long, value_name = "FILE", requires = "ha")]
    ha_user: Option<PathBuf>,
    /// Seconds after which etcd gives the key to another manager where its holder is not heard of: 5 to 60.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = value_parser!(u8).range(5..=60))]
    ha_lease: u8,
}

/// How mastership is asked for.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(super) place: Place,
    pub(super) tls: Option<ClientTlsConfig>,
    pub(super) user: Option<(String, String)>,
    pub(super) lease: Duration,
}

impl EtcdArgs {
    /// None where no etcd is named.
    ///
    /// # Errors
    /// [`DaemonError::Usage`] where it is on another machine and not encrypted, or a file cannot be used;
    /// [`DaemonError::File`].
    pub(crate) fn settings(&self) -> Result<Option<Settings>, DaemonError> {
        let Some(place) = self.ha.clone() else {
            return Ok(None);
        };
        if self.ha_ca.is_none() && !place.is_here() {
            return Err(DaemonError::Usage(format!(
                "--ha: {} is on another machine: --ha-ca is needed, so that nobody reads or changes what is sent",
                place.servers.join(" or ")
            )));
        }
        let tls = self.ha_ca.as_ref().map(|ca| self.tls(ca)).transpose()?;
        let user = self.ha_user.as_ref().map(|file| {
            let refuse = |why| format!("--ha-user {}: {why}", file.display());
            user::read(file).map_err(|why| DaemonError::Usage(refuse(why)))
        });
        Ok(Some(Settings {
            place,
            tls,
            user: user.transpose()?,
            lease: Duration::from_secs(self.ha_lease.into()),
        }))
    }

    fn tls(&self, ca: &Path) -> Result<ClientTlsConfig, DaemonError> {
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read(ca)?));
        Ok(match (&self.ha_cert, &self.ha_key) {
            (Some(cert), Some(key)) => tls.identity(Identity::from_pem(read(cert)?, read(key)?)),
            _ => tls,
        })
    }
}

fn read(file: &Path) -> Result<Vec<u8>, DaemonError> {
    read_certificate("certificate for --ha", file)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        etcd: EtcdArgs,
        #[arg(long)]
        once: bool,
    }

    fn settings(words: &[&str]) -> Result<Option<Settings>, String> {
        let line = Line::try_parse_from([&["weftd"], words].concat());
        let line = line.map_err(|why| why.to_string())?;
        line.etcd.settings().map_err(|why| why.to_string())
    }

    #[test]
    fn only_this_machine_is_reached_without_encryption() {
        assert!(settings(&[]).unwrap().is_none());
        let here = settings(&["--ha", "etcd://127.0.0.1:2379/x"]).unwrap();
        let here = here.unwrap();
        assert!(here.tls.is_none() && here.user.is_none());
        assert_eq!(here.lease, Duration::from_secs(5));
        for (words, told) in [
            (&["--ha", "etcd://10.0.0.2:2379/x"][..], "--ha-ca is needed"),
            (&["--ha", "etcd://x"], "expected etcd://"),
            (&["--ha", "etcd://[::1]:1/x", "--once"], "--once"),
            (&["--ha-user", "/x"], "--ha"),
            (
                &["--ha", "etcd://[::1]:1/x", "--ha-ca", "/absent.pem"],
                "/absent.pem",
            ),
            (
                &["--ha", "etcd://[::1]:1/x", "--ha-user", "/absent"],
                "/absent",
            ),
            (
                &[
                    "--ha",
                    "etcd://[::1]:1/x",
                    "--ha-cert",
                    "/c",
                    "--ha-key",
                    "/k",
                ],
                "--ha-ca",
            ),
            (&["--ha", "etcd://[::1]:1/x", "--ha-lease", "4"], "5..=60"),
        ] {
            let said = settings(words).err().unwrap();
            assert!(said.contains(told), "{words:?}: {said}");
        }
    }
}
