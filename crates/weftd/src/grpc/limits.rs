//! Limits for clients: connections, streams, time.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tonic::Status;
use tonic::metadata::MetadataMap;
use tonic::transport::Server;

use super::refusal::limit_reached;
use crate::access::{Client, ConnectionId};
use crate::control::{PATIENCE, usual_deadline};

/// Connections at the same time at one address; more are closed at once.
pub(crate) const CONNECTIONS_MAX: usize = 256;
/// Watch streams at the same time, of all connections and of one.
const WATCHERS: WatchersMax = WatchersMax {
    all: 10_240,
    connection: 128,
};

/// Limits of one connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Calls that are carried out at the same time.
    calls: usize,
    /// Calls that may begin and that wait.
    streams: u32,
    /// Longest time until the answer to a call begins.
    call_max: Duration,
    /// Keepalive interval for silent clients, and the time limit for their answer.
    keepalive: (Duration, Duration),
}

impl Limits {
    /// Those of the daemon. A call may take longer than planning 27,648 hosts.
    pub(super) const USUAL: Self = Self {
        calls: 64,
        streams: 256,
        call_max: Duration::from_secs(600),
        keepalive: (Duration::from_secs(30), Duration::from_secs(10)),
    };

    /// A server with these limits.
    pub(super) fn server(self) -> Server {
        let (interval, patience) = self.keepalive;
        Server::builder()
            .concurrency_limit_per_connection(self.calls)
            .max_concurrent_streams(self.streams)
            .http2_keepalive_interval(Some(interval))
            .http2_keepalive_timeout(Some(patience))
            .timeout(self.call_max)
    }

    /// Longest time without a byte of a client: one that is alive answers the keepalive, but that begins
    /// only when the client has said that it speaks HTTP/2.
    pub(super) fn silence_max(self) -> Duration {
        let (interval, patience) = self.keepalive;
        interval + 2 * patience
    }
}

/// Latest start of a call's command: its own deadline, at most the default limit.
pub(super) fn begin_by(metadata: &MetadataMap) -> Instant {
    let asked = metadata.get("grpc-timeout");
    let asked = asked.and_then(|value| timeout(value.to_str().ok()?));
    match asked {
        Some(asked) if asked < PATIENCE => Instant::now() + asked,
        _ => usual_deadline(),
    }
}

/// A `grpc-timeout`: up to eight digits and a unit.
fn timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let count: u32 = digits.parse().ok().filter(|_| digits.len() <= 8)?;
    let unit = match unit {
        "H" => Duration::from_secs(3600),
        "M" => Duration::from_secs(60),
        "S" => Duration::from_secs(1),
        "m" => Duration::from_millis(1),
        "u" => Duration::from_micros(1),
        "n" => Duration::from_nanos(1),
        _ => return None,
    };
    Some(unit * count)
}

/// How many streams may be open.
#[derive(Debug, Clone, Copy)]
pub(super) struct WatchersMax {
    /// Of all clients; one user or certificate has half of them at most.
    pub(super) all: usize,
    /// Of one connection.
    pub(super) connection: usize,
}

/// Open streams by client: streams outlast the calls that opened them, so call limits do not cover them.
#[derive(Debug)]
pub(crate) struct Watchers {
    most: WatchersMax,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    all: usize,
    of_connections: HashMap<ConnectionId, usize>,
    /// Of users and certificates.
    of_callers: HashMap<String, usize>,
}

impl Default for Watchers {
    fn default() -> Self {
        Self::at_most(WATCHERS)
    }
}

/// One stream of a client.
#[derive(Debug)]
pub(super) struct Watcher {
    of: Arc<Watchers>,
    connection: ConnectionId,
    caller: Option<String>,
}

impl Watchers {
    /// For this many streams.
    pub(super) fn at_most(most: WatchersMax) -> Self {
        let open = Mutex::default();
        Self { most, open }
    }

