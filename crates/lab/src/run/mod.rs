//! `weft-lab run`: runs cases of scenarios in parallel, with progress, and resumes from saved outcomes.

pub(crate) mod files;
mod left;
mod parts;
mod seen;
mod sinks;
mod slurm;
mod state;
mod terminal;
mod work;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use crate::experiment::parse::TEXT_MAX;
use crate::experiment::{Registry, Scenario, compare, report, tornado};
use weft_fabric::text::for_terminal;

use parts::Part;
use seen::Seen;
use state::Kept;
use work::Work;

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
    /// Override this setting wherever the files have it: --set "ranks 4"; of sweeps and variables the one of that
    /// name: --set "let hosts 16".
    #[arg(long, value_name = "SETTING")]
    set: Vec<String>,
    /// Show what this metric hangs on: run each case also with each assumed constant of the model at the least and at
    /// the most that it may be, and print how the metric changes; with --svg as plots.
    #[arg(long, value_name = "METRIC")]
    tornado: Option<String>,
    /// Print CSV instead of a table.
    #[arg(long, conflicts_with = "tornado")]
    csv: bool,
    /// Write all results as JSON Lines into this file: also links, ranks, latencies, messages and intervals.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the same results as Parquet into this directory, a file for each kind of them.
    #[arg(long, value_name = "DIR")]
    parquet: Option<PathBuf>,
    /// Write each experiment's plots as SVG into this directory.
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Write tables, and plots if there are any, into this file between its lines
    /// `<!-- results -->` and `<!-- end of results -->` instead of printing them.
    #[arg(long, value_name = "FILE", conflicts_with = "csv")]
    markdown: Option<PathBuf>,
    /// Add the outcome of each case to this file when it has ended; an existing file needs --resume.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Resume from the state file; with --parts, perform here what no part has.
    #[arg(long)]
    resume: bool,
    /// Directory with the outcomes of parts. Without --only they are put together.
    #[arg(long, value_name = "DIR", conflicts_with = "state")]
    parts: Option<PathBuf>,
    /// Wait until the parts have performed all cases, with their progress, and put them together.
    #[arg(long, requires = "parts", conflicts_with_all = ["resume", "only", "slurm"])]
    wait: bool,
    /// Perform only this part of the cases, PART/PARTS as 3/16; `rank`: the part of this process among those that srun or
    /// mpirun has started.
    #[arg(long, value_name = "PART", requires = "parts", conflicts_with_all = ["csv", "json", "parquet", "svg", "markdown"])]
    only: Option<Part>,
    /// Write a Slurm job array of so many parts, and a job that puts them together, into --parts.
    #[arg(long, value_name = "PARTS", requires = "parts", conflicts_with = "only",
        value_parser = clap::value_parser!(u32).range(1..=1_000))]
    slurm: Option<u32>,
    /// Submit both with sbatch instead of printing how to.
    #[arg(long, requires = "slurm")]
    submit: bool,
    /// An option of sbatch for both: --sbatch=--time=1:00:00.
    #[arg(
        long,
        value_name = "OPTION",
        requires = "slurm",
        allow_hyphen_values = true
    )]
    sbatch: Vec<String>,
}

/// Size limit of a file named in a scenario, bytes.
const NAMED_MAX: u64 = 64 << 20;

/// A scenario with its path.
struct Experiment {
    file: PathBuf,
    scenario: Scenario,
}

