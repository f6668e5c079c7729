//! Nodes whose names would act on a screen.

use serde_json::Value;
use weft_fabric::FabricSpec;
use weft_fabric::export::{SnapshotOptions, write_snapshot};
use weft_fabric::text::is_hidden;
use weft_fabric::{NodeId, Snapshot};
use weft_wire::text::Text;

use crate::exposition::promtool_accepts;
use crate::harness::{Daemon, READ_OFTEN, Start, configure, text, wait_for, weft};
use crate::process::{Reading, program};

/// Clears a screen, forges a line, sends a C1 control, and turns the direction of writing.
const NAMES: [&str; 4] = [
    "\u{1b}[2J\u{1b}]0;own\u{7}",
    "node\n2026-01-01T00:00:00Z  INFO forged",
    "\u{9b}31mred\r",
    "\u{202e}drawkcab",
];

/// Ends a label of a metric, a string of JSON, and an escape.
const QUOTED: [&str; 4] = [
    "a\"b",
    "back\\",
    "\",name=\"x\"} 1\nforged 1",
    "{\u{1b}[31m}",
];

/// A daemon on a fabric of hosts with names, its log of a format.
fn daemon(names: [&str; 4], log: &str) -> Daemon {
    let spec: FabricSpec = "one-switch:4".parse().unwrap();
    let mut topology = spec.generate().unwrap();
    let hosts: Vec<NodeId> = topology.hfis().map(|(id, _)| id).collect();
    for (id, name) in hosts.into_iter().zip(names) {
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
    let start = Start::new(path.to_str().unwrap());
    configure(&start.dir.path().join("opafm.xml"), &READ_OFTEN);
    let start = start.args(&["--log-level", "debug", "--log", log]);
    let daemon = start.up();
    drop(dir);
    daemon
}

/// A name with each byte of a character that does not show as `\xNN`.
fn shown(name: &str) -> String {
    let one = |character: char| match is_hidden(character) {
        true => {
            let bytes = character.to_string().into_bytes();
            bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect()
        }
        false => character.to_string(),
    };
    name.chars().map(one).collect()
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
    let daemon = daemon(NAMES, "human");
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
    daemon.weft_ok(&["quarantine", "add", "nodetype:SW:port:2", "--force"]);
    for form in ["--all", "--json", "--csv"] {
        let page = wait_for(|| {
            let page = text(&daemon.weft(&["health", form]).stdout);
            page.contains("quarantined").then_some(page)
        });
        is_clean(&format!("health {form}"), &page);
        assert!(page.contains("x0a2026"), "the page names nodes: {page}");
    }
    let wrong = daemon.weft(&["report", "nodes", "-F", "node:\u{1b}[2Jx"]);
    is_clean("an error", &text(&wrong.stderr));
    let log = daemon.log();
    assert!(log.contains("x9b31mred"), "the log names nodes: {log}");
    is_clean("the log", &log);
}

#[test]
fn a_log_for_machines_is_json_and_shows_every_character() {
    for names in [NAMES, QUOTED] {
        let daemon = daemon(names, "json");
        daemon.weft_ok(&["port", "disable", "nodetype:SW:port:3"]);
        let log = wait_for(|| {
            let mut log = daemon.log();
            // The last line may be half written.
            log.truncate(log.rfind('\n')? + 1);
            Some(log).filter(|log| log.contains("node_vanished"))
        });
        is_clean("the log", &log);
        let lines = log.lines().map(serde_json::from_str);
        let lines: Vec<Value> = lines.collect::<Result<_, _>>().unwrap();
        let vanished = lines
            .iter()
            .find(|line| line["fields"]["event"] == "node_vanished");
        let name = vanished.unwrap()["fields"]["node"].as_str().unwrap();
        assert!(names.iter().any(|one| name == shown(one)), "{name:?}");
    }
}

#[test]
fn labels_of_metrics_end_where_they_should() {
    for names in [NAMES, QUOTED] {
        let daemon = daemon(names, "human");
        daemon.weft_ok(&["emulator", "traffic", "start", "all", "uniform"]);
        let metrics = wait_for(|| {
            let answer = daemon.scrape();
            let (_, metrics) = answer.split_once("\r\n\r\n").unwrap();
            let busiest = metrics.matches("\nweft_pm_busiest_ratio{").count();
            (busiest >= 2 * names.len()).then(|| metrics.to_owned())
        });
        let values: Vec<String> = metrics.lines().filter_map(name_label).collect();
        for name in names {
            let name = shown(name);
            assert!(values.contains(&name), "{name:?} in {values:?}");
        }
        promtool_accepts(&metrics);
    }
}

/// The value of the label `name` of a sample, read to the first quote without a backslash before it.
fn name_label(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("name=\"")?;
    let (mut value, mut characters) = (String::new(), rest.chars());
    loop {
        match characters.next()? {
            '"' => return Some(value),
            '\\' => value.push(match characters.next()? {
                'n' => '\n',
                other => other,
            }),
            other => value.push(other),
        }
    }
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
