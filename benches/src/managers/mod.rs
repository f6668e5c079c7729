//! Two managers on one emulated fabric, one after the other: the vendor's `sm` of Debian and
//! `weftd`, each in its own process, over the same socket, with the same opafm.xml. All figures are
//! read from the emulator, not from their logs.

mod attributes;
pub(crate) mod fabric;
mod measure;
pub(crate) mod programs;

use clap::Args;

use self::attributes::Attributes;
use self::measure::{Measured, Work};
use self::programs::{Kind, Programs};
use crate::Failure;
use crate::table::{Table, millis};

/// The largest fabric: takes minutes with the vendor's manager.
const LARGEST: u64 = 27_648;

/// Options of `weft-bench managers`.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Numbers of hosts of the fat trees, of 48-port switches.
    #[arg(long, value_delimiter = ',', default_value = "1152,4608")]
    hosts: Vec<u64>,
    /// Time that each agent takes for a request, microseconds.
    #[arg(long, value_delimiter = ',', default_value = "0,200")]
    latency_us: Vec<u64>,
    /// Also 27,648 hosts: takes many minutes.
    #[arg(long)]
    all: bool,
    /// Only weftd, or only the vendor's manager.
    #[arg(long, value_enum)]
    only: Option<Kind>,
    /// Number of runs; the fastest of each figure counts. The largest fabric is run once.
    #[arg(long, default_value_t = 3)]
    runs: u32,
    /// Also print the attributes that each manager read and wrote.
    #[arg(long)]
    attributes: bool,
}

/// Measures and prints the table.
///
/// # Errors
/// [`Failure`] when a program is missing or a fabric does not come up.
pub fn run(options: &Options) -> Result<(), Failure> {
    let kinds = match options.only {
        Some(only) => vec![only],
        None => vec![Kind::Vendor, Kind::Weft],
    };
    let programs = Programs::find(&kinds)?;
    let mut hosts = options.hosts.clone();
    hosts.extend(options.all.then_some(LARGEST));
    let mut table = new_table();
    let mut attributes = Attributes::default();
    for hosts in hosts {
        for latency_us in &options.latency_us {
            let runs = match hosts {
                LARGEST.. => 1,
                _ => options.runs.max(1),
            };
            let case = Case {
                hosts,
                latency_us: *latency_us,
            };
            case.compare(&programs, &kinds, runs, &mut table, &mut attributes)?;
        }
    }
    print!("{table}");
    if options.attributes {
        print!("\n{attributes}");
    }
    Ok(())
}

/// A fabric to be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Case {
    hosts: u64,
    latency_us: u64,
}

impl Case {
    /// Runs the managers by turns, and reports each run on standard error as it ends; returns a row for
    /// the best of each, and one with the ratio of the first to the second.
    fn compare(
        self,
        programs: &Programs,
        kinds: &[Kind],
        runs: u32,
        table: &mut Table,
        attributes: &mut Attributes,
    ) -> Result<(), Failure> {
        let mut best: Vec<Option<Measured>> = vec![None; kinds.len()];
        for _ in 0..runs {
            for (kind, best) in kinds.iter().zip(&mut best) {
                let measured = measure::measure(programs, *kind, self)?;
                eprintln!("{}", self.row(kind.to_string(), &measured).join(" | "));
                attributes.take(self, *kind, &measured);
                *best = Some(match best.take() {
                    Some(best) => best.best(measured),
                    None => measured,
                });
            }
        }
        let best: Vec<Measured> = best.into_iter().flatten().collect();
        for (kind, best) in kinds.iter().zip(&best) {
            table.row(self.row(kind.to_string(), best));
        }
        if let [vendor, weft] = best.as_slice() {
            table.row(self.factors(vendor, weft));
        }
        Ok(())
    }

    fn row(self, kind: String, measured: &Measured) -> [String; 14] {
        let [first, again, lost] = [&measured.first, &measured.again, &measured.lost].map(cells);
        let [hosts, latency] = [self.hosts, self.latency_us].map(|number| number.to_string());
        let peak = measured.peak_mib.to_string();
        let [first_ms, first_sent, first_sets] = first;
        let [again_ms, again_sent, again_sets] = again;
        let [lost_ms, lost_sent, lost_sets] = lost;
        [
            hosts,
            latency,
            kind,
            first_ms,
            first_sent,
            first_sets,
            again_ms,
            again_sent,
            again_sets,
            lost_ms,
            lost_sent,
            lost_sets,
            peak,
            measured.cpu_ms.to_string(),
        ]
    }

    fn factors(self, vendor: &Measured, weft: &Measured) -> [String; 14] {
        let works = |measured: &Measured| [measured.first, measured.again, measured.lost];
        let pairs = works(vendor).into_iter().zip(works(weft));
        let mut cells = pairs.flat_map(|(vendor, weft)| {
            [
                factor(vendor.seconds, weft.seconds),
                factor(vendor.datagrams as f64, weft.datagrams as f64),
                factor(vendor.sets as f64, weft.sets as f64),
            ]
        });
        let peak = factor(vendor.peak_mib as f64, weft.peak_mib as f64);
        let cpu = factor(vendor.cpu_ms as f64, weft.cpu_ms as f64);
        std::array::from_fn(|place| match place {
            0 => self.hosts.to_string(),
            1 => self.latency_us.to_string(),
            2 => "times less".to_owned(),
            12 => peak.clone(),
            13 => cpu.clone(),
            _ => cells.next().unwrap_or_default(),
        })
    }
}

fn new_table() -> Table {
    Table::new([
        "hosts",
        "agents µs",
        "manager",
        "first sweep ms",
        "datagrams",
        "Sets",
        "re-sweep ms",
        "datagrams",
        "Sets",
        "lost link ms",
        "datagrams",
        "Sets",
        "peak MiB",
        "CPU ms",
    ])
}

fn cells(work: &Work) -> [String; 3] {
    [
        millis(work.seconds),
        work.datagrams.to_string(),
        work.sets.to_string(),
    ]
}

fn factor(vendor: f64, weft: f64) -> String {
    match weft > 0.0 {
        true => format!("{:.1}", vendor / weft),
        false => "-".to_owned(),
    }
}
