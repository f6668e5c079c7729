//! The stream of events.

use serde_json::Value;

use crate::harness::{Daemon, weft};
use crate::process::{Reading, program};

struct Watcher(Reading);

impl Watcher {
    /// Starts to watch; returns once the marker has come.
    fn start(daemon: &Daemon, args: &[&str]) -> (Self, Value) {
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

    fn until(&mut self, event: &str) -> Value {
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
    command
        .env("WEFT_ADDRESS", &daemon.api)
        .args(["watch", "--count", "2"]);
    let mut watcher = Reading::start(&mut command);
    let first = watcher.line().unwrap();
    assert!(first.contains("watching from generation"), "{first}");
    daemon.weft_ok(&["sweep"]);
    let second = watcher.line().unwrap();
    assert!(second.contains("started (forced)"), "{second}");
    assert_eq!(watcher.end(), Some(0), "it stops after so many events");
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
