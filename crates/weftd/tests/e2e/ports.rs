//! Switching ports off and on, and sweeps.

use serde_json::Value;

use crate::harness::{Daemon, wait_for};
use crate::watch::Watcher;

#[test]
fn a_port_goes_down_and_comes_up_again() {
    let daemon = Daemon::up("fattree:16");
    let links = || daemon.weft_ok(&["report", "links", "-d", "0"]);
    assert!(links().contains("40 Links"), "{}", links());
    let planned = daemon.weft_ok(&["port", "disable", "-n", "node:edge1:port:3"]);
    assert_eq!(planned, "would disable port 3 of edge1\n");
    assert!(links().contains("40 Links"));
    assert_eq!(
        daemon.weft_ok(&["port", "disable", "node:edge1:port:3"]),
        "disabled port 3 of edge1\n"
    );
    wait_for(|| links().contains("39 Links").then_some(()));
    let down = daemon.weft_ok(&["report", "lids", "-F", "portphysstate:disabled"]);
    assert!(down.contains("Port:   3\n        in Node:"), "{down}");
    let gone = daemon.weft_fails(1, &["report", "lids", "-F", "node:node3 hfi1_0"]);
    assert!(gone.contains("no node named 'node3 hfi1_0'"), "{gone}");
    assert_eq!(
        daemon.weft_ok(&["port", "enable", "node:edge1:port:3"]),
        "enabled port 3 of edge1\n"
    );
    wait_for(|| links().contains("40 Links").then_some(()));
    let up = daemon.weft_ok(&["report", "nodes", "-F", "node:node3 hfi1_0"]);
    assert!(up.contains("1 Matching FIs Found"), "{up}");
}

#[test]
fn a_port_is_bounced_and_its_link_comes_back() {
    let daemon = Daemon::up("fattree:16");
    let (mut watcher, _) = Watcher::start(&daemon, &[]);
    let said = daemon.weft_ok(&["port", "bounce", "node:edge1:port:3"]);
    assert_eq!(said, "bounced port 3 of edge1\n");
    let changed = watcher.until("port_changed")["data"].clone();
    assert_eq!(changed["action"], "bounce");
    daemon.weft_ok(&["sweep", "--wait"]);
    let links = daemon.weft_ok(&["report", "links", "-d", "0"]);
    assert!(links.contains("40 Links"), "{links}");
}

#[test]
fn what_must_not_be_changed_is_refused() {
    let daemon = Daemon::up("one-switch:3");
    for (code, point, expected) in [
        (1, "sm", "would cut the manager off"),
        (2, "node:switch1", "names no port"),
        (2, "nodetype:FI", "names 3 ports"),
        (1, "node:nosuch:port:1", "no node named 'nosuch'"),
    ] {
        let point = if point == "node:switch1" {
            "nodetype:SW"
        } else {
            point
        };
        let said = daemon.weft_fails(code, &["port", "disable", point]);
        assert!(said.contains(expected), "{point}: {said}");
    }
}

#[test]
fn sweeps_are_asked_for_and_listed() {
    let daemon = Daemon::up("fattree:16");
    let swept = daemon.weft_ok(&["sweep", "--wait", "--json"]);
    let swept: Value = serde_json::from_str(&swept).unwrap();
    assert_eq!(swept["reason"], "forced");
    assert_eq!(
        swept["sets"], 0,
        "an unchanged fabric is not written to: {swept}"
    );
    assert_eq!(swept["active_ports"], 80);
    let waited = daemon.weft_ok(&["sweep", "--wait"]);
    assert!(
        waited.contains("16 HFIs, 2 switches, 40 links, 80 ports active"),
        "{waited}"
    );
    assert!(daemon.weft_ok(&["sweep"]).starts_with("sweep "));
    let listed = daemon.weft_ok(&["sweep", "--list", "--json"]);
    let listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
    let numbers: Vec<u64> = listed
        .iter()
        .map(|sweep| sweep["number"].as_u64().unwrap())
        .collect();
    assert_eq!(listed.last().unwrap()["reason"], "start");
    assert!(numbers.is_sorted_by(|a, b| a > b), "{numbers:?}");
}
