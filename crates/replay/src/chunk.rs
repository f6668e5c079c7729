//! Some inputs, on their way from the thread that records to the place where they are written.

use std::fmt;

use weft_wire::packet::Packet;

use crate::digest::Digest;
use crate::keys::Keys;
use crate::outputs::Outputs;
use crate::recorder::{CHUNK, CHUNK_HEAD};

/// Bytes that a chunk has room for at first: the most that it has beside datagrams of a sweep.
const ROOM: usize = 8 * 1024;
/// Memory that a snapshot counts as: it shares most of its own with those before and after it, and of that nothing is known here.
const SNAPSHOT: usize = 16 * 1024;

/// Inputs as bytes, and the outputs that they led to. Datagrams stay in their own memory, keys as they are and digests unmade until
/// [`Self::write`], which another thread may call.
#[derive(Default)]
pub struct Chunk {
    /// With zeros where digests belong.
    bytes: Vec<u8>,
    datagrams: Vec<Datagram>,
    /// Memory of datagrams.
    held: usize,
    outputs: Outputs,
    ends: Vec<End>,
    keys: Keys,
}

/// One that is not among the bytes yet.
struct Datagram {
    /// Where it belongs among them.
    at: usize,
    packet: Packet,
}

/// That of an input.
struct End {
    /// Where the low bits of its digest belong among the bytes.
    at: usize,
    /// Bytes of all outputs up to then.
    outputs: usize,
}

impl fmt::Debug for Chunk {
    /// Without its bytes, which have keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chunk({} bytes)", self.memory())
    }
}

impl From<Vec<u8>> for Chunk {
    /// One that is written as it is.
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            ..Self::default()
        }
    }
}

impl Chunk {
    /// One without inputs, whose keys are masked by `keys`.
    pub(crate) fn begin(keys: &Keys) -> Self {
        let mut bytes = Vec::with_capacity(ROOM);
        bytes.resize(CHUNK_HEAD, 0);
        Self {
            bytes,
            keys: keys.clone(),
            ..Self::default()
        }
    }

    /// The same after this one, with room for as much and a quarter more: what grows is copied again and again.
    pub(crate) fn next(&self) -> Self {
        let with_room = |used: usize| (used + used / 4).min(CHUNK);
        Self {
            datagrams: Vec::with_capacity(with_room(self.datagrams.len())),
            outputs: Outputs::with_room(with_room(self.outputs.memory())),
            ends: Vec::with_capacity(with_room(self.ends.len())),
            ..Self::begin(&self.keys)
        }
    }

    /// Its bytes but for datagrams.
    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Outputs of its inputs.
    pub(crate) fn outputs(&mut self) -> &mut Outputs {
        &mut self.outputs
    }

    /// Memory that it takes.
    pub(crate) fn memory(&self) -> usize {
        let ends = self.ends.len() * size_of::<End>();
        let snapshots = self.outputs.snapshots() * SNAPSHOT;
        self.bytes.len() + self.held + self.outputs.memory() + ends + snapshots
    }

    /// A datagram follows.
    pub(crate) fn datagram(&mut self, packet: Packet) -> &Packet {
        self.held += size_of::<Datagram>() + packet.mad.capacity();
        let at = self.bytes.len();
        self.datagrams.push(Datagram { at, packet });
        let last = self.datagrams.len() - 1;
        &self.datagrams[last].packet
    }

    /// An input has come to its end.
    pub(crate) fn end(&mut self) {
        let at = self.bytes.len();
        let outputs = self.outputs.memory();
        self.ends.push(End { at, outputs });
        self.bytes.extend_from_slice(&[0; size_of::<u16>()]);
    }

    /// All of it, as it is written.
    pub fn into_bytes(self) -> Vec<u8> {
        let mut whole = Vec::with_capacity(self.bytes.len() + self.held);
        self.write(&mut whole);
        whole
    }

    /// The same behind what `to` has.
    pub fn write(mut self, to: &mut Vec<u8>) {
        self.digests();
        let mut written = 0;
        for Datagram { at, packet } in &self.datagrams {
            to.extend_from_slice(&self.bytes[written..*at]);
            written = *at;
            let start = to.len();
            to.extend_from_slice(&packet.mad);
            self.keys.in_datagram(&mut to[start..]);
        }
        to.extend_from_slice(&self.bytes[written..]);
    }

    /// Puts digests where they belong, the whole one at the end.
    fn digests(&mut self) {
        let mut digest = Digest::default();
        let mut outputs = self.outputs.read();
        for End { at, outputs: up_to } in &self.ends {
            digest.add(&mut outputs, *up_to, &self.keys);
            let low = (digest.value() as u16).to_le_bytes();
            self.bytes[*at..*at + low.len()].copy_from_slice(&low);
        }
        if !self.ends.is_empty()
            && let Some(whole) = self.bytes.last_chunk_mut()
        {
            *whole = digest.value().to_le_bytes();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::{Arc, Mutex};

    use weft_fabric::Tick;
    use weft_manager::Output;
    use weft_wire::Layout;
    use weft_wire::id::Lid;
    use weft_wire::sm::{AttributeId, PortInfo};
    use weft_wire::smp::Smp;

    use super::*;
    use crate::recorder::{RECEIVED, Recorder, Sink};

    const KEY: [u8; 8] = *b"an MKey!";

    #[derive(Debug, Clone, Default)]
    struct Chunks(Arc<Mutex<Vec<Vec<u8>>>>);

    impl Sink for Chunks {
        fn take(&mut self, chunk: Chunk) -> bool {
            self.0.lock().unwrap().push(chunk.into_bytes());
            true
        }
    }

    #[test]
    fn a_chunk_has_no_keys_and_no_digest_of_what_another_one_has() {
        let mut data = [0; PortInfo::LEN];
        data[112..120].copy_from_slice(&KEY);
        let mut mad = Vec::new();
        let smp = Smp::set(AttributeId::PORT_INFO, 1, 7, u64::from_be_bytes(KEY));
        smp.write_lid_routed(&data, &mut mad);
        let packet = Packet::lid_routed(Lid(1), Lid(2), mad);
        let chunks = Chunks::default();
        let mut recorder = Recorder::new(Box::new(chunks.clone()));
        for outputs in [2, 2, 3] {
            let kept = recorder.received(Tick(0), RECEIVED, packet.clone());
            assert_eq!(kept, &packet);
            for _ in 0..outputs {
                recorder.outputs().add(&Output::Send(packet.clone()));
            }
            assert!(recorder.end() && recorder.flush());
        }
        let chunks = chunks.0.lock().unwrap();
        let [first, second, third] = &chunks[..] else {
            panic!("{} chunks", chunks.len());
        };
        assert_eq!(first, second);
        assert_ne!(second, third);
        assert!(!first.windows(8).any(|bytes| bytes == KEY));
        assert!(first.windows(4).any(|bytes| bytes == b"KEY\0"));
    }
}
