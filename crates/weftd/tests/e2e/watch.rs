//! The stream of events.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::harness::{Daemon, weft};

struct Watcher {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Watcher {
    /// Starts to watch; returns once the marker has come.
    fn start(daemon: &Daemon, args: &[&str]) -> (Self, Value) {
        let mut command = Command::new(weft());
        command
            .env("WEFT_ADDRESS", &daemon.api)
            .args(["watch", "--json"])
            .args(args);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut watcher = Self { child, lines };
        let marker = watcher.next();
        assert_eq!(marker["event"], "marker");
        (watcher, marker)
    }

    fn next(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap()
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

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
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
    let mut command = Command::new(weft());
    command
        .env("WEFT_ADDRESS", &daemon.api)
        .args(["watch", "--count", "2"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.contains("watching from generation"), "{first}");
    daemon.weft_ok(&["sweep"]);
    let second = lines.next().unwrap().unwrap();
    assert!(second.contains("started (forced)"), "{second}");
    assert!(
        child.wait().unwrap().success(),
        "it stops after so many events"
    );
}

#[test]
fn watchers_are_told_when_the_daemon_stops() {
    let daemon = Daemon::up("one-switch:2");
    let (mut watcher, _) = Watcher::start(&daemon, &[]);
    let (code, _dir) = daemon.stop();
    assert_eq!(code, Some(0));
    while watcher.lines.next().is_some() {}
    assert_eq!(watcher.child.wait().unwrap().code(), Some(3));
}
