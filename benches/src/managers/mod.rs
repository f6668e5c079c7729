//! Two managers on one emulated fabric, one after the other: the vendor's `sm` of Debian and
//! `weftd`, both as processes of their own, over the same socket, with the same opafm.xml. What they
//! did and when is read from the emulator, not from their logs.

pub(crate) mod fabric;
pub(crate) mod programs;

use clap::Args;
use weft_fabric::Tick;

use self::fabric::{Fabric, Moment};
use self::programs::{Kind, Manager, Programs};
use crate::Failure;
use crate::table::{Table, millis};

/// What `weft-bench managers` takes.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Hosts of the fat tree, of 48-port switches.
    #[arg(long, default_value_t = 1_152)]
    hosts: u64,
    /// Time that each agent takes for a request, microseconds.
    #[arg(long, default_value_t = 0)]
    latency_us: u64,
    /// Only weftd, or only the vendor's.
    #[arg(long, value_enum)]
    only: Option<Kind>,
    /// Runs of which the fastest of each figure counts.
    #[arg(long, default_value_t = 1)]
    runs: u32,
}

/// What one manager did to one fabric.
#[derive(Debug, Clone, Copy)]
struct Measured {
    first: Work,
    again: Work,
    lost: Work,
    peak_mib: u64,
}

/// A sweep as the fabric saw it.
#[derive(Debug, Clone, Copy)]
struct Work {
    seconds: f64,
    datagrams: u64,
    sets: u64,
}

impl Work {
    fn between((start, end): (Tick, Tick), before: Moment, after: Moment) -> Self {
        Self {
            seconds: end.since(start).as_secs_f64(),
            datagrams: after.datagrams - before.datagrams,
            sets: after.sets - before.sets,
        }
    }

    fn faster(self, other: Self) -> Self {
        if other.seconds < self.seconds {
            other
        } else {
            self
        }
    }
}

/// Measures and prints the table.
///
/// # Errors
/// [`Failure`] when a program is missing or a fabric does not come up.
pub fn run(options: &Options) -> Result<(), Failure> {
    let mut table = Table::new([
        "hosts",
        "agents µs",
        "manager",
        "first sweep ms",
        "datagrams",
        "Sets",
        "re-sweep ms",
        "datagrams",
        "lost link ms",
        "datagrams",
        "Sets",
        "peak MiB",
    ]);
    let kinds = match options.only {
        Some(only) => vec![only],
        None => vec![Kind::Vendor, Kind::Weft],
    };
    let programs = Programs::find(&kinds)?;
    for kind in kinds {
        let mut best: Option<Measured> = None;
        for _ in 0..options.runs.max(1) {
            let measured = measure(&programs, kind, options)?;
            best = Some(best.map_or(measured, |best| best.faster(measured)));
        }
        let Some(best) = best else { continue };
        table.row([
            options.hosts.to_string(),
            options.latency_us.to_string(),
            kind.to_string(),
            millis(best.first.seconds),
            best.first.datagrams.to_string(),
            best.first.sets.to_string(),
            millis(best.again.seconds),
            best.again.datagrams.to_string(),
            millis(best.lost.seconds),
            best.lost.datagrams.to_string(),
            best.lost.sets.to_string(),
            best.peak_mib.to_string(),
        ]);
    }
    print!("{table}");
    Ok(())
}

impl Measured {
    fn faster(self, other: Self) -> Self {
        Self {
            first: self.first.faster(other.first),
            again: self.again.faster(other.again),
            lost: self.lost.faster(other.lost),
            peak_mib: self.peak_mib.min(other.peak_mib),
        }
    }
}

fn measure(programs: &Programs, kind: Kind, options: &Options) -> Result<Measured, Failure> {
    let fabric = Fabric::start(options.hosts, options.latency_us)?;
    let manager = Manager::start(programs, kind, &fabric)?;
    let before = fabric.moment()?;
    let up = fabric.wait_until_up()?;
    let first = Work::between((up.first_at_switch, up.last_set), before, up);

    let before = fabric.moment()?;
    manager.sweep()?;
    let start = fabric.wait_for_work(before)?;
    let done = fabric.wait_until_quiet()?;
    let again = Work::between((start, done.last), before, done);

    let before = fabric.moment()?;
    let cut = fabric.cut_a_link()?;
    let start = fabric.wait_for_work(before)?;
    let around = fabric.wait_until_around(cut)?;
    let lost = Work::between((start, around.last_set), before, around);
    Ok(Measured {
        first,
        again,
        lost,
        peak_mib: manager.peak_mib(),
    })
}
