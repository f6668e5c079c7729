//! Errors in bytes from outside.

use thiserror::Error;

/// A datagram, or a part of one, that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// Fewer bytes than the structure has.
    #[error("{what}: {actual} bytes, at least {needed} needed")]
    Short {
        /// The structure's name.
        what: &'static str,
        /// Bytes that it has on the wire.
        needed: usize,
        /// Bytes that were there.
        actual: usize,
    },
    /// A field whose value makes the rest unreadable.
    #[error("{what}: {field} is {value:#x}, allowed: {allowed}")]
    Value {
        /// The structure's name.
        what: &'static str,
        /// The field's name.
        field: &'static str,
        /// The value found.
        value: u64,
        /// The allowed values.
        allowed: &'static str,
    },
}

impl DecodeError {
    /// `bytes` cut to `needed`, or an error with the number of missing ones.
    pub(crate) fn take<'a>(
        what: &'static str,
        bytes: &'a [u8],
        needed: usize,
    ) -> Result<&'a [u8], Self> {
        bytes.get(..needed).ok_or(Self::Short {
            what,
            needed,
            actual: bytes.len(),
        })
    }
}
