//! The inputs of a recording, one after the other.

use std::io::Read;

use weft_fabric::Tick;
use weft_wire::id::{Lid, PKey, Sl};
use weft_wire::packet::Packet;

use crate::call::Call;
use crate::checkpoint::{CHECKPOINT_MAX, Checkpoint};
use crate::file::{FileError, Header, Next, Reader};
use crate::recorder::{
    CALL, CHECKPOINT, CHECKPOINT_PART, CHUNK_HEAD, CHUNK_TAIL, PLANNED, RECEIVED, SA_CALL,
    SA_CHECKPOINT, SA_CHECKPOINT_PART, SA_PUBLISHED, SA_RECEIVED, SA_RESTS, SA_TICK, TICK,
};
use crate::sa::{SaRest, SaWhat};

/// A step's input.
#[derive(Debug, Clone)]
pub enum What {
    /// A deadline.
    Tick,
    /// A datagram.
    Received(Packet),
    /// The plan of this number is ready.
    Planned(u64),
    /// A rare input.
    Call(Box<Call>),
    /// The manager's state, with which a recording begins that goes on from another one.
    Checkpoint(Checkpoint),
    /// An input of subnet administration.
    Sa(SaWhat),
}

impl What {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Tick => "tick",
            Self::Received(_) => "received",
            Self::Planned(_) => "planned",
            Self::Call(call) => call.name(),
            Self::Checkpoint(_) => "checkpoint",
            Self::Sa(what) => what.name(),
        }
    }

    /// The bytes of a state that is restored.
    pub(crate) fn state(&self) -> Option<&[u8]> {
        match self {
            Self::Checkpoint(state) | Self::Sa(SaWhat::Checkpoint(state)) => Some(state.bytes()),
            _ => None,
        }
    }
}

/// An input as it was recorded.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// The manager's time.
    pub(crate) at: Tick,
    pub(crate) what: What,
    /// None where the manager did not come to the end of this input; then nothing follows. None of a rest either.
    pub(crate) digest: Option<Expected>,
    /// Byte of the file at which its chunk begins.
    pub(crate) chunk_at: u64,
}

impl Entry {
    /// Memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        let held = match &self.what {
            What::Received(packet) | What::Sa(SaWhat::Received(packet)) => packet.mad.len(),
            what => what.state().map_or(0, <[u8]>::len),
        };
        size_of::<Self>() + held
    }
}

/// The digest of all outputs in a chunk at the end of an input.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Expected {
    /// Its lowest bits.
    Low(u16),
    /// All of it, at the end of a chunk.
    Whole(u64),
}

/// Reads them.
pub(crate) struct Inputs<R> {
    header: Header,
    reader: Reader<R>,
    chunk: Vec<u8>,
    /// Place in it.
    place: usize,
    chunk_at: u64,
    now: Tick,
    /// The same of subnet administration; none before its state.
    sa_now: Option<Tick>,
    /// Pieces of a checkpoint that are read so far.
    state: Vec<u8>,
    torn_at: Option<u64>,
    ended: bool,
}

