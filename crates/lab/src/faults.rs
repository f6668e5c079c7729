//! The campaign of single faults: each fault, in each state, in each fabric, for some seeds.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use weft_fabric::Topology;
use weft_fabric::text::for_terminal;
use weft_testkit::campaign::faults::{Cell, Fault, Outcome, State, run};

use crate::program::{Failure, Seeds};
use crate::topologies::topology;

/// Fabrics where none are named: one switch, and two tiers.
const FABRICS: [&str; 2] = ["one-switch:6", "pgft:2;4,6;1,4;1,1"];

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A fabric, as of weftd --emulate, or a file; may be given several times.
    #[arg(long, default_values = FABRICS)]
    fabric: Vec<String>,
    /// Number of a fault; may be given several times. Without it, all.
    #[arg(long)]
    fault: Vec<Fault>,
    /// State when the fault begins: idle, load, sweep or failover; may be given several times. Without it, all.
    #[arg(long)]
    state: Vec<State>,
    #[command(flatten)]
    seeds: Seeds,
}

/// Runs every cell and prints a line for each, and what broke; true if all rules held.
pub(crate) fn campaign(arguments: &Arguments) -> Result<bool, Failure> {
    let mut output = io::stdout().lock();
    let (mut all, mut broken) = (0, 0);
    for fabric in &arguments.fabric {
        let topology = topology(fabric).map_err(Failure::Told)?;
        writeln!(output, "{}", for_terminal(fabric))?;
        for cell in arguments.cells(&topology) {
            let told = told(arguments, cell, &topology);
            all += told.seeds;
            broken += told.broken;
            output.write_all(told.text.as_bytes())?;
            output.flush()?;
        }
    }
    writeln!(output, "{all} runs, {broken} broken")?;
    Ok(broken == 0)
}

impl Arguments {
    fn cells(&self, topology: &Topology) -> Vec<Cell> {
        let faults = match self.fault.as_slice() {
            [] => Fault::ALL,
            faults => faults,
        };
        let states = match self.state.as_slice() {
            [] => &State::ALL,
            states => states,
        };
        let of = |fault: Fault| {
            states.iter().map(move |state| Cell {
                fault,
                state: *state,
            })
        };
        let cells = faults.iter().flat_map(|fault| of(*fault));
        cells.filter(|cell| cell.fits(topology)).collect()
    }
}

/// What came of a cell.
struct Told {
    seeds: u64,
    broken: u64,
    text: String,
}

fn told(arguments: &Arguments, cell: Cell, topology: &Arc<Topology>) -> Told {
    let (mut seeds, mut broken) = (0, 0);
    let mut slowest = Duration::ZERO;
    let mut said = String::new();
    for seed in arguments.seeds.all() {
        seeds += 1;
        match run(cell, topology, seed) {
            Ok(outcome) => {
                slowest = slowest.max(outcome.converged.unwrap_or_default());
                broken += u64::from(!outcome.breaches.is_empty());
                if arguments.seeds.trace || !outcome.breaches.is_empty() {
                    said += &described(&outcome, arguments.seeds.trace);
                }
            }
            Err(error) => {
                broken += 1;
                said += &format!("  seed {seed}: {error}\n");
            }
        }
    }
    let held = seeds - broken;
    let fault = cell.fault.to_string();
    let text = format!(
        "  {fault:32} {:8} {held:>5} of {seeds} held, at most {:.1} s\n{said}",
        cell.state.name(),
        slowest.as_secs_f64()
    );
    Told {
        seeds,
        broken,
        text,
    }
}

fn described(outcome: &Outcome, trace: bool) -> String {
    format!(
        "  seed {}, replay: weft-lab faults --fault {} --state {} --seed {} --trace\n{}",
        outcome.seed,
        outcome.cell.fault.number(),
        outcome.cell.state.name(),
        outcome.seed,
        outcome.describe(crate::program::events_max(trace))
    )
}
