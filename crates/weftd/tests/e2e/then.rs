//! Counters of ports, and the page of what is wrong, at a moment of the past.

use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::emulator::Emulator;
use crate::harness::{Daemon, READ_OFTEN, Start, configure, text, wait_for};
use crate::quarantine::json;

/// Two edge switches with two hosts each under two cores.
const TREE: &str = "pgft:2;2,2;1,2;1,1;radix=8";
/// The first edge switch; its ports 3 and 4 lead to cores.
const EDGE: &str = "0x0011750102000001";
/// How long after a change everything of it is recorded.
const SETTLED: Duration = Duration::from_millis(3_500);

/// A moment at which everything before is recorded, as RFC 3339 has it.
pub(crate) fn moment() -> String {
    std::thread::sleep(SETTLED);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let at = weft_api::time::timestamp(since.unwrap().as_nanos() as u64).to_string();
    std::thread::sleep(SETTLED);
    at
}

/// Packets discarded by the ports of the links that the report `errors` lists, and the report.
fn discards(daemon: &Daemon, config: &str, at: &[&str]) -> (Vec<u64>, Value) {
    let command = [&["report", "errors", "-c", config, "--json"], at].concat();
    let report = json(&text(&daemon.weft(&command).stdout));
    let links = report["links"].as_array().unwrap().iter();
    let ends = links.flat_map(|link| link["errors"].as_array().unwrap().clone());
    let all = ends.flat_map(|end| end.as_array().unwrap().clone());
    let values = all.filter(|one| one["counter"] == "XmitDiscards");
    let values = values.map(|one| one["value"].as_u64().unwrap()).collect();
    (values, report)
}

/// Kinds of the findings of a page, and the page.
fn findings(daemon: &Daemon, at: &[&str]) -> (Vec<String>, Value) {
    let shown = daemon.weft(&[&["health", "--json"], at].concat());
    let page = json(&text(&shown.stdout));
    let findings = page["findings"].as_array().unwrap().iter();
    let kinds = findings.map(|one| one["kind"].as_str().unwrap().to_owned());
    (kinds.collect(), page)
}

/// What cables of a serial number the fabric has, as links in `report links -d 3`; none where there is none.
fn cables(daemon: &Daemon, serial: &str, at: &[&str]) -> Vec<Value> {
    let point = format!("cabinfvendsnpat:{serial}");
    let report = ["report", "links", "-d", "3", "-F", &point, "--json"];
    let shown = daemon.weft(&[&report, at].concat());
    match shown.status.success() {
        true => json(&text(&shown.stdout))["links"]
            .as_array()
            .unwrap()
            .clone(),
        false => {
            let told = text(&shown.stderr);
            assert!(told.contains(serial), "{told}");
            Vec::new()
        }
    }
}

#[test]
fn cables_are_those_of_then() {
    let dir = tempfile::tempdir().unwrap();
    let emulator = Emulator::start(TREE, &dir.path().join("fabric"));
    let daemon = Start::connected(&emulator.socket()).up();
    let new = "C0FFEE42";
    wait_for(|| (!cables(&daemon, "W7*", &[]).is_empty()).then_some(()));
    let before = moment();
    let old = cables(&daemon, "W7*", &[]);
    // A link is seen without a cable before it has another one.
    emulator.change(&["link-down", "edge1:3"]);
    wait_for(|| (cables(&daemon, "W7*", &[]).len() + 1 == old.len()).then_some(()));
    emulator.change(&[
        "replace-cable",
        "edge1:3",
        "--serial",
        new,
        "--part",
        "WEFT-AOC-20M",
    ]);
    emulator.change(&["link-up", "edge1:3"]);
    wait_for(|| (cables(&daemon, new, &[]).len() == 1).then_some(()));
    let after = moment();

    assert_eq!(
        cables(&daemon, new, &["--at", &before]),
        Vec::<Value>::new()
    );
    assert_eq!(cables(&daemon, "W7*", &["--at", &before]), old);
    let now = cables(&daemon, new, &[]);
    assert_eq!(cables(&daemon, new, &["--at", &after]), now);
    assert!(Value::from(now).to_string().contains("WEFT-AOC-20M"));
}

