//! Node names as text without loss.
//!
//! A node's name is up to 64 bytes of anything. XML holds neither control characters nor text that
//! is not UTF-8, and on a screen or in a log some characters act instead of showing
//! ([`crate::text::is_hidden`]). Each byte of those is written as `\xNN` (two lower-case hexadecimal digits), and so is a
//! backslash that would otherwise read as the start of such a form; all other text stays as it is.

use std::fmt::Write;

use crate::text::is_hidden;

/// The name with `\xNN` for each byte that XML cannot hold or a screen does not show. XML's own special characters are still
/// to be escaped.
pub fn escape_name(name: &[u8]) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(chunk) = rest.utf8_chunks().next() {
        escape_text(&mut out, chunk.valid());
        chunk
            .invalid()
            .iter()
            .for_each(|byte| escape_byte(&mut out, *byte));
        rest = &rest[chunk.valid().len() + chunk.invalid().len()..];
    }
    out
}

fn escape_text(out: &mut String, text: &str) {
    for (at, character) in text.char_indices() {
        let special = match character {
            '\\' => escaped_byte(&text.as_bytes()[at..]).is_some(),
            '\u{FFFE}' | '\u{FFFF}' => true,
            other => is_hidden(other),
        };
        if special {
            let bytes = &text.as_bytes()[at..at + character.len_utf8()];
            bytes.iter().for_each(|byte| escape_byte(out, *byte));
        } else {
            out.push(character);
        }
    }
}

fn escape_byte(out: &mut String, byte: u8) {
    // Writing to a String does not fail.
    let _ = write!(out, "\\x{byte:02x}");
}

/// The byte that `\xNN` at the start of the text stands for.
fn escaped_byte(text: &[u8]) -> Option<u8> {
    let digits = text.strip_prefix(b"\\x")?.get(..2)?;
    let digit = |at: usize| match digits[at] {
        lower @ b'0'..=b'9' => Some(lower - b'0'),
        lower @ b'a'..=b'f' => Some(lower - b'a' + 10),
        _ => None,
    };
    Some(digit(0)? << 4 | digit(1)?)
}

/// The name that [`escape_name`] wrote.
pub fn unescape_name(text: &str) -> Vec<u8> {
    let mut rest = text.as_bytes();
    let mut out = Vec::with_capacity(rest.len());
    while let Some((first, tail)) = rest.split_first() {
        match escaped_byte(rest) {
            Some(byte) => {
                out.push(byte);
                rest = &rest[4..];
            }
            None => {
                out.push(*first);
                rest = tail;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_xml_cannot_hold_or_a_screen_does_not_show_is_escaped() {
        for (name, text) in [
            (&b"node1 hfi1_0"[..], "node1 hfi1_0"),
            (b"MF0;sat:MCS8500/L16/U2", "MF0;sat:MCS8500/L16/U2"),
            (b"a\tb\x01", "a\\x09b\\x01"),
            (b"caf\xc3\xa9", "café"),
            (b"\x1b[2J\n", "\\x1b[2J\\x0a"),
            (b"a\xc2\x9bb", "a\\xc2\\x9bb"),
            (b"a\xe2\x80\xaeb", "a\\xe2\\x80\\xaeb"),
            (b"caf\xe9!", "caf\\xe9!"),
            (b"C:\\x", "C:\\x"),
            (b"C:\\x41", "C:\\x5cx41"),
            (b"\xef\xbf\xbf", "\\xef\\xbf\\xbf"),
        ] {
            assert_eq!(escape_name(name), text);
            assert_eq!(unescape_name(text), name);
        }
    }
}
