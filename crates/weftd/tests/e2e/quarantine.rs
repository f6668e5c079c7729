//! Links that go down again and again, or are left out by hand: `weft quarantine`.

use std::path::Path;

use serde_json::Value;

use crate::emulator::Emulator;
use crate::harness::{Daemon, Start, configure, wait_for};
use crate::watch::Watcher;

const POLICY: [(&str, &str); 1] = [("<HighThreshold>25<", "<HighThreshold>3<")];
const HOST: &str = "0x0011750101000003";

/// A daemon at an emulator of its own, with changes to the stock file.
fn up(dir: &Path, changes: &[(&str, &str)]) -> (Emulator, Daemon) {
    up_on("one-switch:4", dir, changes)
}

fn up_on(fabric: &str, dir: &Path, changes: &[(&str, &str)]) -> (Emulator, Daemon) {
    let socket = dir.join("fabric");
    let emulator = Emulator::start(fabric, &socket);
    let start = Start::connected(&socket);
    configure(&start.dir.path().join("opafm.xml"), changes);
    (emulator, start.up())
}

#[test]
fn a_flapping_port_is_named_listed_and_released() {
    let dir = tempfile::tempdir().unwrap();
    let (emulator, daemon) = up(dir.path(), &POLICY);
    assert_eq!(
        daemon.weft_ok(&["quarantine", "list"]),
        "no port is in quarantine or held back\n"
    );
    let (mut watcher, _) = Watcher::start(&daemon, &[]);
    let listed = || -> Value {
        serde_json::from_str(&daemon.weft_ok(&["quarantine", "list", "--json"])).unwrap()
    };
    let losses = || listed()[0]["losses"].as_u64();
    for _ in 0..2 {
        emulator.change(&["link-down", HOST, "1"]);
        watcher.until("link_vanished");
        emulator.change(&["link-up", HOST, "1"]);
        watcher.until("link_appeared");
    }
    emulator.change(&["link-down", HOST, "1"]);
    let told = watcher.until("port_quarantined");
    assert_eq!(told["data"]["losses"], 3);
    assert_eq!(told["data"]["port"]["name"], "switch1");
    assert_eq!(losses(), Some(3), "{}", listed());
    assert_eq!(listed()[0]["quarantined"], true);
    let text = daemon.weft_ok(&["quarantine", "list"]);
    assert!(text.starts_with("switch1 ("), "{text}");
    assert!(text.contains("port 3: in quarantine for"), "{text}");

    let why = |args: &[&str]| daemon.weft_ok(&[&["quarantine", "why"], args].concat());
    let told = json(&why(&["node:switch1:port:3", "--json"]));
    let times = told["ends"][0]["lost"].as_array().unwrap();
    assert_eq!(times.len(), 3, "{told}");
    assert!(
        times
            .windows(2)
            .all(|pair| pair[0].as_str() < pair[1].as_str())
    );
    assert_eq!(told["thresholds"]["high"], 3);
    assert_eq!(told["link_use"], "down");
    let text = why(&["node:switch1:port:3"]);
    assert!(text.contains("comes back by itself in 14 min"), "{text}");
    assert!(
        text.contains("its link went down 3 times within WindowSize\n  20"),
        "{text}"
    );
    assert!(
        text.contains("in quarantine from 3 losses within 15 min 0 s"),
        "{text}"
    );
    let text = why(&["node:switch1:port:1"]);
    assert!(
        text.contains("not in quarantine\n  its link did not go down"),
        "{text}"
    );

    emulator.change(&["link-up", HOST, "1"]);
    daemon.weft_ok(&["sweep", "--wait"]);
    daemon.logs("carries no data: it went down 3 times");
    let wrong = daemon.weft(&["quarantine", "release", "node:switch1:port:1"]);
    assert_eq!(wrong.status.code(), Some(1));
    let said = String::from_utf8(wrong.stderr).unwrap();
    assert!(
        said.contains("is in no quarantine that can be ended so"),
        "{said}"
    );
    let said = daemon.weft_ok(&["quarantine", "release", "node:switch1:port:3"]);
    assert!(
        said.starts_with("released port 3 of switch1; sweep "),
        "{said}"
    );
    watcher.until("port_released");
    daemon.weft_ok(&["sweep", "--wait"]);
    let route = ["report", "route", "-S", "lid:1", "-D", "node:node3 hfi1_0"];
    let route = daemon.weft_ok(&route);
    assert!(route.contains("node3"), "{route}");
    assert_eq!(listed(), Value::Array(Vec::new()));
    let over = "the quarantine of port 3 of switch1";
    wait_for(|| daemon.log().contains(over).then_some(()));
}

