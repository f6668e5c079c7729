//! `weft-lab run`: runs cases of scenarios in parallel, with progress, and resumes from saved outcomes.

pub(crate) mod files;
mod left;
mod sinks;
mod terminal;
mod work;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use weft_fabric::text::for_terminal;
use weft_lab::experiment::outcome_store::OutcomeStore;
use weft_lab::experiment::parse::TEXT_MAX;
use weft_lab::experiment::{Scenario, compare, report};

use files::replace;

/// The text for a terminal; as it is where it goes elsewhere, or is no Markdown.
pub(crate) fn shown(arguments: &Arguments, text: String) -> String {
    let stdout = std::io::stdout();
    match stdout.is_terminal() && !arguments.csv {
        true => {
            let color = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
            terminal::aligned(&for_terminal(&text), color)
        }
        false => for_terminal(&text).into_owned(),
    }
}

/// Arguments of `weft-lab run`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Scenario files.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Random seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Number of cases that run at once.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    /// Threads that share one case of packets by a pattern; they do not affect the result.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: u16,
    /// Override this setting wherever the files have it: --set "ranks 4".
    #[arg(long, value_name = "SETTING")]
    set: Vec<String>,
    /// Print CSV instead of a table.
    #[arg(long)]
    csv: bool,
    /// Write all results, busiest links, and ranks and message times of traffic from files, as JSON Lines into this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write each experiment's plots as SVG into this directory.
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Write tables, and plots if there are any, into this file between its lines
    /// `<!-- results -->` and `<!-- end of results -->` instead of printing them.
    #[arg(long, value_name = "FILE", conflicts_with = "csv")]
    markdown: Option<PathBuf>,
    /// Keep the outcomes of finished cases in this file; an existing file needs --resume.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Resume from the state file.
    #[arg(long, requires = "state")]
    resume: bool,
}

/// Size limit of a file named in a scenario, bytes.
const NAMED_MAX: u64 = 64 << 20;
/// Size limit of a state file, bytes: far above the needs of any set of scenarios.
const STATE_MAX: u64 = 64 << 20;

/// A scenario with its path and text.
struct Experiment {
    file: PathBuf,
    text: String,
    scenario: Scenario,
}

/// Runs all cases of all scenarios; returns whether all published figures were reproduced, and the
/// text to print.
pub(crate) fn run(arguments: &Arguments) -> Result<(bool, String), String> {
    let files = arguments
        .files
        .iter()
        .map(|file| read(file, &arguments.set));
    let experiments = files.collect::<Result<Vec<_>, _>>()?;
    sinks::check(arguments, &experiments)?;
    let kept = kept(arguments)?;
    let mut all = work::perform_all(&experiments, arguments, kept)?;
    let mut held = true;
    for (experiment, outcomes) in experiments.iter().zip(&mut all) {
        compare(&experiment.scenario, outcomes);
        held &= report::holds(&experiment.scenario, outcomes);
    }
    let text = sinks::write(arguments, &experiments, &all)?;
    Ok((held, text))
}

fn read(file: &Path, settings: &[String]) -> Result<Experiment, String> {
    let name = file.display();
    let mut text = files::read_text(file, TEXT_MAX as u64)?;
    for setting in settings {
        text = changed(&text, setting).map_err(|error| format!("{name}: {error}"))?;
    }
    let mut named_files = String::new();
    let open = |named: &str| {
        let content = files::read(&file.with_file_name(named), NAMED_MAX)?;
        let sum = crc32c::crc32c(&content);
        named_files.push_str(&format!("\n{sum:08x}-{:x}", content.len()));
        Ok(content)
    };
    let mut scenario = Scenario::read(&text, open).map_err(|error| format!("{name}: {error}"))?;
    if scenario.title.is_empty() {
        scenario.title = stem(file);
    }
    // A scenario is identified by its contents: a changed file is another scenario.
    text.push_str(&named_files);
    Ok(Experiment {
        file: file.to_owned(),
        text,
        scenario,
    })
}

/// Returns the file name without its extension.
fn stem(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// Returns the text with a setting replaced on each line that has one of its name.
fn changed(text: &str, setting: &str) -> Result<String, String> {
    let name = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let wanted = name(setting);
    let is_meant = |line: &str| wanted.is_some() && name(line) == wanted;
    if !text.lines().any(is_meant) {
        return Err(format!("--set {setting:?}: no line has this setting"));
    }
    let lines = text.lines();
    let lines = lines.map(|line| if is_meant(line) { setting } else { line });
    Ok(lines.map(|line| format!("{line}\n")).collect())
}

/// Reads the state file, or creates it, which shows that it can be written.
fn kept(arguments: &Arguments) -> Result<OutcomeStore, String> {
    let Some(state) = &arguments.state else {
        return Ok(OutcomeStore::default());
    };
    let name = state.display();
    let kept = match (state.exists(), arguments.resume) {
        (false, _) => OutcomeStore::default(),
        (true, true) => {
            let text = files::read_text(state, STATE_MAX)?;
            OutcomeStore::from_text(&text).map_err(|error| format!("{name}: {error}"))?
        }
        (true, false) => {
            return Err(format!(
                "{name} is there already: add --resume to go on with it, or remove it to begin anew"
            ));
        }
    };
    replace(state, &kept.to_text())?;
    Ok(kept)
}
