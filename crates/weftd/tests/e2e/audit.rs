//! The record of changes: `weft audit`, over a crash of the daemon, and with a line that somebody changed.

use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use weft_api::client::Client;
use weft_api::v1;
use weft_api::v1::plan_routes_request::Change;

use crate::emulator::Emulator;
use crate::harness::{Daemon, Start, stock_config, text, wait_for};
use crate::quarantine::json;

/// Two edge switches with two hosts each under two cores.
const TREE: &str = "pgft:2;2,2;1,2;1,1;radix=8";

fn changes(daemon: &Daemon, more: &[&str]) -> Vec<Value> {
    let listed = daemon.weft_ok(&[&["audit", "list", "--json"], more].concat());
    listed.lines().map(json).collect()
}

fn methods(changes: &[Value]) -> Vec<(&str, &str)> {
    changes
        .iter()
        .map(|change| {
            let method = change["method"].as_str().unwrap_or_default();
            let (_, method) = method.rsplit_once('/').unwrap_or(("", method));
            (method, change["result"].as_str().unwrap_or_default())
        })
        .collect()
}

fn files(state: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(state.join("state/audit.0")).unwrap();
    files.map(|file| file.unwrap().path()).collect()
}

#[test]
fn every_change_is_recorded_with_who_why_and_what_came_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let emulator = Emulator::start(TREE, &dir.path().join("fabric"));
    let daemon = Start::connected(&emulator.socket()).up();
    let reason = "dead server; ticket 7";
    daemon.weft_ok(&["port", "disable", "--reason", reason, "node:node3 hfi1_0"]);
    daemon.weft_fails(1, &["route", "apply", "999"]);
    daemon.weft_ok(&["report", "nodes"]);
    daemon.weft_ok(&["sweep", "--wait"]);
    // A crash right behind the answer.
    let state = daemon.crash();
    let daemon = Start::connected_in(state, &emulator.socket()).up();
    let all = changes(&daemon, &[]);
    let expected = [
        ("SetPortState", "ok"),
        ("ApplyRoutePlan", "not_found"),
        ("StartSweep", "ok"),
    ];
    assert_eq!(methods(&all), expected, "{all:?}");
    let disabled = &all[0];
    assert_eq!(disabled["reason"], reason);
    assert_eq!(disabled["way"], "grpc");
    assert_eq!(disabled["peer"], "127.0.0.1");
    assert_ne!(disabled["author"], "");
    assert_eq!(disabled["request"]["action"], "PORT_ACTION_DISABLE");
    let before = disabled["generation_before"].as_u64().unwrap();
    assert!(before > 0, "{disabled}");
    assert!(
        all[1]["message"].as_str().unwrap().contains("plan 999"),
        "{}",
        all[1]
    );
    // The port by the name of its node, besides its GUID.
    let node = &disabled["nodes"][0];
    let port = &disabled["request"]["port"];
    let guid: u64 = port["node_guid"].as_str().unwrap().parse().unwrap();
    assert_eq!(node["guid"], format!("{guid:#018x}"), "{disabled}");
    let name = node["name"].as_str().unwrap();
    let told = format!(", port {name}:{}\n", port["port"]);
    let shown = daemon.weft_ok(&["audit", "list", "--text", &name.to_uppercase()]);
    assert!(shown.contains(&told), "{told}: {shown}");
    // Chosen by text, by outcome and by author.
    assert_eq!(changes(&daemon, &["--text", "TICKET 7"]).len(), 1);
    assert_eq!(methods(&changes(&daemon, &["--refused"])), [expected[1]]);
    assert_eq!(changes(&daemon, &["--author", "nobody else"]).len(), 0);
    let shown = daemon.weft_ok(&["audit", "list"]);
    assert!(shown.contains("SetPortState: done\n"), "{shown}");
    assert!(
        shown.contains("    reason: dead server; ticket 7\n"),
        "{shown}"
    );
    daemon.weft_ok(&["sweep"]);
    daemon.logs("asks for StartSweep");
}

#[test]
fn signals_are_recorded_and_configurations_are_not_told() {
    let daemon = Daemon::up(TREE);
    daemon.signal("HUP");
    wait_for(|| (changes(&daemon, &[]).len() == 1).then_some(()));
    let config = daemon.dir.path().join("other.xml");
    let stock = std::fs::read_to_string(stock_config()).unwrap();
    let secret = "0x0123456789abcdef";
    let text = stock.replacen("<Sm>", &format!("<Sm><MKey>{secret}</MKey>"), 1);
    assert!(text.contains(secret));
    std::fs::write(&config, text).unwrap();
    daemon.weft(&["route", "plan", "--config", config.to_str().unwrap()]);
    let all = changes(&daemon, &[]);
    let told: Vec<&str> = methods(&all).iter().map(|(method, _)| *method).collect();
    assert_eq!(told, ["SIGHUP", "PlanRoutes"]);
    assert_eq!(all[0]["way"], "signal");
    assert_eq!(
        all[1]["request"]["config"]["sha256"]
            .as_str()
            .unwrap()
            .len(),
        64
    );
    for file in files(daemon.dir.path()) {
        let record = std::fs::read_to_string(file).unwrap();
        assert!(!record.contains(secret), "{record}");
    }
}

