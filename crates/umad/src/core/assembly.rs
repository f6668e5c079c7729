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

use super::transfer::{header_len, segment_len};

/// Segments that the other side may send ahead.
const WINDOW: u32 = 64;
/// Most bytes of a message.
pub const MESSAGE_MAX: usize = 256 << 20;
/// Most messages that are being put together.
pub const ASSEMBLIES_MAX: usize = 4096;
/// How long the next segment may take.
pub const PATIENCE: Duration = Duration::from_secs(40);
/// How long a complete message's segments are still acknowledged.
const AFTERGLOW: Duration = Duration::from_secs(10);

/// Agent, transaction id, class, the other side.
pub type Key = (u32, u64, u8, Lid);

/// What a segment led to.
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
    /// The first segment, then what the others carry.
    data: Vec<u8>,
    received: u32,
    window_last: u32,
    /// Segments that came before their turn, within the window.
    early: BTreeMap<u32, Vec<u8>>,
    complete: bool,
    deadline: Duration,
}

/// All messages that are being put together.
#[derive(Debug, Default)]
pub struct Assemblies {
    by_key: BTreeMap<Key, Assembly>,
}

impl Assemblies {
    /// Takes a segment in; the caller has seen that it is one and of an RMPP class.
    pub fn push(&mut self, now: Duration, key: Key, mad: &[u8]) -> Outcome {
        let rmpp = RmppHeader::decode(mad.get(RMPP_AT..).unwrap_or_default());
        let (Ok(rmpp), Some(header)) = (rmpp, header_len(key.2)) else {
            return Outcome::Nothing;
        };
        if let Some(code) = wrong(&rmpp) {
            self.by_key.remove(&key);
            return Outcome::Abort(code);
        }
        if !self.by_key.contains_key(&key) {
            if self.by_key.len() >= ASSEMBLIES_MAX {
                return Outcome::Abort(status::RESOURCES_EXHAUSTED);
            }
            if rmpp.segment_num != 1 {
                return Outcome::Nothing;
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
        let outcome = assembly.push(&rmpp, header, mad);
        match outcome {
            Outcome::Abort(_) => {
                self.by_key.remove(&key);
            }
            _ if assembly.complete => assembly.deadline = now + AFTERGLOW,
            _ => assembly.deadline = now + PATIENCE,
        }
        outcome
    }

    /// Forgets an agent's messages.
    pub fn forget(&mut self, agent: u32) {
        self.by_key.retain(|key, _| key.0 != agent);
    }

    /// The other side stops a transfer.
    pub fn stop(&mut self, key: &Key) {
        self.by_key.remove(key);
    }

    /// When [`Self::expire`] has something to do.
    pub fn deadline(&self) -> Option<Duration> {
        self.by_key.values().map(|assembly| assembly.deadline).min()
    }

    /// Drops what has waited too long.
    pub fn expire(&mut self, now: Duration) {
        self.by_key.retain(|_, assembly| assembly.deadline > now);
    }
}

/// The status that says what is wrong with a segment's header.
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
