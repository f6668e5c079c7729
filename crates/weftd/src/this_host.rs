//! Addresses and the name of this host.

use std::net::IpAddr;

use axum::http::Uri;

/// Whether an address names this host: data may reach it without encryption.
pub(crate) fn is_this_host(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let address = host.parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Its name; none where that is not one of letters, digits, hyphens and dots.
pub(crate) fn name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let name = name.trim();
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
    let usable = !name.is_empty() && name.bytes().all(allowed);
    usable.then(|| name.to_owned())
}
