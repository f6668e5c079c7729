//! Options of a pair.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::value_parser;
use weft_api::client::Tls;

use crate::error::DaemonError;
use crate::tls::read_certificate;

/// The other daemon.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct PeerArgs {
    /// API of another weftd on this fabric, https://HOST:PORT: as a standby, this one takes its state over from there. It
    /// shows --tls-cert there. unix:/PATH or http where both are on one machine.
    #[arg(long, value_name = "URL")]
    peer: Option<String>,
    /// CA of the other daemon's certificate, PEM; by default --tls-client-ca.
    #[arg(long, value_name = "FILE", requires = "peer")]
    peer_ca: Option<PathBuf>,
    /// Milliseconds from one sign of life for standbys to the next: 10 to 10000. A standby that misses three looks after its
    /// master.
    #[arg(long, value_name = "MS", default_value_t = 50, value_parser = value_parser!(u16).range(10..=10_000))]
    peer_heartbeat: u16,
}

/// Another daemon, to which this one connects.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    pub(crate) address: String,
    pub(crate) tls: Option<Tls>,
}

/// Files of this daemon's certificate, its key, and the CA of others.
pub(crate) type Certificates<'a> = [Option<&'a PathBuf>; 3];

impl PeerArgs {
    /// From one sign of life to the next.
    pub(crate) fn heartbeat(&self) -> Duration {
        Duration::from_millis(self.peer_heartbeat.into())
    }

    /// The other daemon; none where none is named. `own` are this daemon's certificate, its key, and the CA of clients.
    ///
    /// # Errors
    /// [`DaemonError::Usage`] where the address is not encrypted and on another machine, or lacks certificates;
    /// [`DaemonError::File`].
    pub(crate) fn peer(&self, own: Certificates<'_>) -> Result<Option<Peer>, DaemonError> {
        let Some(address) = &self.peer else {
            return Ok(None);
        };
        let refuse = |why: &str| Err(DaemonError::Usage(format!("--peer {address}: {why}")));
        if let Some(path) = address.strip_prefix("unix:") {
            let address = address.clone();
            return match path.starts_with('/') {
                true => Ok(Some(Peer { address, tls: None })),
                false => refuse("expected unix:/PATH"),
            };
        }
        let address = address.trim_end_matches('/').to_owned();
        if let Some(rest) = address.strip_prefix("http://") {
            return match is_here(rest) {
                true => Ok(Some(Peer { address, tls: None })),
                false => refuse(
                    "http is not encrypted and allowed to 127.0.0.1, [::1] and localhost only; \
                     expected https://HOST:PORT",
                ),
            };
        }
        if !address.starts_with("https://") {
            return refuse("expected https://HOST:PORT or unix:/PATH");
        }
        let [cert, key, client_ca] = own;
        let ca = self.peer_ca.as_ref().or(client_ca);
        let (Some(cert), Some(key), Some(ca)) = (cert, key, ca) else {
            return refuse(
                "https needs --tls-cert and --tls-key, which this daemon shows there, and --peer-ca or \
                 --tls-client-ca, by which it knows the other one",
            );
        };
        let tls = Some(Tls {
            ca: read(ca)?,
            identity: Some((read(cert)?, read(key)?)),
            domain: None,
        });
        Ok(Some(Peer { address, tls }))
    }
}

/// Whether `HOST:PORT` is on this machine.
fn is_here(authority: &str) -> bool {
    let host = authority
        .rsplit_once(':')
        .map_or(authority, |(host, _)| host);
    let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    host == "localhost" || address.is_some_and(|address| address.is_loopback())
}

fn read(file: &Path) -> Result<Vec<u8>, DaemonError> {
    read_certificate("certificate for --peer", file)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        peer: PeerArgs,
    }

    fn peer(address: &str) -> Result<Option<Peer>, DaemonError> {
        let line = Line::try_parse_from(["weftd", "--peer", address]).unwrap();
        line.peer.peer([None; 3])
    }

    #[test]
    fn only_this_machine_is_reached_without_encryption() {
        for address in [
            "http://127.0.0.1:9313",
            "http://[::1]:9313/",
            "http://localhost:9313",
            "unix:/run/weft/api.1.sock",
        ] {
            assert!(peer(address).unwrap().unwrap().tls.is_none(), "{address}");
        }
        for (address, told) in [
            ("http://10.0.0.2:9313", "http is not encrypted"),
            ("http://127.0.0.1.example.org:9313", "http is not encrypted"),
            ("10.0.0.2:9313", "expected https://HOST:PORT"),
            ("unix:api.sock", "expected unix:/PATH"),
            ("https://10.0.0.2:9313", "https needs --tls-cert"),
        ] {
            let said = peer(address).unwrap_err().to_string();
            assert!(said.contains(told), "{address}: {said}");
        }
    }

    #[test]
    fn a_certificate_that_is_not_there_is_named() {
        let line = Line::try_parse_from(["weftd", "--peer", "https://b:1"]).unwrap();
        let absent = PathBuf::from("/absent.pem");
        let said = line.peer.peer([Some(&absent); 3]).unwrap_err();
        assert!(said.to_string().contains("/absent.pem"), "{said}");
    }
}
