//! Back to a moment: engine, drains and disabled ports of then, planned and applied like any change of routes.

use std::time::Duration;

use serde_json::Value;

use crate::emulator::Emulator;
use crate::harness::{Daemon, Start, wait_for, wait_for_links};
use crate::quarantine::json;

/// Four edge switches with four hosts each under four cores.
const TREE: &str = "pgft:2;4,4;1,4;1,1;radix=8";
/// How long after a change the last state of the fabric is recorded.
const SETTLED: Duration = Duration::from_millis(2_500);

/// All forwarding tables as text.
fn tables(daemon: &Daemon) -> String {
    daemon.weft_ok(&["report", "linear"])
}

/// The generation of a state that is recorded.
fn recorded(daemon: &Daemon) -> String {
    std::thread::sleep(SETTLED);
    let shown = json(&daemon.weft_ok(&["fabric", "show", "--json"]));
    format!("generation:{}", shown["generation"])
}

fn planned(daemon: &Daemon, at: &str) -> Value {
    json(&daemon.weft_ok(&["route", "plan", "--as-of", at, "--json"]))
}

fn apply(daemon: &Daemon, plan: &Value) -> Value {
    let id = plan["plan_id"].to_string();
    let said = ["route", "apply", &id, "--reason", "as it was", "--json"];
    json(&daemon.weft_ok(&said))
}

/// The operation of a plan ends well, with the sweep after the one that wrote its routes: that one may have seen a link whose
/// port it had not read since it was switched on.
fn ends_well(daemon: &Daemon, plan: &Value) {
    let id = plan["operation_id"].as_str().unwrap();
    let ended = json(&daemon.weft_ok(&["operation", "wait", id, "--json"]));
    assert_eq!(ended["state"], "done", "{ended}");
    let told = daemon.weft_ok(&["log", "--kind", "plan_in_force", "--json"]);
    let wrote = told.lines().map(json).max_by_key(sweep);
    assert!(
        sweep(&ended) > wrote.map_or(0, |event| sweep(&event)),
        "{ended}: {told}"
    );
}

fn sweep(of: &Value) -> u64 {
    let number = |value: &Value| value.as_u64().or_else(|| value.as_str()?.parse().ok());
    let places = [&of["sweep"], &of["plan_in_force"]["sweep"]];
    places.into_iter().find_map(number).unwrap_or_default()
}

