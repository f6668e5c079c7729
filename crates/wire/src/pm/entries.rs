//! Answers with one entry for each port and, in it, one for each virtual lane.

use std::marker::PhantomData;

use crate::error::DecodeError;
use crate::id::Vl;
use crate::layout::Layout;
use crate::pm::select::vls;

/// One port's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a, P, V> {
    /// The port's own part.
    pub port: P,
    vls: &'a [u8],
    vl_mask: u32,
    lane: PhantomData<V>,
}

impl<'a, P, V: Layout + 'a> Entry<'a, P, V> {
    /// The virtual lanes' parts, in order.
    pub fn vls(&self) -> impl Iterator<Item = (Vl, V)> + use<'a, P, V> {
        let parts = self.vls.chunks_exact(V::LEN);
        vls(self.vl_mask)
            .zip(parts)
            .filter_map(|(vl, part)| Some((vl, V::decode(part).ok()?)))
    }
}

/// Reads the entries of ports one after the other; ends after the first error.
#[derive(Debug, Clone)]
pub struct Entries<'a, P, V> {
    rest: &'a [u8],
    left: usize,
    vl_mask: u32,
    kind: PhantomData<(P, V)>,
}

impl<'a, P: Layout, V: Layout> Entries<'a, P, V> {
    /// The entries of `count` ports in `bytes`, each with the virtual lanes of `vl_mask`.
    pub fn new(bytes: &'a [u8], count: usize, vl_mask: u32) -> Self {
        Self {
            rest: bytes,
            left: count,
            vl_mask,
            kind: PhantomData,
        }
    }

    /// Bytes of one port's entry with the virtual lanes of `vl_mask`.
    pub fn entry_len(vl_mask: u32) -> usize {
        P::LEN + V::LEN * vl_mask.count_ones() as usize
    }
}

impl<'a, P: Layout, V: Layout> Iterator for Entries<'a, P, V> {
    type Item = Result<Entry<'a, P, V>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let len = Self::entry_len(self.vl_mask);
        let entry = DecodeError::take(P::VENDOR, self.rest, len).and_then(|bytes| {
            self.rest = self.rest.get(len..).unwrap_or_default();
            Ok(Entry {
                port: P::decode(bytes)?,
                vls: bytes.get(P::LEN..).unwrap_or_default(),
                vl_mask: self.vl_mask,
                lane: PhantomData,
            })
        });
        if entry.is_err() {
            self.left = 0;
        }
        Some(entry)
    }
}
