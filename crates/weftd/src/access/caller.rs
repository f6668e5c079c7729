//! Who calls, as the connection proves it: nothing here is what a client says of itself.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::http::Extensions;
use tonic::Request;

use super::{Role, accounts};
use crate::event_hub::unix_time_ns;

/// A connection by its number, which no other one of this run has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct ConnectionId(pub(crate) u64);

impl ConnectionId {
    pub(crate) fn next() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(1 + LAST.fetch_add(1, Ordering::Relaxed))
    }
}

/// The other end of a connection, an extension of each request that comes through it.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) connection: ConnectionId,
    pub(crate) caller: Arc<Caller>,
}

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A user of this host, at a Unix socket.
    User(User),
    /// Somebody at a loopback address, without a certificate.
    Loopback(SocketAddr),
    /// The holder of a certificate that an authority of `--tls-client-ca` has signed.
    Holder(Holder),
    /// A browser that a one-time link let in.
    Guest(Guest),
    /// Somebody without a certificate where one is asked for.
    Stranger(SocketAddr),
}

/// A browser that a one-time link let in, with the identity of who asked for the link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Guest {
    /// Where the browser is.
    pub(crate) address: IpAddr,
    /// Who asked for the link.
    pub(crate) who: Arc<Caller>,
    /// The highest role that the link gives, whatever he has.
    pub(crate) at_most: Role,
}

/// A user of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) uid: u32,
    /// None where he has no entry.
    pub(crate) name: Option<String>,
    pub(crate) groups: Vec<u32>,
}

impl User {
    /// Looks him up, which may take long.
    pub(crate) fn look_up(uid: u32, gid: u32) -> Self {
        let (name, groups) = accounts::user(uid, gid);
        Self { uid, name, groups }
    }
}

/// Identity of who has a certificate in which there is no name.
pub(super) const NAMELESS: &str = "certificate without a name";

/// The holder of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) address: SocketAddr,
    /// Names of the certificate as rules have them: `uri:…`, `dns:…`, `cn:…`, in this order.
    pub(crate) names: Vec<String>,
    /// When the certificate ends, seconds since 1970; 0 where that cannot be read.
    pub(crate) ends: u64,
}

impl Caller {
    /// His identity for people and for the record: `user:alice`, `uid:1234`, `uri:spiffe://…`, `loopback`.
    pub(crate) fn identity(&self) -> String {
        match self {
            Self::User(User {
                name: Some(name), ..
            }) => format!("user:{name}"),
            Self::User(user) => format!("uid:{}", user.uid),
            Self::Loopback(_) => "loopback".to_owned(),
            Self::Holder(holder) => match holder.names.first() {
                Some(name) => name.clone(),
                None => NAMELESS.to_owned(),
            },
            Self::Guest(guest) => guest.who.identity(),
            Self::Stranger(_) => "stranger".to_owned(),
        }
    }

    /// Whether this is his identity, or another name of his certificate.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        match self {
            Self::Holder(holder) => holder.names.iter().any(|own| own == name),
            Self::Guest(guest) => guest.who.is_called(name),
            _ => self.identity() == name,
        }
    }

    /// As whom his connections and streams are counted; none at a loopback address, where he is nobody of his own.
    pub(crate) fn counted_as(&self) -> Option<String> {
        let is_somebody = !matches!(self, Self::Loopback(_));
        is_somebody.then(|| self.identity())
    }

    /// Whether he is somebody in particular.
    pub(crate) fn is_known(&self) -> bool {
        match self {
            Self::User(_) | Self::Holder(_) => true,
            Self::Loopback(_) | Self::Stranger(_) => false,
            Self::Guest(guest) => guest.who.is_known(),
        }
    }

    /// How long his certificate still counts; none where nothing of what he is comes from one.
    pub(crate) fn certificate_left(&self) -> Option<Duration> {
        match self {
            Self::Holder(holder) => {
                let now = Duration::from_nanos(unix_time_ns());
                Some(Duration::from_secs(holder.ends).saturating_sub(now))
            }
            Self::Guest(guest) => guest.who.certificate_left(),
            Self::User(_) | Self::Loopback(_) | Self::Stranger(_) => None,
        }
    }

    /// His address; none of a user at a Unix socket.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        match self {
            Self::User(_) => None,
            Self::Loopback(address) | Self::Stranger(address) => Some(address.ip()),
            Self::Holder(holder) => Some(holder.address.ip()),
            Self::Guest(guest) => Some(guest.address),
        }
    }

    /// Where he is: an address, or the name of a user of this host.
    pub(crate) fn place(&self) -> String {
        match self {
            Self::User(User {
                name: Some(name), ..
            }) => name.clone(),
            Self::User(user) => format!("uid {}", user.uid),
            Self::Loopback(address) | Self::Stranger(address) => address.ip().to_string(),
            Self::Holder(holder) => holder.address.ip().to_string(),
            Self::Guest(guest) => guest.address.to_string(),
        }
    }
}

/// The caller of a request; none where it came through no connection.
pub(crate) fn caller_of(extensions: &Extensions) -> Option<&Caller> {
    let client = extensions.get::<Client>()?;
    Some(&client.caller)
}

/// The client of a request; none where it came through no connection.
pub(crate) fn client_of<T>(request: &Request<T>) -> Option<&Client> {
    request.extensions().get()
}