fn engine(daemon: &Daemon) -> String {
    let planned = json(&daemon.weft_ok(&["route", "plan", "--engine", "auto", "--json"]));
    planned["plan"]["engine_before"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// Drains a switch, changes the engine and disables a port; the tables that follow.
fn change(daemon: &Daemon, other: &str) -> String {
    daemon.weft_ok(&["drain", "node:core2", "--reason", "fan"]);
    let planned = json(&daemon.weft_ok(&["route", "plan", "--engine", other, "--json"]));
    daemon.weft_ok(&["route", "apply", &planned["plan_id"].to_string()]);
    let port = "node:edge1:port:7";
    daemon.weft_ok(&["port", "disable", port, "--reason", "ticket 12"]);
    wait_for_links(daemon, 31);
    daemon.weft_ok(&["sweep", "--wait"]);
    tables(daemon)
}

#[test]
fn engine_drains_and_ports_of_then_come_back_with_its_routes() {
    let daemon = Start::new(TREE).up();
    wait_for_links(&daemon, 32);
    let first_engine = engine(&daemon);
    let other = match first_engine.as_str() {
        "shortestpath" => "dmodc",
        _ => "shortestpath",
    };
    let first = tables(&daemon);
    let before = recorded(&daemon);
    let second = change(&daemon, other);
    assert_ne!(first, second);
    let after = recorded(&daemon);

    let plan = planned(&daemon, &before);
    let back = &plan["way_back"];
    assert_eq!(plan["plan"]["engine"], first_engine, "{plan}");
    assert_eq!(plan["plan"]["engine_before"], other, "{plan}");
    assert!(plan["plan"]["routes"].as_u64() > Some(0), "{plan}");
    assert!(plan["plan"]["certificate"]["routes"].as_u64() > Some(0));
    assert_eq!(plan["plan"]["unlike_then"], 0, "{plan}");
    assert_eq!(back["settings"][0]["element"], "RoutingAlgorithm", "{back}");
    assert_eq!(back["drains"][0]["part"]["node_name"], "core2", "{back}");
    assert_eq!(back["drains"][0]["drained"], false, "{back}");
    assert_eq!(back["ports"][0]["port"]["node_name"], "edge1", "{back}");
    assert_eq!(back["ports"][0]["port"]["port"], 7, "{back}");
    assert_eq!(back["ports"][0]["disabled"], false, "{back}");
    assert_eq!(back["ports"][0]["reason"], "ticket 12", "{back}");
    assert_eq!(back["links_gone_count"], 1, "{back}");
    assert_eq!(tables(&daemon), second, "a plan changes nothing");
    let said = daemon.weft_ok(&["route", "plan", "--as-of", &before]);
    for line in ["undrain core2", "enable edge1:7 (ticket 12", "proved: "] {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert!(said.lines().all(|line| line.len() <= 110), "{said}");

    let plan = planned(&daemon, &before);
    let done = apply(&daemon, &plan);
    assert_eq!(done["ports"]["count"], 1, "{done}");
    assert_eq!(done["ports"]["failed"], Value::Array(Vec::new()), "{done}");
    ends_well(&daemon, &plan);
    wait_for_links(&daemon, 32);
    wait_for(|| (tables(&daemon) == first).then_some(()));
    assert_eq!(daemon.weft_ok(&["route", "drains"]), "nothing is drained\n");
    assert_eq!(engine(&daemon), first_engine);
    let told = daemon.weft_ok(&["who", "edge1:7"]);
    assert!(told.contains("as it was"), "{told}");
    let audit = daemon.weft_ok(&["audit", "list"]);
    assert!(
        audit.contains("ApplyRoutePlan") && audit.contains("as it was"),
        "{audit}"
    );
    let operations = daemon.weft_ok(&["operation", "list"]);
    assert!(operations.contains("back to "), "{operations}");

    // To and fro, also after a restart: the state is on disk.
    std::thread::sleep(SETTLED);
    let (code, dir) = daemon.stop();
    assert_eq!(code, Some(0));
    let daemon = Start::in_dir(dir, TREE).up();
    wait_for_links(&daemon, 32);
    let plan = planned(&daemon, &after);
    assert_eq!(plan["plan"]["unlike_then"], 0, "{plan}");
    let done = apply(&daemon, &plan);
    assert_eq!(done["ports"]["count"], 1, "{done}");
    wait_for_links(&daemon, 31);
    wait_for(|| (tables(&daemon) == second).then_some(()));
    let listed = daemon.weft_ok(&["port", "list", "--disabled"]);
    assert!(listed.contains("ticket 12"), "{listed}");
    let undone = json(&daemon.weft_ok(&["route", "rollback", "--json"]));
    assert_eq!(undone["ports"]["count"], 1, "{undone}");
    wait_for_links(&daemon, 32);
    wait_for(|| (tables(&daemon) == first).then_some(()));
}

#[test]
fn a_moment_without_what_is_needed_is_refused() {
    let daemon = Start::new(TREE).up();
    wait_for_links(&daemon, 32);
    let at = recorded(&daemon);
    let plan = planned(&daemon, &at);
    assert_eq!(plan["plan"]["routes"], 0, "{plan}");
    let said = daemon.weft_ok(&["route", "plan", "--as-of", &at]);
    let same = "settings of routes, drains and disabled ports are as they were";
    assert!(said.contains(same), "{said}");
    for (at, code, told) in [
        ("1999-01-01", 1, "the nearest known time is "),
        (
            "generation:99999",
            1,
            "nothing is known of generation 99999",
        ),
        (
            "generation:x",
            2,
            "--as-of: 'generation:x': expected the number",
        ),
        ("2099-01-01", 2, "is yet to come"),
    ] {
        let message = daemon.weft_fails(code, &["route", "plan", "--as-of", at]);
        assert!(message.contains(told), "{at}: {message}");
    }
}

/// A port that was disabled then has become the last way to its switch.
#[test]
fn a_way_back_whose_port_is_not_switched_has_failed() {
    let dir = tempfile::tempdir().unwrap();
    let emulator = Emulator::start(TREE, &dir.path().join("fabric"));
    let daemon = Start::connected(&emulator.socket()).up();
    wait_for_links(&daemon, 32);
    let port = "node:edge3:port:7";
    daemon.weft_ok(&["port", "disable", port, "--reason", "ticket 12"]);
    wait_for_links(&daemon, 31);
    let then = recorded(&daemon);
    daemon.weft_ok(&["port", "enable", port]);
    wait_for_links(&daemon, 32);
    for other in ["edge3:5", "edge3:6", "edge3:8"] {
        emulator.change(&["link-down", other]);
    }
    wait_for_links(&daemon, 29);
    daemon.weft_ok(&["sweep", "--wait"]);
    let plan = planned(&daemon, &then);
    let id = plan["plan_id"].to_string();
    let applied = daemon.weft_fails(1, &["route", "apply", &id]);
    assert_eq!(applied, "", "what was done is told, and no error");
    let operation = plan["operation_id"].as_str().unwrap();
    daemon.weft_fails(1, &["operation", "wait", operation]);
    let ended = json(&daemon.weft_ok(&["operation", "show", operation, "--json"]));
    assert_eq!(ended["state"], "failed", "{ended}");
    assert_eq!(ended["steps_done"], ended["steps"], "{ended}");
    let error = ended["error"].as_str().unwrap();
    let expected = "edge3 port 7 was not disabled: ";
    assert!(error.starts_with(expected), "{error}");
    assert!(error.len() > expected.len() + 10, "{error}");
    // Its routes are in force all the same.
    daemon.weft_ok(&["route", "rollback"]);
}
