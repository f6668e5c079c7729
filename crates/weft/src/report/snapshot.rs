//! `weft report snapshot`: the fabric as a file, as `opareport -o snapshot` writes it.

use std::process::ExitCode;

use weft_fabric::export::{SnapshotOptions, write_snapshot};
use weft_fabric::import::SnapshotParts;
use weft_report::{Extent, Needs};

use super::load;
use crate::args::{Args, Report, SNAPSHOT};
use crate::error::CliError;
use crate::errors;
use crate::output;

/// What the file has besides nodes, links and forwarding tables.
const PARTS: [Needs; 3] = [Needs::MulticastTables, Needs::Administration, Needs::Cables];

/// Writes the fabric of the daemon, with -s the counters of ports, with -V their tables; that of a file as it is.
pub(super) async fn write(all: &Args, args: &Report) -> Result<ExitCode, CliError> {
    check(args)?;
    let mut needs = PARTS.to_vec();
    needs.extend(args.vl_tables.then_some(Needs::PortTables));
    let (mut snapshot, then_ms) = load(&all.daemon, args, &needs, SnapshotParts::ALL).await?;
    if args.snapshot.is_none() && args.stats {
        snapshot.counts = Some(errors::totals(&all.daemon, &snapshot, then_ms).await?);
    }
    let options = SnapshotOptions {
        port_tables: args.vl_tables || args.snapshot.is_some(),
        ..SnapshotOptions::default()
    };
    let sink = output::sink(None)?;
    write_snapshot(&snapshot, options, sink)?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses what a file of the whole fabric does not take.
fn check(args: &Report) -> Result<(), CliError> {
    let named = args.names.len() + args.output.len();
    let given = [
        ("other reports", named > 1),
        (
            "a focus (-F, -Q, -L)",
            args.focus.is_some() || args.quietfocus,
        ),
        ("a source or destination (-S, -D)", args.dest.is_some()),
        ("a topology file (-T)", args.topology.is_some()),
        ("-N, as it is for programs", args.noname),
        (
            "an interval or times (-i, -b, -e)",
            args.interval.is_some() || args.begin.is_some() || args.end.is_some(),
        ),
        ("--json or --plain", args.json || args.plain),
        ("-C and -a", args.clear.wanted().is_some()),
        ("-P and -H", args.shown.extent() != Extent::All),
    ];
    if let Some((option, why)) = args.of_opareport.refused() {
        return Err(CliError::Usage(format!(
            "{option} of opareport is not there: {why}"
        )));
    }
    match given.into_iter().find(|(_, given)| *given) {
        Some((what, _)) => Err(CliError::Usage(format!("{SNAPSHOT} does not take {what}"))),
        None => Ok(()),
    }
}
