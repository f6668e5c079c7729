//! The black box: what the daemon records runs again byte for byte, and is saved when something goes wrong.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use weft_replay::{FileError, Match, Replay, SaWhat, What};

use crate::emulator::Emulator;
use crate::harness::{Daemon, Start, configure, wait_for};
use crate::quarantine::json;

/// Two edge switches with two hosts each under two cores.
const TREE: &str = "pgft:2;2,2;1,2;1,1;radix=8";
const KEY: u64 = 0x1122_3344_5566_7788;

/// A fabric whose ports are protected by a key, and its manager.
fn with_key(dir: &Path) -> (Emulator, Daemon) {
    let emulator = Emulator::start(TREE, &dir.join("fabric"));
    let start = Start::connected(&emulator.socket());
    let key = format!("<Sm><MKey>{KEY:#018x}</MKey>");
    configure(&start.dir.path().join("opafm.xml"), &[("<Sm>", &key)]);
    (emulator, start.up())
}

/// The files of a directory of recordings, the oldest first.
fn recordings(state: &Path, dir: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(state.join("state").join(dir)).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|end| end == "weftrec"))
        .collect();
    files.sort();
    files
}

/// Runs a recording again, which has to be the same; returns the names of its inputs, and where it is torn.
fn replayed(bytes: &[u8]) -> (Vec<&'static str>, Option<u64>) {
    let mut replay = Replay::new(bytes).unwrap();
    let mut inputs = Vec::new();
    while let Some(step) = replay.next().unwrap() {
        let (number, name) = (step.number, step.what.name());
        assert_eq!(step.matches, Match::Same, "step {number}, {name}");
        assert_eq!(step.panic, None, "step {number}, {name}");
        if let What::Received(packet) | What::Sa(SaWhat::Received(packet)) = &step.what {
            let mut eights = packet.mad.windows(8);
            assert!(
                !eights.any(|bytes| bytes == KEY.to_be_bytes()),
                "step {number}"
            );
        } else {
            let text = format!("{:?}", step.what);
            assert!(!text.contains(&KEY.to_string()), "step {number}, {name}");
        }
        inputs.push(name);
    }
    (inputs, replay.torn_at())
}

#[test]
fn what_an_operator_saves_runs_again_byte_for_byte_without_keys() {
    let dir = tempfile::tempdir().unwrap();
    let (_emulator, daemon) = with_key(dir.path());
    daemon.weft_ok(&["sweep", "--wait"]);
    daemon.weft_ok(&[
        "quarantine",
        "add",
        "--reason",
        "a test",
        "node:edge1:port:3",
    ]);
    daemon.weft_ok(&["quarantine", "release", "node:edge1:port:3"]);
    daemon.weft_ok(&["port", "disable", "--reason", "dead", "node:node3 hfi1_0"]);
    daemon.weft_ok(&["fm", "pause", "--for", "1m"]);
    daemon.weft_ok(&["fm", "resume"]);
    // Subnet administration gets its settings again where anything is another one.
    let (file, interval) = (daemon.dir.path().join("opafm.xml"), "<SweepInterval>10<");
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.matches(interval).count(), 1);
    std::fs::write(&file, text.replace(interval, "<SweepInterval>11<")).unwrap();
    daemon.weft_ok(&["config", "reload"]);
    daemon.weft_ok(&["sweep", "--wait"]);
    let listed = daemon.weft_ok(&["incident", "list"]);
    let (recording, none) = listed.split_once('\n').unwrap();
    assert!(recording.starts_with("recording since ") && recording.ends_with(" of 268 MB"));
    assert_eq!(none, "no incident is saved\n");
    let saved = json(&daemon.weft_ok(&["incident", "save", "--reason", "ticket 7", "--json"]));
    let file = PathBuf::from(saved["file"].as_str().unwrap());
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let bytes = std::fs::read(&file).unwrap();
    assert_eq!(saved["bytes"].as_u64().unwrap(), bytes.len() as u64);
    let (inputs, torn_at) = replayed(&bytes);
    assert_eq!((inputs[0], torn_at), ("create", None));
    for wanted in [
        "received",
        "tick",
        "planned",
        "multicast",
        "command",
        "quarantine",
        "release",
        "pause",
        "resume",
        "sa-checkpoint",
        "sa-published",
        "sa-registrations-lost",
        "sa-reconfigure",
    ] {
        assert!(inputs.contains(&wanted), "{wanted}: {inputs:?}");
    }
    let listed = json(&daemon.weft_ok(&["incident", "list", "--json"]));
    assert_eq!(listed[0]["reason"], "ticket 7");
    assert_eq!(listed[0]["kind"], "by-hand");
    let shown = daemon.weft_ok(&["incident", "list"]);
    assert!(
        shown.contains("  by hand, ") && shown.contains("    ticket 7\n"),
        "{shown}"
    );
    let audit = daemon.weft_ok(&["audit", "list"]);
    assert!(audit.contains("SaveIncident: done\n"), "{audit}");
    daemon.logs("recording saved (ticket 7)");
    // A bit of it, and its end.
    let mut damaged = bytes.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    let mut replay = Replay::new(&damaged[..]).unwrap();
    let error = loop {
        match replay.next() {
            Ok(step) => assert!(step.is_some(), "no damage is found"),
            Err(error) => break error,
        }
    };
    assert!(
        matches!(error, FileError::Damaged { at, .. } if at <= middle as u64),
        "{error}"
    );
    let (fewer, torn_at) = replayed(&bytes[..bytes.len() - 3]);
    assert!(torn_at.is_some() && fewer.len() < inputs.len());
}

