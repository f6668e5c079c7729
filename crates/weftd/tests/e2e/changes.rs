//! Who or what changed a part of the fabric, and why: `weft who` and `weft why`, over a restart of the daemon.

use serde_json::Value;

use crate::emulator::Emulator;
use crate::harness::{Daemon, Start, text, wait_for, wait_for_links};
use crate::quarantine::json;

/// Two edge switches with two hosts each under two cores.
const TREE: &str = "pgft:2;2,2;1,2;1,1;radix=8";

fn who(daemon: &Daemon, args: &[&str]) -> Vec<Value> {
    let listed = daemon.weft_ok(&[&["who", "--json"], args].concat());
    listed.lines().map(json).collect()
}

/// What is told, with who made it.
fn told(changes: &[Value]) -> Vec<String> {
    let told = changes.iter().map(|change| {
        let of = |field: &str| change[field].as_str().unwrap_or_default().to_owned();
        format!("{}: {}", of("origin"), of("what"))
    });
    told.collect()
}

/// A change with these words.
fn find<'a>(changes: &'a [Value], what: &str) -> &'a Value {
    let found = changes.iter().find(|change| change["what"] == what);
    found.unwrap_or_else(|| panic!("{what} is not in {:?}", told(changes)))
}

#[test]
fn every_change_of_a_part_is_told_with_who_made_it_and_why() {
    let dir = tempfile::tempdir().unwrap();
    let emulator = Emulator::start(TREE, &dir.path().join("fabric"));
    let daemon = Start::connected(&emulator.socket()).up();
    let host = "node3 hfi1_0";
    daemon.weft_ok(&[
        "port",
        "disable",
        "--reason",
        "dead server",
        &format!("node:{host}"),
    ]);
    daemon.weft_ok(&["port", "bounce", "--reason", "stuck", "node:edge1:port:3"]);
    daemon.weft_ok(&[
        "quarantine",
        "add",
        "node:edge2:port:4",
        "--reason",
        "errors",
    ]);
    daemon.weft_ok(&["sweep", "--wait"]);
    daemon.weft_ok(&["drain", "node:core1", "--reason", "RMA-7"]);
    daemon.weft_fails(1, &["route", "apply", "999"]);
    emulator.change(&["link-down", "edge1:4"]);
    wait_for(|| {
        let links = daemon.weft_ok(&["log", "--kind", "link_vanished"]);
        links.contains("edge1 port 4").then_some(())
    });
    let (code, state) = daemon.stop();
    assert_eq!(code, Some(0));
    let daemon = Start::connected_in(state, &emulator.socket()).up();

    let of_host = who(&daemon, &[host]);
    let disabled = find(&of_host, &format!("disable {host}:1"));
    assert_eq!(disabled["origin"], "person");
    assert_eq!(disabled["reason"], "dead server");
    assert_eq!(disabled["result"], "ok");
    assert_eq!(disabled["peer"], "127.0.0.1");
    assert_ne!(disabled["author"], "");
    assert_ne!(
        disabled["event"], "",
        "the device has confirmed it: {disabled}"
    );
    // Once, although both the record and an event tell of it.
    let named = told(&of_host)
        .iter()
        .filter(|what| what.contains("disable"))
        .count();
    assert_eq!(named, 1, "{:?}", told(&of_host));
    let gone = find(&of_host, &format!("node {host} vanished"));
    assert!(gone["sweep"].as_u64() > Some(1), "{gone}");

    let of_port = who(&daemon, &["edge1:3"]);
    assert_eq!(find(&of_port, "bounce edge1:3")["reason"], "stuck");
    assert!(
        !told(&of_port).iter().any(|what| what.contains("edge1:4")),
        "{:?}",
        told(&of_port)
    );
    let of_far = who(&daemon, &["node:core2:port:2"]);
    let quarantined = find(&of_far, "put edge2:4 into quarantine");
    assert_eq!(quarantined["origin"], "person");
    let of_core = who(&daemon, &["core1"]);
    let drained = of_core.iter().find(|change| {
        change["what"]
            .as_str()
            .unwrap()
            .starts_with("apply plan 1: drain core1")
    });
    let drained = drained.unwrap_or_else(|| panic!("{:?}", told(&of_core)));
    assert_eq!(drained["reason"], "RMA-7");
    assert!(drained["sweep"].as_u64() > Some(1), "{drained}");
    let of_plan = told(&who(&daemon, &["plan:1"]));
    assert!(
        of_plan[0].starts_with("person: apply plan 1: drain core1"),
        "{of_plan:?}"
    );
    assert_eq!(of_plan[1], "person: plan: drain core1", "{of_plan:?}");
    let vanished = who(&daemon, &["edge1:4"]);
    let vanished = find(&vanished, "link edge1:4 to core2:1 vanished");
    assert_eq!(vanished["origin"], "manager");
    bounded(&daemon);
}

