//! Inputs as bytes: a chunk is some inputs, each with the low bits of the digest of all outputs in it up to then.

use weft_fabric::Tick;
use weft_manager::Input;
use weft_wire::packet::Packet;

use crate::call::Call;
use crate::checkpoint::{Checkpoint, Frozen};
use crate::chunk::Chunk;
use crate::keys::Keys;
use crate::outputs::Outputs;
use crate::sa::FrozenSa;

/// Memory of the inputs and outputs in a chunk, after which the next one begins.
pub(crate) const CHUNK: usize = 256 * 1024;
/// Bytes of a datagram's addresses.
const ADDRESSES: usize = 19;
/// Bytes of a chunk before its inputs: whether the last of them came to its end.
pub(crate) const CHUNK_HEAD: usize = 1;
/// Bytes of a chunk after them: the whole digest.
pub(crate) const CHUNK_TAIL: usize = 8;

pub(crate) const TICK: u8 = 1;
pub(crate) const RECEIVED: u8 = 2;
pub(crate) const PLANNED: u8 = 3;
pub(crate) const CALL: u8 = 4;
pub(crate) const CHECKPOINT: u8 = 5;
pub(crate) const CHECKPOINT_PART: u8 = 6;
/// Those of subnet administration; a chunk has them or the manager's.
pub(crate) const SA_TICK: u8 = 7;
pub(crate) const SA_RECEIVED: u8 = 8;
pub(crate) const SA_PUBLISHED: u8 = 9;
pub(crate) const SA_CALL: u8 = 10;
pub(crate) const SA_CHECKPOINT: u8 = 11;
pub(crate) const SA_CHECKPOINT_PART: u8 = 12;
pub(crate) const SA_RESTS: u8 = 13;

/// Where chunks go.
pub trait Sink: Send + std::fmt::Debug {
    /// Takes the next chunk; false ends the recording.
    fn take(&mut self, chunk: Chunk) -> bool;

    /// Whether this recording has enough, so that another is to go on from a checkpoint.
    fn is_full(&self) -> bool {
        false
    }

    /// Ends this recording and begins the next one; false ends the recording.
    fn begin_next(&mut self, with: Frozen) -> bool {
        let _ = with;
        false
    }

    /// Begins the row of subnet administration, or goes on with it in the next recording; false lets it rest.
    fn begin_sa(&mut self, with: FrozenSa) -> bool {
        let _ = with;
        false
    }
}

/// Writes the inputs of one manager, or of one subnet administration.
#[derive(Debug)]
pub struct Recorder {
    sink: Box<dyn Sink>,
    chunk: Chunk,
    keys: Keys,
    last: Tick,
    /// The last input has not come to its end.
    is_open: bool,
}

impl Recorder {
    /// A recorder whose chunks go to `sink`.
    pub fn new(sink: Box<dyn Sink>) -> Self {
        let keys = Keys::default();
        Self {
            sink,
            chunk: Chunk::begin(&keys),
            keys,
            last: Tick(0),
            is_open: false,
        }
    }

    /// By which keys are masked.
    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Whether the recording is to go on in another one.
    pub(crate) fn is_full(&self) -> bool {
        !self.is_open && self.sink.is_full()
    }

    /// The manager's state as the first input of a recording, with the digest of no output. Returns whether the recording goes
    /// on.
    pub(crate) fn checkpoint(&mut self, now: Tick, state: &Checkpoint) -> bool {
        self.last = now;
        let mut chunks = state.chunks(now);
        chunks.all(|chunk| self.sink.take(chunk.into()))
    }

    /// The time of the last input.
    pub(crate) fn last(&self) -> Tick {
        self.last
    }

    /// Goes on in another recording, which begins with the manager's state. Returns whether it does.
    pub(crate) fn begin_next(&mut self, with: Frozen) -> bool {
        self.flush() && self.sink.begin_next(with)
    }

    /// The row of subnet administration begins with its state. Returns whether it does.
    pub(crate) fn begin_sa(&mut self, with: FrozenSa) -> bool {
        self.flush();
        self.last = with.at();
        self.sink.begin_sa(with)
    }

