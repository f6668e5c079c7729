//! Text from outside, made safe for people to look at.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character acts on a screen instead of showing on it: control characters, those that
/// change the direction of writing (Unicode Standard Annex 9), separators of lines, and tags.
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{061C}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{E0000}'..='\u{E007F}')
}

/// Text for a terminal: each byte of a hidden character but ends of lines and tabs, which reports have between columns, as
/// `\xNN`.
pub fn for_terminal(text: &str) -> Cow<'_, str> {
    let hidden = |character: char| !matches!(character, '\n' | '\t') && is_hidden(character);
    if !text.contains(hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match hidden(character) {
            true => escape(&mut out, character),
            false => out.push(character),
        }
    }
    Cow::Owned(out)
}

/// Each byte of a character as `\xNN`.
pub(crate) fn escape(out: &mut String, character: char) {
    let mut bytes = [0; 4];
    for byte in character.encode_utf8(&mut bytes).bytes() {
        // Writing to a String does not fail.
        let _ = write!(out, "\\x{byte:02x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_screen_is_shown() {
        for (text, shown) in [
            ("edge1: 3 ports\n", "edge1: 3 ports\n"),
            ("caf\u{e9} \u{1F9F5}", "caf\u{e9} \u{1F9F5}"),
            ("\u{1b}]0;x\u{7}", "\\x1b]0;x\\x07"),
            ("a\rb\tc", "a\\x0db\tc"),
            ("\u{9b}2J", "\\xc2\\x9b2J"),
            ("a\u{202e}b", "a\\xe2\\x80\\xaeb"),
        ] {
            assert_eq!(for_terminal(text), shown);
        }
    }
}
