//! State as bytes.

use std::any::TypeId;
use std::collections::HashMap;

use crate::State;

/// Masks keys that protect a fabric, the same key always alike.
pub trait Masks {
    /// What is written in place of a key.
    fn key(&mut self, key: u64) -> u64;

    /// Masks the keys in a datagram.
    fn datagram(&mut self, mad: &mut [u8]);
}

/// Leaves keys as they are.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unmasked;

impl Masks for Unmasked {
    fn key(&mut self, key: u64) -> u64 {
        key
    }

    fn datagram(&mut self, _: &mut [u8]) {}
}

/// Bytes that are passed on at once, and the largest list of bytes in a state more.
pub const PIECE: usize = 4 << 20;

/// Takes state.
pub struct Writer<'a> {
    pub(crate) bytes: Vec<u8>,
    /// Takes pieces of it, where it is not wanted as a whole.
    pieces: Option<&'a mut dyn FnMut(Vec<u8>)>,
    /// The numbers of shared values that are written, by their address and type.
    pub(crate) shared: HashMap<(usize, TypeId), u32>,
    masks: &'a mut dyn Masks,
}

impl std::fmt::Debug for Writer<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Writer({} bytes)", self.bytes.len())
    }
}

impl<'a> Writer<'a> {
    /// One that has nothing yet.
    pub fn new(masks: &'a mut dyn Masks) -> Self {
        Self {
            bytes: Vec::new(),
            pieces: None,
            shared: HashMap::new(),
            masks,
        }
    }

    /// One that passes on pieces of some MiB.
    pub fn in_pieces(masks: &'a mut dyn Masks, pieces: &'a mut dyn FnMut(Vec<u8>)) -> Self {
        Self {
            pieces: Some(pieces),
            ..Self::new(masks)
        }
    }

    /// What was written and is not passed on.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Passes on a piece, if it is large enough: between two values.
    #[inline]
    pub(crate) fn pass_on(&mut self) {
        if self.bytes.len() >= PIECE
            && let Some(pieces) = &mut self.pieces
        {
            pieces(std::mem::take(&mut self.bytes));
        }
    }

    /// Writes a key, masked.
    pub fn key(&mut self, key: u64) {
        self.masks.key(key).write(self);
    }

    /// Writes a key of 16 bytes, each half masked as a key.
    pub fn wide_key(&mut self, key: [u8; 16]) {
        let halves = u128::from_be_bytes(key);
        let [high, low] = [halves >> 64, halves].map(|half| self.masks.key(half as u64));
        (u128::from(high) << 64 | u128::from(low))
            .to_be_bytes()
            .write(self);
    }

    /// Writes a datagram as a list of bytes, its keys masked.
    pub fn datagram(&mut self, mad: &[u8]) {
        (mad.len() as u64).write(self);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(mad);
        let written = self.bytes.get_mut(start..).unwrap_or_default();
        self.masks.datagram(written);
    }
}
