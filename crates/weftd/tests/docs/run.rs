//! Runs a document.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::COLUMNS;
use crate::compare::{has_all, is_as_shown};
use crate::machine::Machine;
use crate::markdown::{Block, Command, blocks};

/// Time in which output becomes as shown, where a block is repeated.
const PATIENCE: Duration = Duration::from_secs(60);

/// Time between two runs of a repeated command.
const PAUSE: Duration = Duration::from_millis(500);

/// Variable that has output written into documents: seconds for which the output of a repeated
/// command stays as it is before that.
const WRITE: &str = "WEFT_WRITE_DOCS";

/// Runs the commands of a document and compares what they print with what it shows, or writes that
/// into it where `WEFT_WRITE_DOCS` is set.
///
/// # Panics
/// When something differs.
pub(crate) fn check(document: &Path) {
    let text = fs::read_to_string(document).unwrap();
    let writes = std::env::var(WRITE).ok();
    let writes = writes.map(|seconds| Duration::from_secs(seconds.parse().unwrap()));
    let mut machine = Machine::start();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut changes = Vec::new();
    let mut faults = String::new();
    for block in blocks(&text).iter().filter(|block| !block.not_run) {
        for (index, command) in block.commands.iter().enumerate() {
            let is_last = index + 1 == block.commands.len();
            let expected = if is_last { block.exit_code } else { 0 };
            let place = format!("{}:{}", document.display(), command.line + 1);
            let Some((output, code)) = execute(&mut machine, block, command, expected, writes)
            else {
                continue;
            };
            if code != expected {
                writeln!(faults, "{place}: {}: exit code {code}", command.text()).unwrap();
            }
            if !is_as_shown(&command.shown, &output) {
                writeln!(
                    faults,
                    "{place}: {} prints\n{}",
                    command.text(),
                    output.join("\n")
                )
                .unwrap();
                let output = output
                    .iter()
                    .map(|line| shortened(line))
                    .collect::<Vec<_>>();
                changes.push((command.line + command.typed.len()..command.end(), output));
            }
        }
    }
    if writes.is_some() {
        for (place, output) in changes.into_iter().rev() {
            lines.splice(place, output);
        }
        fs::write(document, lines.join("\n") + "\n").unwrap();
        print!("{faults}");
    } else {
        assert!(
            faults.is_empty(),
            "{WRITE}=5 writes what is printed:\n{faults}"
        );
    }
}

/// Runs a command; what it prints, and its exit code; nothing in the background. A repeated one is
/// repeated until its output is as shown, or, to be written, has settled with the right exit code.
fn execute(
    machine: &mut Machine,
    block: &Block,
    command: &Command,
    expected: i32,
    settle: Option<Duration>,
) -> Option<(Vec<String>, i32)> {
    let text = command.text();
    if text.ends_with(" &") {
        machine.start_in_background(&text, |output| has_all(&command.shown, output));
        return None;
    }
    let mut last = machine.run(&text);
    let begin = Instant::now();
    let mut settled = begin;
    while block.until_shown && begin.elapsed() < PATIENCE {
        let is_right = match settle {
            Some(settle) if command.shown.is_empty() => settled.elapsed() > settle,
            Some(settle) if settled.elapsed() > settle => true,
            _ => is_as_shown(&command.shown, &last.0),
        };
        if is_right && last.1 == expected {
            break;
        }
        sleep(PAUSE);
        let next = machine.run(&text);
        if !is_as_shown(&last.0, &next.0) {
            settled = Instant::now();
        }
        last = next;
    }
    Some(last)
}

/// A line that fits into the terminal, with dots in place of the rest.
fn shortened(line: &str) -> String {
    if line.chars().count() <= COLUMNS {
        return line.to_owned();
    }
    let begin: String = line.chars().take(COLUMNS - 2).collect();
    let end = begin.rfind(' ').unwrap_or(begin.len());
    format!("{} …", &begin[..end])
}
