//! Variables of a scenario: `let NAME VALUE`, and `$NAME` in later lines.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::parse::LINE_MAX;
use super::values::{Checked, at_most};

/// Most variables of a scenario.
const VARIABLES_MAX: usize = 256;

/// Values by name, each with its line.
#[derive(Debug, Default)]
pub(super) struct Variables(BTreeMap<String, (String, usize)>);

impl Variables {
    /// NAME VALUE.
    pub(super) fn set(&mut self, line: usize, text: &str) -> Checked<()> {
        let (name, value) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let value = value.trim();
        if name_length(name) != name.len() || value.is_empty() {
            return Err(format!(
                "{text:?} is not of the form NAME VALUE, with a name of a to z, 0 to 9 and _ that begins with a letter"
            ));
        }
        if let Some((_, first)) = self.0.get(name) {
            return Err(format!("{name} is set in line {first} already"));
        }
        at_most(self.0.len() + 1, VARIABLES_MAX, "variables")?;
        self.0.insert(name.to_owned(), (value.to_owned(), line));
        Ok(())
    }

    /// The line with values in place of names.
    pub(super) fn filled<'a>(&self, line: &'a str) -> Checked<Cow<'a, str>> {
        let Some((before, rest)) = line.split_once('$') else {
            return Ok(Cow::Borrowed(line));
        };
        let mut filled = before.to_owned();
        for part in rest.split('$') {
            let (name, after) = part.split_at(name_length(part));
            match name {
                "" => filled.push('$'),
                name => filled.push_str(self.get(name)?),
            }
            filled.push_str(after);
            at_most(filled.len(), LINE_MAX, "bytes in a line with its variables")?;
        }
        Ok(Cow::Owned(filled))
    }

    fn get(&self, name: &str) -> Checked<&str> {
        let found = self.0.get(name).map(|(value, _)| value.as_str());
        found.ok_or_else(|| {
            let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
            match names.is_empty() {
                true => format!("${name} has no value, allowed: a line let {name} VALUE before"),
                false => format!(
                    "${name} has no value, allowed: {}, or a line let {name} VALUE before",
                    names.join(", ")
                ),
            }
        })
    }
}

/// Length of the name with which a text begins: a letter, then letters, digits and underscores, all small.
fn name_length(text: &str) -> usize {
    let is_inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    match text.starts_with(|c: char| c.is_ascii_lowercase()) {
        true => text.find(|c| !is_inside(c)).unwrap_or(text.len()),
        false => 0,
    }
}
