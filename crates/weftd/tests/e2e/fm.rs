//! The manager while it runs: `weft fm`.

use serde_json::Value;
use tonic::Code;
use tonic_types::StatusExt;
use weft_api::client::Client;
use weft_api::time::{Duration, ns, unix_ns};
use weft_api::v1;

use crate::emulator::Emulator;
use crate::harness::{Daemon, PATIENCE, Start, configure, text, wait_for};
use crate::watch::Watcher;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_log_level_changes_at_run_time() {
    let daemon = Daemon::up("one-switch:4");
    let level = || daemon.weft_ok(&["fm", "log-level"]);
    assert_eq!(level(), "Log level: info, set by the configuration\n");
    assert!(!daemon.log().contains("sweep: "), "{}", daemon.log());
    let set = daemon.weft_ok(&["fm", "log-level", "weftd=debug"]);
    assert_eq!(set, "Log level: weftd=debug, set by a client\n");
    daemon.weft_ok(&["sweep", "--wait"]);
    wait_for(|| daemon.log().contains("sweep: program").then_some(()));
    let said = daemon.weft_fails(1, &["fm", "log-level", "loud=soft"]);
    assert!(said.contains("expected error, warn"), "{said}");
    assert_eq!(level(), "Log level: weftd=debug, set by a client\n");
    daemon.weft_ok(&["fm", "log-level", "default"]);
    assert_eq!(level(), "Log level: info, set by the configuration\n");
}

#[test]
fn paused_sweeps_resume_by_a_command_or_by_themselves() {
    let daemon = Daemon::up("one-switch:4");
    let (mut watcher, _) = Watcher::start(&daemon, &[]);
    let told = daemon.weft_ok(&["fm", "pause"]);
    assert!(told.starts_with("sweeps are paused until 2"), "{told}");
    watcher.until("sweeps_paused");
    let shown = daemon.weft_ok(&["fabric", "show"]);
    assert!(shown.contains("SWEEPS PAUSED until 2"), "{shown}");
    let shown = json(&daemon.weft_ok(&["fabric", "show", "--json"]));
    let until = shown["paused_until"].as_str().unwrap();
    assert!(until.len() == 24 && until.ends_with('Z'), "{shown}");
    assert!(daemon.scrape().contains("weft_sweeps_paused 1"));
    let log = daemon.log();
    assert!(log.contains("sweeps are paused for 10 min"), "{log}");
    for refused in [&["sweep"][..], &["drain", "node:switch1:port:1"]] {
        let said = daemon.weft(refused);
        assert_eq!(said.status.code(), Some(1), "{refused:?}");
    }
    let said = daemon.weft_fails(1, &["sweep"]);
    assert!(said.contains("weft fm resume"), "{said}");

    let told = daemon.weft_ok(&["fm", "resume"]);
    assert_eq!(told, "sweeps are resumed, a sweep begins\n");
    watcher.until("sweeps_resumed");
    watcher.until("sweep_ended");
    let told = daemon.weft_ok(&["fm", "resume"]);
    assert_eq!(told, "sweeps were not paused\n");

    daemon.weft_ok(&["fm", "pause", "--for", "300ms"]);
    let why = watcher.until("sweeps_resumed")["data"]["why"].clone();
    assert_eq!(why, "its time is over");
    watcher.until("sweep_ended");
    assert!(!daemon.weft_ok(&["fabric", "show"]).contains("PAUSED"));
    daemon.weft_fails(2, &["fm", "pause", "--for", "25h"]);
}

#[tokio::test]
async fn a_pause_has_a_length_that_makes_sense_and_tells_its_times() {
    let daemon = Daemon::up("one-switch:2");
    let client = Client::connect(&daemon.api, None).await.unwrap();
    let mut manager = client.manager();
    let of = |seconds, nanos| v1::PauseSweepsRequest {
        duration: Some(Duration { seconds, nanos }),
    };
    let day = 24 * 3600;
    let wrong = [
        v1::PauseSweepsRequest { duration: None },
        of(0, 0),
        of(-1, 0),
        of(0, -1),
        of(day, 1),
        of(i64::MAX, i32::MAX),
    ];
    for request in wrong {
        let refused = manager.pause_sweeps(request).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{request:?}");
        let fields = refused.get_details_bad_request().unwrap().field_violations;
        assert_eq!(fields[0].field, "duration", "{request:?}");
    }
    let paused = manager.pause_sweeps(of(day, 0)).await.unwrap().into_inner();
    let pause = paused.pause.unwrap();
    let (since, until) = (unix_ns(pause.since_time), unix_ns(pause.until_time));
    assert_eq!(until - since, day as u64 * 1_000_000_000);

    let mut fabric = client.fabric();
    let fabric = fabric.get_fabric(v1::GetFabricRequest::default()).await;
    let fabric = fabric.unwrap().into_inner();
    assert_eq!(fabric.pause, Some(pause));
    let seen = unix_ns(fabric.seen_time);
    assert!(seen < since && since - seen < PATIENCE.as_nanos() as u64);
    let sweep = fabric.last_sweep.unwrap();
    let phases = sweep.phase_elapsed.iter().map(|time| ns(Some(*time)));
    assert_eq!(phases.len(), 4);
    let phases: u64 = phases.sum();
    assert!(phases > 0 && phases <= ns(sweep.elapsed), "{sweep:?}");
}

