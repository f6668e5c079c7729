//! A fabric against its topology file.

use std::sync::Arc;

use weft_fabric::export::write_topology;
use weft_fabric::import::import_topology;
use weft_fabric::intended::{Look, Rules, compare, judge};
use weft_fabric::tree::Tree;
use weft_fabric::{NodeId, Snapshot};

use crate::Failure;
use crate::fabrics::{TreeOptions, new_tree};
use crate::routing::timed;
use crate::table::{Table, millis};

/// Measures and prints the table: reading the file, `weft check topology` against it without the way there, what a
/// sweep adds where every field is enforced, and the check without a file.
///
/// # Errors
/// [`Failure`] when a fabric cannot be made, or differs from its own file, or is no clean tree.
pub fn run(options: &TreeOptions) -> Result<(), Failure> {
    let mut table = Table::new([
        "hosts",
        "file MiB",
        "read ms",
        "compare ms",
        "sweep's part ms",
        "tree ms",
    ]);
    for (hosts, radix) in options.trees() {
        let snapshot = Snapshot {
            topology: Arc::new(new_tree(hosts, radix)?),
            ..Snapshot::default()
        };
        let topology = &*snapshot.topology;
        let mut file = Vec::new();
        write_topology(&snapshot, &mut file).map_err(Failure::io("topology file".to_owned()))?;
        let rules = Rules::all(Look::Enforce);
        let mut least = [f64::INFINITY; 4];
        for _ in 0..options.runs() {
            let (read, intended) = timed(|| import_topology(&file));
            let intended = intended?;
            let (compared, differences) = timed(|| compare(&intended, topology));
            let (judged, judgement) = timed(|| judge(&intended, topology, NodeId(0), &rules));
            let (looked, tree) = timed(|| Tree::of(topology));
            let found = differences.len() + judgement.findings.len() + tree.odd.len();
            if found > 0 {
                return Err(Failure::Unintended { hosts, found });
            }
            for (least, seconds) in least.iter_mut().zip([read, compared, judged, looked]) {
                *least = least.min(seconds);
            }
        }
        let [read, compared, judged, looked] = least.map(millis);
        let size = (file.len() >> 20).to_string();
        table.row([hosts.to_string(), size, read, compared, judged, looked]);
    }
    print!("{table}");
    Ok(())
}
