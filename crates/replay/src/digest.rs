//! Digests of outputs. Of subnet administration: datagrams, members of multicast groups and storms; only the size of what it
//! stores, and the number of groups that it tells. Of the manager: datagrams, stored state, events, notices and replies; of a
//! published snapshot its number, nodes with their LIDs, links and linear tables.
//!
//! Each output is hashed by itself, from the digest of those before it on: a digest at the end of each input costs nothing more.

use std::hash::Hasher;

use serde::Serialize;
use twox_hash::XxHash64;
use weft_fabric::{Snapshot, SwitchIndex};
use weft_manager::{Output, SaOutput};
use weft_wire::packet::Packet;
use weft_wire::rmpp::CLASS_AT;

use crate::keys::{Keys, SMP_M_KEY, service};
use crate::plain;

/// Of all outputs so far, keys masked.
#[derive(Default)]
pub(crate) struct Digest {
    value: u64,
    /// A datagram whose keys are masked, or a value as bytes: its memory serves again and again.
    scratch: Vec<u8>,
}

/// Bytes of a datagram's addresses and its length, as they are hashed.
const ADDRESSES: usize = 32;

impl Digest {
    pub(crate) fn value(&self) -> u64 {
        self.value
    }

    pub(crate) fn add(&mut self, output: &Output, keys: &mut Keys) {
        match output {
            Output::Send(packet) => self.packet(packet, keys),
            Output::Plan(input) => self.numbers(2, &[input.id()]),
            Output::Publish(snapshot) => self.snapshot(snapshot),
            Output::Persist(bytes) => self.bytes(4, bytes),
            Output::Event(event) => self.value_of(5, event),
            Output::Notice(notice) => {
                let mut notice = notice.clone();
                keys.in_notice(&mut notice);
                self.bytes(6, &notice);
            }
            Output::RegistrationsLost { asked } => self.numbers(7, &[*asked as u64]),
            Output::Reply { id, result } => self.value_of(8, &(id, result)),
        }
    }

    /// The same for subnet administration.
    pub(crate) fn add_sa(&mut self, output: &SaOutput, keys: &mut Keys) {
        match output {
            SaOutput::Send(packet) => self.answer(packet, keys),
            SaOutput::Multicast(groups) => self.value_of(10, groups),
            SaOutput::Groups(groups) => self.numbers(11, &[groups.len() as u64]),
            SaOutput::Storm(storm) => self.value_of(12, storm),
            SaOutput::Stale => self.numbers(13, &[]),
            SaOutput::Persist(bytes) => self.numbers(14, &[bytes.len() as u64]),
        }
    }

    /// What a call returned at once.
    pub(crate) fn returned(&mut self, is_ok: bool) {
        self.numbers(9, &[u64::from(is_ok)]);
    }

    /// Most have no key, or one in their head alone, and need not be copied.
    fn packet(&mut self, packet: &Packet, keys: &mut Keys) {
        if let Some((head, key, rest)) = Keys::around_the_only(&packet.mad) {
            let masked = keys.masked_bytes(*key);
            let mut first = [0; ADDRESSES + SMP_M_KEY + 8];
            let (addresses, header) = first.split_at_mut(ADDRESSES);
            addresses.copy_from_slice(&self::addresses(packet));
            let (before, at_key) = header.split_at_mut(SMP_M_KEY);
            before.copy_from_slice(head);
            at_key.copy_from_slice(&masked);
            return self.add_hash(|hash| {
                // Two whole rounds of it, and one call: each costs more than what it adds.
                hash.write(&first);
                hash.write(rest);
            });
        }
        let mut masked = std::mem::take(&mut self.scratch);
        masked.clone_from(&packet.mad);
        keys.in_datagram(&mut masked);
        self.datagram(packet, &masked);
        self.scratch = masked;
    }

