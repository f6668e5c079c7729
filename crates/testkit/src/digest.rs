//! A digest of datagrams and their times, by which two runs are compared.

use std::hash::{DefaultHasher, Hash, Hasher};

use weft_fabric::Tick;
use weft_wire::packet::Packet;

use crate::world::Tap;

/// Digests every datagram that crosses the ports of managers.
#[derive(Debug, Clone, Default)]
pub struct Digest(DefaultHasher);

impl Digest {
    /// A datagram that `member` has sent or received.
    pub fn add(&mut self, now: Tick, member: usize, sent: bool, packet: &Packet) {
        let route = (packet.slid.0, packet.dlid.0, packet.sl.0, packet.pkey.0);
        let pairs = (packet.dest_qp, packet.src_qp);
        (now.0, member, sent, route, pairs, &packet.mad).hash(&mut self.0);
    }

    /// The digest so far; it has a meaning within one process only.
    pub fn value(&self) -> u64 {
        self.0.finish()
    }
}

impl Tap for Digest {
    fn see(&mut self, now: Tick, sent: bool, packet: &Packet) {
        self.add(now, 0, sent, packet);
    }
}
