//! The stream of events.

use serde_json::Value;

use crate::harness::{Daemon, Start, wait_for, weft};
use crate::process::{Reading, program};

/// Four edge switches with four hosts each under four cores.
const TREE: &str = "pgft:2;4,4;1,4;1,1;radix=8";

/// A client that watches.
pub(crate) struct Watcher(Reading);

impl Watcher {
    /// Starts to watch; returns once the marker has come.
    pub(crate) fn start(daemon: &Daemon, args: &[&str]) -> (Self, Value) {
        let mut command = program(weft());
        command
            .env("WEFT_ADDRESS", &daemon.api)
            .args(["watch", "--json"])
            .args(args);
        let mut watcher = Self(Reading::start(&mut command));
        let marker = watcher.next();
        assert_eq!(marker["event"], "marker");
        (watcher, marker)
    }

    fn next(&mut self) -> Value {
        serde_json::from_str(&self.0.line().unwrap()).unwrap()
    }

    /// The next event of a kind.
    pub(crate) fn until(&mut self, event: &str) -> Value {
        loop {
            let next = self.next();
            if next["event"] == event {
                return next;
            }
        }
    }
}

#[test]
fn events_come_and_can_be_resumed() {
    let daemon = Daemon::up("one-switch:4");
    let (mut watcher, marker) = Watcher::start(&daemon, &[]);
    assert_eq!(marker["data"]["gap"], false);
    daemon.weft_ok(&["port", "disable", "nodetype:SW:port:3"]);
    let vanished = watcher.until("node_vanished");
    assert_eq!(vanished["data"]["name"], "node3 hfi1_0");
    let link = watcher.until("link_vanished");
    assert!(
        link["data"]["a"]["guid"]
            .as_str()
            .unwrap()
            .starts_with("0x")
    );
    let names = [&link["data"]["a"]["name"], &link["data"]["b"]["name"]];
    assert!(names.contains(&&Value::from("node3 hfi1_0")), "{link}");
    assert!(names.iter().all(|name| *name != ""), "both ends: {link}");
    let ended = watcher.until("sweep_ended");
    assert_eq!(ended["data"]["hfis"], 3);

    let token = marker["resume_token"].as_str().unwrap();
    let (mut again, resumed) = Watcher::start(&daemon, &["--resume", token]);
    assert_eq!(resumed["data"]["gap"], false);
    assert_eq!(again.until("node_vanished"), vanished);

    let (_, foreign) = Watcher::start(&daemon, &["--resume", "0000000000000001-5"]);
    assert_eq!(foreign["data"]["gap"], true);
    let said = daemon.weft_fails(1, &["watch", "--resume", "nonsense"]);
    assert!(said.contains("resume_token: expected"), "{said}");
}

#[test]
fn people_read_lines() {
    let daemon = Daemon::up("one-switch:2");
    let mut command = program(weft());
    command.env("WEFT_ADDRESS", &daemon.api).args([
        "watch",
        "--count",
        "1",
        "--kind",
        "sweep_ended",
    ]);
    let mut watcher = Reading::start(&mut command);
    let first = watcher.line().unwrap();
    assert!(first.contains("watching from generation"), "{first}");
    daemon.weft_ok(&["sweep"]);
    let second = watcher.line().unwrap();
    assert!(second.contains("(forced)"), "{second}");
    assert_eq!(watcher.end(), Some(0), "it stops after as many events");
}

#[test]
fn watchers_are_told_when_the_daemon_stops() {
    let daemon = Daemon::up("one-switch:2");
    let (mut watcher, _) = Watcher::start(&daemon, &[]);
    let (code, _dir) = daemon.stop();
    assert_eq!(code, Some(0));
    while watcher.0.line().is_some() {}
    assert_eq!(watcher.0.end(), Some(3));
}

