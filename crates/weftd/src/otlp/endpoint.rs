//! The collector's address.

use std::fmt;
use std::str::FromStr;

use tonic::transport::Uri;

use crate::this_host::is_this_host;

/// A collector on this host: spans go without encryption.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint(Uri);

impl Endpoint {
    pub(super) fn uri(&self) -> Uri {
        self.0.clone()
    }
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let allowed = "expected http:// and a loopback address with a port, such as http://127.0.0.1:4317: spans go without \
                       encryption";
        let uri = text.parse::<Uri>().map_err(|_| allowed.to_owned())?;
        match uri.scheme_str() == Some("http") && is_this_host(&uri) && uri.port().is_some() {
            true => Ok(Self(uri)),
            false => Err(allowed.to_owned()),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_collector_on_this_host_is_taken() {
        for good in [
            "http://127.0.0.1:4317",
            "http://localhost:4317/",
            "http://[::1]:4317",
        ] {
            assert!(good.parse::<Endpoint>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "4317",
            "127.0.0.1:4317",
            "http://127.0.0.1",
            "https://localhost:4317",
            "http://192.0.2.1:4317",
            "http://localhost.example.com:4317",
            "http://:4317",
            "unix:/run/collector",
            "http://127.0.0.1:99999",
        ] {
            assert!(bad.parse::<Endpoint>().is_err(), "{bad}");
        }
    }
}
