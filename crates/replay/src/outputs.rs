//! Outputs as bytes, of which a digest is made later, perhaps by another thread.
//!
//! Of subnet administration: datagrams, members of multicast groups and storms; only the size of what it stores, and the number of
//! groups that it tells. Of the manager: datagrams, stored state, events, notices and replies; snapshots as they are.

use std::sync::Arc;

use serde::Serialize;
use weft_fabric::Snapshot;
use weft_manager::{Output, SaOutput};
use weft_wire::packet::Packet;
use weft_wire::rmpp::CLASS_AT;

use crate::keys::{Keys, service};
use crate::plain;

/// Kinds of outputs; what the manager returned at once is one.
const SENT: u8 = 1;
const PLAN: u8 = 2;
pub(crate) const PUBLISHED: u8 = 3;
const PERSIST: u8 = 4;
const EVENT: u8 = 5;
const NOTICE: u8 = 6;
const REGISTRATIONS_LOST: u8 = 7;
const REPLY: u8 = 8;
const RETURNED: u8 = 9;
const MULTICAST: u8 = 10;
const GROUPS: u8 = 11;
const STORM: u8 = 12;
const STALE: u8 = 13;
const SA_PERSIST: u8 = 14;
const ANSWER: u8 = 15;

/// Bytes of the length before each output.
const LEN: usize = size_of::<u64>();
/// Bytes of a datagram's kind, addresses and length.
const ADDRESSES: usize = 32;
/// The same of bytes without addresses.
const BYTES_HEAD: usize = 1 + size_of::<u64>();

/// Outputs one after the other, keys not masked.
#[derive(Default)]
pub(crate) struct Outputs {
    /// Of each its length and its bytes, of which the first is its kind; of a snapshot a length of 0.
    bytes: Vec<u8>,
    snapshots: Vec<Arc<Snapshot>>,
}

/// One of them.
pub(crate) enum Made<'a> {
    Bytes(&'a mut [u8]),
    Snapshot(&'a Snapshot),
}

/// What is left of some.
pub(crate) struct Rest<'a> {
    bytes: &'a mut [u8],
    snapshots: std::slice::Iter<'a, Arc<Snapshot>>,
    taken: usize,
}

