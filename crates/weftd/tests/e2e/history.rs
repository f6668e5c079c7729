//! The past: `weft history`, `weft log` and `weft counters --from`, over crashes of the daemon.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::emulator::Emulator;
use crate::harness::{Daemon, READ_OFTEN, Start, configure, text, wait_for};
use crate::quarantine::json;

/// Two edge switches with two hosts each under two cores.
const TREE: &str = "pgft:2;2,2;1,2;1,1;radix=8";
/// Crashes of the daemon.
const CRASHES: usize = 4;

/// Totals of all ports by port and time.
/// None before the first.
fn samples(daemon: &Daemon) -> Option<BTreeMap<(String, u64, String), Value>> {
    // Of a step the last reading is shown, and steps count back from now: each reading has its own.
    let asked = ["counters", "--json", "-F", "nodepat:*"];
    let shown = daemon.weft(&[&asked[..], &["--from", "-10m", "--step", "1ms"]].concat());
    let shown = shown.status.success().then(|| text(&shown.stdout))?;
    let mut all = BTreeMap::new();
    for port in json(&shown)["ports"].as_array().unwrap() {
        for sample in port["samples"].as_array().unwrap() {
            let key = (
                port["guid"].as_str().unwrap().to_owned(),
                port["port"].as_u64().unwrap(),
                sample["time"].as_str().unwrap().to_owned(),
            );
            all.insert(key, sample["totals"].clone());
        }
    }
    Some(all)
}

/// Events of the past by run and number.
fn events(daemon: &Daemon) -> BTreeMap<(u64, u64), Value> {
    let shown = daemon.weft_ok(&["log", "--json"]);
    let lines = shown.lines().map(json);
    lines
        .map(|event| {
            let key = (
                event["run"].as_u64().unwrap(),
                event["sequence"].as_u64().unwrap(),
            );
            (key, event)
        })
        .collect()
}

#[test]
fn what_was_recorded_outlasts_crashes_of_the_daemon() {
    let dir = tempfile::tempdir().unwrap();
    let emulator = Emulator::start(TREE, &dir.path().join("fabric"));
    let start = Start::connected(&emulator.socket());
    configure(&start.dir.path().join("opafm.xml"), &READ_OFTEN);
    let mut daemon = start.up();
    let (mut known, mut told) = (BTreeMap::new(), BTreeMap::new());
    for crash in 0..CRASHES {
        let before = known.len();
        let (now, all) = wait_for(|| {
            let found = samples(&daemon)?;
            (found.len() > before + 20).then(|| (found, events(&daemon)))
        });
        assert!(
            known
                .iter()
                .all(|(key, totals)| now.get(key) == Some(totals)),
            "crash {crash}"
        );
        assert!(
            told.iter().all(|(key, event)| all.get(key) == Some(event)),
            "crash {crash}"
        );
        (known, told) = (now, all);
        let dir = daemon.crash();
        daemon = Start::connected_in(dir, &emulator.socket()).up();
    }
    let kinds: Vec<&str> = told
        .values()
        .filter_map(|event| event["event"].as_str())
        .collect();
    assert!(
        kinds.contains(&"sweep_ended") && kinds.contains(&"sweep_started"),
        "{kinds:?}"
    );
    let text = daemon.weft_ok(&["log", "--kind", "sweep_ended"]);
    assert!(
        text.starts_with("Events from ") && text.contains(" (UTC"),
        "{text}"
    );
    assert!(text.contains(" sweep "), "{text}");
    let kept = json(&daemon.weft_ok(&["history", "--json"]));
    assert_eq!(kept["failure"], "");
    assert_eq!(kept["damaged"], 0);
    assert!(kept["bytes"].as_u64().unwrap() > 1000, "{kept}");
    let metrics = daemon.scrape();
    assert!(
        metrics.contains("weft_history_bytes{table=\"counters\",resolution=\"image\"}"),
        "{metrics}"
    );
    assert!(metrics.contains("weft_history_unwritten 0"), "{metrics}");
}

#[test]
fn a_directory_that_cannot_be_written_is_told_once_and_used_when_it_can() {
    let dir = tempfile::tempdir().unwrap();
    let emulator = Emulator::start(TREE, &dir.path().join("fabric"));
    // A file where the directory should be.
    let place = dir.path().join("history");
    std::fs::write(&place, "in the way").unwrap();
    let start =
        Start::connected(&emulator.socket()).args(&["--history-dir", place.to_str().unwrap()]);
    configure(&start.dir.path().join("opafm.xml"), &READ_OFTEN);
    let daemon = start.up();
    daemon.logs("the past is not kept: ");
    std::fs::remove_file(&place).unwrap();
    daemon.logs("the past is kept again, after ");
    assert_eq!(daemon.log().matches("the past is not kept").count(), 1);
    wait_for(|| {
        let shown = daemon.weft_ok(&["log", "--kind", "history_unwritten", "--json"]);
        (shown.lines().count() == 1).then_some(())
    });
}
