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

/// Takes state.
pub struct Writer<'a> {
    pub(crate) bytes: Vec<u8>,
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
            shared: HashMap::new(),
            masks,
        }
    }

    /// What was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Writes a key, masked.
    pub fn key(&mut self, key: u64) {
        self.masks.key(key).write(self);
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
