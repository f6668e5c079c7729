//! Printing of fields.

use std::fmt::{self, Debug, Formatter};

/// A value that can be printed as a field of a structure, on a line or on several.
pub trait Print: Debug {
    /// Writes `name: value` at `indent` spaces.
    fn print(&self, f: &mut Formatter<'_>, indent: usize, name: &str) -> fmt::Result {
        writeln!(f, "{:indent$}{name}: {self:?}", "")
    }
}

macro_rules! print_int {
    ($($int:ty),*) => {$(
        impl Print for $int {
            /// Numbers above 9 in decimal and in hexadecimal.
            fn print(&self, f: &mut Formatter<'_>, indent: usize, name: &str) -> fmt::Result {
                match self {
                    0..=9 => writeln!(f, "{:indent$}{name}: {self}", ""),
                    _ => writeln!(f, "{:indent$}{name}: {self} ({self:#x})", ""),
                }
            }
        }
    )*};
}
print_int!(u8, u16, u32, u64);

impl Print for bool {}

impl<T: Debug + PartialEq, const N: usize> Print for [T; N] {
    /// On one line, runs of equal elements together: `0-3=7 4=255`.
    fn print(&self, f: &mut Formatter<'_>, indent: usize, name: &str) -> fmt::Result {
        write!(f, "{:indent$}{name}:", "")?;
        let mut start = 0;
        for run in self.chunk_by(|left, right| left == right) {
            write!(f, " {start}")?;
            if run.len() > 1 {
                write!(f, "-{}", start + run.len() - 1)?;
            }
            if let Some(value) = run.first() {
                write!(f, "={value:?}")?;
            }
            start += run.len();
        }
        writeln!(f)
    }
}