#[test]
fn a_switch_that_did_not_write_its_table_is_found_told_and_saved() {
    let dir = tempfile::tempdir().unwrap();
    let (emulator, daemon) = with_key(dir.path());
    emulator.change(&["claim", "edge2", "--pretends", "0x19"]);
    emulator.change(&["link-down", "edge2:4"]);
    let saved = || {
        let listed = json(&daemon.weft_ok(&["incident", "list", "--json"]));
        let mut all = listed.as_array().unwrap().iter();
        all.find(|one| one["kind"] == "broken-promise").cloned()
    };
    let incident = wait_for(|| {
        daemon.weft_ok(&["sweep", "--wait"]);
        saved()
    });
    let reason = incident["reason"].as_str().unwrap();
    assert!(reason.starts_with("edge2: it had confirmed "), "{reason}");
    let shown = daemon.weft_ok(&["incident", "list"]);
    assert!(shown.contains("  broken promise, "), "{shown}");
    daemon.logs("edge2 does not hold a table that the routes were certified with: ");
    let file = PathBuf::from(incident["file"].as_str().unwrap());
    assert_eq!(replayed(&std::fs::read(file).unwrap()).1, None);
    let metrics = daemon.scrape();
    let mut lines = metrics.lines();
    let told = lines.find_map(|line| line.strip_prefix("weft_promises_broken_total "));
    assert!(told.is_some_and(|told| told != "0"), "{told:?}");
}

#[test]
fn a_sweep_that_leaves_work_undone_is_saved_and_a_crash_loses_little() {
    let dir = tempfile::tempdir().unwrap();
    let (emulator, daemon) = with_key(dir.path());
    emulator.change(&["silence", "edge2"]);
    daemon.weft(&["sweep", "--wait"]);
    let kinds = || {
        let listed = json(&daemon.weft_ok(&["incident", "list", "--json"]));
        let all = listed.as_array().unwrap().iter();
        let kinds = all.map(|one| one["kind"].as_str().unwrap().to_owned());
        kinds.collect::<Vec<_>>()
    };
    wait_for(|| {
        kinds()
            .contains(&"unfinished-sweep".to_owned())
            .then_some(())
    });
    emulator.change(&["speak", "edge2"]);
    daemon.weft_ok(&["sweep", "--wait"]);
    // What happened a second ago is on the disk.
    std::thread::sleep(std::time::Duration::from_secs(1));
    let state = daemon.crash();
    for file in recordings(state.path(), "incidents.0") {
        replayed(&std::fs::read(file).unwrap());
    }
    let crashed = recordings(state.path(), "recordings.0");
    assert_eq!(crashed.len(), 1);
    let (inputs, _) = replayed(&std::fs::read(&crashed[0]).unwrap());
    assert!(inputs.iter().filter(|input| **input == "command").count() >= 2);
    // The next start has a recording of its own.
    let daemon = Start::connected_in(state, &emulator.socket()).up();
    let (_, state) = daemon.stop();
    let all = recordings(state.path(), "recordings.0");
    assert_eq!(all.len(), 2);
    let (inputs, torn_at) = replayed(&std::fs::read(&all[1]).unwrap());
    assert_eq!((inputs[0], torn_at), ("create", None));
}

