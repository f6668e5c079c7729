//! Words that the configuration does not interpret: names, paths, references, patterns.

use super::number::shown;
use super::{Kind, Notes, Syntax};
use crate::finding::{Problem, Rule};
use crate::pattern::NodePattern;

/// A text of limited length, taken as it is.
pub(crate) struct Text {
    longest: usize,
    absolute: bool,
    may_be_empty: bool,
}

impl Text {
    /// A text of at most `longest` bytes.
    pub(crate) const fn of(longest: usize) -> Self {
        Self {
            longest,
            absolute: false,
            may_be_empty: true,
        }
    }

    /// A name of at most `longest` bytes: never empty.
    pub(crate) const fn name(longest: usize) -> Self {
        Self {
            longest,
            absolute: false,
            may_be_empty: false,
        }
    }

    /// A path from the root of the file system.
    pub(crate) const fn absolute_path() -> Self {
        Self {
            longest: 255,
            absolute: true,
            may_be_empty: true,
        }
    }
}

/// A text without blanks at its ends, which would silently be part of the value.
fn without_blanks(text: &str) -> Result<&str, Problem> {
    if text.trim_ascii().len() == text.len() {
        return Ok(text);
    }
    Err(Problem::new(
        Rule::StrictXml,
        format!(
            "`{}` has blanks at its ends, which would be part of it",
            shown(text.trim_ascii())
        ),
    ))
}

fn short_enough(text: &str, longest: usize) -> Result<(), Problem> {
    if text.len() <= longest {
        return Ok(());
    }
    Err(Problem::new(
        Rule::StrictRange,
        format!("{} bytes long, would be cut to {longest}", text.len()),
    ))
}

impl Syntax for Text {
    type Value = String;

    fn parse(&self, text: &str, _: &mut Notes) -> Result<String, Problem> {
        let text = without_blanks(text)?;
        short_enough(text, self.longest)?;
        if self.absolute && !text.starts_with('/') {
            return Err(Problem::new(
                Rule::StrictPath,
                format!("`{}` is not an absolute path", shown(text)),
            ));
        }
        Ok(text.to_owned())
    }

    fn print(&self, value: &String) -> String {
        value.clone()
    }

    fn allowed(&self) -> String {
        let kind = if self.absolute {
            "an absolute path"
        } else {
            "a text"
        };
        format!("{kind} of at most {} bytes", self.longest)
    }

    fn may_be_empty(&self) -> bool {
        self.may_be_empty
    }

    fn is_stricter(&self) -> bool {
        self.absolute
    }
}

/// The name of an object that is defined above.
pub(crate) struct Reference {
    kind: Kind,
}

pub(crate) const fn reference(kind: Kind) -> Reference {
    Reference { kind }
}

impl Syntax for Reference {
    type Value = String;

    fn parse(&self, text: &str, _: &mut Notes) -> Result<String, Problem> {
        let text = text.trim_ascii();
        short_enough(text, 63)?;
        Ok(text.to_owned())
    }

    fn print(&self, value: &String) -> String {
        value.clone()
    }

    fn allowed(&self) -> String {
        format!("the Name of a {} that is defined above", self.kind.tag())
    }

    fn refers_to(&self) -> Option<Kind> {
        Some(self.kind)
    }
}

/// A pattern of node descriptions.
pub(crate) struct Pattern;

impl Syntax for Pattern {
    type Value = NodePattern;

    fn parse(&self, text: &str, _: &mut Notes) -> Result<NodePattern, Problem> {
        let text = text.trim_ascii();
        short_enough(text, 63)?;
        text.parse().map_err(|error: crate::pattern::PatternError| {
            Problem::new(Rule::StrictPattern, error.to_string())
        })
    }

    fn print(&self, value: &NodePattern) -> String {
        value.as_str().to_owned()
    }

    fn allowed(&self) -> String {
        "a node description; * and ? stand for letters, digits and -,=._; [3-12] is a range of numbers; :[1-4] at the end is a range of ports".to_owned()
    }
}
