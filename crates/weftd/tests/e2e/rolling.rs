//! One version after another: the state that an earlier one wrote is read, that of a later one is refused, and a master
//! hands on a state that the version before it reads. `tests/data/state-5` is a state directory of format version 5,
//! whose LIDs are no manager's own choice.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::harness::{Daemon, Start, data, stock_config, text};
use crate::pair::Pair;
use crate::process::output;

/// The fabric of the stored state.
pub(crate) const TREE: &str = "fattree:16,radix=8";
/// Where the format version is in the state, in the registrations and in the totals of counters.
const VERSION: std::ops::Range<usize> = 8..12;

/// A directory with the earlier state.
pub(crate) fn earlier() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::copy(stock_config(), dir.path().join("opafm.xml")).unwrap();
    let state = dir.path().join("state");
    fs::create_dir(&state).unwrap();
    for entry in fs::read_dir(data("state-5")).unwrap() {
        let file = entry.unwrap();
        fs::copy(file.path(), state.join(file.file_name())).unwrap();
    }
    dir
}

fn version(file: &Path) -> u32 {
    version_of(&fs::read(file).unwrap())
}

/// Format version of a state, of registrations or of totals.
pub(crate) fn version_of(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes[VERSION].try_into().unwrap())
}

/// Writes a later version than any that there is into a file.
fn make_later(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    make_later_bytes(&mut bytes);
    fs::write(file, bytes).unwrap();
}

pub(crate) fn make_later_bytes(bytes: &mut [u8]) {
    bytes[VERSION].copy_from_slice(&99_u32.to_be_bytes());
}

pub(crate) fn has_all(daemon: &Daemon) {
    let lids = daemon.weft_ok(&["report", "lids"]);
    for (lid, name) in [
        ("0x0200", "node1 hfi1_0"),
        ("0x0203", "node2 hfi1_0"),
        ("0x0230", "edge1"),
    ] {
        let shown = lids
            .lines()
            .any(|line| line.contains(lid) && line.contains(name));
        assert!(shown, "{name} has LID {lid}:\n{lids}");
    }
    let disabled = daemon.weft_ok(&["port", "list", "--disabled"]);
    assert!(disabled.contains("a bad cable"), "{disabled}");
    assert_eq!(
        daemon.weft_ok(&["route", "drains"]),
        "core2: safe to pull\n"
    );
    let barred = daemon.weft_ok(&["quarantine", "list"]);
    assert!(
        barred.contains("edge2") && barred.contains("it flaps"),
        "{barred}"
    );
}

#[test]
fn the_state_of_the_version_before_is_read_and_nothing_of_it_is_lost() {
    let dir = earlier();
    assert_eq!(version(&dir.path().join("state/state.0")), 5);
    let daemon = Start::in_dir(dir, TREE).up();
    has_all(&daemon);
    let log = daemon.log();
    for words in [
        "cannot be used",
        "cannot be read",
        "no registrations are stored",
    ] {
        assert!(!log.contains(words), "{log}");
    }
    // Back to the version before: what this one has written is in its format.
    let (code, dir) = daemon.stop();
    assert_eq!(code, Some(0));
    assert_eq!(version(&dir.path().join("state/state.0")), 5);
}

#[test]
fn the_state_of_a_later_version_is_refused_and_stays_as_it_is() {
    let dir = earlier();
    let state = dir.path().join("state");
    let file = state.join("state.0");
    make_later(&file);
    let before = fs::read(&file).unwrap();
    let mut start = Start::in_dir(dir, TREE);
    let refused = output(&mut start.command);
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(6), "{said}");
    let words = "was written by a newer weftd (format 99, this one reads up to 6)";
    assert!(said.contains(words), "{said}");
    let state = start.dir.path().join("state");
    for kept in ["state.0", "state.0.format99"] {
        assert_eq!(fs::read(state.join(kept)).unwrap(), before, "{kept}");
    }
}

#[test]
fn registrations_and_counters_of_a_later_version_are_told_and_asked_for_again() {
    let dir = earlier();
    for name in ["registrations.0", "counters.0", "seen.0"] {
        make_later(&dir.path().join("state").join(name));
    }
    let daemon = Start::in_dir(dir, TREE).up();
    has_all(&daemon);
    let log = daemon.log();
    assert_eq!(log.matches("version 99").count(), 3, "{log}");
    daemon.logs("asked to register again");
}

#[test]
fn a_pair_hands_on_a_state_that_the_version_before_reads() {
    let pair = Pair::new();
    let (master, standby) = (&pair.master, &pair.standby);
    master.weft_ok(&["drain", "node:core2"]);
    pair.even();
    for daemon in [master, standby] {
        assert_eq!(version(&daemon.dir.path().join("state/state.0")), 5);
    }
}