#[test]
fn a_port_that_reports_errors_is_disabled_and_can_be_enabled() {
    let dir = tempfile::tempdir().unwrap();
    let lmc = "<Lmc>0</Lmc>";
    let policy =
        "<TrapThreshold>20</TrapThreshold><TrapThresholdMinCount>2</TrapThresholdMinCount>";
    let (emulator, daemon) = up(dir.path(), &[(lmc, &format!("{lmc}{policy}"))]);
    let (mut watcher, _) = Watcher::start(&daemon, &[]);
    for _ in 0..2 {
        emulator.change(&["link-errors", "0x0011750102000001", "3"]);
        watcher.until("trap");
    }
    let storm = watcher.until("trap_storm")["data"].clone();
    assert_eq!(
        (&storm["traps"], &storm["port"]["port"]),
        (&2.into(), &3.into())
    );
    watcher.until("link_vanished");
    daemon.weft_ok(&["port", "enable", "node:switch1:port:3"]);
    watcher.until("link_appeared");
}

/// Two edge switches with two hosts each under two cores.
const TREE: &str = "pgft:2;2,2;1,2;1,1;radix=4";

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// LIDs that the table of a switch, as the daemon has read it, leads to a port.
pub(crate) fn routes_over(daemon: &Daemon, switch: &str, port: &str) -> usize {
    let tables = daemon.weft_ok(&["report", "linear", "-F", &format!("node:{switch}")]);
    let is_entry = |line: &&str| line.trim_start().starts_with("0x");
    let ports = tables.lines().filter(is_entry).map(|line| {
        let entry = line.split_whitespace().filter(|word| *word != ":");
        entry.skip(1).map(str::to_owned).next().unwrap()
    });
    let ports: Vec<String> = ports.collect();
    assert!(ports.len() >= 4, "{tables}");
    ports.iter().filter(|to| *to == port).count()
}

#[test]
fn a_link_is_left_out_by_hand_until_it_is_released() {
    let dir = tempfile::tempdir().unwrap();
    let (_emulator, daemon) = up_on(TREE, dir.path(), &[]);
    assert!(routes_over(&daemon, "edge2", "3") > 0);
    let (mut watcher, _) = Watcher::start(&daemon, &[]);
    let port = "node:edge2:port:3";
    let dry = daemon.weft_ok(&["quarantine", "add", "-n", port]);
    assert!(dry.starts_with("would put port "), "{dry}");
    let listed = daemon.weft_ok(&["quarantine", "list"]);
    assert_eq!(listed, "no port is in quarantine or held back\n");
    let said = daemon.weft_ok(&["quarantine", "add", port, "--reason", "bad cable"]);
    assert!(
        said.starts_with("put port 3 of edge2 into quarantine; "),
        "{said}"
    );
    let told = watcher.until("port_quarantined")["data"].clone();
    assert_eq!(
        (&told["by_hand"], &told["comment"]),
        (&true.into(), &"bad cable".into())
    );
    daemon.weft_ok(&["sweep", "--wait"]);
    assert_eq!(routes_over(&daemon, "edge2", "3"), 0);
    let listed = json(&daemon.weft_ok(&["quarantine", "list", "--json"]));
    assert_eq!(listed[0]["port"]["name"], "edge2");
    assert_eq!(listed[0]["quarantined"], true);
    assert_eq!(listed[0]["comment"], "bad cable");
    assert_eq!(listed[0]["left_s"], Value::Null);
    let text = daemon.weft_ok(&["quarantine", "list"]);
    assert!(
        text.ends_with("until it is released: by hand, bad cable\n"),
        "{text}"
    );
    daemon.logs("is in quarantine: a client asked for it: bad cable");

    for (args, expected) in [
        (&["node:edge2:port:4"][..], "would be used all the same"),
        (&["node:edge2:port:1"], "--force"),
        (&["sm", "--force"], "would cut the manager off"),
        (&[port, "--reason", "a\u{7}"], "control characters"),
    ] {
        let dry = daemon.weft_fails(1, &[&["quarantine", "add", "-n"], args].concat());
        let said = daemon.weft_fails(1, &[&["quarantine", "add"], args].concat());
        assert_eq!(dry, said);
        assert!(said.contains(expected), "{args:?}: {said}");
    }
    daemon.weft_ok(&["quarantine", "add", "node:edge2:port:1", "--force"]);
    daemon.weft_ok(&["sweep", "--wait"]);
    assert_eq!(routes_over(&daemon, "edge2", "1"), 0, "the host is cut off");

    for port in [1, 3] {
        let port = format!("node:edge2:port:{port}");
        daemon.weft_ok(&["quarantine", "release", &port]);
    }
    watcher.until("port_released");
    daemon.weft_ok(&["sweep", "--wait"]);
    assert!(routes_over(&daemon, "edge2", "3") > 0);
    assert!(routes_over(&daemon, "edge2", "1") > 0);
}

