//! Standard output and error. Text from outside is escaped here, and nothing here panics.

use std::fmt::{self, Display};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read, StdoutLock, Write, stderr, stdout};
use std::path::Path;

use serde::Serialize;
use weft_fabric::text::{for_terminal, is_hidden};

use crate::error::CliError;
use crate::layout;

/// Text from outside on one line: without ends of lines and tabs, and escaped for terminals.
pub(crate) fn one_line(text: &str) -> String {
    for_terminal(&text.replace(['\n', '\t'], " ")).into_owned()
}

/// Prints a value as text; characters that act on a terminal are escaped. In a terminal lines are folded between words.
pub(crate) fn text(value: impl Display) -> Result<(), CliError> {
    if let Some((columns, _)) = terminal() {
        return styled(&layout::folded(&for_terminal(&value.to_string()), columns));
    }
    let mut out = Terminal {
        out: buffered(),
        failed: Ok(()),
    };
    // An error of formatting is one of writing, which is kept.
    let _ = fmt::Write::write_fmt(&mut out, format_args!("{value}"));
    out.failed?;
    Ok(out.out.flush()?)
}

/// Size of the terminal that standard output is: columns and lines.
pub(crate) fn terminal() -> Option<(usize, usize)> {
    size_if(stdout().is_terminal())
}

fn size_if(is_terminal: bool) -> Option<(usize, usize)> {
    if !is_terminal {
        return None;
    }
    let (columns, lines) = ratatui::crossterm::terminal::size().ok()?;
    Some((usize::from(columns), usize::from(lines)))
}

/// Where bytes go as they are: a file, which is created, or standard output.
pub(crate) fn sink(file: Option<&Path>) -> Result<Box<dyn Write>, CliError> {
    Ok(match file {
        None => Box::new(stdout().lock()),
        Some(file) => {
            let created = File::create(file).map_err(|error| CliError::file(file, error))?;
            Box::new(BufWriter::new(created))
        }
    })
}

/// Prints sentences with colours, whose parts from outside are escaped already, folded between words in a terminal.
pub(crate) fn folded(text: &str) -> Result<(), CliError> {
    match terminal() {
        Some((columns, _)) => styled(&layout::folded(text, columns)),
        None => styled(text),
    }
}

/// Prints text with colours, whose parts from outside are escaped already.
pub(crate) fn styled(text: &str) -> Result<(), CliError> {
    let mut out = buffered();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Prints a value as JSON, indented.
pub(crate) fn json(value: &impl Serialize) -> Result<(), CliError> {
    json_text(|out| Ok(serde_json::to_writer_pretty(out, value)?))
}

/// Prints JSON that `write` writes.
pub(crate) fn json_text(
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), CliError> {
    let mut out = Json(buffered());
    write(&mut out)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// Prints a value as one line of JSON, at once.
pub(crate) fn json_line(value: &impl Serialize) -> Result<(), CliError> {
    let mut out = Json(buffered());
    serde_json::to_writer(&mut out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// Writes a line to standard error after `lead`, which may be coloured. A failure to write
/// cannot be reported.
pub(crate) fn complain(lead: &str, what: &dyn Display) {
    let what = what.to_string();
    let text = format!("{lead}{}", for_terminal(&what));
    let text = match size_if(stderr().is_terminal()) {
        Some((columns, _)) => layout::folded(&text, columns),
        None => text,
    };
    let _ = writeln!(stderr(), "{text}");
}

/// The bytes of a file, or of standard input for `-`.
pub(crate) fn read(file: &Path) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let read = match file.to_str() {
        Some("-") => io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes),
        _ => std::fs::read(file),
    };
    read.map_err(|source| CliError::file(file, source))
}

fn buffered() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, stdout().lock())
}

/// Escapes output; keeps the reason of a failed write.
struct Terminal<W> {
    out: W,
    failed: io::Result<()>,
}

impl<W: Write> fmt::Write for Terminal<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let written = self.out.write_all(for_terminal(text).as_bytes());
        written.map_err(|error| {
            self.failed = Err(error);
            fmt::Error
        })
    }
}

/// Writes JSON so that hidden characters in strings show as `\uNNNN`, which means the same.
struct Json<W>(W);

impl<W: Write> Write for Json<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let hidden = |character: char| character != '\n' && is_hidden(character);
        match std::str::from_utf8(bytes) {
            Ok(text) if text.contains(hidden) => {
                let mut units = [0; 2];
                for character in text.chars() {
                    if !hidden(character) {
                        write!(self.0, "{character}")?;
                        continue;
                    }
                    for unit in character.encode_utf16(&mut units) {
                        write!(self.0, "\\u{unit:04x}")?;
                    }
                }
                Ok(bytes.len())
            }
            _ => self.0.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn json_shows_hidden_characters_and_means_the_same() {
        let value = "a\u{1b}[2J\u{9b}\u{202e}\u{7f}\u{E0041}\n\u{e9}";
        let mut out = Json(Vec::new());
        serde_json::to_writer_pretty(&mut out, &[value]).unwrap();
        let text = String::from_utf8(out.0).unwrap();
        assert!(!text.contains(|c| c != '\n' && is_hidden(c)), "{text:?}");
        assert!(text.contains('\u{e9}'), "{text}");
        let again: Vec<String> = serde_json::from_str(&text).unwrap();
        assert_eq!(again, [value]);
    }
}