impl<R: Read> Inputs<R> {
    /// # Errors
    /// [`FileError`] where it is no recording.
    pub(crate) fn new(from: R) -> Result<Self, FileError> {
        let (reader, header) = Reader::new(from)?;
        Ok(Self {
            header,
            reader,
            chunk: Vec::new(),
            place: 0,
            chunk_at: 0,
            now: Tick(0),
            sa_now: None,
            state: Vec::new(),
            torn_at: None,
            ended: false,
        })
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// The byte of the file at which the recording is torn.
    pub(crate) fn torn_at(&self) -> Option<u64> {
        self.torn_at
    }

    /// The next one; none at the end.
    ///
    /// # Errors
    /// [`FileError`] where the recording cannot be read from here on.
    pub(crate) fn next(&mut self) -> Result<Option<Entry>, FileError> {
        let (what, is_open) = loop {
            if self.ended || !self.fill()? {
                return Ok(None);
            }
            let what = self.read_input()?;
            let is_open = self.chunk.first() == Some(&1) && self.place == self.tail();
            match what {
                Some(what) => break (what, is_open),
                None if is_open => {}
                None => drop(self.digest()?),
            }
        };
        let at = match what {
            // What rests before its state does so at the time of the manager.
            What::Sa(_) => self.sa_now.unwrap_or(self.now),
            _ => self.now,
        };
        // The manager's end is the recording's.
        self.ended = is_open && !matches!(what, What::Sa(_));
        let digest = match (is_open, &what) {
            (true, _) => None,
            (false, What::Sa(SaWhat::Rests(_))) => {
                self.digest()?;
                None
            }
            (false, _) => Some(self.digest()?),
        };
        Ok(Some(Entry {
            at,
            what,
            digest,
            chunk_at: self.chunk_at,
        }))
    }

    fn digest(&mut self) -> Result<Expected, FileError> {
        let low = u16::from_le_bytes(self.array()?);
        if self.place < self.tail() {
            return Ok(Expected::Low(low));
        }
        let whole = self.chunk.last_chunk().copied().unwrap_or_default();
        Ok(Expected::Whole(u64::from_le_bytes(whole)))
    }

    /// Where the digest of the chunk begins.
    fn tail(&self) -> usize {
        self.chunk.len() - CHUNK_TAIL
    }

    /// Has a chunk with inputs that are not read yet; false at the end.
    fn fill(&mut self) -> Result<bool, FileError> {
        while self.chunk.is_empty() || self.place >= self.tail() {
            self.chunk_at = self.reader.at();
            match self.reader.next()? {
                Next::Chunk(chunk) => self.chunk = chunk,
                Next::End if self.state.is_empty() => return Ok(false),
                // Between two pieces of a checkpoint the rest of it is not there.
                Next::End | Next::Torn => {
                    self.torn_at = Some(self.chunk_at);
                    return Ok(false);
                }
            }
            if self.chunk.len() < CHUNK_HEAD + CHUNK_TAIL {
                return Err(self.damaged("a chunk is too short"));
            }
            self.place = CHUNK_HEAD;
        }
        Ok(true)
    }

    /// The next input; none where that is a piece of one.
    fn read_input(&mut self) -> Result<Option<What>, FileError> {
        let [kind] = self.array()?;
        let passed = self.number()?;
        if kind >= SA_TICK {
            return self.read_sa(kind, passed);
        }
        self.now = Tick(self.now.0.saturating_add(passed));
        Ok(Some(match kind {
            TICK => What::Tick,
            RECEIVED => What::Received(self.packet()?),
            PLANNED => What::Planned(self.number()?),
            CALL => {
                let len = self.number()?;
                let bytes = self.bytes(len)?;
                let call = serde_json::from_slice(bytes);
                let call = call.map_err(|error| {
                    let what = "an input that this version does not know";
                    self.damaged(&format!("{what}: {error}"))
                })?;
                What::Call(Box::new(call))
            }
            CHECKPOINT | CHECKPOINT_PART => match self.whole_state(kind == CHECKPOINT)? {
                Some(state) => What::Checkpoint(state.into()),
                None => return Ok(None),
            },
            kind => return Err(self.unknown(kind)),
        }))
    }

    /// The next input of subnet administration; none where that is a piece of one, or the recording is another program's:
    /// only the code reads these that wrote them.
    fn read_sa(&mut self, kind: u8, passed: u64) -> Result<Option<What>, FileError> {
        let is_first = matches!(kind, SA_CHECKPOINT | SA_CHECKPOINT_PART) && passed > 0;
        // A checkpoint says when it is, from the beginning of all time.
        let since = self.sa_now.filter(|_| !is_first);
        if kind != SA_RESTS {
            let since = since.map_or(0, |since| since.0);
            self.sa_now = Some(Tick(since.saturating_add(passed)));
        }
        if !self.header.is_of_this_program() {
            self.pass_over(kind)?;
            return Ok(None);
        }
        Ok(Some(What::Sa(match kind {
            SA_TICK => SaWhat::Tick,
            SA_RECEIVED => SaWhat::Received(self.packet()?),
            SA_PUBLISHED => SaWhat::Published(self.number()?),
            SA_RESTS => SaWhat::Rests(self.rest()?),
            SA_CALL => {
                let len = self.number()?;
                let call = weft_state::read(self.bytes(len)?);
                let call = call.map_err(|error| {
                    self.damaged(&format!("an input of subnet administration: {error}"))
                })?;
                SaWhat::Call(Box::new(call))
            }
            SA_CHECKPOINT | SA_CHECKPOINT_PART => match self.whole_state(kind == SA_CHECKPOINT)? {
                Some(state) => SaWhat::Checkpoint(state.into()),
                None => return Ok(None),
            },
            kind => return Err(self.unknown(kind)),
        })))
    }

    fn pass_over(&mut self, kind: u8) -> Result<(), FileError> {
        match kind {
            SA_TICK => {}
            SA_RECEIVED => drop(self.packet()?),
            SA_PUBLISHED => drop(self.number()?),
            SA_RESTS => drop(self.rest()?),
            SA_CALL | SA_CHECKPOINT | SA_CHECKPOINT_PART => {
                let len = self.number()?;
                self.bytes(len)?;
            }
            kind => return Err(self.unknown(kind)),
        }
        Ok(())
    }

    fn unknown(&self, kind: u8) -> FileError {
        let most = SA_RESTS;
        self.damaged(&format!("an input of kind {kind}, allowed are 1 to {most}"))
    }

    fn rest(&mut self) -> Result<SaRest, FileError> {
        let [number] = self.array()?;
        SaRest::of(number).ok_or_else(|| {
            self.damaged(&format!(
                "subnet administration rests for a reason {number}"
            ))
        })
    }

    /// The next piece of a checkpoint, and all of it where that is the last.
    fn whole_state(&mut self, is_last: bool) -> Result<Option<Vec<u8>>, FileError> {
        self.read_state()?;
        Ok(is_last.then(|| std::mem::take(&mut self.state)))
    }

    /// A piece of a checkpoint.
    fn read_state(&mut self) -> Result<(), FileError> {
        if !self.header.is_of_this_program() {
            return Err(FileError::OtherProgram {
                version: self.header.version.clone(),
                core: self.header.core.clone(),
            });
        }
        let len = self.number()?;
        let mut state = std::mem::take(&mut self.state);
        state.extend_from_slice(self.bytes(len)?);
        if state.len() > CHECKPOINT_MAX {
            let most = CHECKPOINT_MAX >> 30;
            return Err(self.damaged(&format!("a checkpoint of more than {most} GiB")));
        }
        self.state = state;
        Ok(())
    }

    fn packet(&mut self) -> Result<Packet, FileError> {
        let packet = Packet {
            slid: Lid(u32::from_le_bytes(self.array()?)),
            dlid: Lid(u32::from_le_bytes(self.array()?)),
            sl: Sl(u8::from_le_bytes(self.array()?)),
            pkey: PKey(u16::from_le_bytes(self.array()?)),
            dest_qp: u32::from_le_bytes(self.array()?),
            src_qp: u32::from_le_bytes(self.array()?),
            mad: Vec::new(),
        };
        let len = self.number()?;
        let mad = self.bytes(len)?.to_vec();
        Ok(Packet { mad, ..packet })
    }

    fn number(&mut self) -> Result<u64, FileError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.damaged("a number is longer than 64 bits"))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FileError> {
        let bytes = self.bytes(N as u64)?.first_chunk().copied();
        Ok(bytes.unwrap_or([0; N]))
    }

    fn bytes(&mut self, len: u64) -> Result<&[u8], FileError> {
        let (start, tail) = (self.place, self.tail());
        let end = usize::try_from(len)
            .ok()
            .and_then(|len| start.checked_add(len));
        match end.filter(|end| *end <= tail) {
            Some(end) => {
                self.place = end;
                Ok(&self.chunk[start..end])
            }
            None => Err(self.damaged("an input is longer than its chunk")),
        }
    }

    /// What is wrong with the chunk at hand.
    fn damaged(&self, why: &str) -> FileError {
        damaged(self.chunk_at, why)
    }
}

/// What is wrong with the chunk that begins at a byte of the file.
pub(crate) fn damaged(chunk_at: u64, why: &str) -> FileError {
    FileError::Damaged {
        at: chunk_at,
        why: why.to_owned(),
    }
}
