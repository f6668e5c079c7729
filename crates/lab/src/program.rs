//! What `weft-lab` does: it runs campaigns and replays their seeds; replays recordings of weftd; runs experiments.

use std::io::{self, Write};
use std::ops::{Range, RangeInclusive};
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use weft_fabric::text::for_terminal;
use weft_manual::Section;
use weft_testkit::campaign::{EVENTS_SHOWN, Outcome, bring_up, election, maintenance};

use crate::experiment::Registry;
use crate::{attacks, faults, replay, run};

/// Runs fault campaigns against the manager, and experiments with traffic, under a virtual
/// clock, from seeds.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Exit codes: 0 all rules and published figures held, a replay did what was recorded; \
                  1 one did not; 2 usage, or what is no recording."
)]
struct Arguments {
    #[command(subcommand)]
    campaign: Campaign,
}

#[derive(Debug, Subcommand)]
enum Campaign {
    /// Bring-up with lost datagrams, and links and switches that die and return.
    BringUp(Seeds),
    /// Several managers that die, freeze, lose power and return.
    Election(Seeds),
    /// Plans, drains and pulled switches on a running fabric, with and without faults.
    Maintenance(Seeds),
    /// Each fault of the catalogue in each state of a fabric, with two managers, their SAs and PMs.
    #[command(mut_arg("seeds", |seeds| seeds.default_value("0..4")))]
    Faults(faults::Arguments),
    /// Attacks of a hostile host on a fabric with two managers, in each of four configurations.
    #[command(mut_arg("seeds", |seeds| seeds.default_value("0..4")))]
    Attack(attacks::Arguments),
    /// Scenarios from files: traffic on a fabric, compared with published measurements.
    Run(run::Arguments),
    /// The manager over a recording of its inputs: the same bytes out, or where they part.
    Replay(replay::Arguments),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Seeds {
    /// Run only this seed.
    #[arg(long, conflicts_with = "seeds")]
    pub(crate) seed: Option<u64>,
    /// Run this range of seeds, FIRST..END.
    #[arg(long, default_value = "0..256", value_parser = parse_seeds)]
    seeds: Range<u64>,
    /// Print the manager's events for every seed.
    #[arg(long)]
    pub(crate) trace: bool,
}

impl Seeds {
    /// Never empty: [`parse_seeds`] refuses that.
    pub(crate) fn all(&self) -> RangeInclusive<u64> {
        match self.seed {
            Some(seed) => seed..=seed,
            None => self.seeds.start..=self.seeds.end - 1,
        }
    }
}

fn parse_seeds(text: &str) -> Result<Range<u64>, String> {
    let parse = |(first, end): (&str, &str)| Some(first.parse().ok()?..end.parse().ok()?);
    let range: Option<Range<u64>> = text.split_once("..").and_then(parse);
    let range = range.filter(|range| !range.is_empty());
    range.ok_or_else(|| format!("{text:?} is no range of seeds, wanted FIRST..END such as 0..256"))
}

/// Why the program ends early.
pub(crate) enum Failure {
    /// An error message.
    Told(String),
    Output(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// The program `weft-lab` on the process's arguments, where scenarios can name what is in `registry`.
pub fn main_with(registry: &Registry) -> ExitCode {
    if let Some(code) = weft_manual::write_if_asked(Arguments::command(), Section::Commands) {
        return code;
    }
    let error = match perform(Arguments::parse().campaign, registry) {
        Ok(held) => return ExitCode::from(u8::from(!held)),
        // The reader of the output has gone.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            return ExitCode::SUCCESS;
        }
        Err(Failure::Output(error)) => format!("cannot write: {error}"),
        Err(Failure::Told(what)) => what,
    };
    // If standard error cannot be written, the exit code remains.
    let _ = writeln!(io::stderr(), "weft-lab: {}", for_terminal(&error));
    ExitCode::from(2)
}

/// Whether all rules and published figures held.
fn perform(campaign: Campaign, registry: &Registry) -> Result<bool, Failure> {
    match campaign {
        Campaign::BringUp(seeds) => each(&seeds, |seed| {
            let outcome = bring_up::run(seed).map_err(|error| error.to_string())?;
            Ok((outcome.breaches.is_empty(), report(&outcome, seeds.trace)))
        }),
        Campaign::Election(seeds) => each(&seeds, |seed| {
            let outcome = election::run(seed).map_err(|error| error.to_string())?;
            let text = report_election(&outcome, seeds.trace);
            Ok((outcome.breaches.is_empty(), text))
        }),
        Campaign::Maintenance(seeds) => each(&seeds, |seed| {
            let outcome = maintenance::run(seed).map_err(|error| error.to_string())?;
            let text = report_maintenance(&outcome, seeds.trace);
            Ok((outcome.breaches.is_empty(), text))
        }),
        Campaign::Faults(arguments) => faults::campaign(&arguments),
        Campaign::Attack(arguments) => attacks::campaign(&arguments),
        Campaign::Replay(arguments) => {
            let (held, text) = replay::run(&arguments).map_err(Failure::Told)?;
            io::stdout().write_all(for_terminal(&text).as_bytes())?;
            Ok(held)
        }
        Campaign::Run(arguments) => {
            let (held, text) = run::run(&arguments, registry).map_err(Failure::Told)?;
            io::stdout().write_all(run::shown(&arguments, text).as_bytes())?;
            Ok(held)
        }
    }
}

/// Runs every seed and prints its result; true if all rules held.
fn each(
    seeds: &Seeds,
    run: impl Fn(u64) -> Result<(bool, String), String>,
) -> Result<bool, Failure> {
    let mut output = io::stdout().lock();
    let (mut all, mut broken) = (0, 0);
    for seed in seeds.all() {
        let (held, text) = run(seed).unwrap_or_else(|error| {
            let text = format!("seed {seed}: {error}\n");
            (false, text)
        });
        all += 1;
        broken += u64::from(!held);
        output.write_all(text.as_bytes())?;
    }
    writeln!(output, "{all} seeds, {broken} broken")?;
    Ok(broken == 0)
}

fn report_election(outcome: &election::Outcome, trace: bool) -> String {
    let seed = outcome.scenario.seed;
    let after = outcome.converged.iter();
    let after: Vec<String> = after
        .map(|after| format!("{:.1} s", after.as_secs_f64()))
        .collect();
    let text = match outcome.breaches.len() {
        0 => format!("seed {seed}: one master after {}\n", after.join(", ")),
        broken => format!("seed {seed}: {broken} rules broken\n"),
    };
    match trace || !outcome.breaches.is_empty() {
        true => text + &outcome.describe(),
        false => text,
    }
}

/// Number of events in a report.
pub(crate) fn events_max(trace: bool) -> usize {
    match trace {
        true => usize::MAX,
        false => EVENTS_SHOWN,
    }
}

fn report_maintenance(outcome: &maintenance::Outcome, trace: bool) -> String {
    let seed = outcome.scenario.seed;
    let rounds = outcome.scenario.rounds.len();
    let text = match outcome.breaches.len() {
        0 => format!("seed {seed}: {rounds} rounds\n"),
        broken => format!("seed {seed}: {broken} rules broken\n"),
    };
    match trace || !outcome.breaches.is_empty() {
        true => text + &outcome.describe(events_max(trace)),
        false => text,
    }
}

fn report(outcome: &Outcome, trace: bool) -> String {
    let seed = outcome.scenario.seed;
    let text = match outcome.converged {
        Some(after) if outcome.breaches.is_empty() => format!(
            "seed {seed}: converged after {:.3} s, {} sweeps, {} requests, loudest sweep {:.2} of a clean one\n",
            after.as_secs_f64(),
            outcome.sweeps,
            outcome.sent,
            outcome.loudest
        ),
        _ => format!("seed {seed}: {} rules broken\n", outcome.breaches.len()),
    };
    match trace || !outcome.breaches.is_empty() {
        true => text + &outcome.describe(events_max(trace)),
        false => text,
    }
}