impl Outputs {
    /// None, with room for so many bytes.
    pub(crate) fn with_room(bytes: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(bytes),
            snapshots: Vec::new(),
        }
    }

    /// Bytes that they take, beside snapshots.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.len()
    }

    /// Number of snapshots among them.
    pub(crate) fn snapshots(&self) -> usize {
        self.snapshots.len()
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.snapshots.clear();
    }

    /// All, one after the other.
    pub(crate) fn read(&mut self) -> Rest<'_> {
        Rest {
            bytes: &mut self.bytes,
            snapshots: self.snapshots.iter(),
            taken: 0,
        }
    }

    pub(crate) fn add(&mut self, output: &Output) {
        match output {
            Output::Send(packet) => self.datagram(SENT, packet),
            Output::Plan(input) => self.number(PLAN, input.id()),
            Output::Publish(snapshot) => {
                self.len(0);
                self.snapshots.push(Arc::clone(snapshot));
            }
            Output::Persist(bytes) => self.bytes(PERSIST, bytes),
            Output::Event(event) => self.value(EVENT, event),
            Output::Notice(notice) => self.bytes(NOTICE, notice),
            Output::RegistrationsLost { asked } => self.number(REGISTRATIONS_LOST, *asked as u64),
            Output::Reply { id, result } => self.value(REPLY, &(id, result)),
        }
    }

    /// The same for subnet administration.
    pub(crate) fn add_sa(&mut self, output: &SaOutput) {
        match output {
            SaOutput::Send(packet) => self.datagram(ANSWER, packet),
            SaOutput::Multicast(groups) => self.value(MULTICAST, groups),
            SaOutput::Groups(groups) => self.number(GROUPS, groups.len() as u64),
            SaOutput::Storm(storm) => self.value(STORM, storm),
            SaOutput::Stale => self.output(&[STALE], &[]),
            SaOutput::Persist(bytes) => self.number(SA_PERSIST, bytes.len() as u64),
        }
    }

    /// What a call returned at once.
    pub(crate) fn returned(&mut self, is_ok: bool) {
        self.number(RETURNED, u64::from(is_ok));
    }

    fn datagram(&mut self, kind: u8, packet: &Packet) {
        let mut both = [0; LEN + ADDRESSES];
        let (len, head) = both.split_at_mut(LEN);
        len.copy_from_slice(&((ADDRESSES + packet.mad.len()) as u64).to_le_bytes());
        head[0] = kind;
        head[1] = packet.sl.0;
        head[2..4].copy_from_slice(&packet.pkey.0.to_le_bytes());
        head[4..8].copy_from_slice(&packet.slid.0.to_le_bytes());
        head[8..12].copy_from_slice(&packet.dlid.0.to_le_bytes());
        head[12..16].copy_from_slice(&packet.dest_qp.to_le_bytes());
        head[16..20].copy_from_slice(&packet.src_qp.to_le_bytes());
        head[24..].copy_from_slice(&(packet.mad.len() as u64).to_le_bytes());
        self.bytes.reserve(both.len() + packet.mad.len());
        self.bytes.extend_from_slice(&both);
        self.bytes.extend_from_slice(&packet.mad);
    }

    fn number(&mut self, kind: u8, number: u64) {
        self.output(&[kind], &number.to_le_bytes());
    }

    fn bytes(&mut self, kind: u8, bytes: &[u8]) {
        let mut head = [kind; BYTES_HEAD];
        head[1..].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.output(&head, bytes);
    }

    fn value(&mut self, kind: u8, value: &impl Serialize) {
        let start = self.bytes.len();
        self.len(0);
        self.bytes.push(kind);
        let is_whole = plain::put(value, &mut self.bytes);
        self.bytes.push(u8::from(is_whole));
        let len = (self.bytes.len() - start - LEN) as u64;
        self.bytes[start..start + LEN].copy_from_slice(&len.to_le_bytes());
    }

    fn output(&mut self, head: &[u8], rest: &[u8]) {
        self.len(head.len() + rest.len());
        self.bytes.extend_from_slice(head);
        self.bytes.extend_from_slice(rest);
    }

    fn len(&mut self, len: usize) {
        self.bytes.extend_from_slice(&(len as u64).to_le_bytes());
    }
}

impl<'a> Rest<'a> {
    /// Bytes of [`Outputs::memory`] that are passed.
    pub(crate) fn taken(&self) -> usize {
        self.taken
    }

    /// The next one, keys masked.
    pub(crate) fn next(&mut self, keys: &Keys) -> Option<Made<'a>> {
        let (len, rest) = std::mem::take(&mut self.bytes).split_first_chunk_mut()?;
        let len = u64::from_le_bytes(*len) as usize;
        let (output, rest) = rest.split_at_mut_checked(len)?;
        self.bytes = rest;
        self.taken += LEN + len;
        if output.is_empty() {
            return self.snapshots.next().map(|next| Made::Snapshot(next));
        }
        mask(output, keys);
        Some(Made::Bytes(output))
    }
}

fn mask(output: &mut [u8], keys: &Keys) {
    let (head, mask): (_, fn(&mut [u8], &Keys)) = match output.first() {
        Some(&SENT) => (ADDRESSES, |mad, keys| keys.in_datagram(mad)),
        Some(&ANSWER) => (ADDRESSES, in_answer),
        Some(&NOTICE) => (BYTES_HEAD, |notice, keys| keys.in_notice(notice)),
        _ => return,
    };
    mask(output.get_mut(head..).unwrap_or_default(), keys);
}

/// Keys are in records of services, which go in segments, and in notices; refusals give back what they refuse.
fn in_answer(mad: &mut [u8], keys: &Keys) {
    let sm_key = mad.get_mut(CLASS_AT..).unwrap_or_default();
    if let Some(sm_key) = sm_key.first_chunk_mut::<8>() {
        sm_key.fill(0);
    }
    match service::is_record(mad) {
        true => service::blank_keys(mad),
        false => keys.in_datagram(mad),
    }
}
