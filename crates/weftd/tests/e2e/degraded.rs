//! A link that loses lanes, and a fabric that is gone: what reports, metrics, events and `weft top` show.

use serde_json::Value;
use weft_api::client::Client;
use weft_api::v1;

use crate::emulator::Emulator;
use crate::harness::{Daemon, Start, wait_for, weft};
use crate::process::{Reading, program};

/// The host, and the switch's port that it is cabled to.
const HOST: &str = "0x0011750101000003";
const SWITCH_PORT: &str = "node:switch1:port:3";

/// Counters that are read every second.
fn read_often(start: &Start) {
    let file = start.dir.path().join("opafm.xml");
    let text = std::fs::read_to_string(&file).unwrap();
    let often = (
        "<SweepInterval>10</SweepInterval>",
        "<SweepInterval>1</SweepInterval>",
    );
    assert_eq!(text.matches(often.0).count(), 1);
    let text = text.replace(often.0, often.1);
    std::fs::write(
        file,
        text.replace("<ImageUpdateInterval>5</ImageUpdateInterval>", ""),
    )
    .unwrap();
}

fn top(daemon: &Daemon) -> Option<Value> {
    // It fails as long as the counters have not been read twice.
    let shown = daemon.weft(&["top", "--once", "--json"]);
    serde_json::from_slice(&shown.stdout).ok()
}

/// Lanes in use at the hosts' ports, by GUID.
async fn lanes(daemon: &Daemon) -> Vec<u32> {
    let client = Client::connect(&daemon.api, None).await.unwrap();
    let asked = v1::ListPortsRequest::default();
    let listed = client.fabric().list_ports(asked).await.unwrap();
    let ports = listed.into_inner().ports.into_iter();
    let mut ports: Vec<(u64, u32)> = ports
        .filter_map(|port| Some((port.id?.node_guid, port.lanes)))
        .filter(|(guid, _)| *guid >> 16 == 0x0011_7501_0100)
        .collect();
    ports.sort_unstable();
    ports.into_iter().map(|(_, lanes)| lanes).collect()
}

/// The next event of a kind.
fn next_event(watch: &mut Reading, kind: &str) -> Value {
    loop {
        let event: Value = serde_json::from_str(&watch.line().unwrap()).unwrap();
        if event["event"] == kind {
            return event;
        }
    }
}

#[test]
fn a_link_with_fewer_lanes_is_shown_as_what_it_carries_and_exceeds_a_threshold() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("fabric");
    let emulator = Emulator::start("one-switch:4", &socket);
    let start = Start::connected(&socket);
    read_often(&start);
    let daemon = start.up();
    wait_for(|| top(&daemon));
    let links = || daemon.weft_ok(&["report", "links", "-F", SWITCH_PORT]);
    assert!(links().contains("100g"), "{}", links());
    let mut command = program(weft());
    command
        .env("WEFT_ADDRESS", &daemon.api)
        .args(["watch", "--json"]);
    let mut watch = Reading::start(&mut command);
    next_event(&mut watch, "marker");

    emulator.change(&["link-lanes", HOST, "1", "3"]);
    let over = next_event(&mut watch, "threshold_exceeded")["data"].clone();
    assert_eq!(over["category"], "integrity", "{over}");
    let (value, limit) = (over["value"].as_u64(), over["threshold"].as_u64());
    assert!(value >= limit && limit > Some(0), "{over}");
    let ends = [&over["port"]["guid"], &over["neighbor"]["guid"]];
    assert!(ends.contains(&&Value::from(HOST)), "{over}");
    assert!(
        daemon.log().contains("over its threshold"),
        "{}",
        daemon.log()
    );

    daemon.weft_ok(&["sweep", "--wait"]);
    assert!(links().contains("75g"), "{}", links());
    let lanes = tokio::runtime::Runtime::new()
        .unwrap()
        .block_on(lanes(&daemon));
    assert_eq!(lanes, [4, 4, 3, 4], "by the API");

    emulator.kill();
    let shown = wait_for(|| top(&daemon).filter(|top| top["attached"] == false));
    assert!(shown["image"].as_u64() > Some(0), "{shown}");
    let lines = daemon.weft_ok(&["top", "--once"]);
    assert!(
        lines.starts_with("NOT ATTACHED: the fabric is gone"),
        "{lines}"
    );
}
