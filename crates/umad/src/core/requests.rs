//! Requests that wait for an answer: retried on time, returned when there is none.

use std::collections::BTreeMap;
use std::time::Duration;

use weft_wire::bits::load;
use weft_wire::id::Lid;
use weft_wire::packet::Packet;

use super::deadlines::Deadlines;
use super::{Message, PortId};

/// Most requests that wait.
pub const REQUESTS_MAX: usize = 65_536;

/// Key of a request: transaction id, class, destination.
pub type Key = (u64, u8, Lid);

/// The key of a datagram, if the other side is at `lid`.
pub fn key(mad: &[u8], lid: Lid) -> Key {
    (load(mad, 8, 8), mad.get(1).copied().unwrap_or(0), lid)
}

/// A request in flight.
#[derive(Debug, Clone)]
pub struct Request {
    /// The packet to retry.
    pub packet: Packet,
    /// The message returned to its program without an answer, and its port.
    pub returned: (PortId, Message),
    /// Time to the next sending.
    pub timeout: Duration,
    /// Sendings that are left.
    pub retries_left: u32,
}

/// Action for a request that is due.
#[derive(Debug)]
pub enum Due {
    /// Send it again.
    Again(Packet),
    /// Return it.
    Over(Request),
}

/// All requests of a process that wait.
#[derive(Debug, Default)]
pub struct Requests {
    waiting: BTreeMap<Key, (Duration, Request)>,
    deadlines: Deadlines<Key>,
}

impl Requests {
    /// Whether one with this key waits.
    pub fn contains(&self, key: &Key) -> bool {
        self.waiting.contains_key(key)
    }

    /// Whether no more can wait.
    pub fn is_full(&self) -> bool {
        self.waiting.len() >= REQUESTS_MAX
    }

    /// Begins to wait.
    pub fn add(&mut self, now: Duration, key: Key, request: Request) {
        let at = now + request.timeout;
        self.deadlines.add(at, key);
        self.waiting.insert(key, (at, request));
    }

    /// Ends the wait: the answer is there. The answer to a directed route may come from another
    /// LID than the request went to; then transaction id and class must do.
    pub fn answered(&mut self, key: &Key) -> bool {
        let found = match self.waiting.contains_key(key) {
            true => Some(*key),
            false => self.alike(key),
        };
        let Some(key) = found else {
            return false;
        };
        if let Some((at, _)) = self.waiting.remove(&key) {
            self.deadlines.remove(at, key);
        }
        true
    }

    fn alike(&self, key: &Key) -> Option<Key> {
        let all = (key.0, key.1, Lid(0))..=(key.0, key.1, Lid(u32::MAX));
        self.waiting.range(all).next().map(|(key, _)| *key)
    }

    /// Begins the wait anew, because parts of the answer come in.
    pub fn extend(&mut self, now: Duration, key: &Key) {
        let Some(key) = self.alike(key) else {
            return;
        };
        if let Some((at, request)) = self.waiting.get_mut(&key) {
            self.deadlines.remove(*at, key);
            *at = now + request.timeout;
            self.deadlines.add(*at, key);
        }
    }

    /// Forgets what an agent waits for.
    pub fn forget(&mut self, agent: u32) {
        let low = (u64::from(agent) << 32, 0, Lid(0));
        let high = (u64::from(agent) << 32 | 0xFFFF_FFFF, u8::MAX, Lid(u32::MAX));
        for (key, (at, _)) in self.waiting.extract_if(low..=high, |_, _| true) {
            self.deadlines.remove(at, key);
        }
    }

    /// When [`Self::due`] has something next.
    pub fn deadline(&self) -> Option<Duration> {
        self.deadlines.first()
    }

    /// The next request whose time has come.
    pub fn due(&mut self, now: Duration) -> Option<Due> {
        let key = self.deadlines.due(now)?;
        let (at, mut request) = self.waiting.remove(&key)?;
        self.deadlines.remove(at, key);
        if request.retries_left == 0 {
            return Some(Due::Over(request));
        }
        request.retries_left -= 1;
        let packet = request.packet.clone();
        self.add(now, key, request);
        Some(Due::Again(packet))
    }
}
