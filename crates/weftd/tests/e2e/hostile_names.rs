//! Nodes whose names would act on a screen.

use weft_fabric::FabricSpec;
use weft_fabric::export::{SnapshotOptions, write_snapshot};
use weft_fabric::text::is_hidden;
use weft_fabric::{NodeId, Snapshot};
use weft_wire::text::Text;

use crate::harness::{Daemon, Start, text, weft};
use crate::process::{Reading, program};

/// Clears a screen, forges a line, sends a C1 control, and turns the direction of writing.
const NAMES: [&str; 4] = [
    "\u{1b}[2J\u{1b}]0;own\u{7}",
    "node\n2026-01-01T00:00:00Z  INFO forged",
    "\u{9b}31mred\r",
    "\u{202e}drawkcab",
];

/// A daemon on a fabric of such hosts.
fn daemon() -> Daemon {
    let spec: FabricSpec = "one-switch:4".parse().unwrap();
    let mut topology = spec.generate().unwrap();
    let hosts: Vec<NodeId> = topology.hfis().map(|(id, _)| id).collect();
    for (id, name) in hosts.into_iter().zip(NAMES) {
        let node = topology.node_mut(id).unwrap();
        node.description.node_string = Text::new(name);
    }
    let snapshot = Snapshot {
        topology: topology.into(),
        ..Snapshot::default()
    };
    let mut file = Vec::new();
    write_snapshot(&snapshot, SnapshotOptions::default(), &mut file).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fabric.xml");
    std::fs::write(&path, file).unwrap();
    let daemon = Start::new(path.to_str().unwrap());
    let daemon = daemon.args(&["--log-level", "debug"]).up();
    drop(dir);
    daemon
}

fn is_clean(what: &str, text: &str) {
    // Exports for ibnetdiscover's readers have tabs between their fields.
    let own = ['\n', '\t'];
    let hidden = text.chars().find(|c| !own.contains(c) && is_hidden(*c));
    assert_eq!(hidden, None, "{what}: {text:?}");
    let forged = text.lines().any(|line| line.starts_with("2026-01-01"));
    assert!(!forged, "{what}: {text}");
}

#[test]
fn names_are_escaped_in_every_medium() {
    let daemon = daemon();
    let raw = daemon.weft_ok(&["report", "nodes"]);
    assert!(raw.contains("\\x1b[2J"), "the name came through: {raw}");
    let commands: [&[&str]; 13] = [
        &["report", "nodes", "-d", "3"],
        &["report", "nodes", "--json"],
        &["report", "links"],
        &["report", "links", "--json"],
        &["report", "lids"],
        &["report", "linear"],
        &["report", "comps"],
        &["report", "route", "-S", "sm", "-D", "nodetype:FI"],
        &["fabric", "show"],
        &["fabric", "export", "--snapshot"],
        &["fabric", "export", "--ibnetdiscover"],
        &["fabric", "export", "--dot"],
        &["sweep", "--list"],
    ];
    for command in commands {
        is_clean(&format!("{command:?}"), &daemon.weft_ok(command));
    }
    // The manager's own port is refused, the others are named.
    let ports = daemon.weft(&["port", "disable", "--all", "--dry-run", "nodetype:FI"]);
    let named = String::from_utf8_lossy(&ports.stdout);
    assert!(named.contains("would disable"), "{named}");
    is_clean("port disable", &named);
    let mut watch = program(weft());
    let watch = watch.env("WEFT_ADDRESS", &daemon.api);
    let mut watching = Reading::start(watch.args(["watch"]));
    watching.line().unwrap();
    daemon.weft_ok(&["port", "disable", "nodetype:SW:port:3"]);
    let vanished = loop {
        let line = watching.line().unwrap();
        is_clean("watch", &line);
        if line.contains("node vanished") {
            break line;
        }
    };
    assert!(vanished.contains("\\xc2\\x9b31mred"), "{vanished}");
    let wrong = daemon.weft(&["report", "nodes", "-F", "node:\u{1b}[2Jx"]);
    is_clean("an error", &text(&wrong.stderr));
    let log = daemon.log();
    assert!(log.contains("x9b31mred"), "the log names nodes: {log}");
    is_clean("the log", &log);
}

#[test]
fn jobs_have_names_that_show() {
    let daemon = Daemon::up("one-switch:2");
    let start = ["emulator", "traffic", "start"];
    let args = [&start[..], &["a\u{1b}[2J", "uniform"]].concat();
    let said = daemon.weft_fails(1, &args);
    assert!(said.contains("characters that do not show"), "{said}");
    is_clean("the refusal", &said);
}
