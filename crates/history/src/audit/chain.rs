//! Lines and their hashes.

use std::fmt;

use ring::digest::{Context, SHA256};

/// A hash of the chain, shown as 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hash([u8; 32]);

impl Hash {
    /// What stands for the line before the first one.
    pub const FIRST: Self = Self([0; 32]);

    /// Reads 64 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut hash = [0; 32];
        for (byte, pair) in hash.iter_mut().zip(digits.chunks(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Self(hash))
    }

    /// The hash of a line that comes after this one.
    pub fn next(self, json: &str) -> Self {
        let mut context = Context::new(&SHA256);
        context.update(self.to_string().as_bytes());
        context.update(b" ");
        context.update(json.as_bytes());
        Self::of(context)
    }

    /// SHA-256 of these bytes.
    pub fn digest(bytes: &[u8]) -> Self {
        let mut context = Context::new(&SHA256);
        context.update(bytes);
        Self::of(context)
    }

    fn of(context: Context) -> Self {
        let mut hash = [0; 32];
        hash.copy_from_slice(context.finish().as_ref());
        Self(hash)
    }
}

fn digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A line without its end, as its hash and its object, which the first line of a file has not; none where it has no hash.
pub(super) fn parts(line: &str) -> Option<(Hash, &str)> {
    let (hash, json) = line.split_once(' ').unwrap_or((line, ""));
    Some((Hash::parse(hash)?, json))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_that_of_sha256sum() {
        // printf '%s %s' 00…0 '{}' | sha256sum
        let expected = "3533f36f59879ac3cdda4483541b8d607bcc6af2e671407a87125163ab2e500a";
        let hash = Hash::FIRST.next("{}");
        assert_eq!(hash.to_string(), expected);
        assert_eq!(Hash::parse(expected), Some(hash));
        assert_eq!(Hash::parse(&expected.to_uppercase()), None);
        assert_eq!(Hash::parse(&expected[1..]), None);
        assert_eq!(Hash::parse("é".repeat(32).as_str()), None);
    }
}
