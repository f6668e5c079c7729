//! Patterns of node descriptions: `rack[01-12]node*`, `edge?:[1-4]`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use weft_state::State;

/// The most brackets of a pattern, the one of the ports included.
const MAX_BRACKETS: usize = 10;
/// The most digits of a number in brackets.
const MAX_DIGITS: usize = 5;

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PatternError {
    /// A `[` without `]`, a `]` without `[`, or one inside of the other.
    #[error("brackets are not closed or not opened")]
    Brackets,
    /// The text between the brackets is not `first-last` with up to five digits each.
    #[error("`[{0}]` is not a range of numbers with up to {MAX_DIGITS} digits")]
    Range(String),
    /// The range ends below its start.
    #[error("the range `[{0}]` ends below its start")]
    Backwards(String),
    /// More brackets than the format knows.
    #[error("more than {MAX_BRACKETS} brackets")]
    TooMany,
    /// No text at all.
    #[error("an empty pattern")]
    Empty,
}

#[derive(Clone, Debug, PartialEq, Eq, State)]
enum Piece {
    Literal(char),
    /// `?`: none or one character of the wild card's set.
    Optional,
    /// `*`: any number of characters of the wild card's set.
    Any,
    Number(Digits),
}

/// A range of numbers. A bound that starts with 0 fixes how many digits there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
struct Digits {
    first: u32,
    last: u32,
    width: Option<usize>,
}

/// A pattern of node descriptions, with an optional range of ports.
///
/// `*` stands for any number and `?` for none or one of the characters `A-Z a-z 0-9 - , = . _`;
/// a blank is none of them. `[first-last]` is a number, whose leading zeros count if a bound has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, State)]
#[serde(try_from = "String", into = "String")]
pub struct NodePattern {
    text: String,
    pieces: Vec<Piece>,
    ports: Option<Digits>,
}

impl NodePattern {
    /// The text of the pattern.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether a node's description and the number of one of its ports fit.
    pub fn matches(&self, description: &str, port: u8) -> bool {
        let port_fits = self
            .ports
            .is_none_or(|ports| (ports.first..=ports.last).contains(&u32::from(port)));
        port_fits && self.fits(description)
    }

    /// Runs all readings of the pattern side by side: time is the product of both lengths.
    fn fits(&self, description: &str) -> bool {
        let text: Vec<char> = description.chars().collect();
        let mut reached = vec![false; text.len() + 1];
        reached[0] = true;
        for piece in &self.pieces {
            reached = piece.advance(&text, &reached);
        }
        reached[text.len()]
    }
}

impl Piece {
    /// The ends that this piece reaches from the given starts.
    fn advance(&self, text: &[char], starts: &[bool]) -> Vec<bool> {
        let mut ends = vec![false; starts.len()];
        for start in (0..starts.len()).filter(|&start| starts[start]) {
            match self {
                Self::Literal(character) => {
                    mark(&mut ends, start + 1, text.get(start) == Some(character))
                }
                Self::Optional => {
                    ends[start] = true;
                    mark(
                        &mut ends,
                        start + 1,
                        text.get(start).copied().is_some_and(is_wild),
                    );
                }
                Self::Any => {
                    let run = text[start..]
                        .iter()
                        .take_while(|&&character| is_wild(character))
                        .count();
                    ends[start..=start + run].fill(true);
                }
                Self::Number(digits) => digits.advance(text, start, &mut ends),
            }
        }
        ends
    }
}

fn mark(ends: &mut [bool], end: usize, reached: bool) {
    if reached && let Some(slot) = ends.get_mut(end) {
        *slot = true;
    }
}

fn is_wild(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | ',' | '=' | '.' | '_')
}

impl Digits {
    fn parse(text: &str) -> Result<Self, PatternError> {
        let wrong = || PatternError::Range(text.to_owned());
        let is_number = |text: &str| {
            (1..=MAX_DIGITS).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
        };
        let (first, last) = text.split_once('-').ok_or_else(wrong)?;
        if !is_number(first) || !is_number(last) {
            return Err(wrong());
        }
        let padded = |text: &str| text.len() > 1 && text.starts_with('0');
        let width = (padded(first) || padded(last)).then_some(first.len());
        let digits = Self {
            first: first.parse().map_err(|_| wrong())?,
            last: last.parse().map_err(|_| wrong())?,
            width,
        };
        if digits.first > digits.last {
            Err(PatternError::Backwards(text.to_owned()))
        } else {
            Ok(digits)
        }
    }

