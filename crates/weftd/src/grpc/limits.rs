//! Limits for clients: connections, streams, time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tonic::Status;
use tonic::metadata::MetadataMap;
use tonic::transport::Server;

use super::refusal::limit_reached;
use crate::access::ConnectionId;
use crate::control::{PATIENCE, usual_deadline};

/// Connections at the same time at one address; more are closed at once.
pub(crate) const CONNECTIONS_MAX: usize = 256;
/// Watch streams at the same time, of all connections and of one.
const WATCHERS_MAX: usize = 256;
const WATCHERS_PER_CONNECTION: usize = 32;

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

/// Open streams by client: streams outlast the calls that opened them, so call limits do not cover them.
#[derive(Debug)]
pub(crate) struct Watchers {
    most: usize,
    streams: Mutex<HashMap<ConnectionId, usize>>,
}

impl Default for Watchers {
    fn default() -> Self {
        Self::at_most(WATCHERS_MAX)
    }
}

/// One stream of a connection.
#[derive(Debug)]
pub(super) struct Watcher {
    of: Arc<Watchers>,
    connection: ConnectionId,
}

impl Watchers {
    /// For this many streams of all clients.
    pub(super) fn at_most(most: usize) -> Self {
        let streams = Mutex::default();
        Self { most, streams }
    }

    /// One more, of this connection.
    pub(super) fn enter(self: &Arc<Self>, connection: ConnectionId) -> Result<Watcher, Status> {
        let mut streams = self.streams();
        let total: usize = streams.values().sum();
        let own = streams.entry(connection).or_default();
        if *own >= WATCHERS_PER_CONNECTION {
            let what = format!(
                "this connection has {WATCHERS_PER_CONNECTION} Watch streams already, which is the most"
            );
            return Err(limit_reached(&what, WATCHERS_PER_CONNECTION));
        }
        if total >= self.most {
            if *own == 0 {
                streams.remove(&connection);
            }
            let what = format!(
                "the daemon has {} Watch streams already, which is the most; try again later",
                self.most
            );
            return Err(limit_reached(&what, self.most));
        }
        *own += 1;
        let of = Arc::clone(self);
        Ok(Watcher { of, connection })
    }

    fn streams(&self) -> MutexGuard<'_, HashMap<ConnectionId, usize>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let mut streams = self.of.streams();
        if let Some(own) = streams.get_mut(&self.connection) {
            *own -= 1;
            if *own == 0 {
                streams.remove(&self.connection);
            }
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

    #[test]
    fn watchers_are_bounded_by_connection_and_in_all() {
        let watchers = Arc::new(Watchers::default());
        let peer = |number: usize| ConnectionId(number as u64);
        let one: Vec<_> = (0..WATCHERS_PER_CONNECTION)
            .map(|_| watchers.enter(peer(1)).unwrap())
            .collect();
        let said = watchers.enter(peer(1)).unwrap_err();
        assert_eq!(said.code(), tonic::Code::ResourceExhausted);
        let rest = WATCHERS_MAX - WATCHERS_PER_CONNECTION;
        let others: Vec<_> = (0..rest)
            .map(|n| watchers.enter(peer(2 + n)).unwrap())
            .collect();
        let said = watchers.enter(peer(9999)).unwrap_err();
        assert!(said.message().contains("the daemon has 256"), "{said}");
        drop(one);
        assert!(watchers.enter(peer(9999)).is_ok());
        drop(others);
        assert!(
            watchers.streams().is_empty(),
            "nothing is left of those that went"
        );
    }
}
