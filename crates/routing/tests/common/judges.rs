//! Third-party programs that check tables. With `WEFT_PEERS=required` a missing one fails the test;
//! otherwise it is reported and the check is skipped.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use weft_fabric::export::{SnapshotOptions, opensm, write_snapshot};
use weft_fabric::{Lanes, LinearTables, MulticastTables, PortGroupTables, Snapshot, Topology};

/// Output of a program, `None` if it is missing. Neither of them has a useful exit status.
fn output(command: &mut Command) -> Option<String> {
    let output = weft_peers::output(command)?;
    let text = [output.stdout, output.stderr].concat();
    Some(String::from_utf8_lossy(&text).into_owned())
}

fn report(file: &Path, report: &str) -> Option<String> {
    let mut command = Command::new("opareport");
    output(command.arg("-X").arg(file).args(["-o", report]))
}

/// The fabric as routed judged by opareport: (validateroutes, validatecreditloops).
pub fn opareport(
    topology: &Topology,
    linear: &LinearTables,
    groups: &PortGroupTables,
) -> Option<[String; 2]> {
    let snapshot = Snapshot {
        generation: 1,
        unix_time: 1_700_000_000,
        topology: Arc::new(topology.clone()),
        linear: Arc::new(linear.clone()),
        groups: Arc::new(groups.clone()),
        ..Snapshot::default()
    };
    let file = tempfile::NamedTempFile::new().unwrap();
    write_snapshot(&snapshot, SnapshotOptions::default(), &file).unwrap();
    let routes = report(file.path(), "validateroutes")?;
    Some([routes, report(file.path(), "validatecreditloops")?])
}

/// Findings of ibdmchk.
#[derive(Debug)]
pub struct Checked {
    /// Paths from one HFI to another that it followed.
    pub paths: u64,
    /// Those of them that do not arrive.
    pub missing: u64,
    /// It found a credit loop; not known where paths are missing.
    pub loops: Option<bool>,
    /// Some HFI cannot be reached by cables; then nothing else is known.
    pub unreachable: bool,
    /// All that it said.
    pub text: String,
}

/// Checks the routed fabric with ibdmchk, each lane with a virtual lane of its own. The LMC must
/// be 0: with another one it misses LIDs that the fabric has. It crashes at its end; by then
/// it has printed its findings.
pub fn ibdmchk(topology: &Topology, linear: &LinearTables) -> Option<Checked> {
    let dir = tempfile::tempdir().unwrap();
    let create = |name: &str| File::create(dir.path().join(name)).unwrap();
    opensm::write_subnet_list(topology, create("subnet")).unwrap();
    opensm::write_fdbs(topology, linear, create("fdbs")).unwrap();
    opensm::write_mcfdbs(topology, &MulticastTables::default(), create("mcfdbs")).unwrap();
    write_levels(topology, linear.lanes(), &mut create("levels"));
    let mut command = Command::new("ibdmchk");
    command.current_dir(dir.path()).args(["-s", "subnet"]);
    command.args(["-f", "fdbs", "-m", "mcfdbs", "-c", "levels"]);
    output(&mut command).map(read)
}

/// The service level of each path: the number of its lane.
fn write_levels(topology: &Topology, lanes: &Lanes, out: &mut File) {
    let mut text = String::new();
    let hfis = || topology.end_ports().filter(|(at, ..)| at.port.0 != 0);
    for (from, ..) in hfis() {
        let guid = topology.node(from.node).unwrap().guid();
        for (_, lid, _) in hfis() {
            text += &format!("{:#018x} {} {}\n", guid.0, lid.0, lanes.of(lid));
        }
    }
    out.write_all(text.as_bytes()).unwrap();
}

fn read(text: String) -> Checked {
    let number = |before: &str, after: &str| -> Option<u64> {
        let rest = &text[text.find(before)? + before.len()..];
        rest[..rest.find(after)?].trim().parse().ok()
    };
    let missing = number("-E- Found ", " missing paths");
    let unreachable = text.contains("un-reachable lids");
    let all = number(" missing paths out of:", " paths");
    let paths = all.or_else(|| number("-I- Scanned:", " CA to CA paths"));
    assert!(unreachable || paths.is_some(), "{text}");
    let loops = match (
        text.contains("no credit loops found"),
        text.contains("-E- credit loops"),
    ) {
        (true, false) => Some(false),
        (false, true) => Some(true),
        _ => None,
    };
    Checked {
        paths: paths.unwrap_or(0),
        missing: missing.unwrap_or(0),
        loops,
        unreachable,
        text,
    }
}
