//! Digests of outputs. Of subnet administration: datagrams, members of multicast groups and storms; only the size of what it
//! stores, and the number of groups that it tells. Of the manager: datagrams, stored state, events, notices and replies; of a
//! published snapshot its number, nodes with their LIDs, links and linear tables.

use std::hash::Hasher;
use std::io;

use serde::Serialize;
use twox_hash::XxHash64;
use weft_fabric::{Snapshot, SwitchIndex};
use weft_manager::{Output, SaOutput};
use weft_wire::packet::Packet;
use weft_wire::rmpp::CLASS_AT;

use crate::keys::{Keys, SMP_M_KEY, service};

/// Of all outputs so far, keys masked.
pub(crate) struct Digest {
    hash: XxHash64,
    /// A datagram whose keys are masked: its memory serves again and again.
    masked: Vec<u8>,
}

impl Default for Digest {
    fn default() -> Self {
        Self {
            hash: XxHash64::with_seed(0),
            masked: Vec::new(),
        }
    }
}

/// Lets a serializer write into a hash.
struct Into<'a>(&'a mut XxHash64);

impl io::Write for Into<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Digest {
    pub(crate) fn value(&self) -> u64 {
        self.hash.finish()
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
        let mad = &packet.mad;
        let head = mad.split_at_checked(SMP_M_KEY);
        let head = head.and_then(|(head, rest)| Some((head, rest.split_first_chunk()?)));
        if let Some((head, (key, rest))) = head
            && !Keys::has_more(mad)
        {
            let masked = keys.masked_bytes(*key);
            if masked == *key {
                return self.datagram(packet, mad);
            }
            self.head(packet);
            for part in [head, &masked, rest] {
                self.hash.write(part);
            }
            return;
        }
        let mut masked = std::mem::take(&mut self.masked);
        masked.clone_from(mad);
        keys.in_datagram(&mut masked);
        self.datagram(packet, &masked);
        self.masked = masked;
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
        let mut mad = std::mem::take(&mut self.masked);
        mad.clone_from(&packet.mad);
        if let Some(key) = mad.get_mut(sm_key) {
            key.fill(0);
        }
        match is_record {
            true => service::blank_keys(&mut mad),
            false => keys.in_datagram(&mut mad),
        }
        self.datagram(packet, &mad);
        self.masked = mad;
    }

    /// A datagram with these bytes in place of its own, as many as those.
    fn datagram(&mut self, packet: &Packet, mad: &[u8]) {
        self.head(packet);
        self.hash.write(mad);
    }

    /// What is before the bytes of a datagram, as [`Self::numbers`] and [`Self::bytes`] of kind 1 have it: its addresses, and
    /// its length.
    fn head(&mut self, packet: &Packet) {
        let numbers = [
            packet.slid.0.into(),
            packet.dlid.0.into(),
            packet.sl.0.into(),
            packet.pkey.0.into(),
            packet.dest_qp.into(),
            packet.src_qp.into(),
        ];
        let mut head = [1; 1 + 6 * 8 + 1 + 8];
        let (addresses, length) = head[1..].split_at_mut(6 * 8);
        for (to, number) in addresses.chunks_exact_mut(8).zip(numbers) {
            to.copy_from_slice(&u64::to_le_bytes(number));
        }
        length[1..].copy_from_slice(&(packet.mad.len() as u64).to_le_bytes());
        // One call: each costs more than what it adds.
        self.hash.write(&head);
    }

    fn snapshot(&mut self, snapshot: &Snapshot) {
        let topology = &snapshot.topology;
        self.numbers(3, &[snapshot.generation, topology.len() as u64]);
        for (_, node) in topology.nodes() {
            self.hash.write_u64(node.guid().0);
        }
        for (at, lid, lmc) in topology.end_ports() {
            self.numbers(3, &[at.node.0.into(), lid.0.into(), lmc.0.into()]);
        }
        for (a, b) in topology.links() {
            let ends = [a, b].map(|end| u64::from(end.node.0) << 8 | u64::from(end.port.0));
            self.numbers(3, &ends);
        }
        for switch in 0..snapshot.linear.len() {
            self.bytes(3, snapshot.linear.row(SwitchIndex(switch as u32)));
        }
    }

    fn numbers(&mut self, kind: u8, numbers: &[u64]) {
        self.hash.write_u8(kind);
        for number in numbers {
            self.hash.write(&number.to_le_bytes());
        }
    }

    fn bytes(&mut self, kind: u8, bytes: &[u8]) {
        self.numbers(kind, &[bytes.len() as u64]);
        self.hash.write(bytes);
    }

    fn value_of(&mut self, kind: u8, value: &impl Serialize) {
        self.hash.write_u8(kind);
        // A value that JSON cannot have is the same in both runs: up to there.
        let _ = serde_json::to_writer(Into(&mut self.hash), value);
    }
}