    /// An input begins.
    pub(crate) fn input(&mut self, now: Tick, input: &Input) {
        match input {
            Input::Tick => self.begin(now, TICK),
            Input::Received(packet) => {
                self.received(now, RECEIVED, packet.clone());
            }
            Input::Planned(planned) => {
                self.begin(now, PLANNED);
                self.number(planned.id());
            }
            Input::Command { id, command } => {
                let (id, command) = (*id, command.clone());
                self.call(now, &Call::Command { id, command });
            }
            Input::Multicast(groups) => self.call(now, &Call::Multicast(groups.clone())),
            Input::CopiedFrom(master) => self.call(now, &Call::CopiedFrom(*master)),
            Input::MulticastStorm(storm) => self.call(now, &Call::MulticastStorm(*storm)),
            Input::LinkErrors(all) => self.call(now, &Call::LinkErrors(all.clone())),
            Input::Detached => self.call(now, &Call::Detached),
        }
    }

    /// A datagram begins an input of this kind. It is kept, and returned for the manager to read it.
    pub(crate) fn received(&mut self, now: Tick, kind: u8, packet: Packet) -> &Packet {
        self.begin(now, kind);
        self.addresses(&packet);
        self.chunk.datagram(packet)
    }

    /// A rare input begins; keys in it are masked.
    pub(crate) fn call(&mut self, now: Tick, call: &Call) {
        self.begin(now, CALL);
        // What JSON cannot have leaves nothing, and the replay says that this input cannot be read.
        let bytes = serde_json::to_vec(call).unwrap_or_default();
        self.bytes(&bytes);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.chunk.bytes().extend(bytes);
    }

    pub(crate) fn begin(&mut self, now: Tick, kind: u8) {
        self.chunk.bytes().push(kind);
        self.number(now.0.saturating_sub(self.last.0));
        self.last = self.last.max(now);
        self.is_open = true;
    }

    /// Where outputs of the input are added.
    pub(crate) fn outputs(&mut self) -> &mut Outputs {
        self.chunk.outputs()
    }

    /// The input has come to its end. Returns whether the recording goes on.
    pub(crate) fn end(&mut self) -> bool {
        self.is_open = false;
        self.chunk.end();
        self.chunk.memory() < CHUNK || self.flush()
    }

    /// Passes on what there is. Returns whether the recording goes on.
    pub(crate) fn flush(&mut self) -> bool {
        if self.chunk.bytes().len() == CHUNK_HEAD {
            return true;
        }
        let next = self.chunk.next();
        let mut chunk = std::mem::replace(&mut self.chunk, next);
        let bytes = chunk.bytes();
        bytes[0] = u8::from(self.is_open);
        bytes.extend_from_slice(&[0; CHUNK_TAIL]);
        self.sink.take(chunk)
    }

    /// What is before the bytes of a datagram: its addresses and its length.
    fn addresses(&mut self, packet: &Packet) {
        let mut head = [0; ADDRESSES];
        head[..4].copy_from_slice(&packet.slid.0.to_le_bytes());
        head[4..8].copy_from_slice(&packet.dlid.0.to_le_bytes());
        head[8] = packet.sl.0;
        head[9..11].copy_from_slice(&packet.pkey.0.to_le_bytes());
        head[11..15].copy_from_slice(&packet.dest_qp.to_le_bytes());
        head[15..].copy_from_slice(&packet.src_qp.to_le_bytes());
        self.chunk.bytes().extend_from_slice(&head);
        self.number(packet.mad.len() as u64);
    }

    pub(crate) fn number(&mut self, number: u64) {
        put_number(self.chunk.bytes(), number);
    }
}

/// Seven bits in a byte, the lowest first; the top bit says that there are more.
pub(crate) fn put_number(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// The input that a manager panicked at is in the recording.
impl Drop for Recorder {
    fn drop(&mut self) {
        self.flush();
    }
}
