//! The campaign of attacks: each attack, in each configuration, in each fabric, for some seeds.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use weft_fabric::Topology;
use weft_fabric::text::for_terminal;
use weft_testkit::campaign::attacks::{Attack, Guard, Outcome, Told, Verdict, run};

use crate::program::{Failure, Seeds, events_max};
use crate::topologies::topology;

/// Fabrics where none are named: one switch, and two tiers.
const FABRICS: [&str; 2] = ["one-switch:8", "pgft:2;4,6;1,4;1,1"];

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A fabric, as of weftd --emulate, or a file; may be given several times.
    #[arg(long, default_values = FABRICS)]
    fabric: Vec<String>,
    /// Number of an attack in docs/security.md; may be given several times. Without it, all.
    #[arg(long)]
    attack: Vec<Attack>,
    /// Configuration: unchecked, stock, keys or fenced. Without it, all.
    #[arg(long)]
    guard: Vec<Guard>,
    #[command(flatten)]
    seeds: Seeds,
}

/// Runs them and prints a line for each attack and configuration; true if all could be run, and none succeeds in the fenced one.
pub(crate) fn campaign(arguments: &Arguments) -> Result<bool, Failure> {
    let mut output = io::stdout().lock();
    let mut broken = 0;
    for fabric in &arguments.fabric {
        let topology = topology(fabric).map_err(Failure::Told)?;
        writeln!(output, "{}", for_terminal(fabric))?;
        for attack in arguments.attacks() {
            for guard in arguments.guards() {
                let report = report(arguments, *attack, *guard, &topology);
                broken += report.broken;
                output.write_all(report.text.as_bytes())?;
                output.flush()?;
            }
        }
    }
    let what = "succeeded in the fenced configuration, or could not be run";
    writeln!(output, "{broken} {what}")?;
    Ok(broken == 0)
}

impl Arguments {
    fn attacks(&self) -> &[Attack] {
        match self.attack.as_slice() {
            [] => Attack::ALL,
            attacks => attacks,
        }
    }

    fn guards(&self) -> &[Guard] {
        match self.guard.as_slice() {
            [] => &Guard::ALL,
            guards => guards,
        }
    }
}

/// What came of all seeds of an attack.
struct Report {
    /// Those that succeeded in the fenced configuration, or could not be run in any.
    broken: u64,
    text: String,
}

fn report(arguments: &Arguments, attack: Attack, guard: Guard, topology: &Arc<Topology>) -> Report {
    let mut broken = 0;
    let mut ran = false;
    let mut told = Told::Who;
    let mut worst = Verdict::Stopped;
    let mut p99 = Duration::ZERO;
    let mut got = String::new();
    let mut said = String::new();
    for seed in arguments.seeds.all() {
        let outcome = match run(attack, guard, topology, seed) {
            Ok(outcome) => outcome,
            Err(error) => {
                broken += 1;
                said += &format!("    seed {seed}: {error}\n");
                continue;
            }
        };
        ran = true;
        told = told.max(outcome.told);
        p99 = p99.max(outcome.p99);
        let verdict = outcome.verdict();
        let unexpected = guard == Guard::Fenced && verdict == Verdict::Succeeded;
        broken += u64::from(unexpected);
        if verdict >= worst {
            worst = verdict;
            got = outcome.got.clone().unwrap_or_default();
        }
        if arguments.seeds.trace || unexpected {
            said += &described(&outcome, arguments.seeds.trace);
        }
    }
    let got = match got.as_str() {
        "" => String::new(),
        got => format!("    at most: {got}\n"),
    };
    let p99_us = p99.as_secs_f64() * 1e6;
    let outcome = match ran {
        true => format!("{worst:8} {told:13} p99 {p99_us:.1} us"),
        false => "not run".to_owned(),
    };
    let text = format!(
        "  {:38} {guard:9} {outcome}\n{got}{said}",
        attack.to_string()
    );
    Report { broken, text }
}

fn described(outcome: &Outcome, trace: bool) -> String {
    format!(
        "    seed {}, replay: weft-lab attack --attack {} --guard {} --seed {} --trace\n{}",
        outcome.seed,
        outcome.attack.number(),
        outcome.guard,
        outcome.seed,
        outcome.describe(events_max(trace))
    )
}
