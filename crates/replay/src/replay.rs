//! The replay of a recording: the same code over the same inputs, its outputs compared with those of then.

use std::any::Any;
use std::collections::BTreeMap;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use weft_fabric::Tick;
use weft_manager::{Input, Manager, Output, PlanInput};
use weft_wire::id::{Lid, PKey, Sl};
use weft_wire::packet::Packet;

use crate::call::Call;
use crate::file::{FileError, Header, Next, Reader};
use crate::recorded::Recorded;
use crate::recorder::{CALL, CHUNK_HEAD, CHUNK_TAIL, PLANNED, RECEIVED, TICK};

/// Plans that are asked for and not ready, beyond which the oldest are forgotten: a planner computes the last.
const PLANS_MAX: usize = 8;

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
}

impl What {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Tick => "tick",
            Self::Received(_) => "received",
            Self::Planned(_) => "planned",
            Self::Call(call) => call.name(),
        }
    }
}

/// Whether outputs are those of the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// They are, up to here.
    Same,
    /// They are not, here or before.
    Other,
    /// The recording does not say: it ends with this input, at which the manager did not come to its end.
    Unknown,
}

/// One input, and what came of it.
#[derive(Debug)]
pub struct Step {
    /// Counts up from 1.
    pub number: u64,
    /// The manager's time.
    pub at: Tick,
    /// The input.
    pub what: What,
    /// What the manager put out.
    pub outputs: Vec<Output>,
    /// Whether that was so when it was recorded.
    pub matches: Match,
    /// The manager panicked, with these words; nothing follows.
    pub panic: Option<String>,
}

/// A replay.
pub struct Replay<R> {
    header: Header,
    reader: Reader<R>,
    manager: Option<Recorded>,
    plans: BTreeMap<u64, Arc<PlanInput>>,
    chunk: Vec<u8>,
    /// Place in it.
    place: usize,
    chunk_at: u64,
    now: Tick,
    steps: u64,
    parted: bool,
    torn_at: Option<u64>,
    ended: bool,
}

impl<R> std::fmt::Debug for Replay<R> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Replay({} steps)", self.steps)
    }
}

impl<R: Read> Replay<R> {
    /// Begins a replay.
    ///
    /// # Errors
    /// [`FileError`] where it is no recording.
    pub fn new(from: R) -> Result<Self, FileError> {
        let (reader, header) = Reader::new(from)?;
        Ok(Self {
            header,
            reader,
            manager: None,
            plans: BTreeMap::new(),
            chunk: Vec::new(),
            place: 0,
            chunk_at: 0,
            now: Tick(0),
            steps: 0,
            parted: false,
            torn_at: None,
            ended: false,
        })
    }

    /// What the recording says of itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The manager after the last step; none before the first.
    pub fn manager(&self) -> Option<&Manager> {
        self.manager.as_deref()
    }

    /// The byte of the file at which the recording is torn: what follows there is not a whole chunk.
    pub fn torn_at(&self) -> Option<u64> {
        self.torn_at
    }

