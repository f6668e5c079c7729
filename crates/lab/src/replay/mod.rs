//! `weft-lab replay`: runs the manager and subnet administration over a recording of their inputs, and compares what they put out.

mod found;
mod going_on;
mod registers;
mod shortening;
mod until;
mod words;

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

use weft_replay::Replay;

use found::{FileReplay, follow};
use until::Until;

/// Arguments of `weft-lab replay`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A recording of weftd: an incident, or a file of the directory recordings.N.
    file: PathBuf,
    /// Stop after this step: step:N, sweep:N when that sweep begins, event:KIND such as event:DeviceFault,
    /// event:KIND:TEXT where its words contain the text, answer:TEXT where the words of what subnet administration puts out do,
    /// panic, or seconds since the recording's beginning, such as 12.5.
    #[arg(long, value_name = "WHERE", value_parser = until::parse)]
    until: Option<Until>,
    /// Print the steps, and what each put out; with --last only the last ones.
    #[arg(long)]
    steps: bool,
    /// Number of the last steps that --steps prints.
    #[arg(long, value_name = "N", requires = "steps")]
    last: Option<usize>,
    /// Go on from there for so many seconds of the manager's time, subnet administration beside it, with an emulated fabric of
    /// all nodes and links that the recording shows, whose nodes all answer.
    #[arg(
        long,
        value_name = "SECONDS",
        value_parser = going_on::parse_seconds,
        allow_negative_numbers = true,
        requires = "until",
        conflicts_with_all = ["shorten", "steps"]
    )]
    go_on: Option<Duration>,
    /// Write the shortest recording that is found in which --until's sweep, event, answer or panic still shows.
    #[arg(long, value_name = "OUT", requires = "until", conflicts_with = "steps")]
    shorten: Option<PathBuf>,
    /// Seconds for which --shorten looks for a shorter one.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 60,
        value_parser = clap::value_parser!(u64).range(1..=86_400),
        requires = "shorten"
    )]
    within: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs it; returns whether all was as recorded, and what to print.
pub(crate) fn run(arguments: &Arguments) -> Result<(bool, String), String> {
    if let (Some(out), Some(until)) = (&arguments.shorten, &arguments.until) {
        let text = shortening::run(arguments, until, out)?;
        return Ok((true, text));
    }
    let replay = open(&arguments.file)?;
    let header = replay.header().clone();
    let (found, replay) = follow(replay, arguments);
    if found.is_empty() {
        let name = arguments.file.display();
        return Err(format!(
            "{name}: this is no recording: it ends before its first input is whole"
        ));
    }
    if let Some(time) = arguments.go_on {
        let text = going_on::run(arguments, &found, replay, time)?;
        return Ok((found.held(), text));
    }
    let text = match arguments.json {
        true => format!("{}\n", found::as_json(&header, &found, &replay)),
        false => found::as_text(
            &arguments.file.display().to_string(),
            &header,
            &found,
            &replay,
        ),
    };
    Ok((found.held(), text))
}

/// The replay of a file.
fn open(path: &Path) -> Result<FileReplay, String> {
    let name = path.display();
    let file = File::open(path).map_err(|error| format!("{name}: {error}"))?;
    Replay::new(BufReader::new(file)).map_err(|error| format!("{name}: {error}"))
}
