//! Shell patterns, as POSIX `fnmatch` without flags understands them.

use std::fmt;

/// A pattern: `*` any run, `?` any one character, `[…]` one of a set (`[!…]` or `[^…]` none of
/// it, `a-z` a range), `\` takes the next character as it is. A `[` that is never closed stands
/// for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    text: String,
    tokens: Vec<Token>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Char(char),
    Any,
    Run,
    Set {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl Glob {
    /// Every text is a pattern.
    pub fn new(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let mut tokens = Vec::new();
        let mut at = 0;
        while let Some(&first) = chars.get(at) {
            let (token, used) = token(first, &chars[at..]);
            if !(token == Token::Run && tokens.last() == Some(&Token::Run)) {
                tokens.push(token);
            }
            at += used;
        }
        Self {
            text: text.to_owned(),
            tokens,
        }
    }

    /// Whether the pattern covers the whole of `name`. Takes at most `pattern × name` steps.
    pub fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        let (mut token, mut char) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        while char < name.len() {
            match self.tokens.get(token) {
                Some(Token::Run) => {
                    retry = Some((token + 1, char));
                    token += 1;
                }
                Some(one) if one.matches(name[char]) => {
                    token += 1;
                    char += 1;
                }
                _ => {
                    let Some((after, from)) = retry else {
                        return false;
                    };
                    retry = Some((after, from + 1));
                    (token, char) = (after, from + 1);
                }
            }
        }
        self.tokens[token..].iter().all(|rest| *rest == Token::Run)
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Token {
    fn matches(&self, char: char) -> bool {
        match self {
            Self::Char(this) => *this == char,
            Self::Any => true,
            Self::Run => false,
            Self::Set { negated, ranges } => {
                let inside = ranges
                    .iter()
                    .any(|(low, high)| (*low..=*high).contains(&char));
                inside != *negated
            }
        }
    }
}

/// The token at the start of `chars`, and its length in characters.
fn token(first: char, chars: &[char]) -> (Token, usize) {
    match first {
        '*' => (Token::Run, 1),
        '?' => (Token::Any, 1),
        '\\' => match chars.get(1) {
            Some(next) => (Token::Char(*next), 2),
            None => (Token::Char('\\'), 1),
        },
        '[' => set(chars).unwrap_or((Token::Char('['), 1)),
        other => (Token::Char(other), 1),
    }
}

/// A set in brackets; none when it is not closed.
fn set(chars: &[char]) -> Option<(Token, usize)> {
    let negated = matches!(chars.get(1), Some('!' | '^'));
    let start = 1 + usize::from(negated);
    let mut at = start;
    let mut ranges = Vec::new();
    loop {
        let (low, used) = set_char(chars.get(at..)?, at == start)?;
        let Some(low) = low else {
            return Some((Token::Set { negated, ranges }, at + 1));
        };
        at += used;
        let dash =
            chars.get(at) == Some(&'-') && chars.get(at + 1).is_some_and(|next| *next != ']');
        if dash {
            let (high, used) = set_char(chars.get(at + 1..)?, true)?;
            ranges.push((low, high?));
            at += 1 + used;
        } else {
            ranges.push((low, low));
        }
    }
}

/// One character of a set and its length; no character at the closing bracket, which stands for
/// itself where it comes `first`. None at the end of the pattern.
fn set_char(chars: &[char], first: bool) -> Option<(Option<char>, usize)> {
    match chars.first()? {
        ']' if !first => Some((None, 1)),
        '\\' => Some((Some(*chars.get(1)?), 2)),
        other => Some((Some(*other), 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_as_fnmatch_does() {
        for (pattern, name, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("node*", "node1 hfi1_0", true),
            ("NODE*", "node1", false),
            ("node[12] hfi1_0", "node2 hfi1_0", true),
            ("node[12] hfi1_0", "node3 hfi1_0", false),
            ("node[!12]", "node3", true),
            ("node[^12]", "node1", false),
            ("[a-c]?", "b9", true),
            ("[]x]", "]", true),
            ("[a-]", "-", true),
            ("[", "[", true),
            ("a[b", "a[b", true),
            (r"\*", "*", true),
            (r"\*", "a", false),
            (r"[\]]", "]", true),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b", "xxaxxbxx", false),
            ("a**b", "ab", true),
            ("ü?", "üé", true),
        ] {
            assert_eq!(
                Glob::new(pattern).matches(name),
                expected,
                "{pattern} on {name}"
            );
        }
    }

    #[test]
    fn many_stars_stay_cheap() {
        let pattern = Glob::new(&"*a".repeat(60));
        assert!(!pattern.matches(&"a".repeat(59)));
    }
}
