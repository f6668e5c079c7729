//! Text in a field of fixed size.

use std::borrow::Cow;
use std::fmt;

use crate::layout::Block;
use crate::print::Print;
use crate::sm::node_description::{from_text, up_to_nul};

/// UTF-8 text of up to `N` bytes, ended by a NUL where it is shorter. Any bytes are kept as they
/// came.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<const N: usize>(pub [u8; N]);

impl<const N: usize> Text<N> {
    /// `text` cut, at a character's end, to what leaves room for a NUL.
    pub fn new(text: &str) -> Self {
        Self(from_text(text))
    }

    /// The text up to the first NUL; bytes that are no UTF-8 show as U+FFFD.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(up_to_nul(&self.0))
    }
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> Block for Text<N> {
    const LEN: usize = N;
    #[inline]
    fn load(bytes: &[u8]) -> Self {
        Self(Block::load(bytes))
    }
    #[inline]
    fn store(&self, bytes: &mut [u8]) {
        self.0.store(bytes);
    }
}

impl<const N: usize> Print for Text<N> {}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text())
    }
}