#[test]
fn ports_and_plans_are_events_and_in_the_log() {
    let daemon = Daemon::up(TREE);
    let (mut watcher, _) = Watcher::start(&daemon, &[]);
    daemon.weft_ok(&["port", "disable", "node:edge1:port:3"]);
    let changed = watcher.until("port_changed");
    assert_eq!(changed["data"]["action"], "disable");
    assert_eq!(changed["data"]["port"]["name"], "edge1");
    assert_eq!(changed["data"]["port"]["port"], 3);
    watcher.until("link_vanished");
    daemon.weft_ok(&["port", "enable", "node:edge1:port:3"]);
    let back = watcher.until("link_appeared");
    let names = [&back["data"]["a"]["name"], &back["data"]["b"]["name"]];
    assert!(names.contains(&&Value::from("edge1")), "{back}");
    daemon.weft_ok(&["drain", "node:edge1:port:5"]);
    let plan = watcher.until("plan_in_force");
    let what = plan["data"]["what"].as_str().unwrap();
    assert!(
        what.starts_with("drain ") && what.contains("edge1"),
        "{what}"
    );
    daemon.weft_ok(&["route", "rollback"]);
    assert_eq!(watcher.until("plan_undone")["data"]["what"], what);

    for line in [
        "INFO port 3 of edge1 disabled by ",
        "WARN node vanished: node3 hfi1_0",
        "INFO port 3 of edge1 enabled by ",
        "INFO node appeared: node3 hfi1_0",
        "INFO route plan 1 is in force: drain ",
        "INFO undone: drain ",
        "INFO configuration: ",
    ] {
        daemon.logs(line);
    }
    let log = daemon.log();
    let debug = ["Some(", "None", "Guid(", "PortName"];
    assert!(!debug.iter().any(|text| log.contains(text)), "{log}");
    let shown = daemon.weft_ok(&["fabric", "show"]);
    let file = daemon.dir.path().join("opafm.xml");
    let named = format!("\nConfiguration: {}\n", file.display());
    assert!(shown.contains(&named), "{shown}");
}

#[test]
fn a_lost_link_between_switches_is_named_at_both_ends() {
    let daemon = Start::new(TREE).args(&["--log", "json"]).up();
    daemon.weft_ok(&["port", "disable", "node:edge1:port:5"]);
    let lost = wait_for(|| {
        let log = daemon.log();
        let mut lines = log
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.find(|line| line["fields"]["event"] == "link_vanished")
    });
    let fields = &lost["fields"];
    assert_eq!(lost["level"], "WARN", "{lost}");
    let ends = [&fields["a"], &fields["b"]];
    assert!(ends.contains(&&Value::from("edge1")), "{lost}");
    assert!(
        fields["a_port"].is_u64() && fields["b_port"].is_u64(),
        "{lost}"
    );
    let words = fields["message"].as_str().unwrap();
    assert!(words.contains("edge1 port 5"), "{words}");
}

#[test]
fn a_reader_gets_the_kinds_that_it_asks_for() {
    let daemon = Daemon::up("one-switch:2");
    let mut watch = program(weft());
    watch.args(["--address", &daemon.api, "watch", "--json", "--count", "2"]);
    watch.args(["--kind", "sweep_ended", "--kind", "config_reloaded"]);
    let mut watch = Reading::start(&mut watch);
    let mut kinds = vec![watch.line().unwrap()];
    daemon.weft_ok(&["sweep", "--wait"]);
    daemon.weft_ok(&["sweep", "--wait"]);
    kinds.extend(std::iter::from_fn(|| watch.line()));
    let kinds = kinds.iter().map(|line| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        event["event"].as_str().unwrap().to_owned()
    });
    let kinds: Vec<String> = kinds.collect();
    assert_eq!(kinds, ["marker", "sweep_ended", "sweep_ended"]);
    let unknown = daemon.weft_fails(1, &["watch", "--kind", "generation"]);
    assert!(
        unknown.contains("kinds[0]: no event is called \"generation\""),
        "{unknown}"
    );
    assert!(unknown.contains("node_vanished"), "{unknown}");
}
