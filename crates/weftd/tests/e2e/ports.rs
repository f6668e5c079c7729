//! Changes of ports, and sweeps.

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tonic_types::StatusExt;
use weft_api::client::Client;
use weft_api::v1;

use crate::emulator::Emulator;
use crate::harness::{Daemon, Start, configure, wait_for, wait_for_links, weft};
use crate::process::program;
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
    wait_for_links(&daemon, 39);
    let down = daemon.weft_ok(&["report", "lids", "-F", "portphysstate:disabled"]);
    assert!(down.contains("Port:   3\n        in Node:"), "{down}");
    let gone = daemon.weft_fails(1, &["report", "lids", "-F", "node:node3 hfi1_0"]);
    assert!(gone.contains("no node named 'node3 hfi1_0'"), "{gone}");
    assert_eq!(
        daemon.weft_ok(&["port", "enable", "node:edge1:port:3"]),
        "enabled port 3 of edge1\n"
    );
    wait_for_links(&daemon, 40);
    let up = daemon.weft_ok(&["report", "nodes", "-F", "node:node3 hfi1_0"]);
    assert!(up.contains("1 Matching FIs Found"), "{up}");
}

#[test]
fn a_host_is_enabled_by_the_name_that_left_the_fabric_with_it() {
    let daemon = Daemon::up("fattree:16");
    let host = "node:node3 hfi1_0";
    let disabled = daemon.weft_ok(&["port", "disable", host]);
    assert_eq!(disabled, "disabled port 1 of node3 hfi1_0\n");
    wait_for_links(&daemon, 39);
    // Not by others, which it was not.
    let said = daemon.weft_fails(1, &["port", "enable", "node:node99 hfi1_0"]);
    assert!(said.contains("no node named 'node99 hfi1_0'"), "{said}");
    let said = daemon.weft_fails(1, &["port", "enable", "node:node3 hfi1_0:port:2"]);
    assert!(said.contains("no node named 'node3 hfi1_0'"), "{said}");
    let planned = daemon.weft_ok(&["port", "enable", "-n", host]);
    assert_eq!(planned, "would enable port 3 of edge1\n");
    let enabled = daemon.weft_ok(&["port", "enable", host]);
    assert_eq!(enabled, "enabled port 3 of edge1\n");
    wait_for_links(&daemon, 40);
    until_none_is_listed(&daemon);
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

/// The ports that are disabled.
fn listed(daemon: &Daemon) -> Vec<Value> {
    let listed = daemon.weft_ok(&["port", "list", "--disabled", "--json"]);
    serde_json::from_str(&listed).unwrap()
}

/// Waits until no port is: one that was just enabled shows itself as disabled until its link begins to train.
fn until_none_is_listed(daemon: &Daemon) {
    wait_for(|| listed(daemon).is_empty().then_some(()));
}

#[test]
fn why_a_port_is_disabled_is_kept_over_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("fabric");
    let _emulator = Emulator::start("fattree:16", &socket);
    let daemon = Start::connected(&socket).up();
    assert_eq!(
        daemon.weft_ok(&["port", "list", "--disabled"]),
        "no port is disabled\n"
    );
    let reason = "dead server; ticket 7";
    let args = ["port", "disable", "--reason", reason, "node:node3 hfi1_0"];
    daemon.weft_ok(&args);
    daemon.weft_ok(&["port", "disable", "node:edge1:port:4"]);
    daemon.logs("dead server; ticket 7");
    let before = listed(&daemon);
    assert_eq!(before.len(), 2, "{before:?}");
    let port = before.iter().find(|port| port["reason"] == reason).unwrap();
    assert_eq!(port["state"], "off");
    assert_eq!(port["port"]["name"], "edge1");
    assert_eq!(port["port"]["port"], 3);
    assert_eq!(port["far"]["name"], "node3 hfi1_0");
    assert_eq!(port["peer"], "127.0.0.1");
    assert!(port["author"].as_str().unwrap().contains('@'), "{port}");

    let (_, dir) = daemon.stop();
    let daemon = Start::connected_in(dir, &socket).up();
    daemon.weft_ok(&["sweep", "--wait"]);
    assert_eq!(listed(&daemon), before, "as it was before the restart");
    let text = daemon.weft_ok(&["port", "list", "--disabled"]);
    let line = "edge1 port 3 (to node3 hfi1_0 port 1): disabled\n    since ";
    assert!(text.contains(line), "{text}");
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    let csv = daemon.weft_ok(&["port", "list", "--disabled", "--csv"]);
    let row = "0x0011750102000001;3;SW;edge1;0x0011750101000003;1;FI;node3 hfi1_0;dead server, ticket 7\n";
    assert!(csv.contains(row), "{csv}");

    let file = daemon.dir.path().join("disabled.csv");
    std::fs::write(&file, csv).unwrap();
    let file = file.display().to_string();
    let enabled = daemon.weft_ok(&["port", "enable", "--from", &file]);
    assert_eq!(enabled.lines().count(), 2, "{enabled}");
    until_none_is_listed(&daemon);
    daemon.weft_ok(&["sweep", "--wait"]);
    let links = daemon.weft_ok(&["report", "links", "-d", "0"]);
    assert!(links.contains("40 Links"), "{links}");
}

