//! `weft-lab replay --shorten`: the shortest recording that is found in which a fault still shows.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use serde_json::json;
use weft_replay::{Pace, Replay, Shortened, shorten};
use weft_testkit::Tape;

use super::until::Until;
use super::{Arguments, open};

/// Writes it; returns what to print.
pub(super) fn run(arguments: &Arguments, until: &Until, out: &Path) -> Result<String, String> {
    if matches!(until, Until::Step(_) | Until::Seconds(_)) {
        return Err(
            "--shorten looks for what shows in other steps and at other times as well, \
                    wanted --until event:KIND, answer:TEXT, panic or sweep:N"
                .to_owned(),
        );
    }
    if out.exists() {
        return Err(format!("{}: File exists", out.display()));
    }
    let name = arguments.file.display();
    let source = open(&arguments.file)?.header().source.clone();
    let file = File::open(&arguments.file).map_err(|error| format!("{name}: {error}"))?;
    let tape = Tape::default();
    let recorders = tape.recorders(&format!("{source}, shortened"));
    let recorders = recorders.map_err(|error| error.to_string())?;
    let bar = ProgressBar::new_spinner();
    let until_when = Instant::now() + Duration::from_secs(arguments.within);
    let goes_on = |left: usize| {
        bar.set_message(format!("{left} inputs"));
        bar.tick();
        Instant::now() < until_when
    };
    let shows = |shown: weft_replay::Shown<'_>| until.is_shown(shown);
    let found = quietly(|| shorten(BufReader::new(file), recorders, shows, goes_on));
    bar.finish_and_clear();
    let found = found.map_err(|error| format!("{name}: {error}"))?;
    let bytes = tape.files().pop().unwrap_or_default();
    let is_shown = quietly(|| shows_again(&bytes[..], until))?;
    if !is_shown {
        return Err("what was found does not show the fault when it is replayed".to_owned());
    }
    let written = File::create_new(out).and_then(|mut file| {
        file.write_all(&bytes)?;
        file.sync_all()
    });
    written.map_err(|error| format!("{}: {error}", out.display()))?;
    Ok(match arguments.json {
        true => format!("{}\n", as_json(out, &found, bytes.len())),
        false => as_text(arguments, out, &found, bytes.len()),
    })
}

/// Runs with panics untold: they are what is looked for.
fn quietly<T>(run: impl FnOnce() -> T) -> T {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = run();
    std::panic::set_hook(hook);
    result
}

/// Whether the fault shows at the end of a recording that replays to the last byte.
fn shows_again(recording: impl Read, until: &Until) -> Result<bool, String> {
    let mut replay = Replay::new(recording).map_err(|error| error.to_string())?;
    let mut is_shown = false;
    while let Some(step) = replay.next().map_err(|error| error.to_string())? {
        is_shown = until.is_reached(&step, step.at);
        if step.matches == weft_replay::Match::Other {
            return Ok(false);
        }
    }
    Ok(is_shown)
}

fn as_text(arguments: &Arguments, out: &Path, found: &Shortened, bytes: usize) -> String {
    let (before, after, runs) = (found.before, found.after, found.runs);
    let least = match found.is_least {
        true => "none of them can be left out".to_owned(),
        false => format!(
            "time was up after {} s, --within gives more",
            arguments.within
        ),
    };
    let pace = match found.pace {
        Pace::Own => "deadlines come by themselves, plans are ready at once",
        Pace::Recorded => "deadlines and plans come as they were recorded",
    };
    format!(
        "{}: {bytes} bytes\n  inputs: {after} of {before}; {least}\n  {pace}\n  runs: {runs}\n",
        out.display()
    )
}

fn as_json(out: &Path, found: &Shortened, bytes: usize) -> serde_json::Value {
    json!({
        "file": out,
        "bytes": bytes,
        "inputs_before": found.before,
        "inputs": found.after,
        "is_least": found.is_least,
        "own_pace": found.pace == Pace::Own,
        "runs": found.runs,
    })
}