    /// A number is read to its last digit: `[1-2]` is not found in `12`.
    fn advance(self, text: &[char], start: usize, ends: &mut [bool]) {
        let run = text[start..]
            .iter()
            .take_while(|character| character.is_ascii_digit())
            .count();
        for length in 1..=run.min(MAX_DIGITS) {
            let digits = &text[start..start + length];
            let number = digits
                .iter()
                .filter_map(|digit| digit.to_digit(10))
                .fold(0, |number, digit| number * 10 + digit);
            let padded = length > 1 && digits[0] == '0';
            let written_right = match self.width {
                Some(width) => length == width || length > width && !padded,
                None => !padded,
            };
            mark(
                ends,
                start + length,
                written_right && (self.first..=self.last).contains(&number),
            );
        }
    }
}

impl FromStr for NodePattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        let (name, ports) = split_ports(text)?;
        let pieces = pieces(name)?;
        let brackets = pieces
            .iter()
            .filter(|piece| matches!(piece, Piece::Number(_)))
            .count();
        if brackets + usize::from(ports.is_some()) > MAX_BRACKETS {
            return Err(PatternError::TooMany);
        }
        Ok(Self {
            text: text.to_owned(),
            pieces,
            ports,
        })
    }
}

/// Splits `name:[1-4]`.
fn split_ports(text: &str) -> Result<(&str, Option<Digits>), PatternError> {
    let Some((name, range)) = text.rsplit_once(":[") else {
        return Ok((text, None));
    };
    let range = range.strip_suffix(']').ok_or(PatternError::Brackets)?;
    Ok((name, Some(Digits::parse(range)?)))
}

fn pieces(mut name: &str) -> Result<Vec<Piece>, PatternError> {
    let mut pieces = Vec::new();
    while let Some(character) = name.chars().next() {
        name = &name[character.len_utf8()..];
        pieces.push(match character {
            '*' => Piece::Any,
            '?' => Piece::Optional,
            ']' => return Err(PatternError::Brackets),
            '[' => {
                let (range, rest) = name.split_once(']').ok_or(PatternError::Brackets)?;
                if range.contains('[') {
                    return Err(PatternError::Brackets);
                }
                name = rest;
                Piece::Number(Digits::parse(range)?)
            }
            character => Piece::Literal(character),
        });
    }
    Ok(pieces)
}

impl TryFrom<String> for NodePattern {
    type Error = PatternError;

    fn try_from(text: String) -> Result<Self, PatternError> {
        text.parse()
    }
}

impl From<NodePattern> for String {
    fn from(pattern: NodePattern) -> Self {
        pattern.text
    }
}

impl fmt::Display for NodePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn patterns_match_as_the_format_says() {
        let cases: &[(&str, &str, bool)] = &[
            ("node1 hfi1_0", "node1 hfi1_0", true),
            ("node1 hfi1_0", "node1 hfi1_01", false),
            ("*Rack1*", "aRack1b", true),
            ("*Rack1*", "a Rack1b", false),
            ("*", "", true),
            ("HFI?", "HFI", true),
            ("HFI?", "HFI7", true),
            ("HFI?", "HFI77", false),
            ("node[1-4]", "node3", true),
            ("node[1-4]", "node03", false),
            ("node[1-4]", "node5", false),
            ("node[06-10]", "node06", true),
            ("node[06-10]", "node10", true),
            ("node[06-10]", "node6", false),
            ("rack[1-2]node[01-02]", "rack2node01", true),
            ("rack[1-2]node[01-02]", "rack3node01", false),
            ("?SWITCH[0-1]", "ASWITCH1", true),
            ("node[1-20]b", "node12b", true),
            ("n*[1-2] hfi?_0", "n0x2 hfi1_0", true),
            ("é*", "éa", true),
        ];
        for &(pattern, description, fits) in cases {
            assert_eq!(
                pattern
                    .parse::<NodePattern>()
                    .unwrap()
                    .matches(description, 1),
                fits,
                "{pattern} {description}"
            );
        }
    }

    #[test]
    fn ports_are_part_of_a_pattern() {
        let pattern: NodePattern = "switch:[2-4]".parse().unwrap();
        assert!(pattern.matches("switch", 2) && pattern.matches("switch", 4));
        assert!(!pattern.matches("switch", 5) && !pattern.matches("switch:2", 2));
    }

    #[test]
    fn broken_patterns_are_refused() {
        for text in [
            "",
            "a[",
            "a]",
            "a[1-2",
            "a[[1-2]]",
            "a[x-2]",
            "a[1]",
            "a[2-1]",
            "a[123456-9]",
            "a:[1-",
        ] {
            assert!(text.parse::<NodePattern>().is_err(), "{text}");
        }
        assert_eq!(
            "[1-2]".repeat(11).parse::<NodePattern>(),
            Err(PatternError::TooMany)
        );
        assert!("[1-2]".repeat(10).parse::<NodePattern>().is_ok());
    }

    #[test]
    fn many_stars_take_no_long_time() {
        let pattern: NodePattern = format!("{}b", "*".repeat(60)).parse().unwrap();
        assert!(!pattern.matches(&"a".repeat(64), 1));
    }
}
