//! Text in a field of fixed size.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, DerefMut};

use weft_state::State;

use crate::layout::Block;
use crate::print::Print;

/// UTF-8 text of up to `N` bytes, ended by a NUL where it is shorter. Any bytes are kept as they
/// came.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, State)]
pub struct Text<const N: usize>(pub [u8; N]);

impl<const N: usize> Text<N> {
    /// `text` cut, at a character's end, to what leaves room for a NUL.
    pub fn new(text: &str) -> Self {
        let mut end = text.len().min(N.saturating_sub(1));
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let mut field = [0; N];
        for (to, from) in field.iter_mut().zip(text.as_bytes().iter().take(end)) {
            *to = *from;
        }
        Self(field)
    }

    /// The bytes up to the first NUL.
    pub fn bytes(&self) -> &[u8] {
        let end = self.0.iter().position(|byte| *byte == 0);
        self.0.get(..end.unwrap_or(N)).unwrap_or_default()
    }

    /// The text up to the first NUL; bytes that are no UTF-8 show as U+FFFD.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.bytes())
    }
}

impl<const N: usize> Deref for Text<N> {
    type Target = [u8; N];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<const N: usize> DerefMut for Text<N> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_ends_at_a_nul_and_is_cut_between_characters() {
        for (text, expected) in [
            ("", ""),
            ("edge 1", "edge 1"),
            ("a\0b", "a"),
            ("1234567", "1234567"),
            ("12345678", "1234567"),
            ("123456\u{e9}", "123456"),
            ("12345\u{e9}", "12345\u{e9}"),
        ] {
            assert_eq!(Text::<8>::new(text).text(), expected, "{text:?}");
        }
    }

    #[test]
    fn any_bytes_are_kept_and_shown() {
        let text = Text::<4>([0xFF, b'a', b'b', b'c']);
        assert_eq!(text.text(), "\u{FFFD}abc");
        let mut bytes = [0; 4];
        text.store(&mut bytes);
        assert_eq!(Text::<4>::load(&bytes), text);
    }
}
