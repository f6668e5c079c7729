//! A state on its way into a file.

use super::StateHead;
use super::frame::{Flags, Head, Kind, squeeze};
use super::patch::{self, VALUE_MAX};
use crate::error::HistoryError;
use crate::log::put;

/// Bytes of pieces that are compressed together.
const TOGETHER: usize = 4 << 20;
/// Longest key, bytes.
const KEY_MAX: usize = 1 << 10;

/// The pieces of a state, or those that have changed since the state before, compressed as they come.
#[derive(Debug)]
pub struct StateRecord {
    kind: Kind,
    state: StateHead,
    body: Vec<u8>,
    squeezed: Vec<Vec<u8>>,
}

impl StateRecord {
    /// A state of which all pieces come.
    pub fn whole(state: StateHead) -> Self {
        Self::new(Kind::Key, state)
    }

    /// A state of which those pieces come that are not as in the one recorded before.
    pub fn changed(state: StateHead) -> Self {
        Self::new(Kind::Change, state)
    }

    fn new(kind: Kind, state: StateHead) -> Self {
        Self {
            kind,
            state,
            body: Vec::new(),
            squeezed: Vec::new(),
        }
    }

    /// Which state it is.
    pub fn head(&self) -> StateHead {
        self.state
    }

    /// Whether all pieces come.
    pub fn is_whole(&self) -> bool {
        self.kind == Kind::Key
    }

    /// A piece as it was and as it is, each once; none where it was or is not there. Of a state of which all pieces come
    /// only what is there counts.
    ///
    /// # Errors
    /// That it is too long.
    pub fn piece(
        &mut self,
        key: &[u8],
        before: Option<&[u8]>,
        now: Option<&[u8]>,
    ) -> Result<(), HistoryError> {
        let before = before.filter(|_| !self.is_whole());
        if before == now {
            return Ok(());
        }
        let len = now.map_or(0, <[u8]>::len);
        if len > VALUE_MAX || key.len() > KEY_MAX {
            let why = format!("a piece of {len} bytes: at most {VALUE_MAX}");
            return Err(HistoryError::Input(why));
        }
        if self.body.len() + len > TOGETHER && !self.body.is_empty() {
            self.squeeze()?;
        }
        let patch = before
            .zip(now)
            .and_then(|(before, now)| patch::encode(before, now));
        match (now, patch) {
            (Some(now), Some(patch)) => {
                self.entry(Op::Patch, key, &patch);
                let check = crc32c::crc32c(now).to_le_bytes();
                self.body.extend_from_slice(&check);
            }
            (Some(now), None) => self.entry(Op::Set, key, now),
            (None, _) => self.entry(Op::Remove, key, &[]),
        }
        Ok(())
    }

    fn entry(&mut self, op: Op, key: &[u8], value: &[u8]) {
        self.body.push(op as u8);
        for bytes in [key, value] {
            put(&mut self.body, bytes.len() as u64);
            self.body.extend_from_slice(bytes);
        }
    }

    fn squeeze(&mut self) -> Result<(), HistoryError> {
        self.squeezed.push(squeeze(&self.body)?);
        self.body.clear();
        Ok(())
    }

    /// The frames, of which the last one says so.
    pub(crate) fn payloads(mut self, begins: bool) -> Result<Vec<Vec<u8>>, HistoryError> {
        self.squeeze()?;
        let Self { kind, state, .. } = self;
        let count = self.squeezed.len();
        let payloads = self.squeezed.into_iter().enumerate().map(|(at, squeezed)| {
            let flags = Flags {
                last: at + 1 == count,
                begins,
                ..Flags::default()
            };
            let mut payload = Head { kind, flags, state }.encode();
            payload.extend(squeezed);
            payload
        });
        Ok(payloads.collect())
    }
}

/// What is said of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    /// It is gone.
    Remove,
    /// Its value.
    Set,
    /// What differs in its value, then the CRC-32C of the whole.
    Patch,
}

impl Op {
    pub(super) fn of(byte: u8) -> Option<Self> {
        [Self::Remove, Self::Set, Self::Patch]
            .into_iter()
            .find(|op| *op as u8 == byte)
    }
}