/// The newest first, no more than are asked for, and within a time.
fn bounded(daemon: &Daemon) {
    let all = who(daemon, &[]);
    let times: Vec<&str> = all
        .iter()
        .map(|change| change["time"].as_str().unwrap())
        .collect();
    assert!(times.windows(2).all(|pair| pair[0] >= pair[1]), "{times:?}");
    assert!(
        told(&all).iter().any(|what| what.contains("wrote ")),
        "{:?}",
        told(&all)
    );
    let two = who(daemon, &["--limit", "2"]);
    assert_eq!(two[..], all[..2]);
    let text = daemon.weft_ok(&["who", "--limit", "2"]);
    assert!(text.contains("There are older ones: --limit"), "{text}");
    assert!(text.starts_with("Changes of everything up to "), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert_eq!(who(daemon, &["--to", "-1d"]), [] as [Value; 0]);
    let refused = find(&all, "apply plan 999");
    assert_eq!(refused["result"], "not_found");
    assert!(
        refused["message"].as_str().unwrap().contains("999"),
        "{refused}"
    );
    let message = daemon.weft_fails(1, &["who", "node:nowhere"]);
    assert!(message.contains("none in events of the past"), "{message}");
    let message = daemon.weft_fails(2, &["who", "plan:x"]);
    assert!(
        message.contains("expected the number of a plan"),
        "{message}"
    );
}

#[test]
fn a_virtual_fabric_has_the_reload_that_changed_it() {
    let daemon = Start::new(TREE).up();
    let file = daemon.dir.path().join("opafm.xml");
    let text = std::fs::read_to_string(&file).unwrap();
    let of_default = "<PKey>0x0001</PKey>\n        <Security>0</Security>";
    assert_eq!(text.matches(of_default).count(), 1);
    let secure = of_default.replace("<Security>0", "<Security>1");
    std::fs::write(&file, text.replace(of_default, &secure)).unwrap();
    daemon.signal("HUP");
    let changes = wait_for(|| {
        let changes = who(&daemon, &["vf:Default"]);
        (!changes.is_empty()).then_some(changes)
    });
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(changes[0]["way"], "signal");
    let what = changes[0]["what"].as_str().unwrap();
    assert!(what.contains("Default"), "{what}");
    assert_eq!(who(&daemon, &["vf:Nothing"]), [] as [Value; 0]);
}

/// What a change comes from.
fn why(daemon: &Daemon, args: &[&str]) -> Vec<Value> {
    let explained = json(&daemon.weft_ok(&[&["why", "--json"], args].concat()));
    explained["causes"].as_array().unwrap().clone()
}

fn kinds(causes: &[Value]) -> Vec<&str> {
    causes
        .iter()
        .map(|cause| cause["kind"].as_str().unwrap())
        .collect()
}

/// The first cause of a kind.
fn of_kind<'a>(causes: &'a [Value], kind: &str) -> &'a Value {
    let found = causes.iter().find(|cause| cause["kind"] == kind);
    found.unwrap_or_else(|| panic!("no {kind} in {causes:?}"))
}

/// The first link between switches from node1 to node4.
fn first_link(daemon: &Daemon) -> String {
    // While a sweep writes, packets may not arrive.
    let shown = wait_for(|| {
        let asked = ["route", "show", "node1 hfi1_0", "node4 hfi1_0", "--json"];
        let shown = daemon.weft(&asked);
        let arrives = shown.status.success();
        arrives.then(|| json(&text(&shown.stdout)))
    });
    let link = &shown["ways"][0]["links"][1]["from"];
    format!("{}:{}", link["node"].as_str().unwrap(), link["port"])
}

/// Waits until the way has changed, and what it comes from is recorded back to a first cause of this kind.
fn way_changes(daemon: &Daemon, from: &str, route: &[&str], first: &str) -> Vec<Value> {
    wait_for(|| (first_link(daemon) != from).then_some(()));
    daemon.weft_ok(&["sweep", "--wait"]);
    wait_for(|| {
        let told = why(daemon, route);
        kinds(&told).contains(&first).then_some(told)
    })
}

