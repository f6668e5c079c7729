//! A manager's state, with which a recording begins that goes on from another one.
//!
//! It is written in chunks of some MiB: each is an input of a kind of its own, the last of another kind.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use weft_fabric::Tick;
use weft_manager::{Manager, PlanInput};
use weft_state::{PIECE, State, StateError, Writer};

use crate::digest::Digest;
use crate::keys::Keys;
use crate::recorder::{CHECKPOINT, CHECKPOINT_PART, put_number};

/// Bytes of one at most: 27,648 hosts have 278 MB.
pub(crate) const CHECKPOINT_MAX: usize = 1 << 30;

/// Plans that the manager asked for and has not yet, by their numbers.
pub(crate) type Plans = BTreeMap<u64, Arc<PlanInput>>;

/// A manager's state, as it is in a recording.
#[derive(Clone, PartialEq, Eq)]
pub struct Checkpoint(Arc<Vec<u8>>);

impl From<Vec<u8>> for Checkpoint {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Arc::new(bytes))
    }
}

impl Checkpoint {
    /// That of a manager.
    pub(crate) fn of(manager: &Manager, plans: &Plans, keys: &mut Keys) -> Self {
        let mut to = Writer::new(keys);
        write_state(manager, plans, &mut to);
        to.into_bytes().into()
    }

    /// What was written.
    pub(crate) fn read(&self) -> Result<(Manager, Plans), StateError> {
        weft_state::read(&self.0)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The chunks of a recording that begins with it at `at`.
    pub fn chunks(&self, at: Tick) -> impl Iterator<Item = Vec<u8>> {
        let pieces = self.0.len().div_ceil(PIECE).max(1);
        (0..pieces).map(move |piece| {
            let start = piece * PIECE;
            let end = (start + PIECE).min(self.0.len());
            let passed = if piece == 0 { at.0 } else { 0 };
            let kind = match end == self.0.len() {
                true => CHECKPOINT,
                false => CHECKPOINT_PART,
            };
            chunk(passed, &self.0[start..end], kind)
        })
    }
}

/// Writes what [`Checkpoint::read`] reads.
fn write_state(manager: &Manager, plans: &Plans, to: &mut Writer<'_>) {
    manager.write(to);
    plans.write(to);
}

impl fmt::Debug for Checkpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Checkpoint({} bytes)", self.0.len())
    }
}

/// A manager as it was at the end of an input: the beginning of the next recording. What it shares with the manager that goes
/// on is not copied.
pub struct Frozen {
    pub(crate) at: Tick,
    pub(crate) manager: Box<Manager>,
    pub(crate) plans: Plans,
    /// Those of the recording, which are all that the state can have: they came with settings and datagrams.
    pub(crate) keys: Keys,
}

impl fmt::Debug for Frozen {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Frozen(at {} ns)", self.at.0)
    }
}

impl Frozen {
    /// The first chunks of the recording, one after the other: takes up to seconds with tens of thousands of hosts.
    pub fn write(mut self, to: impl FnMut(&[u8])) {
        let (manager, plans) = (&self.manager, &self.plans);
        let state = |to: &mut Writer<'_>| write_state(manager, plans, to);
        let kinds = (CHECKPOINT_PART, CHECKPOINT);
        write_pieces(self.at, kinds, &mut self.keys, state, to);
    }
}

/// Passes on the chunks of a checkpoint at `at`, the last of the second kind.
pub(crate) fn write_pieces(
    at: Tick,
    (part, last): (u8, u8),
    keys: &mut Keys,
    state: impl FnOnce(&mut Writer<'_>),
    mut to: impl FnMut(&[u8]),
) {
    let mut passed = at.0;
    let mut take = |piece: Vec<u8>| to(&chunk(std::mem::take(&mut passed), &piece, part));
    let mut writer = Writer::in_pieces(keys, &mut take);
    state(&mut writer);
    let rest = writer.into_bytes();
    to(&chunk(passed, &rest, last));
}

/// A chunk with a piece of a checkpoint, so long after what is before it.
fn chunk(passed: u64, piece: &[u8], kind: u8) -> Vec<u8> {
    let digest = Digest::default().value();
    let mut chunk = vec![0, kind];
    put_number(&mut chunk, passed);
    put_number(&mut chunk, piece.len() as u64);
    chunk.extend(piece);
    chunk.extend((digest as u16).to_le_bytes());
    chunk.extend(digest.to_le_bytes());
    chunk
}

#[cfg(test)]
#[path = "checkpoint_tests.rs"]
mod tests;
