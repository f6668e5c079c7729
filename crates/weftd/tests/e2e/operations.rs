//! Plans, drains and sweeps as operations: listed, waited for, cancelled, and found again.

use std::process::{Child, Stdio};

use serde_json::Value;
use tonic::Code;
use tonic_types::StatusExt;
use weft_api::client::Client;
use weft_api::v1;
use weft_interop::Running;

use crate::emulator::Emulator;
use crate::harness::{Daemon, Start, wait_for, weft};
use crate::process::{Reading, program};

/// Four edge switches with four hosts each under four cores.
const TREE: &str = "pgft:2;4,4;1,4;1,1;radix=8";
/// 1,152 hosts: a plan takes seconds.
const LARGE: &str = "pgft:2;24,48;1,24;1,1;radix=48";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn show(daemon: &Daemon, id: &str) -> Value {
    json(&daemon.weft_ok(&["operation", "show", id, "--json"]))
}

fn list(daemon: &Daemon) -> Vec<Value> {
    let listed = json(&daemon.weft_ok(&["operation", "list", "--json"]));
    listed.as_array().unwrap().clone()
}

#[test]
fn a_drain_is_an_operation_from_plan_to_end() {
    let daemon = Daemon::up(TREE);
    let mut watch = program(weft());
    watch.args(["--address", &daemon.api, "watch", "--json"]);
    let mut watch = Reading::start(&mut watch);
    watch.line().unwrap();
    daemon.weft_ok(&["drain", "node:core1", "--reason", "replace its fan"]);
    let listed = list(&daemon);
    // A sweep may have come between a plan and its application: the drain is planned again then.
    let id = listed[0]["id"].as_str().unwrap();
    let waited = json(&daemon.weft_ok(&["operation", "wait", id, "--json"]));
    assert_eq!(waited["kind"], "drain", "{waited}");
    assert_eq!(waited["state"], "done");
    assert_eq!(
        (&waited["steps_done"], &waited["steps"]),
        (&4.into(), &4.into())
    );
    assert!(
        waited["what"].as_str().unwrap().contains("core1"),
        "{waited}"
    );
    assert!(waited["plan"]["routes"].as_u64().unwrap() > 0);
    for asker in ["asked", "applied"] {
        assert_eq!(waited[asker]["reason"], "replace its fan", "{waited}");
        assert_eq!(waited[asker]["peer"], "127.0.0.1");
        assert!(!waited[asker]["author"].as_str().unwrap().is_empty());
    }
    assert!(waited["end_time"].as_str().unwrap() >= waited["begin_time"].as_str().unwrap());

    let mut states = Vec::new();
    let mut steps = Vec::new();
    while states.last().is_none_or(|state| state != "done") {
        let event = json(&watch.line().unwrap());
        match event["event"].as_str() {
            Some("operation_changed") => {
                let state = event["data"]["state"].clone();
                states.push(state.as_str().unwrap().to_owned());
            }
            Some("operation_progress") => {
                steps.push(event["data"]["steps_done"].as_u64().unwrap());
            }
            _ => {}
        }
    }
    states.dedup();
    let begin = states
        .iter()
        .rposition(|state| state == "planning")
        .unwrap();
    assert_eq!(states[begin..], ["planning", "planned", "applying", "done"]);
    assert!(steps.is_sorted(), "{steps:?}");

    let late = daemon.weft_fails(1, &["operation", "cancel", id]);
    assert!(late.contains("it has ended (done)"), "{late}");
    let none = daemon.weft_fails(1, &["operation", "show", "nothing"]);
    assert!(none.contains("\"nothing\" is not remembered"), "{none}");

    daemon.weft_ok(&["route", "rollback"]);
    daemon.weft_ok(&["sweep", "--wait", "--reason", "look"]);
    let mut kinds: Vec<Value> = list(&daemon)
        .iter()
        .map(|one| one["kind"].clone())
        .collect();
    kinds.dedup();
    assert_eq!(kinds, ["sweep", "roll_back", "drain"]);
}

