//! The whole state of a core as bytes, and the same state made of them: for the code that wrote it, in the same version.
//!
//! | module | contents |
//! |---|---|
//! | `writer` | state as bytes, keys masked |
//! | `reader` | bytes as state, with a bound on memory |
//! | `values` | numbers, text, tuples, what is there or not |
//! | `containers` | lists, maps, sets |
//! | `shared` | values that several places share |
//!
//! There is no version in the bytes and no name of a field: who keeps them says which program wrote them. A value that is
//! shared by [`std::sync::Arc`] is written once, and shared by the same places when it is read: whether two
//! places share a value is part of the state, since comparisons are skipped where they do.

mod containers;
mod reader;
mod shared;
mod values;
mod writer;

pub use reader::{Reader, StateError, memory_max, read, read_within};
pub use values::Key;
pub use weft_state_derive::State;
pub use writer::{Masks, PIECE, Unmasked, Writer};

/// A value that can be written whole and read again.
pub trait State: Sized {
    /// Writes it.
    fn write(&self, to: &mut Writer<'_>);

    /// Reads one.
    ///
    /// # Errors
    /// [`StateError`] where the bytes are not one.
    fn read(from: &mut Reader<'_>) -> Result<Self, StateError>;

    /// Writes several, one after the other.
    fn write_all(all: &[Self], to: &mut Writer<'_>) {
        for one in all {
            one.write(to);
            to.pass_on();
        }
    }

    /// Reads so many.
    ///
    /// # Errors
    /// [`StateError`] where the bytes are not so many.
    fn read_all(from: &mut Reader<'_>, len: usize) -> Result<Vec<Self>, StateError> {
        let mut all = Vec::with_capacity(from.room_for::<Self>(len)?);
        for _ in 0..len {
            all.push(Self::read(from)?);
        }
        Ok(all)
    }
}