#[test]
fn a_list_that_cuts_something_off_is_refused_as_a_whole() {
    let daemon = Daemon::up("fattree:16,radix=8");
    let links = || daemon.weft_ok(&["report", "links", "-d", "0"]);
    let all = links();
    let shown = daemon.weft_ok(&["report", "links", "--json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let uplinks = uplinks(&shown, "edge4");
    assert!(uplinks.len() > 1, "{shown}");
    let file = daemon.dir.path().join("links.csv");
    std::fs::write(&file, uplinks.concat()).unwrap();
    let file = file.display().to_string();
    let said = daemon.weft_fails(1, &["port", "disable", "--from", &file]);
    assert!(said.contains("edge4"), "{said}");
    let count = uplinks.len();
    let nothing = format!("nothing was changed of {count} ports");
    assert!(said.contains(&nothing), "{said}");
    let planned = daemon.weft(&["port", "disable", "-n", "--from", &file]);
    assert_eq!(planned.status.code(), Some(1));
    let planned = crate::harness::text(&planned.stdout);
    assert_eq!(
        planned.matches("would be refused").count(),
        count,
        "{planned}"
    );
    assert_eq!(links(), all, "nothing was sent");
    until_none_is_listed(&daemon);

    // All but one of them may go, from standard input; then the last one may not.
    let mut child = program(weft());
    child.env("WEFT_ADDRESS", &daemon.api);
    child.args(["port", "disable", "--reason", "works", "--from", "-"]);
    let mut child = child
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let input = uplinks[1..].concat();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success());
    assert_eq!(listed(&daemon).len(), count - 1);
    std::fs::write(&file, &uplinks[0]).unwrap();
    let said = daemon.weft_fails(1, &["port", "disable", "--from", &file]);
    assert!(said.contains("--force does it all the same"), "{said}");
    daemon.weft_ok(&["port", "disable", "--force", "--from", &file]);
    wait_for(|| (links() != all).then_some(()));
    assert_eq!(listed(&daemon).len(), count);
}

/// Lines as opaextractsellinks writes them of the links between a switch and other switches.
fn uplinks(links: &Value, name: &str) -> Vec<String> {
    let end = |end: &Value| {
        let field = |name: &str| end[name].to_string().replace('"', "");
        let kind = field("type");
        format!(
            "{};{};{kind};{}",
            field("guid"),
            field("port"),
            field("name")
        )
    };
    let all = links["links"].as_array().unwrap().iter();
    let lines = all.map(|link| format!("{};{}\n", end(&link["from"]), end(&link["to"])));
    let lines = lines.filter(|line| line.contains(name) && line.matches(";SW;").count() == 2);
    lines.collect()
}

#[test]
fn beacons_and_widths_are_set_and_told() {
    let daemon = Daemon::up("fattree:16");
    let port = "node:edge1:port:5";
    daemon.weft_ok(&["port", "led", "on", port]);
    let lit = daemon.weft_ok(&["report", "links", "-F", "led:on", "-d", "0"]);
    assert!(lit.contains("1 Matching Links Found"), "{lit}");
    daemon.weft_ok(&["port", "led", "off", port]);
    daemon.weft_fails(1, &["report", "links", "-F", "led:on"]);
    let json = daemon.weft_ok(&["port", "link", "--width", "2x", "--json", port]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["outcome"], "done");
    wait_for(|| {
        daemon
            .weft(&["report", "links", "-F", "rate:50g"])
            .status
            .success()
            .then_some(())
    });
    for (args, code, expected) in [
        (&["--width", "5x", port][..], 2, "expected 1x, 2x, 3x or 4x"),
        (
            &["--speed", "12.5g", port],
            1,
            "cannot have speed 12.5Gb, it can have speed 25Gb",
        ),
        (&[port], 2, "--width"),
        (&["--width", "1x", "sm"], 1, "would cut the manager off"),
    ] {
        let all = [&["port", "link"], args].concat();
        let said = daemon.weft_fails(code, &all);
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_list_whose_client_is_killed_is_not_carried_on() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("fabric");
    let emulator = Emulator::start("fattree:16", &socket);
    let start = Start::connected(&socket);
    let patient = (
        "<SweepInterval>300</SweepInterval>",
        "<SweepInterval>300</SweepInterval><MaxAttempts>40</MaxAttempts>",
    );
    configure(&start.dir.path().join("opafm.xml"), &[patient]);
    let daemon = start.up();
    emulator.signal("STOP");
    let mut client = program(weft());
    client.env("WEFT_ADDRESS", &daemon.api);
    client.args(["port", "disable", "--all", "nodepat:node[3-9] *"]);
    let mut client = client.stdout(Stdio::null()).spawn().unwrap();
    daemon.has_been_asked(1);
    // The first of them is on its way, and nobody answers.
    wait_for(|| {
        let waits = !daemon.scrape().contains("weft_mads_outstanding 0\n");
        waits.then_some(())
    });
    client.kill().unwrap();
    client.wait().unwrap();
    daemon.notices_that_a_client_left();
    emulator.signal("CONT");
    // The one that was begun is carried through, the six others are left alone.
    wait_for(|| (listed(&daemon).len() == 1).then_some(()));
    std::thread::sleep(Duration::from_millis(500));
    daemon.weft_ok(&["sweep", "--wait"]);
    let links = daemon.weft_ok(&["report", "links", "-d", "0"]);
    assert!(links.contains("39 Links"), "{links}\n{}", daemon.log());
}

#[tokio::test]
async fn refusals_carry_their_kind_for_programs() {
    let daemon = Daemon::up("fattree:16,radix=8");
    let client = Client::connect(&daemon.api, None).await.unwrap();
    let snapshot = client.snapshot().await.unwrap();
    let topology = &snapshot.topology;
    let edge = topology.nodes().find(|(_, node)| node.name() == "edge4");
    let (id, edge) = edge.unwrap();
    let is_uplink = |port: &weft_fabric::Port| {
        port.peer
            .is_some_and(|peer| topology.switch_index(peer.node).is_some())
    };
    let uplinks = edge.external_ports().filter(|(_, port)| is_uplink(port));
    let uplinks = uplinks.map(|(port, _)| v1::PortToSet {
        port: weft_api::port_id(topology, weft_fabric::PortRef { node: id, port }),
        reason: String::new(),
    });
    let request = |ports: Vec<v1::PortToSet>| v1::SetPortsRequest {
        ports,
        action: v1::PortAction::Disable.into(),
        ..Default::default()
    };
    let uplinks: Vec<v1::PortToSet> = uplinks.collect();
    let count = uplinks.len();
    let refused = client
        .ports()
        .set_ports(request(uplinks.clone()))
        .await
        .unwrap_err();
    assert_eq!(refused.code(), tonic::Code::FailedPrecondition);
    let details = refused.get_error_details();
    assert_eq!(details.error_info().unwrap().reason, "CUTS_OFF");
    let violations = &details.precondition_failure().unwrap().violations;
    assert_eq!(violations.len(), count);
    assert!(
        violations[0].description.contains("edge4"),
        "{violations:?}"
    );

    // Ports that are not there do not keep the others from being changed.
    let mut some = vec![uplinks[0].clone(), uplinks[0].clone()];
    some[1].port = Some(v1::PortId {
        node_guid: 7,
        port: 1,
    });
    let mut answers = client
        .ports()
        .set_ports(request(some))
        .await
        .unwrap()
        .into_inner();
    let mut outcomes = Vec::new();
    while let Some(answer) = answers.message().await.unwrap() {
        outcomes.push((answer.outcome(), answer.code, answer.left));
    }
    let expected = [
        (v1::PortOutcome::Done, String::new(), 1),
        (v1::PortOutcome::Refused, "NO_NODE".to_owned(), 0),
    ];
    assert_eq!(outcomes, expected);

    let twice = client
        .ports()
        .set_ports(request(vec![uplinks[1].clone(); 2]))
        .await
        .unwrap_err();
    let details = twice.get_error_details();
    assert_eq!(
        details.bad_request().unwrap().field_violations[0].field,
        "ports[1]"
    );
    let none = client
        .ports()
        .set_ports(request(Vec::new()))
        .await
        .unwrap_err();
    assert!(
        none.message().contains("0 ports, allowed are 1 to 4096"),
        "{none}"
    );
}