#[test]
fn a_drain_goes_on_while_a_switch_is_silent_and_is_done_when_it_has_answered() {
    let dir = tempfile::tempdir().unwrap();
    let emulator = Emulator::start(TREE, &dir.path().join("fabric"));
    let daemon = Start::connected(&emulator.socket()).up();
    emulator.change(&["silence", "edge2"]);
    let mut drain = program(weft());
    drain.args(["--address", &daemon.api, "drain", "node:core1"]);
    let mut drain = Running::start(drain.stdout(Stdio::null()));
    let tries = wait_for(|| {
        let all = list(&daemon);
        let noted = |one: &&Value| !one["note"].as_str().unwrap().is_empty();
        all.iter().find(noted).cloned()
    });
    assert_eq!(tries["state"], "applying", "{tries}");
    assert!(
        tries["note"].as_str().unwrap().contains("edge2 (0x"),
        "{tries}"
    );
    emulator.change(&["speak", "edge2"]);
    let id = tries["id"].as_str().unwrap();
    let done = json(&daemon.weft_ok(&["operation", "wait", id, "--json"]));
    assert_eq!(
        (&done["state"], &done["error"]),
        (&"done".into(), &"".into())
    );
    let note = done["note"].as_str().unwrap();
    assert!(
        note.starts_with("in force after ")
            && note.ends_with("; 1 device was slow and asked again"),
        "{note}"
    );
    let shown = daemon.weft_ok(&["operation", "show", id]);
    assert!(shown.contains(&format!(": done: {note}")), "{shown}");
    assert!(drain.wait().unwrap().success());
}

#[test]
fn a_plan_that_is_cancelled_is_not_applied() {
    let daemon = Daemon::up(TREE);
    let plan = [
        "route",
        "plan",
        "--engine",
        "dmodc",
        "--operation",
        "mine",
        "--json",
    ];
    let planned = json(&daemon.weft_ok(&plan));
    assert_eq!(planned["operation_id"], "mine");
    let twice = daemon.weft_fails(1, &plan);
    assert!(
        twice.contains("there is an operation \"mine\" already"),
        "{twice}"
    );
    daemon.weft_ok(&["operation", "cancel", "mine", "--reason", "not needed"]);
    let id = planned["plan_id"].to_string();
    let shown = daemon.weft_ok(&["operation", "show", "mine"]);
    let by = shown.lines().find(|line| line.starts_with("cancelled, "));
    assert!(
        by.is_some_and(|by| by.ends_with(" (not needed)")),
        "{shown}"
    );
    assert_eq!(show(&daemon, "mine")["cancelled"]["reason"], "not needed");
    let who = daemon.weft_ok(&["who", &format!("plan:{id}"), "--json"]);
    let change = json(who.lines().next().unwrap());
    assert_eq!(change["what"], "cancel operation mine: engine dmodc");
    assert_eq!(change["reason"], "not needed");
    let long = "x".repeat(201);
    let refused = daemon.weft_fails(1, &["operation", "cancel", "mine", "--reason", &long]);
    assert!(refused.contains("reason"), "{refused}");
    let refused = daemon.weft_fails(1, &["route", "apply", &id]);
    assert!(
        refused.contains("\"mine\" was cancelled: nothing was changed"),
        "{refused}"
    );
    daemon.weft_fails(1, &["operation", "wait", "mine"]);
    let wrong = daemon.weft_fails(
        1,
        &["route", "plan", "--engine", "dmodc", "--operation", "A b"],
    );
    assert!(wrong.contains("label.operation_id"), "{wrong}");
}

/// A client whose plan the daemon has taken as an operation with this name.
fn planning(daemon: &Daemon, engine: &str, operation: &str) -> Child {
    let mut plan = program(weft());
    plan.args(["--address", &daemon.api, "route", "plan"]);
    plan.args(["--engine", engine, "--operation", operation]);
    let plan = plan.stderr(Stdio::piped()).spawn().unwrap();
    wait_for(|| {
        let all = list(daemon);
        all.iter().any(|one| one["id"] == operation).then_some(())
    });
    plan
}