    /// One more, of this client.
    pub(super) fn enter(self: &Arc<Self>, client: Option<&Client>) -> Result<Watcher, Status> {
        let connection = client.map_or_else(ConnectionId::default, |client| client.connection);
        let caller = client.and_then(|client| client.caller.counted_as());
        let mut open = self.open();
        let own = open.of_connections.get(&connection);
        let of_caller = caller.as_ref().and_then(|who| open.of_callers.get(who));
        let bounds = [
            (
                "this connection has",
                own.copied().unwrap_or(0),
                self.most.connection,
            ),
            (
                "this user or certificate has",
                of_caller.copied().unwrap_or(0),
                self.most.all / 2,
            ),
            ("the daemon has", open.all, self.most.all),
        ];
        if let Some((who, _, most)) = bounds.iter().find(|(_, open, most)| open >= most) {
            let what = format!("{who} {most} Watch streams already, which is the most");
            return Err(limit_reached(&what, *most));
        }
        open.all += 1;
        *open.of_connections.entry(connection).or_default() += 1;
        if let Some(who) = &caller {
            *open.of_callers.entry(who.clone()).or_default() += 1;
        }
        let of = Arc::clone(self);
        Ok(Watcher {
            of,
            connection,
            caller,
        })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let mut open = self.of.open();
        open.all -= 1;
        leave(&mut open.of_connections, &self.connection);
        if let Some(who) = &self.caller {
            leave(&mut open.of_callers, who);
        }
    }
}

/// One less; who has none is not listed.
pub(super) fn leave<K: Hash + Eq>(counts: &mut HashMap<K, usize>, who: &K) {
    if let Some(own) = counts.get_mut(who) {
        *own -= 1;
        if *own == 0 {
            counts.remove(who);
        }
    }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod effects;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::access::{Caller, User};

    #[test]
    fn timeouts_are_read_as_the_protocol_has_them() {
        for (text, expected) in [
            ("2S", Some(Duration::from_secs(2))),
            ("1H", Some(Duration::from_secs(3600))),
            ("99999999n", Some(Duration::from_nanos(99_999_999))),
            ("5m", Some(Duration::from_millis(5))),
            ("7u", Some(Duration::from_micros(7))),
            ("3M", Some(Duration::from_secs(180))),
            ("123456789S", None),
            ("S", None),
            ("2", None),
            ("", None),
            ("2é", None),
            ("-1S", None),
        ] {
            assert_eq!(timeout(text), expected, "{text}");
        }
    }

    #[tokio::test]
    async fn a_deadline_is_never_later_than_the_usual_one() {
        let mut metadata = MetadataMap::new();
        let usual = usual_deadline();
        assert!(begin_by(&metadata) >= usual);
        for (asked, soon) in [("1S", true), ("1H", false)] {
            metadata.insert("grpc-timeout", asked.parse().unwrap());
            assert_eq!(begin_by(&metadata) < usual, soon, "{asked}");
        }
    }

    /// A client at a connection: of a user, or at a loopback address.
    fn client(connection: u64, uid: Option<u32>) -> Client {
        let user = |uid| {
            Caller::User(User {
                uid,
                name: None,
                groups: Vec::new(),
            })
        };
        let caller = uid.map_or_else(|| Caller::Loopback(([127, 0, 0, 1], 1000).into()), user);
        Client {
            connection: ConnectionId(connection),
            caller: Arc::new(caller),
        }
    }

    #[test]
    fn watchers_are_bounded_by_connection_by_user_and_in_all() {
        let most = WatchersMax {
            all: 8,
            connection: 3,
        };
        let watchers = Arc::new(Watchers::at_most(most));
        let enter = |connection, uid| watchers.enter(Some(&client(connection, uid)));
        let refused = |connection, uid, who: &str| {
            let said = enter(connection, uid).unwrap_err();
            assert_eq!(said.code(), tonic::Code::ResourceExhausted);
            assert!(said.message().contains(who), "{said}");
        };
        let user = Some(1000);
        let mut open: Vec<Watcher> = (0..3).map(|_| enter(1, user).unwrap()).collect();
        refused(1, user, "this connection has 3");
        open.push(enter(2, user).unwrap());
        refused(2, user, "this user or certificate has 4");
        open.extend((3..7).map(|connection| enter(connection, None).unwrap()));
        refused(7, None, "the daemon has 8");
        open.pop();
        assert!(enter(7, Some(1001)).is_ok());
        drop(open);
        let left = watchers.open();
        assert!(left.all == 0 && left.of_connections.is_empty() && left.of_callers.is_empty());
    }
}