#[test]
fn counts_begin_again_and_metrics_go_on() {
    let daemon = Daemon::up("one-switch:4");
    let counters = |args: &[&str]| {
        let all = [&["fm", "counters", "--json"], args].concat();
        json(&daemon.weft_ok(&all))
    };
    let value = |all: &Value, group: &str, name: &str| {
        let all = all["counters"].as_array().unwrap();
        let found = all
            .iter()
            .find(|one| one["group"] == group && one["name"] == name);
        found.unwrap_or_else(|| panic!("{group}: {name}: {all:?}"))["value"]
            .as_u64()
            .unwrap()
    };
    let first = counters(&["--reset"]);
    assert!(value(&first, "subnet management", "datagrams sent") > 10);
    assert!(value(&first, "subnet management", "datagrams received") > 10);
    assert!(value(&first, "subnet management", "Set PortInfo") > 0);
    assert_eq!(value(&first, "sweeps", "sweeps: start"), 1);
    let second = counters(&[]);
    assert_eq!(value(&second, "sweeps", "sweeps: start"), 0);
    assert!(second["since"].as_str() > first["since"].as_str());
    daemon.weft_ok(&["sweep", "--wait"]);
    assert_eq!(value(&counters(&[]), "sweeps", "sweeps"), 1);
    assert!(
        daemon
            .scrape()
            .contains("weft_sweeps_total{reason=\"start\"} 1")
    );
    let text = daemon.weft_ok(&["fm", "counters"]);
    assert!(text.contains("subnet administration\n"), "{text}");
}

#[test]
fn the_state_is_dumped_without_keys() {
    let start = Start::new("one-switch:4");
    let key = "<MKey>0x00c0ffee00c0ffee</MKey>";
    let changes = [("<Lmc>0</Lmc>", &*format!("<Lmc>0</Lmc>{key}"))];
    configure(&start.dir.path().join("opafm.xml"), &changes);
    let daemon = start.up();
    let file = daemon.dir.path().join("dump");
    daemon.weft_ok(&["fm", "dump", &file.display().to_string()]);
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(!written.to_lowercase().contains("c0ffee"), "{written}");
    assert!(!written.contains(&0x00c0_ffee_00c0_ffee_u64.to_string()));
    let dump = json(&written);
    assert_eq!(dump["format"], "weft-dump 1");
    assert_eq!(dump["fabric"]["nodes"].as_array().unwrap().len(), 5);
    assert_eq!(dump["fabric"]["links"].as_array().unwrap().len(), 4);
    assert_eq!(dump["sweeps"][0]["number"], 1);
    let events = dump["events"].as_array().unwrap();
    assert!(events.len() > 3);
    let of_fabric = &dump["fabric"]["time"];
    for time in [&dump["time"], of_fabric, &events[0]["time"]] {
        let time = time.as_str().unwrap();
        assert!(time.starts_with("20") && time.ends_with('Z'), "{time}");
    }
    let printed = daemon.weft_ok(&["fm", "dump", "-"]);
    assert_eq!(json(&printed)["status"]["role"], dump["status"]["role"]);
    daemon.weft_fails(4, &["fm", "dump", "/nowhere/at/all"]);
}

#[test]
fn a_manager_whose_priority_is_restored_hands_over() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("fabric");
    let _emulator = Emulator::start("one-switch:4", &socket);
    let start = |host: &str, priority: u8, elevated: u8| {
        let start = Start::connected(&socket).args(&["--host", host]);
        let priorities = format!(
            "<Lmc>0</Lmc><Priority>{priority}</Priority><ElevatedPriority>{elevated}</ElevatedPriority>"
        );
        let stock = [("<Lmc>0</Lmc>", &*priorities)];
        configure(&start.dir.path().join("opafm.xml"), &stock);
        start.up()
    };
    let first = start("0x0011750101000001", 1, 12);
    let said = first.weft_ok(&["fm", "restore-priority"]);
    assert_eq!(said, "the priority is 1, it was not elevated\n");
    let second = start("0x0011750101000002", 5, 0);
    let shown = || json(&first.weft_ok(&["fm", "show", "--json"]));
    wait_for(|| {
        first.weft_ok(&["sweep", "--wait"]);
        (shown()["elevated"] == true).then_some(())
    });
    let role =
        |daemon: &Daemon| json(&daemon.weft_ok(&["fabric", "show", "--json"]))["role"].clone();
    assert_eq!(role(&second), "Standby");
    let refused = second.weft(&["fm", "pause"]);
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stderr));
    let said = first.weft_ok(&["fm", "restore-priority"]);
    assert!(
        said.starts_with("the priority is 1, it was elevated to 12"),
        "{said}"
    );
    wait_for(|| (role(&second) == "Master" && role(&first) == "Standby").then_some(()));
}
