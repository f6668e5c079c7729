//! Bytes as state.

use std::any::Any;

use thiserror::Error;

use crate::State;

/// Memory that state may take when it is read, beyond [`PER_BYTE`] for each byte of it.
const MEMORY_LEAST: usize = 64 << 20;
/// A list of small values has some ten bytes of memory for each that is written.
const PER_BYTE: usize = 16;
/// Memory that state may take, whatever its length.
const MEMORY_MAX: usize = 4 << 30;

/// Why bytes are no state.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StateError {
    /// They are cut.
    #[error("it ends at byte {0}, within a value")]
    Cut(usize),
    /// Something is behind the end.
    #[error("{0} bytes are behind its end")]
    Rest(usize),
    /// A value is none of its type.
    #[error("byte {at}: {what}")]
    Value {
        /// Where.
        at: usize,
        /// What is wrong.
        what: String,
    },
    /// It would take more memory than state has.
    #[error("byte {at}: it would take more than {max} bytes of memory")]
    Memory {
        /// Where.
        at: usize,
        /// What it may take.
        max: usize,
    },
}

/// Hands out state.
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    pub(crate) shared: Vec<Box<dyn Any>>,
    /// Bytes of memory that are taken so far, at least.
    memory: usize,
    /// What they may become.
    most: usize,
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Reader({} of {} bytes)", self.at, self.bytes.len())
    }
}

/// Bytes of memory that state of so many bytes may take.
pub fn memory_max(len: usize) -> usize {
    let max = MEMORY_LEAST.saturating_add(len.saturating_mul(PER_BYTE));
    max.min(MEMORY_MAX)
}

/// Reads a value that has all of the bytes, within [`memory_max`].
///
/// # Errors
/// [`StateError`] where they are not one.
pub fn read<T: State>(bytes: &[u8]) -> Result<T, StateError> {
    read_within(bytes, memory_max(bytes.len()))
}

/// The same within so many bytes of memory.
///
/// # Errors
/// [`StateError`] where they are not one.
pub fn read_within<T: State>(bytes: &[u8], most: usize) -> Result<T, StateError> {
    let mut reader = Reader {
        bytes,
        at: 0,
        shared: Vec::new(),
        memory: 0,
        most,
    };
    let value = T::read(&mut reader)?;
    match bytes.len() - reader.at {
        0 => Ok(value),
        rest => Err(StateError::Rest(rest)),
    }
}

impl<'a> Reader<'a> {
    /// The next bytes.
    ///
    /// # Errors
    /// [`StateError::Cut`].
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], StateError> {
        let end = self.at.checked_add(len);
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or(StateError::Cut(self.at))?;
        self.at += len;
        Ok(taken)
    }

    /// What is wrong with the value at hand.
    pub fn wrong(&self, what: impl Into<String>) -> StateError {
        StateError::Value {
            at: self.at,
            what: what.into(),
        }
    }

    /// There is no variant of this number.
    pub fn unknown(&self, variant: u8) -> StateError {
        self.wrong(format!("no variant has number {variant}"))
    }

    /// Takes memory for so many values, of which each has a byte at least; returns their number.
    ///
    /// # Errors
    /// [`StateError`] where there are fewer bytes, or where it is too much.
    pub(crate) fn room_for<T>(&mut self, len: usize) -> Result<usize, StateError> {
        if len > self.bytes.len() - self.at {
            return Err(StateError::Cut(self.at));
        }
        self.charge(len.saturating_mul(size_of::<T>()))?;
        Ok(len)
    }

    /// Takes memory.
    ///
    /// # Errors
    /// [`StateError::Memory`].
    pub(crate) fn charge(&mut self, bytes: usize) -> Result<(), StateError> {
        self.memory = self.memory.saturating_add(bytes);
        match self.memory <= self.most {
            true => Ok(()),
            false => Err(StateError::Memory {
                at: self.at,
                max: self.most,
            }),
        }
    }

    /// The number of values of a list.
    pub(crate) fn len(&mut self) -> Result<usize, StateError> {
        let len = u64::read(self)?;
        usize::try_from(len).map_err(|_| self.wrong(format!("a list of {len} values")))
    }
}
