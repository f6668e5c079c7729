//! Text for people: what comes from outside made safe to look at, and numbers with their nouns.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::{Display, Write};

/// Who asks for a change and from where: `alice at 10.0.0.1`, the one of them that is known, or `nobody`, with the place
/// where that is known and `nobody` is not empty. A user of this host who says his own name is told once.
pub fn asker(author: &str, peer: &str, nobody: &str) -> String {
    let who = if author.is_empty() { nobody } else { author };
    match (who, peer) {
        (who, "") => who.to_owned(),
        ("", peer) => peer.to_owned(),
        (who, peer) if who == peer => who.to_owned(),
        (who, peer) => format!("{who} at {peer}"),
    }
}

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

/// A number with its noun: `1 link`, `0 links`, `2 switches`, `3 entries`.
pub fn count(number: impl Display, noun: &str) -> String {
    let number = number.to_string();
    match number.as_str() {
        "1" => format!("1 {noun}"),
        _ => format!("{number} {}", plural(noun)),
    }
}

/// A number with its noun and a verb for one and for several: `1 port was`, `2 ports were`.
pub fn count_and(number: impl Display, noun: &str, [one, several]: [&str; 2]) -> String {
    let counted = count(number, noun);
    let verb = if counted.starts_with("1 ") {
        one
    } else {
        several
    };
    format!("{counted} {verb}")
}

/// A noun for several.
fn plural(noun: &str) -> String {
    const HISSING: [&str; 4] = ["s", "x", "ch", "sh"];
    const VOWELS: [char; 5] = ['a', 'e', 'i', 'o', 'u'];
    if noun == "leaf" {
        return "leaves".to_owned();
    }
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(VOWELS) => format!("{stem}ies"),
        _ if HISSING.iter().any(|end| noun.ends_with(end)) => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

/// Each byte of a character as `\xNN`.
pub(crate) fn escape(out: &mut String, character: char) {
    let mut bytes = [0; 4];
    for byte in character.encode_utf8(&mut bytes).bytes() {
        // Writing to a String does not fail.
        let _ = write!(out, "\\x{byte:02x}");
    }
}

/// The innermost cause of an error, which is the most specific.
pub fn innermost(error: &dyn Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_is_told_as_far_as_it_is_known() {
        for (author, peer, nobody, told) in [
            ("alice", "::1", "a client", "alice at ::1"),
            ("alice", "", "a client", "alice"),
            ("", "::1", "a client", "a client at ::1"),
            ("", "::1", "", "::1"),
            ("", "", "a client", "a client"),
            ("", "", "", ""),
            ("alice", "alice", "", "alice"),
        ] {
            assert_eq!(asker(author, peer, nobody), told);
        }
    }

    #[test]
    fn numbers_agree_with_their_nouns() {
        for (number, noun, text) in [
            (1, "link", "1 link"),
            (0, "link", "0 links"),
            (2, "switch", "2 switches"),
            (1, "entry", "1 entry"),
            (3, "entry", "3 entries"),
            (4, "key", "4 keys"),
            (5, "address", "5 addresses"),
        ] {
            assert_eq!(count(number, noun), text);
        }
        assert_eq!(count("12,345", "flow"), "12,345 flows");
        assert_eq!(count(2, "leaf"), "2 leaves");
        let verbs = ["was", "were"];
        assert_eq!(count_and(1, "more port", verbs), "1 more port was");
        assert_eq!(count_and(10, "more port", verbs), "10 more ports were");
    }

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
