//! `weft-lab`: runs campaigns and replays their seeds; runs experiments.

mod run;

use std::ops::Range;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use weft_lab::campaign::{EVENTS_SHOWN, Outcome, bring_up, election, maintenance};

/// Runs campaigns of faults against the manager, and experiments with traffic, under a virtual
/// clock, from seeds.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Exit codes: 0 all rules and published figures held, 1 one did not, 2 usage."
)]
struct Arguments {
    #[command(subcommand)]
    campaign: Campaign,
}

#[derive(Debug, Subcommand)]
enum Campaign {
    /// Bring-up while datagrams are lost and links and switches die and return.
    BringUp(Seeds),
    /// Several managers that die, freeze, lose their power and return.
    Election(Seeds),
    /// Plans, drains and pulled switches on a running fabric, in quiet and under fire.
    Maintenance(Seeds),
    /// Scenarios from files: traffic on a fabric, measured beside what was published.
    Run(run::Arguments),
}

#[derive(Debug, clap::Args)]
struct Seeds {
    /// Run this seed alone.
    #[arg(long, conflicts_with = "seeds")]
    seed: Option<u64>,
    /// Run these seeds, FIRST..END.
    #[arg(long, default_value = "0..256", value_parser = parse_seeds)]
    seeds: Range<u64>,
    /// Print what the manager told, for every seed.
    #[arg(long)]
    trace: bool,
}

fn parse_seeds(text: &str) -> Result<Range<u64>, String> {
    let parse = |(first, end): (&str, &str)| Some(first.parse().ok()?..end.parse().ok()?);
    let range: Option<Range<u64>> = text.split_once("..").and_then(parse);
    let range = range.filter(|range| !range.is_empty());
    range.ok_or_else(|| format!("{text:?} is no range of seeds, wanted FIRST..END such as 0..256"))
}

fn main() -> ExitCode {
    match Arguments::parse().campaign {
        Campaign::BringUp(seeds) => each(&seeds, |seed| {
            let outcome = bring_up::run(seed).map_err(|error| error.to_string())?;
            report(&outcome, seeds.trace);
            Ok(outcome.breaches.is_empty())
        }),
        Campaign::Election(seeds) => each(&seeds, |seed| {
            let outcome = election::run(seed).map_err(|error| error.to_string())?;
            report_election(&outcome, seeds.trace);
            Ok(outcome.breaches.is_empty())
        }),
        Campaign::Maintenance(seeds) => each(&seeds, |seed| {
            let outcome = maintenance::run(seed).map_err(|error| error.to_string())?;
            report_maintenance(&outcome, seeds.trace);
            Ok(outcome.breaches.is_empty())
        }),
        Campaign::Run(arguments) => match run::run(&arguments) {
            Ok(held) => ExitCode::from(u8::from(!held)),
            Err(error) => {
                eprintln!("weft-lab: {error}");
                ExitCode::from(2)
            }
        },
    }
}

/// Runs every seed; each says whether all rules held.
fn each(seeds: &Seeds, run: impl Fn(u64) -> Result<bool, String>) -> ExitCode {
    let range = seeds
        .seed
        .map_or(seeds.seeds.clone(), |seed| seed..seed + 1);
    let mut broken = 0;
    for seed in range.clone() {
        match run(seed) {
            Ok(held) => broken += u64::from(!held),
            Err(error) => {
                broken += 1;
                println!("seed {seed}: {error}");
            }
        }
    }
    println!("{} seeds, {broken} broken", range.end - range.start);
    ExitCode::from(u8::from(broken > 0))
}

fn report_election(outcome: &election::Outcome, trace: bool) {
    let seed = outcome.scenario.seed;
    let after = outcome.converged.iter();
    let after: Vec<String> = after
        .map(|after| format!("{:.1} s", after.as_secs_f64()))
        .collect();
    match outcome.breaches.len() {
        0 => println!("seed {seed}: one master after {}", after.join(", ")),
        broken => println!("seed {seed}: {broken} rules broken"),
    }
    if trace || !outcome.breaches.is_empty() {
        print!("{}", outcome.describe());
    }
}

/// How many events a report shows.
fn events_max(trace: bool) -> usize {
    match trace {
        true => usize::MAX,
        false => EVENTS_SHOWN,
    }
}

fn report_maintenance(outcome: &maintenance::Outcome, trace: bool) {
    let seed = outcome.scenario.seed;
    let rounds = outcome.scenario.rounds.len();
    match outcome.breaches.len() {
        0 => println!("seed {seed}: {rounds} rounds"),
        broken => println!("seed {seed}: {broken} rules broken"),
    }
    if trace || !outcome.breaches.is_empty() {
        print!("{}", outcome.describe(events_max(trace)));
    }
}

fn report(outcome: &Outcome, trace: bool) {
    let seed = outcome.scenario.seed;
    match outcome.converged {
        Some(after) if outcome.breaches.is_empty() => println!(
            "seed {seed}: converged after {:.3} s, {} sweeps, {} datagrams",
            after.as_secs_f64(),
            outcome.sweeps,
            outcome.sent
        ),
        _ => println!("seed {seed}: {} rules broken", outcome.breaches.len()),
    }
    if trace || !outcome.breaches.is_empty() {
        print!("{}", outcome.describe(events_max(trace)));
    }
}
