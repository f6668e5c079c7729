//! Two managers on one emulated fabric, of which the master dies in several ways: `weftd` as a pair, beside the vendor's
//! `sm`, and in its place, each in its own process, with the same opafm.xml. All figures are read from the emulator, and
//! from answers to hosts, not from the managers' logs.

mod daemon;
mod death;
mod hosts;
mod packets;
mod pair;
mod relay;
mod watch;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use clap::{Args, ValueEnum};

use self::death::Death;
use self::pair::{Outcome, Pair};
use crate::Failure;
use crate::managers::programs::{Kind, Programs, VENDOR};
use crate::table::Table;

/// Options of `weft-bench failover`.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Number of hosts of the fat tree, of 48-port switches.
    #[arg(long, default_value_t = 1_152)]
    hosts: u64,
    /// Only pairs with this master and this standby.
    #[arg(long, value_enum, num_args = 2, value_names = ["MASTER", "STANDBY"])]
    only: Option<Vec<Kind>>,
    /// Only these kinds of death.
    #[arg(long, value_enum, value_delimiter = ',')]
    deaths: Vec<Death>,
    /// Number of runs of each.
    #[arg(long, default_value_t = 1)]
    runs: u32,
}

/// Master and standby.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kinds([Kind; 2]);

impl Kinds {
    const ALL: [Self; 4] = [
        Self([Kind::Weft, Kind::Weft]),
        Self([Kind::Weft, Kind::Vendor]),
        Self([Kind::Vendor, Kind::Weft]),
        Self([Kind::Vendor, Kind::Vendor]),
    ];

    fn is_pair(self) -> bool {
        self.0 == [Kind::Weft; 2]
    }
}

impl fmt::Display for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([master, standby]) = self;
        write!(f, "{master} → {standby}")
    }
}

/// Why a cell of the table is not measured; none where it can be.
fn missing(kinds: Kinds, death: Death) -> Option<&'static str> {
    let [master, _] = kinds.0;
    if kinds.0.contains(&Kind::Vendor) && !Path::new(VENDOR).exists() {
        return Some("opa-fm is not on this machine");
    }
    match death {
        Death::ChannelCut if !kinds.is_pair() => Some("opa-fm has no such channel"),
        // Its priority is elevated only once it has taken over.
        Death::Handover if master == Kind::Vendor => {
            Some("opa-fm hands over by itself once a better standby has a copy")
        }
        _ => None,
    }
}

/// Measures and prints the table; each run is reported on standard error as it ends. What cannot be measured, and a run
/// that fails, have a row that says why.
///
/// # Errors
/// [`Failure`] when a program of Weft is missing; after the table, the first failure of a run.
pub fn run(options: &Options) -> Result<(), Failure> {
    let only = options.only.as_deref();
    let wanted = |kinds: &Kinds| only.is_none_or(|only| kinds.0 == *only);
    let programs = Programs::find(&[Kind::Weft])?;
    let mut table = Table::new(HEADS);
    let mut failed = None;
    for kinds in Kinds::ALL.into_iter().filter(wanted) {
        let wanted = |death: &Death| options.deaths.is_empty() || options.deaths.contains(death);
        for death in Death::value_variants().iter().copied().filter(wanted) {
            let missing = missing(kinds, death);
            let runs = if missing.is_some() { 1 } else { options.runs };
            for _ in 0..runs.max(1) {
                let cells = match missing {
                    Some(why) => Err(why.to_owned()),
                    None => Pair::start(&programs, kinds.0, options.hosts, death)
                        .and_then(|pair| pair.dies(death))
                        .map_err(|failure| {
                            let why = failure.to_string();
                            failed.get_or_insert(failure);
                            why
                        }),
                };
                let cells = row(options.hosts, kinds, death, cells);
                eprintln!("{}", cells.join(" | "));
                table.row(cells);
            }
        }
    }
    print!("{table}");
    failed.map_or(Ok(()), Err)
}

const HEADS: [&str; 12] = [
    "hosts",
    "master → standby",
    "death",
    "looks ms",
    "first Set ms",
    "all ports know ms",
    "SA answers ms",
    "Sets",
    "left Active",
    "memberships lost",
    "asked again",
    "packets lost of",
];

fn row(
    hosts: u64,
    kinds: Kinds,
    death: Death,
    outcome: Result<Outcome, String>,
) -> [String; HEADS.len()] {
    let time = |time: Option<Duration>| {
        time.map_or_else(|| "-".to_owned(), |time| time.as_millis().to_string())
    };
    let of = [hosts.to_string(), kinds.to_string(), death.to_string()];
    let measured = match outcome {
        Ok(outcome) => [
            time(outcome.noticed),
            time(outcome.acted),
            time(outcome.known),
            time(outcome.answered),
            outcome.sets.to_string(),
            outcome.left_active.to_string(),
            outcome.lost.to_string(),
            outcome.asked_again.to_string(),
            format!("{} of {}", outcome.packets_lost, outcome.sent),
        ],
        Err(why) => {
            let mut cells = [const { String::new() }; HEADS.len() - 3];
            cells[0] = why;
            cells
        }
    };
    let mut cells = of.into_iter().chain(measured);
    std::array::from_fn(|_| cells.next().unwrap_or_default())
}
