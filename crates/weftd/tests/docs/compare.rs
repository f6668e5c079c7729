//! Whether output is as shown, but for what differs each time.

/// Units of durations that may differ.
const UNITS: [&str; 8] = ["ns", "µs", "us", "ms", "s", "min", "h", "d"];

/// A place of any text, or as a line of its own of any lines.
const ANY: &str = "…";

/// Whether output is as shown.
pub(crate) fn is_as_shown(shown: &[String], output: &[String]) -> bool {
    let Some((first, shown)) = shown.split_first() else {
        return output.is_empty();
    };
    if first.trim() == ANY {
        return (0..=output.len()).any(|skipped| is_as_shown(shown, &output[skipped..]));
    }
    let Some((line, output)) = output.split_first() else {
        return false;
    };
    is_line_as_shown(first, line) && is_as_shown(shown, output)
}

/// Whether output has all lines that are shown, in their order.
pub(crate) fn has_all(shown: &[String], output: &[String]) -> bool {
    let mut output = output.iter();
    let mut shown = shown.iter().filter(|line| line.trim() != ANY);
    shown.all(|line| output.any(|printed| is_line_as_shown(line, printed)))
}

/// Whether a line is as shown.
pub(crate) fn is_line_as_shown(shown: &str, line: &str) -> bool {
    let (shown, line) = (without_chance(shown), without_chance(line));
    let has_chance = shown.has_chance || line.has_chance;
    let (shown, line) = (shown.text(has_chance), line.text(has_chance));
    let parts: Vec<&str> = shown.split(ANY).collect();
    let [first, middle @ .., last] = parts.as_slice() else {
        return shown == line;
    };
    let Some(mut rest) = line.strip_prefix(first) else {
        return false;
    };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// A line with a word in place of each time, duration and port.
struct WithoutChance {
    words: Vec<String>,
    /// There was one of them.
    has_chance: bool,
}

impl WithoutChance {
    /// The line; with single spaces where columns move with the lengths of times.
    fn text(&self, is_loose: bool) -> String {
        let words = self
            .words
            .iter()
            .filter(|word| !(is_loose && word.is_empty()));
        let words: Vec<&str> = words.map(String::as_str).collect();
        words.join(" ")
    }
}

fn without_chance(line: &str) -> WithoutChance {
    let mut words = Vec::new();
    let mut has_chance = false;
    let mut all = line.split(' ').peekable();
    while let Some(word) = all.next() {
        let bare = word.trim_start_matches(['(', '[', '"']);
        let before = &word[..word.len() - bare.len()];
        let (number, after) = split_number(bare);
        let unit = all.peek().map_or("", |next| unit_of(next));
        if let Some(rest) = time(bare) {
            words.push(format!("{before}<time>{rest}"));
        } else if !number.is_empty() && after.is_empty() && !unit.is_empty() {
            let next = all.next().unwrap_or_default();
            words.push(format!("{before}<duration>{}", &next[unit.len()..]));
        } else if !number.is_empty() && !unit_of(after).is_empty() {
            words.push(format!(
                "{before}<duration>{}",
                &after[unit_of(after).len()..]
            ));
        } else if let Some((address, rest)) = word.split_once("127.0.0.1:") {
            let rest = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
            words.push(format!("{address}127.0.0.1:<port>{rest}"));
        } else {
            words.push(word.to_owned());
            continue;
        }
        has_chance = true;
    }
    WithoutChance { words, has_chance }
}

/// A decimal number at the beginning, and the rest.
fn split_number(word: &str) -> (&str, &str) {
    let digits = |character: char| character.is_ascii_digit() || character == '.';
    let length = word
        .find(|character| !digits(character))
        .unwrap_or(word.len());
    let (number, rest) = word.split_at(length);
    match number.starts_with('.') || number.ends_with('.') {
        true => ("", word),
        false => (number, rest),
    }
}

/// The unit of time that a word is, but for what follows it; empty if it is none.
fn unit_of(word: &str) -> &'static str {
    let letters = word.find(|character: char| !character.is_alphabetic());
    let letters = &word[..letters.unwrap_or(word.len())];
    let found = UNITS.iter().find(|unit| **unit == letters);
    found.copied().unwrap_or("")
}

/// What follows the time that a word begins with, as in 2026-11-25T15:58:19.000Z.
fn time(word: &str) -> Option<&str> {
    const SHAPE: &str = "0000-00-00T00:00:00";
    let beginning = word.get(..SHAPE.len())?;
    let shape: String = beginning
        .chars()
        .map(|character| match character.is_ascii_digit() {
            true => '0',
            false => character,
        })
        .collect();
    let rest =
        word[SHAPE.len()..].trim_start_matches(|part: char| part.is_ascii_digit() || part == '.');
    (shape == SHAPE).then(|| rest.strip_prefix('Z'))?
}

#[test]
fn only_chance_may_differ() {
    let same = [
        ("took 9 ms, done", "took 10.5 s, done"),
        (
            "as of 2026-11-25T15:58:19Z (3 s ago)",
            "as of 2027-01-02T00:00:00.5Z (1 min ago)",
        ),
        ("1 (start)    9.4ms   x", "1 (start) 12.25ms x"),
        (
            "API at http://127.0.0.1:9313,",
            "API at http://127.0.0.1:45123,",
        ),
        ("disabled … by root@…", "disabled now, by root@host"),
        (
            "  sweeps    the last …",
            "  sweeps    the last one took 9 ms",
        ),
    ];
    for (shown, line) in same {
        assert!(is_line_as_shown(shown, line), "{shown} | {line}");
    }
    let different = [
        ("16 HFIs", "15 HFIs"),
        ("100g  edge1", "75g  edge1"),
        ("took 9 ms", "took 9 sweeps"),
        ("a  b", "a b"),
        ("disabled … by", "enabled, by"),
    ];
    for (shown, line) in different {
        assert!(!is_line_as_shown(shown, line), "{shown} | {line}");
    }
}

#[test]
fn a_line_of_dots_stands_for_any_lines() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(is_as_shown(&lines("a\n…\nd"), &lines("a\nb\nc\nd")));
    assert!(is_as_shown(&lines("a\n…"), &lines("a")));
    assert!(!is_as_shown(&lines("a\n…\nd"), &lines("a\nb\nc")));
    assert!(!is_as_shown(&lines("a"), &lines("a\nb")));
    assert!(has_all(&lines("b\nd"), &lines("a\nb\nc\nd")));
    assert!(!has_all(&lines("d\nb"), &lines("a\nb\nc\nd")));
}