#[test]
fn a_way_that_moved_is_followed_back_to_the_trap_and_to_who_asked() {
    let dir = tempfile::tempdir().unwrap();
    let emulator = Emulator::start(TREE, &dir.path().join("fabric"));
    let daemon = Start::connected(&emulator.socket()).up();
    let route = ["route", "node1 hfi1_0", "node4 hfi1_0"];
    daemon.weft_ok(&["sweep", "--wait"]);
    let by_start = wait_for(|| {
        let told = daemon.weft(&[&["why", "--json"][..], &route].concat());
        told.status
            .success()
            .then(|| json(&crate::harness::text(&told.stdout)))
    });
    assert_eq!(by_start["causes"][0]["sweep"], 1, "{by_start}");
    assert_eq!(by_start["causes"][0]["before"].as_array().unwrap().len(), 0);

    let link = first_link(&daemon);
    emulator.change(&["link-down", &link]);
    let told = way_changes(&daemon, &link, &route, "trap");
    by_a_trap(&told, &link);
    let text = daemon.weft_ok(&[&["why"][..], &route].concat());
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert!(text.contains("    certificate: "), "{text}");
    assert!(text.contains("no order of anybody"), "{text}");

    let (_, state) = daemon.stop();
    let daemon = Start::connected_in(state, &emulator.socket()).up();
    daemon.weft_ok(&["sweep", "--wait"]);
    assert_eq!(why(&daemon, &route), told, "after a restart");
    let event = of_kind(&told, "event")["event"].as_str().unwrap();
    let of_event = why(&daemon, &[&format!("event:{event}")]);
    assert_eq!(
        kinds(&of_event)[..4],
        ["tables", "event", "sweep", "trap"],
        "{of_event:?}"
    );
    let of_port = why(&daemon, &[&format!("port:{link}")]);
    assert_eq!(of_port, of_event, "the last change of the port");

    // By an order: the link that is left goes down at its other end.
    emulator.change(&["link-up", &link]);
    wait_for_links(&daemon, 8);
    daemon.weft_ok(&["sweep", "--wait"]);
    let link = first_link(&daemon);
    daemon.weft_ok(&["port", "disable", "--reason", "RMA-7", &point(&link)]);
    let told = way_changes(&daemon, &link, &route, "person");
    let person = told.last().unwrap();
    assert_eq!(person["kind"], "person", "{told:?}");
    assert!(
        person["what"]
            .as_str()
            .unwrap()
            .contains(&format!("disable {link} (RMA-7)")),
        "{person}"
    );
    assert!(person["record"].as_u64() > Some(0));
    refused(&daemon);
}

/// The route moved because a link went down.
fn by_a_trap(told: &[Value], link: &str) {
    assert_eq!(kinds(told)[..2], ["route", "tables"], "{told:?}");
    let (route, tables) = (&told[0], &told[1]);
    assert_ne!(route["before"], route["after"], "{route}");
    assert!(tables["blocks"].as_u64() > Some(0), "{tables}");
    assert!(
        tables["certificate"]["routes"].as_u64() > Some(0),
        "{tables}"
    );
    assert_eq!(tables["certificate"]["disconnected"], 0);
    let switches = tables["switches"].as_array().unwrap();
    let blocks: u64 = switches
        .iter()
        .map(|switch| switch["blocks"].as_u64().unwrap())
        .sum();
    assert_eq!(Some(blocks), tables["blocks"].as_u64());
    assert!(tables["time"].as_str() <= route["time"].as_str());
    let vanished = of_kind(told, "event");
    assert!(
        vanished["what"].as_str().unwrap().contains(link),
        "{vanished}"
    );
    assert_eq!(vanished["sweep"], route["sweep"]);
    let sweep = of_kind(told, "sweep");
    assert!(
        sweep["what"].as_str().unwrap().ends_with(": trap"),
        "{sweep}"
    );
    let trap = of_kind(told, "trap");
    assert!(trap["what"].as_str().unwrap().contains("128"), "{trap}");
    assert!(trap["trap"].as_u64() > Some(0), "{trap}");
    assert_ne!(trap["event"], "", "{trap}");
}

fn point(link: &str) -> String {
    let (node, port) = link.split_once(':').unwrap();
    format!("node:{node}:port:{port}")
}

fn refused(daemon: &Daemon) {
    for (args, code, told) in [
        (
            &["why", "route", "node1 hfi1_0"][..],
            2,
            "expected its two ends",
        ),
        (&["why", "nothing"], 2, "port:POINT or event:ID"),
        (&["why", "event:x"], 1, "expected the event_id"),
        (
            &["why", "event:1-1"],
            1,
            "no event 0000000000000001-1 is kept",
        ),
        (&["who", "--from", "-1h", "--to", "-2h"], 1, "is after to"),
        (&["why", "port:nowhere"], 1, "no change of it is known"),
        (
            &["why", "route", "edge1", "nodepat:node*"],
            1,
            "allowed: one",
        ),
    ] {
        let message = daemon.weft_fails(code, args);
        assert!(message.contains(told), "{args:?}: {message}");
    }
}
