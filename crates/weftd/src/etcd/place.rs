//! The address of etcd: its servers, and the name of the fabric there.

use std::str::FromStr;

use axum::http::Uri;

use crate::this_host::is_this_host;

/// What an address begins with.
const SCHEME: &str = "etcd://";
/// Servers of one cluster.
const SERVERS_MAX: usize = 16;
/// Longest name of a fabric, characters.
const NAME_MAX: usize = 64;

/// `etcd://HOST:PORT[,HOST:PORT]/FABRIC`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// `HOST:PORT` of each.
    pub(super) servers: Vec<String>,
    /// Keys begin with it.
    pub(super) fabric: String,
}

impl Place {
    /// Whether all servers are on this host.
    pub(super) fn is_here(&self) -> bool {
        let urls = self.servers.iter().map(|server| format!("http://{server}"));
        let mut urls = urls.map(|url| url.parse::<Uri>());
        urls.all(|url| url.is_ok_and(|url| is_this_host(&url)))
    }

    /// The key of the master.
    pub(super) fn master(&self) -> String {
        format!("/weft/{}/master", self.fabric)
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // Never repeated: it may have a password.
        if text.contains('@') {
            return Err("user and password have their own file: --ha-user".to_owned());
        }
        let rest = text.strip_prefix(SCHEME);
        let parts = rest.and_then(|rest| rest.split_once('/'));
        let (servers, fabric) = parts.ok_or("expected etcd://HOST:PORT[,HOST:PORT…]/FABRIC")?;
        let servers: Vec<String> = servers.split(',').map(str::to_owned).collect();
        if servers.len() > SERVERS_MAX {
            return Err(format!("at most {SERVERS_MAX} servers"));
        }
        if let Some(wrong) = servers.iter().find(|server| !is_server(server)) {
            return Err(format!("{wrong:?} is no HOST:PORT"));
        }
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        if fabric.is_empty() || fabric.len() > NAME_MAX || !fabric.bytes().all(allowed) {
            return Err(format!(
                "a fabric's name has 1 to {NAME_MAX} letters, digits, dots, hyphens and underscores"
            ));
        }
        Ok(Self {
            servers,
            fabric: fabric.to_owned(),
        })
    }
}

fn is_server(text: &str) -> bool {
    let url = format!("http://{text}").parse::<Uri>();
    let authority = url.ok().and_then(|url| url.into_parts().authority);
    authority.is_some_and(|it| it.as_str() == text && it.port_u16().is_some_and(|port| port > 0))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn servers_and_fabric_are_read() {
        let place: Place = "etcd://a.example:2379,[::1]:2379/hall-1".parse().unwrap();
        assert_eq!(place.servers, ["a.example:2379", "[::1]:2379"]);
        assert_eq!(place.master(), "/weft/hall-1/master");
        assert!(!place.is_here());
        let here: Place = "etcd://127.0.0.1:1,localhost:2/x".parse().unwrap();
        assert!(here.is_here());
    }

    #[test]
    fn what_is_no_address_is_refused_in_words_and_a_password_is_not_repeated() {
        let many = format!("etcd://{}/x", vec!["a:1"; SERVERS_MAX + 1].join(","));
        let long = format!("etcd://a:1/{}", "x".repeat(NAME_MAX + 1));
        for (text, told) in [
            ("http://a:1/x", "expected etcd://"),
            ("etcd://a:1", "expected etcd://"),
            ("etcd://a:1/", "a fabric's name"),
            ("etcd://a:1/b/c", "a fabric's name"),
            ("etcd://a:1/..%2f", "a fabric's name"),
            (&long, "a fabric's name"),
            ("etcd:///x", "is no HOST:PORT"),
            ("etcd://a/x", "is no HOST:PORT"),
            ("etcd://a:0/x", "is no HOST:PORT"),
            ("etcd://a:99999/x", "is no HOST:PORT"),
            ("etcd://a:1,,b:1/x", "is no HOST:PORT"),
            ("etcd://a b:1/x", "is no HOST:PORT"),
            (&many, "at most 16 servers"),
            ("etcd://root:hunter2@a:1/x", "--ha-user"),
        ] {
            let said = text.parse::<Place>().unwrap_err();
            assert!(said.contains(told), "{text}: {said}");
            assert!(!said.contains("hunter2"), "{said}");
        }
    }
}