/// Runs all cases of all scenarios; returns whether all published figures were reproduced, and the
/// text to print.
pub(crate) fn run(arguments: &Arguments, registry: &Registry) -> Result<(bool, String), String> {
    let files = arguments
        .files
        .iter()
        .map(|file| read(file, arguments, registry));
    let experiments = files.collect::<Result<Vec<_>, _>>()?;
    sinks::check(arguments, &experiments)?;
    let all = work::all(&experiments, arguments.seed);
    let cases = work::distinct(&all);
    if let Some(directory) = &arguments.parts {
        if let Some(parts) = arguments.slurm {
            let text = slurm::array(arguments, directory, parts, cases.len())?;
            return Ok((true, text));
        }
        if let Some(part) = arguments.only {
            return Ok((true, parts::perform(arguments, directory, part, &cases)?));
        }
        if arguments.wait {
            work::wait(Seen::new(directory, &cases), cases.len())?;
        }
    }
    let kept = kept(arguments, &cases)?;
    let found = work::perform_open(&cases, arguments, kept, None)?;
    let mut outcomes = work::outcomes(&all, found)?;
    let mut held = true;
    for (experiment, outcomes) in experiments.iter().zip(&mut outcomes) {
        compare(&experiment.scenario, outcomes);
        held &= report::holds(&experiment.scenario, outcomes);
        if let Some(metric) = &arguments.tornado {
            let checked = tornado::check(&experiment.scenario, outcomes, metric);
            let name = experiment.file.display();
            checked.map_err(|error| format!("{name}: --tornado: {error}"))?;
        }
    }
    let text = sinks::write(arguments, &experiments, &outcomes)?;
    Ok((held, text))
}

fn read(file: &Path, arguments: &Arguments, registry: &Registry) -> Result<Experiment, String> {
    let name = file.display();
    let mut text = files::read_text(file, TEXT_MAX as u64)?;
    for setting in &arguments.set {
        text = changed(&text, setting).map_err(|error| format!("{name}: {error}"))?;
    }
    let open = |named: &str| files::read(&file.with_file_name(named), NAMED_MAX);
    let scenario = Scenario::read_with(registry, &text, open);
    let mut scenario = scenario.map_err(|error| format!("{name}: {error}"))?;
    if scenario.title.is_empty() {
        scenario.title = stem(file);
    }
    if let Some(metric) = &arguments.tornado {
        let spread = tornado::spread(&scenario, metric, registry);
        scenario = spread.map_err(|error| format!("{name}: --tornado: {error}"))?;
    }
    Ok(Experiment {
        file: file.to_owned(),
        scenario,
    })
}

/// Returns the file name without its extension.
fn stem(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// Returns the text with a setting replaced on each line that has one of its name; of a variable on that of
/// the same name, of a sweep on those of the same one, or on the only line `sweep` there is.
fn changed(text: &str, setting: &str) -> Result<String, String> {
    let begins_alike = |line: &str, words: usize| {
        let (mut line, mut wanted) = (line.split_whitespace(), setting.split_whitespace());
        (0..words).all(|_| {
            let wanted = wanted.next();
            wanted.is_some() && line.next() == wanted
        })
    };
    let alike = |words: usize| {
        text.lines()
            .filter(|line| begins_alike(line, words))
            .count()
    };
    let by_name = match setting.split_whitespace().next() {
        Some("let") => true,
        Some("sweep") => alike(2) > 0 || alike(1) > 1,
        _ => false,
    };
    let is_meant = |line: &str| begins_alike(line, 1 + usize::from(by_name));
    if !text.lines().any(is_meant) {
        return Err(format!("--set {setting:?}: no line has this setting"));
    }
    let lines = text.lines();
    let lines = lines.map(|line| if is_meant(line) { setting } else { line });
    Ok(lines.map(|line| format!("{line}\n")).collect())
}

/// Outcomes that are there before the work, of the parts or of the state file; and that file, to which others are added.
fn kept(arguments: &Arguments, cases: &[&Work<'_>]) -> Result<Kept, String> {
    match (&arguments.parts, &arguments.state) {
        (Some(directory), _) => parts::all(directory, cases, arguments.resume).map(Kept::from),
        (None, Some(state)) => of_state(state, arguments.resume),
        (None, None) if arguments.resume => {
            Err("--resume is for --state or --parts: name what to go on with".to_owned())
        }
        (None, None) => Ok(Kept::default()),
    }
}

/// Opens the state file, or creates it, which shows that it can be written.
fn of_state(state: &Path, resume: bool) -> Result<Kept, String> {
    if state.exists() && !resume {
        return Err(format!(
            "{} is there already: add --resume to go on with it, or remove it to begin anew",
            state.display()
        ));
    }
    Kept::open(state)
}