#[test]
fn counters_and_findings_are_those_of_then() {
    let dir = tempfile::tempdir().unwrap();
    let emulator = Emulator::start(TREE, &dir.path().join("fabric"));
    let start = Start::connected(&emulator.socket());
    configure(&start.dir.path().join("opafm.xml"), &READ_OFTEN);
    let daemon = start.up();
    let config = dir.path().join("opamon.conf");
    std::fs::write(
        &config,
        "Threshold Greater\nXmitDiscards 100\nLinkQualityIndicator 3\n",
    )
    .unwrap();
    let config = config.to_str().unwrap();
    let until = |wanted: u64| {
        wait_for(|| (discards(&daemon, config, &[]).0 == [wanted]).then_some(()));
    };
    emulator.change(&["count-errors", EDGE, "3", "--discards", "201"]);
    until(201);
    let quality = |daemon: &Daemon, at: &[&str]| {
        let port = ["counters", "-F", "node:edge1:port:3", "--json"];
        let read: Value = serde_json::from_str(&daemon.weft_ok(&[&port, at].concat())).unwrap();
        read["ports"][0]["link_quality"].as_u64()
    };
    emulator.change(&["link-quality", EDGE, "3", "2"]);
    wait_for(|| (quality(&daemon, &[]) == Some(2)).then_some(()));
    let first = moment();
    emulator.change(&["link-quality", EDGE, "3", "5"]);
    emulator.change(&["count-errors", EDGE, "3", "--discards", "300"]);
    until(501);
    daemon.weft_ok(&["port", "disable", "node:edge1:port:4", "--reason", "loose"]);
    let disabled = "disabled".to_owned();
    wait_for(|| findings(&daemon, &[]).0.contains(&disabled).then_some(()));
    let second = moment();
    daemon.weft_ok(&["port", "enable", "node:edge1:port:4"]);
    wait_for(|| (!findings(&daemon, &[]).0.contains(&disabled)).then_some(()));

    let (then, report) = discards(&daemon, config, &["--at", &first]);
    assert_eq!(then, [201], "{report}");
    assert_eq!(report["not_judged"], Value::Null);
    assert_eq!(quality(&daemon, &["--at", &first]), Some(2));
    assert_eq!(quality(&daemon, &[]), Some(5));
    let (now, report) = discards(&daemon, config, &[]);
    assert_eq!((now, &report["not_judged"]), (vec![501], &Value::Null));
    assert_eq!(discards(&daemon, config, &["--at", &second]).0, [501]);
    let between = ["--at", &second, "--begin", &first];
    assert_eq!(discards(&daemon, config, &between).0, [300]);
    let shown = daemon.weft(&["report", "errors", "-c", config, "--at", &first]);
    let shown = text(&shown.stdout);
    assert!(
        shown.contains("LinkQualityIndicator: 2 Below Threshold: 3"),
        "{shown}"
    );
    let file = daemon.weft_ok(&["report", "snapshot", "-s", "--at", &first]);
    assert!(file.contains("<XmitDiscards>201</XmitDiscards>"));
    assert!(file.contains("<LinkQualityIndicator>2<"));
    assert!(!file.contains("<XmitDiscards>501<"));

    let (before, page) = findings(&daemon, &["--at", &first]);
    assert!(!before.contains(&disabled), "{page:#}");
    let (then, page) = findings(&daemon, &["--at", &second]);
    assert!(then.contains(&disabled), "{page:#}");
    assert!(page["moment"]["at"].is_string(), "{page:#}");
    assert_ne!(page["color"], "green");
    let told = daemon.weft(&["health", "--at", &second]);
    assert!(
        text(&told.stderr).contains("weft: the fabric of "),
        "{}",
        text(&told.stderr)
    );

    for (arguments, code, told) in [
        (
            &["health", "--at", "1999-01-01"][..],
            1,
            "the nearest known time",
        ),
        (
            &["health", "--at", &first, "--watch"],
            2,
            "does not go with --watch",
        ),
        (
            &["report", "errors", "--at", &first, "--end", "now"],
            2,
            "not with --end",
        ),
        (
            &["report", "errors", "--at", &first, "--begin", &second],
            2,
            "is not before --at",
        ),
    ] {
        let message = daemon.weft_fails(code, arguments);
        assert!(message.contains(told), "{arguments:?}: {message}");
    }
}
