//! Segments to messages, for agents that leave RMPP to the kernel.
//!
//! Acknowledged as Linux does it: the first segment opens a window of 64 more, later ones are
//! acknowledged when the window is used up and at the end.

use std::collections::BTreeMap;
use std::time::Duration;

use weft_wire::Layout;
use weft_wire::bits::load;
use weft_wire::id::Lid;
use weft_wire::rmpp::header::VERSION;
use weft_wire::rmpp::{RMPP_AT, RmppHeader, status};

use super::deadlines::Deadlines;
use super::transfer::{header_len, segment_len};

/// Segments that the other side may send ahead.
const WINDOW: u32 = 64;
/// Most bytes of a message.
pub const MESSAGE_MAX: usize = 256 << 20;
/// Most messages that are being put together, or are complete and still acknowledged; the one that was complete first
/// is forgotten for another.
pub const ASSEMBLIES_MAX: usize = 4096;
/// Most bytes of all messages that are being put together; the one that has waited longest for its
/// next segment is dropped for more.
pub const ASSEMBLY_BYTES_MAX: usize = 512 << 20;
/// Timeout for the next segment.
pub const PATIENCE: Duration = Duration::from_secs(40);
/// Time during which a complete message's segments are still acknowledged.
const AFTERGLOW: Duration = Duration::from_secs(10);

/// Agent, transaction id, class, the other side.
pub type Key = (u32, u64, u8, Lid);

/// Result of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing to do.
    Nothing,
    /// Acknowledge.
    Ack(Ack),
    /// Acknowledge; the message is complete.
    Complete(Ack, Vec<u8>),
    /// Stop the transfer with this status.
    Abort(u8),
}

/// An acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// Last segment received in order.
    pub segment: u32,
    /// Last segment that may be sent.
    pub window_last: u32,
}

#[derive(Debug)]
struct Assembly {
    /// The first segment, then the payloads of the others.
    data: Vec<u8>,
    received: u32,
    window_last: u32,
    /// Segments that came before their turn, within the window.
    early: BTreeMap<u32, Vec<u8>>,
    complete: bool,
    deadline: Duration,
}

/// All messages that are being put together.
#[derive(Debug)]
pub struct Assemblies {
    by_key: BTreeMap<Key, Assembly>,
    deadlines: Deadlines<Key>,
    /// Bytes that all of them hold.
    bytes: usize,
    bytes_max: usize,
}

impl Default for Assemblies {
    fn default() -> Self {
        Self::with_bytes(ASSEMBLY_BYTES_MAX)
    }
}

impl Assemblies {
    /// Empty, with a limit of `bytes_max` bytes.
    pub fn with_bytes(bytes_max: usize) -> Self {
        Self {
            by_key: BTreeMap::new(),
            deadlines: Deadlines::default(),
            bytes: 0,
            bytes_max,
        }
    }

    /// Bytes that are held at present.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes a segment in; the caller has seen that it is one and of an RMPP class.
    pub fn push(&mut self, now: Duration, key: Key, mad: &[u8]) -> Outcome {
        let rmpp = RmppHeader::decode(mad.get(RMPP_AT..).unwrap_or_default());
        let (Ok(rmpp), Some(header)) = (rmpp, header_len(key.2)) else {
            return Outcome::Nothing;
        };
        if let Some(code) = wrong(&rmpp) {
            self.stop(&key);
            return Outcome::Abort(code);
        }
        if !self.by_key.contains_key(&key) {
            if rmpp.segment_num != 1 {
                return Outcome::Nothing;
            }
            if self.by_key.len() >= ASSEMBLIES_MAX && !self.forget_complete() {
                return Outcome::Abort(status::RESOURCES_EXHAUSTED);
            }
        }
        let assembly = self.by_key.entry(key).or_insert_with(|| Assembly {
            data: Vec::new(),
            received: 0,
            window_last: 1,
            early: BTreeMap::new(),
            complete: false,
            deadline: now,
        });
        self.bytes -= assembly.len();
        self.deadlines.remove(assembly.deadline, key);
        let outcome = assembly.push(&rmpp, header, mad);
        assembly.deadline = now
            + match assembly.complete {
                true => AFTERGLOW,
                false => PATIENCE,
            };
        self.bytes += assembly.len();
        self.deadlines.add(assembly.deadline, key);
        if matches!(outcome, Outcome::Abort(_)) {
            self.stop(&key);
        }
        self.make_room(&key);
        outcome
    }

    /// Drops messages other than `latest` that hold too much, the one that has waited longest first.
    fn make_room(&mut self, latest: &Key) {
        while self.bytes > self.bytes_max
            && let Some(oldest) = self.oldest_but(latest)
        {
            self.stop(&oldest);
        }
    }

    /// Forgets the message that was complete first; false where none is complete.
    fn forget_complete(&mut self) -> bool {
        let is_complete = |key: &Key| self.by_key.get(key).is_some_and(|held| held.complete);
        let Some(first) = self.deadlines.keys().find(is_complete) else {
            return false;
        };
        self.stop(&first);
        true
    }

