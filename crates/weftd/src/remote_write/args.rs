//! Options of remote write.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use axum::http::Uri;
use clap::value_parser;

use crate::this_host::is_this_host;

/// Where metrics are sent, and how often.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RemoteWriteArgs {
    /// Send the metrics to this address of Prometheus' remote write protocol, such as
    /// https://metrics.example.com/api/v1/write; http:// for this host alone.
    #[arg(long, value_name = "URL")]
    pub(super) remote_write: Option<Target>,
    /// Seconds from one time to the next.
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = value_parser!(u32).range(1..=3600), requires = "remote_write")]
    pub(super) remote_write_interval: u32,
    /// CA of that address's certificate, PEM; needed for https.
    #[arg(long, value_name = "FILE", requires = "remote_write")]
    pub(super) remote_write_ca: Option<PathBuf>,
    /// File with a token that is sent along (Authorization: Bearer), read again each time.
    #[arg(long, value_name = "FILE", requires = "remote_write")]
    pub(super) remote_write_token: Option<PathBuf>,
    /// Label of all series, NAME=VALUE, several times for several; job=weft and the instance's number where they are not
    /// given.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_label, requires = "remote_write")]
    pub(super) remote_write_label: Vec<(String, String)>,
}

impl RemoteWriteArgs {
    /// The labels of all series.
    pub(super) fn labels(&self, instance: u16) -> BTreeMap<String, String> {
        let own = [
            ("job".to_owned(), "weft".to_owned()),
            ("instance".to_owned(), instance.to_string()),
        ];
        own.into_iter()
            .chain(self.remote_write_label.iter().cloned())
            .collect()
    }
}

fn parse_label(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let mut bytes = name.bytes();
    let begins = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic());
    if begins && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && !value.is_empty()
    {
        return Ok((name.to_owned(), value.to_owned()));
    }
    Err("expected NAME=VALUE with a name of letters, digits and _, such as fabric=north".to_owned())
}

/// An address to which metrics are sent: encrypted, or on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target(Uri);

impl Target {
    pub(super) fn uri(&self) -> Uri {
        self.0.clone()
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.0.scheme_str() == Some("https")
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let allowed = "expected https://HOST/PATH, or http:// and a loopback address, such as \
                       http://127.0.0.1:9090/api/v1/write: metrics leave this host encrypted";
        let uri = text.parse::<Uri>().map_err(|_| allowed.to_owned())?;
        match uri.scheme_str() {
            Some("https") if uri.host().is_some_and(|host| !host.is_empty()) => Ok(Self(uri)),
            Some("http") if is_this_host(&uri) => Ok(Self(uri)),
            _ => Err(allowed.to_owned()),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn metrics_leave_the_host_encrypted_or_not_at_all() {
        for (text, is_encrypted) in [
            ("http://127.0.0.1:9090/api/v1/write", false),
            ("http://localhost/api/v1/write", false),
            ("http://[::1]:9090/", false),
            ("https://metrics.example.com/api/v1/write", true),
        ] {
            let target = text.parse::<Target>().unwrap();
            assert_eq!(target.is_encrypted(), is_encrypted, "{text}");
        }
        for text in [
            "",
            "9090",
            "http://192.0.2.1:9090/api/v1/write",
            "http://localhost.example.com/",
            "https://",
            "ftp://localhost/",
            "unix:/run/prometheus",
        ] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }

    #[test]
    fn labels_have_names_that_prometheus_takes() {
        assert_eq!(
            parse_label("fabric=a=b").unwrap(),
            ("fabric".to_owned(), "a=b".to_owned())
        );
        for text in ["", "fabric", "fabric=", "=x", "9a=b", "__name__=x", "a-b=c"] {
            assert!(parse_label(text).is_err(), "{text}");
        }
    }
}