#[test]
fn quarantine_outlasts_a_crash_of_the_daemon() {
    let dir = tempfile::tempdir().unwrap();
    let tree = "pgft:2;4,4;1,4;1,1;radix=8";
    let (emulator, daemon) = up_on(tree, dir.path(), &POLICY);
    let (mut watcher, _) = Watcher::start(&daemon, &[]);
    let edge = "0x0011750102000002";
    for _ in 0..2 {
        emulator.change(&["link-down", edge, "6"]);
        watcher.until("link_vanished");
        emulator.change(&["link-up", edge, "6"]);
        watcher.until("link_appeared");
    }
    emulator.change(&["link-down", edge, "6"]);
    watcher.until("port_quarantined");
    emulator.change(&["link-up", edge, "6"]);
    // Its answer means that all before it is on disk as well.
    let bad = [
        "quarantine",
        "add",
        "node:edge2:port:5",
        "--reason",
        "bad cable",
    ];
    daemon.weft_ok(&bad);
    // The quarantine of the other end of port 6 may follow.
    let list = |daemon: &Daemon| -> Vec<Value> {
        let ports = json(&daemon.weft_ok(&["quarantine", "list", "--json"]));
        let ports = ports.as_array().unwrap().iter();
        ports
            .filter(|one| one["quarantined"] == true)
            .cloned()
            .collect()
    };
    let before = list(&daemon);
    assert!(before.len() >= 2, "{before:?}");

    let dir = daemon.crash();
    emulator.change(&["node-down", edge]);
    emulator.change(&["node-up", edge]);
    let daemon = Start::connected_in(dir, &emulator.socket()).up();
    for port in ["5", "6"] {
        assert_eq!(routes_over(&daemon, "edge2", port), 0, "port {port}");
    }
    // Their ports train, and may do so when the first sweep has ended.
    daemon.logs("carries no data: its port was put into quarantine by hand");
    daemon.logs("carries no data: it went down 3 times");
    let after = list(&daemon);
    for before in &before {
        let after = after.iter().find(|after| after["port"] == before["port"]);
        let after = after.unwrap();
        for same in ["by_hand", "comment", "losses"] {
            assert_eq!(before[same], after[same], "{before} {after}");
        }
        let time = |of: &Value, what: &str| of[what].as_f64().unwrap_or(0.0);
        assert!(
            time(after, "since_s") > time(before, "since_s"),
            "{before} {after}"
        );
        assert!(
            time(after, "left_s") <= time(before, "left_s"),
            "{before} {after}"
        );
    }
    for port in ["5", "6"] {
        daemon.weft_ok(&["quarantine", "release", &format!("node:edge2:port:{port}")]);
    }
    daemon.weft_ok(&["sweep", "--wait"]);
    assert!(routes_over(&daemon, "edge2", "5") > 0);
    assert!(routes_over(&daemon, "edge2", "6") > 0);

    let dir = daemon.crash();
    let daemon = Start::connected_in(dir, &emulator.socket()).up();
    assert!(list(&daemon).is_empty());
}
