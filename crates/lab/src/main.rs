//! `weft-lab`: runs campaigns and replays their seeds.

use std::ops::Range;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use weft_lab::campaign::{Outcome, bring_up};

/// Runs campaigns of faults against the manager, under a virtual clock, from seeds.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Exit codes: 0 all rules held, 1 one was broken, 2 usage."
)]
struct Arguments {
    #[command(subcommand)]
    campaign: Campaign,
}

#[derive(Debug, Subcommand)]
enum Campaign {
    /// Bring-up while datagrams are lost and links and switches die and return.
    BringUp {
        /// Run this seed alone.
        #[arg(long, conflicts_with = "seeds")]
        seed: Option<u64>,
        /// Run these seeds, FIRST..END.
        #[arg(long, default_value = "0..256", value_parser = parse_seeds)]
        seeds: Range<u64>,
        /// Print what the manager told, for every seed.
        #[arg(long)]
        trace: bool,
    },
}

fn parse_seeds(text: &str) -> Result<Range<u64>, String> {
    let parse = |(first, end): (&str, &str)| Some(first.parse().ok()?..end.parse().ok()?);
    let range: Option<Range<u64>> = text.split_once("..").and_then(parse);
    let range = range.filter(|range| !range.is_empty());
    range.ok_or_else(|| format!("{text:?} is no range of seeds, wanted FIRST..END such as 0..256"))
}

fn main() -> ExitCode {
    let Campaign::BringUp { seed, seeds, trace } = Arguments::parse().campaign;
    let seeds = seed.map_or(seeds, |seed| seed..seed + 1);
    let mut broken = 0;
    for seed in seeds.clone() {
        match bring_up::run(seed) {
            Ok(outcome) => {
                broken += u64::from(!outcome.breaches.is_empty());
                report(&outcome, trace);
            }
            Err(error) => {
                broken += 1;
                println!("seed {seed}: {error}");
            }
        }
    }
    println!("{} seeds, {broken} broken", seeds.end - seeds.start);
    ExitCode::from(u8::from(broken > 0))
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
        let events_max = if trace {
            usize::MAX
        } else {
            bring_up::EVENTS_SHOWN
        };
        print!("{}", outcome.describe(events_max));
    }
}
