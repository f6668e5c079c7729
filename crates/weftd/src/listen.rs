//! Where the API listens.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use tokio::net::TcpListener;
use weft_api::{api_port, api_socket};

use crate::error::DaemonError;
use crate::unix_socket::{self, Open, Socket};

/// An address of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            let path = PathBuf::from(path);
            return match path.is_absolute() {
                true => Ok(Self::Unix(path)),
                false => Err("expected unix:/PATH, absolute".to_owned()),
            };
        }
        text.parse()
            .map(Self::Tcp)
            .map_err(|_| "expected ADDRESS:PORT or unix:/PATH".to_owned())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl Address {
    /// The address of an instance where none is given: a Unix socket, and for an emulated fabric, which nobody has to be
    /// kept from, a port at loopback.
    pub(crate) fn stock(instance: u16, emulated: bool) -> Self {
        match emulated {
            true => Self::Tcp((Ipv4Addr::LOCALHOST, api_port(instance)).into()),
            false => Self::Unix(PathBuf::from(api_socket(instance))),
        }
    }

    /// Its address in a network.
    pub(crate) fn tcp(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }

    /// Listens there.
    pub(crate) async fn listen(&self) -> Result<Listener, DaemonError> {
        let opened = match self {
            Self::Tcp(address) => TcpListener::bind(address).await.map(Listener::Tcp),
            Self::Unix(path) => unix_socket::open(path, Open::ToAll)
                .map(Listener::Unix)
                .map_err(io::Error::other),
        };
        opened.map_err(|source| DaemonError::Listen {
            what: "the API (--listen)",
            address: self.to_string(),
            source,
        })
    }
}

/// A listening address.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    /// Removed when dropped.
    Unix(Socket),
}

impl Listener {
    /// What clients are given: a URL, or `unix:/PATH`.
    pub(crate) fn url(&self, tls: bool) -> io::Result<String> {
        let scheme = if tls { "https" } else { "http" };
        match self {
            Self::Tcp(listener) => Ok(format!("{scheme}://{}", listener.local_addr()?)),
            Self::Unix(socket) => Ok(format!("unix:{}", socket.path().display())),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written_alike() {
        for text in ["127.0.0.1:9313", "[::1]:0", "unix:/run/weft/api.sock"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        for text in ["unix:here", "unix:", "localhost:1", "9313", ""] {
            let why = text.parse::<Address>().unwrap_err();
            assert!(why.contains("unix:/PATH"), "{text}: {why}");
        }
    }

    #[test]
    fn a_real_fabric_is_reached_at_a_unix_socket_and_an_emulated_one_at_loopback() {
        let stock = |instance, emulated| Address::stock(instance, emulated).to_string();
        assert_eq!(stock(0, false), "unix:/run/weft/api.sock");
        assert_eq!(stock(2, false), "unix:/run/weft/api.2.sock");
        assert_eq!(stock(1, true), "127.0.0.1:9323");
    }
}
