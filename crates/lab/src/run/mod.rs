//! `weft-lab run`: cases of scenarios, several at once, with progress, kept and gone on with.

mod files;
mod sinks;
mod work;

use std::path::{Path, PathBuf};

use weft_lab::experiment::keep::Kept;
use weft_lab::experiment::parse::TEXT_MAX;
use weft_lab::experiment::{Scenario, compare, report};

use files::replace;

/// What `weft-lab run` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The scenarios.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Seed of all that is random.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Cases that run at once.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    /// Threads that share one case of packets by a pattern; the result does not depend on it.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: u16,
    /// Take this setting instead of every one of the same name in the files: --set "ranks 4".
    #[arg(long, value_name = "SETTING")]
    set: Vec<String>,
    /// Print CSV instead of a table.
    #[arg(long)]
    csv: bool,
    /// Write each experiment's plots as SVG into this directory.
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Write tables, and plots if there are any, into this file between its lines
    /// `<!-- results -->` and `<!-- end of results -->` instead of printing them.
    #[arg(long, value_name = "FILE", conflicts_with = "csv")]
    markdown: Option<PathBuf>,
    /// Keep the outcomes of finished cases in this file; one that is there already needs --resume.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Go on with what the state file has.
    #[arg(long, requires = "state")]
    resume: bool,
}

/// Most bytes of a file that a scenario names.
const NAMED_MAX: u64 = 64 << 20;
/// Most bytes of a state file: far above what all cases of some scenarios need.
const STATE_MAX: u64 = 64 << 20;

/// A scenario with its file and text.
struct Experiment {
    file: PathBuf,
    text: String,
    scenario: Scenario,
}

/// Runs all cases of all scenarios: whether all published figures came out, and what to print.
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
    // What the text is known by: other contents are another scenario.
    text.push_str(&named_files);
    Ok(Experiment {
        file: file.to_owned(),
        text,
        scenario,
    })
}

/// The name of a file without what follows its last point.
fn stem(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// The text with another setting on each line that has one of its name.
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

/// What the state file has; from here on there is one, which shows that it can be written.
fn kept(arguments: &Arguments) -> Result<Kept, String> {
    let Some(state) = &arguments.state else {
        return Ok(Kept::default());
    };
    let name = state.display();
    let kept = match (state.exists(), arguments.resume) {
        (false, _) => Kept::default(),
        (true, true) => {
            let text = files::read_text(state, STATE_MAX)?;
            Kept::from_text(&text).map_err(|error| format!("{name}: {error}"))?
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
