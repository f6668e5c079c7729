//! Addresses of this host, which data may reach without encryption.

use std::net::IpAddr;

use axum::http::Uri;

/// Whether an address names this host.
pub(crate) fn is_this_host(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let address = host.parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}