    /// Keys are in records of services, which go in segments, and in notices.
    fn answer(&mut self, packet: &Packet, keys: &mut Keys) {
        let is_record = service::is_record(&packet.mad);
        let sm_key = CLASS_AT..CLASS_AT + 8;
        // Refusals give back what they refuse.
        let has_key = packet.mad.get(sm_key.clone());
        let has_key = has_key.is_some_and(|key| key != [0; 8]);
        if !is_record && !has_key && !service::is_notice(&packet.mad) {
            return self.datagram(packet, &packet.mad);
        }
        let mut mad = std::mem::take(&mut self.scratch);
        mad.clone_from(&packet.mad);
        if let Some(key) = mad.get_mut(sm_key) {
            key.fill(0);
        }
        match is_record {
            true => service::blank_keys(&mut mad),
            false => keys.in_datagram(&mut mad),
        }
        self.datagram(packet, &mad);
        self.scratch = mad;
    }

    /// A datagram with these bytes in place of its own, as many as those.
    fn datagram(&mut self, packet: &Packet, mad: &[u8]) {
        self.add_hash(|hash| {
            hash.write(&addresses(packet));
            hash.write(mad);
        });
    }

    fn snapshot(&mut self, snapshot: &Snapshot) {
        let topology = &snapshot.topology;
        self.add_hash(|hash| {
            numbers(hash, 3, &[snapshot.generation, topology.len() as u64]);
            for (_, node) in topology.nodes() {
                hash.write_u64(node.guid().0);
            }
            for (at, lid, lmc) in topology.end_ports() {
                numbers(hash, 3, &[at.node.0.into(), lid.0.into(), lmc.0.into()]);
            }
            for (a, b) in topology.links() {
                let ends = [a, b].map(|end| u64::from(end.node.0) << 8 | u64::from(end.port.0));
                numbers(hash, 3, &ends);
            }
            for switch in 0..snapshot.linear.len() {
                bytes(hash, 3, snapshot.linear.row(SwitchIndex(switch as u32)));
            }
        });
    }

    fn numbers(&mut self, kind: u8, values: &[u64]) {
        self.add_hash(|hash| numbers(hash, kind, values));
    }

    fn bytes(&mut self, kind: u8, value: &[u8]) {
        self.add_hash(|hash| bytes(hash, kind, value));
    }

    fn value_of(&mut self, kind: u8, value: &impl Serialize) {
        let mut bytes = std::mem::take(&mut self.scratch);
        bytes.clear();
        bytes.push(kind);
        let is_whole = plain::put(value, &mut bytes);
        bytes.push(u8::from(is_whole));
        self.value = XxHash64::oneshot(self.value, &bytes);
        self.scratch = bytes;
    }

    /// An output, hashed by `add`.
    fn add_hash(&mut self, add: impl FnOnce(&mut XxHash64)) {
        let mut hash = XxHash64::with_seed(self.value);
        add(&mut hash);
        self.value = hash.finish();
    }
}

/// What is before the bytes of a datagram: its kind of output, 1, its addresses and its length.
fn addresses(packet: &Packet) -> [u8; ADDRESSES] {
    let mut bytes = [0; ADDRESSES];
    bytes[0] = 1;
    bytes[1] = packet.sl.0;
    bytes[2..4].copy_from_slice(&packet.pkey.0.to_le_bytes());
    bytes[4..8].copy_from_slice(&packet.slid.0.to_le_bytes());
    bytes[8..12].copy_from_slice(&packet.dlid.0.to_le_bytes());
    bytes[12..16].copy_from_slice(&packet.dest_qp.to_le_bytes());
    bytes[16..20].copy_from_slice(&packet.src_qp.to_le_bytes());
    bytes[24..].copy_from_slice(&(packet.mad.len() as u64).to_le_bytes());
    bytes
}

fn numbers(hash: &mut XxHash64, kind: u8, numbers: &[u64]) {
    hash.write_u8(kind);
    for number in numbers {
        hash.write(&number.to_le_bytes());
    }
}

fn bytes(hash: &mut XxHash64, kind: u8, bytes: &[u8]) {
    numbers(hash, kind, &[bytes.len() as u64]);
    hash.write(bytes);
}

#[cfg(test)]
#[path = "digest_tests.rs"]
mod tests;