#[test]
fn who_records_nothing_saves_nothing() {
    let daemon = Start::new(TREE).args(&["--recording-budget", "0"]).up();
    let said = daemon.weft_fails(1, &["incident", "save"]);
    assert!(said.contains("--recording-budget 0"), "{said}");
    assert!(!daemon.dir.path().join("state/recordings.0").exists());
}

/// Bytes of files.
fn bytes_of(files: &[PathBuf]) -> u64 {
    let lens = files
        .iter()
        .map(|file| std::fs::metadata(file).unwrap().len());
    lens.sum()
}

#[test]
fn a_ring_goes_on_from_checkpoints_within_its_budget_and_runs_again_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    let emulator = Emulator::start("fattree:324", &dir.path().join("fabric"));
    let daemon = Start::connected(&emulator.socket())
        .args(&["--recording-budget", "1"])
        .up();
    let mut seen = BTreeSet::new();
    let mut sweeps = 0;
    // Until four files have followed another, and the oldest is gone.
    while seen.len() < 5 || seen.iter().all(|file: &PathBuf| file.exists()) {
        assert!(sweeps < 2_000, "{} files after {sweeps} sweeps", seen.len());
        sweeps += 1;
        match sweeps % 20 {
            5 => emulator.change(&["silence", "edge2"]),
            10 => emulator.change(&["speak", "edge2"]),
            _ => {}
        }
        // One that leaves work undone fails.
        daemon.weft(&["sweep", "--wait"]);
        seen.extend(recordings(daemon.dir.path(), "recordings.0"));
    }
    daemon.weft(&["sweep", "--wait"]);
    let saved = json(&daemon.weft_ok(&["incident", "save", "--json"]));
    let listed = daemon.weft_ok(&["incident", "list"]);
    assert!(listed.starts_with("recording since "), "{listed}");
    let file = PathBuf::from(saved["file"].as_str().unwrap());
    let earlier = file.with_extension("earlier.weftrec");
    let files = [file, earlier];
    assert_eq!(saved["bytes"].as_u64().unwrap(), bytes_of(&files));
    for file in &files {
        let (inputs, torn_at) = replayed(&std::fs::read(file).unwrap());
        assert_eq!((inputs[0], torn_at), ("checkpoint", None));
        assert!(inputs.len() > 100, "{}: {}", file.display(), inputs.len());
    }
    let (_, state) = daemon.stop();
    let ring = recordings(state.path(), "recordings.0");
    assert!(ring.len() > 1 && bytes_of(&ring) <= 1 << 20, "{ring:?}");
    for file in &ring {
        let (inputs, torn_at) = replayed(&std::fs::read(file).unwrap());
        assert_eq!(torn_at, None, "{}", file.display());
        assert!(
            ["create", "checkpoint"].contains(&inputs[0]),
            "{}",
            inputs[0]
        );
    }
}

#[test]
fn a_recording_whose_disk_refuses_ends_and_the_daemon_goes_on() {
    let daemon = Start::new("fattree:324")
        .args(&["--recording-budget", "1"])
        .up();
    // No next file can begin.
    let ring = daemon.dir.path().join("state/recordings.0");
    std::fs::remove_dir_all(&ring).unwrap();
    for _ in 0..500 {
        if daemon.log().contains("are not recorded any more") {
            break;
        }
        daemon.weft_ok(&["sweep", "--wait"]);
    }
    daemon.logs(&format!(
        "are not recorded any more: {}: No such file or directory",
        ring.display()
    ));
    let listed = daemon.weft_ok(&["incident", "list"]);
    assert!(listed.starts_with("RECORDING ENDED "), "{listed}");
    assert!(listed.lines().all(|line| line.len() <= 80), "{listed}");
    let failed = daemon.weft_fails(1, &["incident", "save"]);
    assert!(failed.contains("No such file or directory"), "{failed}");
    daemon.weft_ok(&["sweep", "--wait"]);
}
