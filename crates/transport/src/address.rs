//! Socket addresses: `unix:PATH` or `tcp:HOST:PORT`.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;

/// Longest path of a Unix socket that Linux takes, in bytes (`sun_path` with its NUL).
pub const UNIX_PATH_MAX: usize = 107;

/// Address of a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket in the file system.
    Unix(PathBuf),
    /// A TCP port.
    Tcp {
        /// Name or IP address.
        host: String,
        /// Port.
        port: u16,
    },
}

impl Address {
    /// Whether it can be reached from this machine only. A name other than `localhost` is not
    /// looked up and counts as reachable from elsewhere.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Unix(_) => true,
            Self::Tcp { host, .. } => {
                let loopback = |address: IpAddr| address.is_loopback();
                host == "localhost" || host.parse().is_ok_and(loopback)
            }
        }
    }
}

/// Text that is no address.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("address {text:?}: {what}; allowed: unix:PATH or tcp:HOST:PORT")]
pub struct AddressError {
    /// The text.
    pub text: String,
    /// Why it is invalid.
    pub what: &'static str,
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        parse(text).map_err(|what| AddressError {
            text: text.to_owned(),
            what,
        })
    }
}

fn parse(text: &str) -> Result<Address, &'static str> {
    if let Some(path) = text.strip_prefix("unix:") {
        return match path.len() {
            0 => Err("the path is empty"),
            1..=UNIX_PATH_MAX => Ok(Address::Unix(path.into())),
            _ => Err("the path is longer than 107 bytes"),
        };
    }
    let rest = text.strip_prefix("tcp:").ok_or("unknown kind")?;
    let (host, port) = rest.rsplit_once(':').ok_or("the port is missing")?;
    let host = match host.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']').ok_or("a bracket is missing")?,
        None => host,
    };
    if host.is_empty() {
        return Err("the host is empty");
    }
    let port = port
        .parse()
        .map_err(|_| "the port is no number up to 65535")?;
    Ok(Address::Tcp {
        host: host.to_owned(),
        port,
    })
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp { host, port } if host.contains(':') => write!(f, "tcp:[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "tcp:{host}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn addresses_print_as_they_are_written() {
        for text in [
            "unix:/run/weft.sock",
            "tcp:127.0.0.1:7",
            "tcp:[::1]:65535",
            "tcp:h:0",
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_address_is_told_why() {
        let cases = [
            ("", "unknown kind"),
            ("/run/weft.sock", "unknown kind"),
            ("unix:", "the path is empty"),
            ("tcp:7", "the port is missing"),
            ("tcp::7", "the host is empty"),
            ("tcp:h:65536", "the port is no number up to 65535"),
            ("tcp:[::1:7", "a bracket is missing"),
        ];
        for (text, what) in cases {
            assert_eq!(text.parse::<Address>().unwrap_err().what, what, "{text}");
        }
        let long = format!("unix:/{}", "x".repeat(UNIX_PATH_MAX));
        assert!(long.parse::<Address>().is_err());
    }

    #[test]
    fn only_loopback_is_local() {
        let cases = [
            ("unix:/a", true),
            ("tcp:127.0.0.1:1", true),
            ("tcp:[::1]:1", true),
            ("tcp:localhost:1", true),
            ("tcp:0.0.0.0:1", false),
            ("tcp:example.org:1", false),
        ];
        for (text, local) in cases {
            assert_eq!(text.parse::<Address>().unwrap().is_local(), local, "{text}");
        }
    }
}