    /// The next step; none at the end.
    ///
    /// # Errors
    /// [`FileError`] where the recording cannot be read from here on.
    #[allow(
        clippy::should_implement_trait,
        reason = "an error ends it, which an iterator's items do not say"
    )]
    pub fn next(&mut self) -> Result<Option<Step>, FileError> {
        if self.ended || !self.fill()? {
            return Ok(None);
        }
        let what = self.read_input()?;
        self.steps += 1;
        let panic = self.run(&what)?;
        let outputs = self.manager.as_mut().map(take_outputs).unwrap_or_default();
        for output in &outputs {
            if let Output::Plan(input) = output {
                self.plans.insert(input.id(), Arc::clone(input));
            }
        }
        while self.plans.len() > PLANS_MAX {
            self.plans.pop_first();
        }
        let is_open = self.chunk.first() == Some(&1) && self.place == self.tail();
        self.ended = panic.is_some() || is_open;
        let matches = match is_open {
            true => Match::Unknown,
            false => self.compare(panic.is_some())?,
        };
        Ok(Some(Step {
            number: self.steps,
            at: self.now,
            what,
            outputs,
            matches,
            panic,
        }))
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
                Next::End => return Ok(false),
                Next::Torn => {
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

    /// Passes the input to the manager. Returns the words of a panic.
    fn run(&mut self, what: &What) -> Result<Option<String>, FileError> {
        let (now, plans) = (self.now, &mut self.plans);
        let planned = match what {
            What::Planned(id) => {
                let input = plans.remove(id);
                *plans = plans.split_off(id);
                Some(input)
            }
            _ => None,
        };
        if let Some(None) = planned {
            // An input of then that cannot be now: the outputs have parted before.
            self.parted = true;
            return Ok(None);
        }
        let manager = match (&mut self.manager, what) {
            (place @ None, What::Call(call)) => {
                if let Call::Create { settings, stored } = &**call {
                    let make = || Recorded::compared(settings.clone(), stored.as_deref());
                    match catch_unwind(AssertUnwindSafe(make)) {
                        Ok(made) => place.insert(made).settle(),
                        Err(panic) => return Ok(Some(words(&*panic))),
                    }
                    return Ok(None);
                }
                None
            }
            (Some(_), What::Call(call)) if matches!(**call, Call::Create { .. }) => None,
            (place, _) => place.as_mut(),
        };
        let Some(manager) = manager else {
            return Err(self.damaged("a manager is not made first, and once"));
        };
        let done = catch_unwind(AssertUnwindSafe(|| match what {
            What::Tick => manager.handle(now, Input::Tick),
            What::Received(packet) => manager.handle(now, Input::Received(packet.clone())),
            What::Planned(_) => {
                if let Some(input) = planned.flatten() {
                    manager.handle(now, Input::Planned(Box::new(input.make())));
                }
            }
            What::Call(call) => repeat(manager, now, call),
        }));
        Ok(done.err().map(|panic| words(&*panic)))
    }

    /// Compares the digest after an input with the recorded one.
    fn compare(&mut self, panicked: bool) -> Result<Match, FileError> {
        let recorded = u16::from_le_bytes(self.array()?);
        let digest = self.manager.as_ref().map_or(0, Recorded::digest);
        self.parted |= panicked || digest as u16 != recorded;
        if self.place == self.tail() {
            let whole = self.chunk.last_chunk().copied().unwrap_or_default();
            self.parted |= u64::from_le_bytes(whole) != digest;
        }
        Ok(match self.parted {
            true => Match::Other,
            false => Match::Same,
        })
    }

    fn read_input(&mut self) -> Result<What, FileError> {
        let [kind] = self.array()?;
        let passed = self.number()?;
        self.now = Tick(self.now.0.saturating_add(passed));
        match kind {
            TICK => Ok(What::Tick),
            RECEIVED => Ok(What::Received(self.packet()?)),
            PLANNED => Ok(What::Planned(self.number()?)),
            CALL => {
                let len = self.number()?;
                let bytes = self.bytes(len)?;
                let call = serde_json::from_slice(bytes);
                let call = call.map_err(|error| {
                    let what = "an input that this version does not know";
                    self.damaged(&format!("{what}: {error}"))
                })?;
                Ok(What::Call(Box::new(call)))
            }
            kind => Err(self.damaged(&format!("an input of kind {kind}, allowed are 1 to 4"))),
        }
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

    fn damaged(&self, why: &str) -> FileError {
        FileError::Damaged {
            at: self.chunk_at,
            why: why.to_owned(),
        }
    }
}

fn take_outputs(manager: &mut Recorded) -> Vec<Output> {
    std::iter::from_fn(|| manager.poll()).collect()
}

/// Makes a rare input once more. What it returns is in the digest.
fn repeat(manager: &mut Recorded, now: Tick, call: &Call) {
    match call.clone() {
        Call::Create { .. } => {}
        Call::Command { id, command } => manager.handle(now, Input::Command { id, command }),
        Call::Multicast(groups) => manager.handle(now, Input::Multicast(groups)),
        Call::MulticastStorm(storm) => manager.handle(now, Input::MulticastStorm(storm)),
        Call::LinkErrors(all) => manager.handle(now, Input::LinkErrors(all)),
        Call::Detached => manager.handle(now, Input::Detached),
        Call::Reconfigure(settings) => manager.reconfigure(now, settings),
        Call::Adopt { condition, wanted } => drop(manager.adopt(now, &condition, wanted)),
        Call::Quarantine { end, order } => drop(manager.put_in_quarantine(now, end, order)),
        Call::Release { end } => drop(manager.release(now, end)),
        Call::LoopTest(order) => drop(manager.order_loop_test(now, order)),
        Call::Pause(time) => drop(manager.pause_sweeps(now, time)),
        Call::Resume => drop(manager.resume_sweeps(now)),
        Call::RestorePriority => drop(manager.restore_priority(now)),
        Call::Replace(order) => drop(manager.replace(now, order)),
        Call::EndReplacement(guid) => drop(manager.end_replacement(now, guid)),
    }
}

/// The words of a panic.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without words").to_owned()
}
