//! Output of a command that may be longer than the terminal: `$PAGER`, else `less`, shows it.

use std::fmt::Display;
use std::io::{self, Write};
use std::mem::take;
use std::process::{Child, ChildStdin, Command, Stdio};

use weft_fabric::text::for_terminal;

use crate::error::CliError;
use crate::layout;
use crate::output::{styled, terminal};

/// The pager where `$PAGER` names none: it ends by itself where all fits, and passes colours on.
const USUAL: &str = "less -FRX";

/// What a command prints, part by part. In a terminal it is held back until it is longer than that: then a pager shows
/// all of it.
pub(crate) struct Pages {
    /// Columns and lines of the terminal; none where everything is printed at once.
    terminal: Option<(usize, usize)>,
    held: String,
    pager: Option<Pager>,
}

impl Pages {
    /// Without a pager where a person does not want one, or nobody looks at a terminal.
    pub(crate) fn new(no_pager: bool) -> Self {
        Self {
            terminal: terminal().filter(|_| !no_pager),
            held: String::new(),
            pager: None,
        }
    }

    /// Prints text, escaped and folded between words.
    ///
    /// # Errors
    /// [`io::ErrorKind::BrokenPipe`] once a person has left the pager: nothing more is looked at.
    pub(crate) fn text(&mut self, value: impl Display) -> Result<(), CliError> {
        let text = value.to_string();
        let text = for_terminal(&text);
        let Some((columns, lines)) = self.terminal else {
            return crate::output::text(text);
        };
        let text = layout::folded(&text, columns);
        if let Some(pager) = &mut self.pager {
            return Ok(pager.write(&text)?);
        }
        self.held.push_str(&text);
        if self.held.lines().count() < lines {
            return Ok(());
        }
        let held = take(&mut self.held);
        match Pager::start() {
            Some(pager) => Ok(self.pager.insert(pager).write(&held)?),
            None => {
                self.terminal = None;
                styled(&held)
            }
        }
    }

    /// Prints what is held back, and waits until a person leaves the pager.
    pub(crate) fn end(mut self) -> Result<(), CliError> {
        styled(&take(&mut self.held))
    }
}

/// Prints text with colours, whose parts from outside are escaped already, through a pager where it is longer than the
/// terminal.
pub(crate) fn paged(text: &str, no_pager: bool) -> Result<(), CliError> {
    let is_long = |(_, lines): (usize, usize)| text.lines().count() >= lines;
    let pager = (!no_pager && terminal().is_some_and(is_long)).then(Pager::start);
    match pager.flatten() {
        Some(mut pager) => {
            // A person may leave the pager before its end.
            let _ = pager.write(text);
            Ok(())
        }
        None => styled(text),
    }
}

/// A running pager; it is waited for in the end.
struct Pager {
    process: Child,
    input: Option<ChildStdin>,
}

impl Pager {
    /// None where a person names none, or it cannot be started.
    fn start() -> Option<Self> {
        let named = std::env::var("PAGER").unwrap_or_else(|_| USUAL.to_owned());
        if named.trim().is_empty() {
            return None;
        }
        let mut command = Command::new("sh");
        command.args(["-c", &format!("exec {named}")]);
        let mut process = command.stdin(Stdio::piped()).spawn().ok()?;
        let input = process.stdin.take();
        Some(Self { process, input })
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        match &mut self.input {
            Some(input) => input.write_all(text.as_bytes()),
            None => Ok(()),
        }
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        drop(self.input.take());
        // Its end is all that is waited for.
        let _ = self.process.wait();
    }
}
