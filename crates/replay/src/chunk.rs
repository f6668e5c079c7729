//! Some inputs, on their way from the thread that records to the place where they are written.

use std::fmt;

use weft_wire::packet::Packet;

use crate::keys::SMP_M_KEY;

/// Inputs as bytes. Datagrams stay in their own memory until [`Self::into_bytes`], which another thread may call.
#[derive(Debug, Default)]
pub struct Chunk {
    bytes: Vec<u8>,
    datagrams: Vec<Datagram>,
    /// Memory of datagrams.
    held: usize,
}

/// One that is not among the bytes yet.
struct Datagram {
    /// Where it belongs among them.
    at: usize,
    packet: Packet,
    /// What takes the place of its M_Key.
    m_key: [u8; 8],
}

impl fmt::Debug for Datagram {
    /// Without its bytes, which have the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {}", self.packet.mad.len(), self.at)
    }
}

impl From<Vec<u8>> for Chunk {
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            ..Self::default()
        }
    }
}

impl Chunk {
    /// Its bytes but for datagrams.
    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Memory that it takes.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.len() + self.held
    }

    /// A datagram of subnet management follows, with this in place of its M_Key.
    pub(crate) fn datagram(&mut self, packet: Packet, m_key: [u8; 8]) -> &Packet {
        self.held += size_of::<Datagram>() + packet.mad.capacity();
        let at = self.bytes.len();
        self.datagrams.push(Datagram { at, packet, m_key });
        let last = self.datagrams.len() - 1;
        &self.datagrams[last].packet
    }

    /// All of it, as it is written.
    pub fn into_bytes(self) -> Vec<u8> {
        if self.datagrams.is_empty() {
            return self.bytes;
        }
        let mut whole = Vec::with_capacity(self.memory());
        self.write(&mut whole);
        whole
    }

    /// The same behind what `to` has.
    pub fn write(&self, to: &mut Vec<u8>) {
        let mut written = 0;
        for Datagram { at, packet, m_key } in &self.datagrams {
            to.extend_from_slice(&self.bytes[written..*at]);
            written = *at;
            let start = to.len();
            to.extend_from_slice(&packet.mad);
            let place = to.get_mut(start + SMP_M_KEY..);
            if let Some(place) = place.and_then(<[u8]>::first_chunk_mut) {
                *place = *m_key;
            }
        }
        to.extend_from_slice(&self.bytes[written..]);
    }
}
