//! A fabric against its topology file.

use std::sync::Arc;

use clap::Args;
use weft_fabric::export::write_topology;
use weft_fabric::import::import_topology;
use weft_fabric::intended::{Look, Rules, compare, judge};
use weft_fabric::{NodeId, Snapshot};

use crate::Failure;
use crate::fabrics::{TREES, new_tree};
use crate::routing::timed;
use crate::table::{Table, millis};

/// Options of `weft-bench intended`.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Only the tree with this many hosts.
    #[arg(long)]
    hosts: Option<u64>,
    /// Number of runs; the fastest counts.
    #[arg(long, default_value_t = 5)]
    runs: u32,
}

/// Measures and prints the table: reading the file, `weft check topology` without the way there, and what a sweep
/// adds where every field is enforced.
///
/// # Errors
/// [`Failure`] when a fabric cannot be made, or differs from its own file.
pub fn run(options: &Options) -> Result<(), Failure> {
    let mut table = Table::new([
        "hosts",
        "file MiB",
        "read ms",
        "compare ms",
        "sweep's part ms",
    ]);
    let wanted = |(hosts, _): &(u64, u8)| options.hosts.is_none_or(|only| only == *hosts);
    for (hosts, radix) in TREES.into_iter().filter(wanted) {
        let snapshot = Snapshot {
            topology: Arc::new(new_tree(hosts, radix)?),
            ..Snapshot::default()
        };
        let topology = &*snapshot.topology;
        let mut file = Vec::new();
        write_topology(&snapshot, &mut file).map_err(Failure::io("topology file".to_owned()))?;
        let rules = Rules::all(Look::Enforce);
        let mut least = [f64::INFINITY; 3];
        for _ in 0..options.runs.max(1) {
            let (read, intended) = timed(|| import_topology(&file));
            let intended = intended?;
            let (compared, differences) = timed(|| compare(&intended, topology));
            let (judged, judgement) = timed(|| judge(&intended, topology, NodeId(0), &rules));
            let found = differences.len() + judgement.findings.len();
            if found > 0 {
                return Err(Failure::Unintended { hosts, found });
            }
            for (least, seconds) in least.iter_mut().zip([read, compared, judged]) {
                *least = least.min(seconds);
            }
        }
        let [read, compared, judged] = least.map(millis);
        let size = (file.len() >> 20).to_string();
        table.row([hosts.to_string(), size, read, compared, judged]);
    }
    print!("{table}");
    Ok(())
}