    fn oldest_but(&self, latest: &Key) -> Option<Key> {
        let holds = |key: &Key| self.by_key.get(key).is_some_and(|held| held.len() > 0);
        self.deadlines
            .keys()
            .find(|key| key != latest && holds(key))
    }

    /// Forgets an agent's messages.
    pub fn forget(&mut self, agent: u32) {
        let own = (agent, 0, 0, Lid(0))..=(agent, u64::MAX, u8::MAX, Lid(u32::MAX));
        let keys: Vec<Key> = self.by_key.range(own).map(|(key, _)| *key).collect();
        keys.iter().for_each(|key| self.stop(key));
    }

    /// Forgets a message, as when the other side stops its transfer.
    pub fn stop(&mut self, key: &Key) {
        if let Some(assembly) = self.by_key.remove(key) {
            self.bytes -= assembly.len();
            self.deadlines.remove(assembly.deadline, *key);
        }
    }

    /// When [`Self::expire`] has something to do.
    pub fn deadline(&self) -> Option<Duration> {
        self.deadlines.first()
    }

    /// Drops what has waited too long.
    pub fn expire(&mut self, now: Duration) {
        while let Some(key) = self.deadlines.due(now) {
            self.stop(&key);
        }
    }
}

/// Status code for an error in a segment's header.
fn wrong(rmpp: &RmppHeader) -> Option<u8> {
    if rmpp.rmpp_version != VERSION {
        Some(status::UNSUPPORTED_VERSION)
    } else if rmpp.segment_num == 0 || rmpp.first != (rmpp.segment_num == 1) {
        Some(status::INCONSISTENT_FIRST)
    } else {
        None
    }
}

impl Assembly {
    /// Bytes that it holds.
    fn len(&self) -> usize {
        let early = self.early.values().map(Vec::len);
        self.data.len() + early.sum::<usize>()
    }

    fn push(&mut self, rmpp: &RmppHeader, header: usize, mad: &[u8]) -> Outcome {
        let segment = rmpp.segment_num;
        if self.complete || segment <= self.received {
            return Outcome::Ack(self.ack());
        }
        if segment > self.window_last {
            return Outcome::Nothing;
        }
        if segment > self.received + 1 {
            self.early.insert(segment, mad.to_vec());
            return Outcome::Nothing;
        }
        self.append(rmpp, header, mad);
        while !self.complete
            && let Some(next) = self.early.remove(&(self.received + 1))
            && let Ok(rmpp) = RmppHeader::decode(&next[RMPP_AT..])
        {
            self.append(&rmpp, header, &next);
        }
        if self.data.len() > MESSAGE_MAX {
            return Outcome::Abort(status::RESOURCES_EXHAUSTED);
        }
        if self.complete {
            self.early.clear();
            return Outcome::Complete(self.ack(), std::mem::take(&mut self.data));
        }
        if self.received < self.window_last {
            return Outcome::Nothing;
        }
        self.window_last = self.window_last.saturating_add(WINDOW);
        Outcome::Ack(self.ack())
    }

    fn ack(&self) -> Ack {
        Ack {
            segment: self.received,
            window_last: self.window_last.max(self.received),
        }
    }

    /// Appends the next segment: of the last one as much as its length says, if that makes sense.
    fn append(&mut self, rmpp: &RmppHeader, header: usize, mad: &[u8]) {
        let full = segment_len(mad);
        let named = RMPP_AT + RmppHeader::LEN + rmpp.payload_len as usize;
        let len = match rmpp.last && (header..=full).contains(&named) {
            true => named,
            false => full,
        };
        let start = if rmpp.first { 0 } else { header };
        let end = self.data.len() + len - start;
        let there = mad.get(start..len.min(mad.len())).unwrap_or_default();
        self.data.extend_from_slice(there);
        self.data.resize(end, 0);
        self.received += 1;
        self.complete = rmpp.last;
    }
}

/// Turns a segment into the header of the datagram that answers it: the response bit is turned
/// over, the RMPP header says what `kind` and `code` are.
pub fn answer(mad: &[u8], kind: u8, code: u8, ack: Ack) -> Vec<u8> {
    let mut out: Vec<u8> = mad.iter().copied().take(ANSWER_LEN).collect();
    out.resize(ANSWER_LEN, 0);
    out[3] ^= 0x80;
    let rmpp = RmppHeader {
        rmpp_version: VERSION,
        rmpp_type: kind,
        active: true,
        rmpp_status: code,
        segment_num: ack.segment,
        payload_len: ack.window_last,
        ..RmppHeader::default()
    };
    rmpp.encode(&mut out[RMPP_AT..]);
    out
}

/// Bytes of an answer: the headers of subnet administration.
const ANSWER_LEN: usize = 56;

/// The transaction id of a datagram.
pub fn transaction(mad: &[u8]) -> u64 {
    load(mad, 8, 8)
}