#[test]
fn a_line_that_was_changed_is_found() {
    let daemon = Daemon::up(TREE);
    for _ in 0..3 {
        daemon.weft_ok(&["sweep"]);
    }
    let whole = daemon.weft_ok(&["audit", "verify", "--json"]);
    let head = json(&whole)["head"].as_str().unwrap().to_owned();
    daemon.weft_ok(&["audit", "verify", "--known", &head]);
    let file = files(daemon.dir.path()).remove(0);
    let record = std::fs::read_to_string(&file).unwrap();
    // The last line goes: only the hash that was kept tells.
    let cut = record.trim_end().rsplit_once('\n').unwrap().0.to_owned() + "\n";
    std::fs::write(&file, &cut).unwrap();
    daemon.weft_ok(&["audit", "verify"]);
    let told = daemon.weft(&["audit", "verify", "--known", &head]);
    assert_eq!(told.status.code(), Some(1));
    assert!(text(&told.stdout).contains("no line has the hash"));
    // Somebody else did it.
    std::fs::write(&file, cut.replacen("StartSweep", "StartShoot", 1)).unwrap();
    let told = daemon.weft(&["audit", "verify"]);
    assert_eq!(told.status.code(), Some(1));
    let told = text(&told.stdout);
    assert!(
        told.contains("line 2: the hash of entry 1 does not follow"),
        "{told}"
    );
}

/// A call of HTTP/2 whose request ends in the middle, from a client that then goes away.
fn cut_off(daemon: &Daemon, path: &str) {
    let address = daemon.api.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).unwrap();
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    let fields = [
        // POST over http, from the table of HPACK; then the path and the authority.
        vec![0x83, 0x86, 0x04],
        text(path),
        vec![0x01],
        text(address),
        vec![0x0f, 0x10],
        text("application/grpc"),
        vec![0x00],
        text("te"),
        text("trailers"),
    ];
    let frame = |kind, flags, stream, body: &[u8]| {
        let head = [0, 0, body.len() as u8, kind, flags, 0, 0, 0, stream];
        [&head[..], body].concat()
    };
    let message = [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        frame(4, 0, 0, &[]),
        frame(1, 4, 1, &fields.concat()),
        // A message of nine bytes, of which one comes.
        frame(0, 0, 1, &[0, 0, 0, 0, 9, 8]),
    ];
    stream.write_all(&message.concat()).unwrap();
    // The daemon begins to read it.
    std::thread::sleep(Duration::from_millis(300));
}

#[test]
fn requests_that_do_not_come_whole_are_recorded() {
    let daemon = Daemon::up(TREE);
    cut_off(&daemon, "/weft.v1.SweepService/StartSweep");
    let all = wait_for(|| Some(changes(&daemon, &["--refused"])).filter(|all| !all.is_empty()));
    assert_eq!(all[0]["method"], "weft.v1.SweepService/StartSweep");
    assert_eq!(all[0]["digest"], "", "{}", all[0]);
    assert_eq!(all[0]["peer"], "127.0.0.1");

    let runtime = tokio::runtime::Runtime::new().unwrap();
    let long = "x".repeat(2 * weft_config::MAX_BYTES + 4_096);
    let request = v1::PlanRoutesRequest {
        change: Some(Change::Config(long)),
        ..v1::PlanRoutesRequest::default()
    };
    runtime.block_on(async {
        let client = Client::connect(&daemon.api, None).await.unwrap();
        let planned = client.routes().plan_routes(request).await;
        planned.unwrap_err()
    });
    let all = wait_for(|| Some(changes(&daemon, &[])).filter(|all| all.len() == 2));
    assert_eq!(methods(&all)[1], ("PlanRoutes", "resource_exhausted"));
    let said = all[1]["message"].as_str().unwrap();
    assert!(said.contains("longer than"), "{said}");
    assert_eq!(all[1]["digest"], "");
}

#[test]
fn who_puts_a_link_into_quarantine_releases_it_or_saves_an_incident_is_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let emulator = Emulator::start(TREE, &dir.path().join("fabric"));
    let daemon = Start::connected(&emulator.socket()).up();
    let point = "node:edge1:port:3";
    daemon.weft_ok(&["quarantine", "add", point, "--reason", "noisy"]);
    daemon.weft_ok(&["quarantine", "release", point, "--reason", "cable replaced"]);
    daemon.weft_ok(&["incident", "save", "--reason", "slow sweep"]);
    let all = changes(&daemon, &[]);
    let reasons: Vec<&str> = (all.iter())
        .map(|change| change["reason"].as_str().unwrap_or_default())
        .collect();
    // The reason of a quarantine is its comment, which the request has.
    assert_eq!(reasons[1..], ["cable replaced", "slow sweep"], "{all:?}");
    for change in &all {
        assert!(change["author"].as_str().unwrap().contains('@'), "{change}");
    }
}