#[test]
fn a_plan_of_a_large_fabric_is_cancelled_while_it_is_computed() {
    let daemon = Daemon::up(LARGE);
    let mut plan = planning(&daemon, "layered", "big");
    assert_eq!(show(&daemon, "big")["state"], "planning");
    let running = daemon.weft_ok(&["operation", "list", "--running"]);
    assert!(
        running.contains("big: engine layered: planning"),
        "{running}"
    );
    daemon.weft_ok(&["operation", "cancel", "big"]);
    assert_eq!(plan.wait().unwrap().code(), Some(1), "its client is told");
    assert_eq!(show(&daemon, "big")["state"], "cancelled");
    assert_eq!(show(&daemon, "big")["plan_id"], Value::Null);
}

#[test]
fn a_client_that_is_killed_finds_its_plan_again() {
    let daemon = Daemon::up(LARGE);
    let mut plan = planning(&daemon, "shortestpath", "night-shift");
    plan.kill().unwrap();
    plan.wait().unwrap();
    let planned = json(&daemon.weft_ok(&["operation", "wait", "night-shift", "--json"]));
    assert_eq!(planned["state"], "planned", "{planned}");
    assert_eq!(planned["plan"]["engine"], "shortestpath");
    let id = planned["plan_id"].to_string();
    daemon.weft_ok(&["route", "apply", &id]);
    daemon.weft_ok(&["operation", "wait", "night-shift"]);
    assert_eq!(show(&daemon, "night-shift")["state"], "done");
}

#[tokio::test]
async fn the_list_has_pages_and_a_bound() {
    let daemon = Daemon::up("one-switch:2");
    let client = Client::connect(&daemon.api, None).await.unwrap();
    for _ in 0..140 {
        let request = v1::StartSweepRequest::default();
        client.sweeps().start_sweep(request).await.unwrap();
    }
    let mut request = v1::ListOperationsRequest {
        page_size: 100,
        ..v1::ListOperationsRequest::default()
    };
    let mut operations = client.operations();
    let first = operations
        .list_operations(request.clone())
        .await
        .unwrap()
        .into_inner();
    assert_eq!(first.operations.len(), 100);
    request.page_token = first.next_page_token;
    let second = operations
        .list_operations(request)
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        (second.operations.len(), &*second.next_page_token),
        (28, "")
    );
    assert_eq!(first.operations[0].id, "op-140");
    assert_eq!(second.operations[27].id, "op-13");
}

#[tokio::test]
async fn hostile_requests_are_refused_with_details() {
    let daemon = Daemon::up("one-switch:2");
    let client = Client::connect(&daemon.api, None).await.unwrap();
    let mut operations = client.operations();
    let wrong = v1::ListOperationsRequest {
        states: vec![99],
        ..v1::ListOperationsRequest::default()
    };
    let refused = operations.list_operations(wrong).await.unwrap_err();
    let fields = refused.get_details_bad_request().unwrap().field_violations;
    assert_eq!(fields[0].field, "states[0]");
    for (seconds, nanos) in [(-1, 0), (601, 0), (i64::MAX, i32::MAX), (0, -1)] {
        let request = v1::WaitOperationRequest {
            id: "op-1".to_owned(),
            timeout: Some(weft_api::time::Duration { seconds, nanos }),
        };
        let refused = operations.wait_operation(request).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{seconds} {nanos}");
        let fields = refused.get_details_bad_request().unwrap().field_violations;
        assert_eq!(fields[0].field, "timeout");
    }
    let unknown = v1::CancelOperationRequest::default();
    let refused = operations.cancel_operation(unknown).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
    assert_eq!(
        refused.get_details_error_info().unwrap().reason,
        "NO_OPERATION"
    );
}
