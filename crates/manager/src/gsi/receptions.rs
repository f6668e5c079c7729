//! Requests that come in segments.

use std::collections::BTreeMap;
use std::time::Duration;

use weft_fabric::Tick;
use weft_state::State;
use weft_wire::rmpp::{Abort, Envelope, Received, Receiver, status};

use super::server::{Key, Limits};

/// Segments that may come before one is acknowledged.
const WINDOW: u32 = 8;

/// Result of a segment.
pub(super) enum Step {
    /// Nothing to send.
    Nothing,
    /// Acknowledge up to the first number, let come up to the second.
    Ack(u32, u32),
    /// Acknowledge; the request is complete.
    Whole(u32, Envelope, Vec<u8>),
    /// Tell the sender that it is over.
    Abort(Abort),
}

#[derive(Debug, Clone, State)]
struct Reception {
    receiver: Receiver,
    until: Tick,
}

/// Requests being received: bounded in number, size and time.
#[derive(Debug, Clone, State)]
pub(super) struct Receptions {
    all: BTreeMap<Key, Reception>,
    count_max: usize,
    bytes_max: usize,
    patience: Duration,
}

impl Receptions {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            all: BTreeMap::new(),
            count_max: limits.receptions,
            bytes_max: limits.request_bytes,
            patience: limits.request_patience,
        }
    }

    /// Processes a segment. Only a first one begins a request; requests above the limit are refused.
    pub(super) fn segment(&mut self, now: Tick, key: Key, mad: &[u8], first: bool) -> Step {
        if !self.all.contains_key(&key) {
            if !first {
                return Step::Nothing;
            }
            if self.all.len() >= self.count_max {
                return Step::Abort(Abort {
                    status: status::RESOURCES_EXHAUSTED,
                    reason: "too many requests are under way",
                });
            }
        }
        let reception = self.all.entry(key).or_insert_with(|| Reception {
            receiver: Receiver::new(self.bytes_max, WINDOW),
            until: now,
        });
        reception.until = now + self.patience;
        match reception.receiver.push(mad) {
            Ok(Received::Nothing) => Step::Nothing,
            Ok(Received::Ack {
                segment_num,
                window_last,
            }) => Step::Ack(segment_num, window_last),
            Ok(Received::Complete { segment_num }) => self.take(&key, segment_num),
            Err(abort) => {
                self.all.remove(&key);
                Step::Abort(abort)
            }
        }
    }

    fn take(&mut self, key: &Key, segment_num: u32) -> Step {
        let whole = self.all.remove(key).and_then(|reception| {
            let envelope = *reception.receiver.envelope()?;
            Some((envelope, reception.receiver.message()?.to_vec()))
        });
        match whole {
            Some((envelope, data)) => Step::Whole(segment_num, envelope, data),
            None => Step::Nothing,
        }
    }

    /// Forgets a request that its sender gave up.
    pub(super) fn remove(&mut self, key: &Key) {
        self.all.remove(key);
    }

    pub(super) fn deadline(&self) -> Option<Tick> {
        self.all.values().map(|reception| reception.until).min()
    }

    /// Discards requests whose senders have been silent for too long; returns their number.
    pub(super) fn expire(&mut self, now: Tick) -> u64 {
        let before = self.all.len();
        self.all.retain(|_, reception| reception.until > now);
        (before - self.all.len()) as u64
    }
}
