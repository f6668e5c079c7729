//! Subnet administration at the start of a job: every host of a fabric requests paths at the same time.
//! The vendor's manager and `weftd` answer on the same emulated fabric, over the same socket, one
//! after the other; the fabric, its clients and the manager share this machine's cores.

mod client;
mod load;
mod question;

use std::fmt::Display;
use std::io;

use clap::Args;

use self::load::{Asked, Load};
use self::question::Question;
use crate::Failure;
use crate::managers::fabric::Fabric;
use crate::managers::programs::{Kind, Manager, Programs};
use crate::memory::cpu_ms;
use crate::table::{Table, millis};

/// Options of `weft-bench sa`.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Number of hosts of the fat tree, of 48-port switches; each is a client.
    #[arg(long, default_value_t = 1_152)]
    hosts: u64,
    /// Number of paths that each client requests, one after the other.
    #[arg(long, default_value_t = 100)]
    paths: u32,
    /// Number of tables of all paths from itself that each client requests, one after the other.
    #[arg(long, default_value_t = 1)]
    tables: u32,
    /// Only weftd, or only the vendor's manager.
    #[arg(long, value_enum)]
    only: Option<Kind>,
    /// Number of runs; the one with the most queries per second counts.
    #[arg(long, default_value_t = 1)]
    runs: u32,
}

/// Measures and prints the table.
///
/// # Errors
/// [`Failure`] when a program is missing, a fabric does not come up, or an answer is wrong.
pub fn run(options: &Options) -> Result<(), Failure> {
    let kinds = match options.only {
        Some(only) => vec![only],
        None => vec![Kind::Vendor, Kind::Weft],
    };
    let programs = Programs::find(&kinds)?;
    let mut table = Table::new([
        "manager",
        "request",
        "clients",
        "queries",
        "queries/s",
        "median ms",
        "99 % ms",
        "slowest ms",
        "retries",
        "BUSY",
        "manager µs/query",
        "the rest µs/query",
    ]);
    for kind in kinds {
        for (question, asked) in measure(&programs, kind, options)? {
            table.row([
                kind.to_string(),
                question.to_string(),
                options.hosts.to_string(),
                asked.latencies.len().to_string(),
                format!("{:.0}", asked.per_second()),
                millis(asked.quantile(0.5)),
                millis(asked.quantile(0.99)),
                millis(asked.quantile(1.0)),
                asked.again.to_string(),
                asked.busy.to_string(),
                format!("{:.1}", asked.micros_each(asked.manager_ms)),
                format!("{:.1}", asked.micros_each(asked.rest_ms)),
            ]);
        }
    }
    print!("{table}");
    Ok(())
}

/// CPU time between two readings, milliseconds; none for a process that has ended.
fn spent(whose: impl Display, before: u64, after: u64) -> Result<u64, Failure> {
    let ended = || io::Error::other("it has ended");
    let spent = after.checked_sub(before).ok_or_else(ended);
    spent.map_err(Failure::io(format!("time of {whose} on the cores")))
}

/// Lets a manager bring up a fabric, and all its hosts send requests.
fn measure(
    programs: &Programs,
    kind: Kind,
    options: &Options,
) -> Result<Vec<(Question, Asked)>, Failure> {
    let fabric = Fabric::start(options.hosts, 0)?;
    let manager = Manager::start(programs, kind, &fabric)?;
    let mut load = Load::attach(options.hosts, fabric.address())?;
    let mut measured = Vec::new();
    for (question, count) in [
        (Question::Path, options.paths),
        (Question::PathsToAll, options.tables),
    ] {
        let runs = (0..options.runs.max(1)).map(|_| {
            let before = (manager.cpu_ms(), cpu_ms("self"));
            let mut asked = load.run(question, count)?;
            asked.manager_ms = spent(kind, before.0, manager.cpu_ms())?;
            asked.rest_ms = spent("the rest", before.1, cpu_ms("self"))?;
            Ok(asked)
        });
        let runs = runs.collect::<Result<Vec<Asked>, Failure>>()?;
        let best = runs
            .into_iter()
            .filter(|asked| !asked.latencies.is_empty())
            .max_by(|a, b| a.per_second().total_cmp(&b.per_second()));
        measured.extend(best.map(|asked| (question, asked)));
    }
    Ok(measured)
}
