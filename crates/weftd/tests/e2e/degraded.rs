//! A link that loses lanes, and a fabric that is gone: what reports, metrics, events and `weft top` show.

use serde_json::Value;
use weft_api::client::Client;
use weft_api::v1;

use crate::emulator::Emulator;
use crate::harness::{Daemon, READ_OFTEN, Start, configure, wait_for};
use crate::watch::Watcher;

/// The host, and the switch's port that it is cabled to.
const HOST: &str = "0x0011750101000003";
const SWITCH_PORT: &str = "node:switch1:port:3";

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

#[test]
fn a_link_with_fewer_lanes_is_shown_as_what_it_carries_and_exceeds_a_threshold() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("fabric");
    let emulator = Emulator::start("one-switch:4", &socket);
    let start = Start::connected(&socket);
    configure(&start.dir.path().join("opafm.xml"), &READ_OFTEN);
    let daemon = start.up();
    wait_for(|| daemon.top());
    let links = || daemon.weft_ok(&["report", "links", "-F", SWITCH_PORT]);
    assert!(links().contains("100g"), "{}", links());
    let (mut watcher, _) = Watcher::start(&daemon, &[]);

    emulator.change(&["link-lanes", HOST, "1", "3"]);
    let over = watcher.until("threshold_exceeded")["data"].clone();
    assert_eq!(over["category"], "integrity", "{over}");
    let (value, limit) = (over["value"].as_u64(), over["threshold"].as_u64());
    assert!(value >= limit && limit > Some(0), "{over}");
    let ends = [&over["port"]["guid"], &over["neighbor"]["guid"]];
    assert!(ends.contains(&&Value::from(HOST)), "{over}");
    daemon.logs("over its threshold");

    daemon.weft_ok(&["sweep", "--wait"]);
    assert!(links().contains("75g"), "{}", links());
    let lanes = tokio::runtime::Runtime::new()
        .unwrap()
        .block_on(lanes(&daemon));
    assert_eq!(lanes, [4, 4, 3, 4], "by the API");

    emulator.kill();
    let shown = wait_for(|| daemon.top().filter(|top| top["attached"] == false));
    assert!(shown["image"].as_u64() > Some(0), "{shown}");
    let lines = daemon.weft_ok(&["top", "--once"]);
    assert!(lines.starts_with("NOT ATTACHED; "), "{lines}");
}
