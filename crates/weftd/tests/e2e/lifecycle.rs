//! Start, stop, state over restarts, metrics.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::harness::{ASKS_ONCE, Daemon, Start, configure, text, wait_for};
use crate::process::{output, program};

#[test]
fn a_restart_keeps_the_lids() {
    let daemon = Daemon::up("one-switch:6");
    let before = daemon.weft_ok(&["report", "lids"]);
    let (code, dir) = daemon.stop();
    assert_eq!(code, Some(0));
    let file = dir.path().join("state/state.0");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // From another host LIDs would be assigned in another order: stored ones have to win.
    let host = "0x0011750101000004";
    assert!(before.contains(host), "{before}");
    let moved = Start::in_dir(dir, "one-switch:6")
        .args(&["--host", host])
        .up();
    assert_eq!(moved.weft_ok(&["report", "lids"]), before);
    let (code, dir) = moved.stop();
    assert_eq!(code, Some(0));

    std::fs::write(dir.path().join("state/state.0"), b"broken").unwrap();
    let again = Start::in_dir(dir, "one-switch:6").up();
    assert!(
        again
            .log()
            .contains("the stored LIDs and drains cannot be used"),
        "{}",
        again.log()
    );
    assert!(
        again
            .weft_ok(&["report", "lids"])
            .contains("7 Reported LID(s)")
    );
}

#[test]
fn one_state_directory_has_one_daemon() {
    let daemon = Daemon::up("one-switch:2");
    let mut second = program(Path::new(env!("CARGO_BIN_EXE_weftd")));
    second.args([
        "--emulate",
        "one-switch:2",
        "--listen",
        "127.0.0.1:0",
        "--metrics",
        "127.0.0.1:0",
    ]);
    second
        .arg("--state-dir")
        .arg(daemon.dir.path().join("state"));
    let output = output(&mut second);
    assert_eq!(output.status.code(), Some(6));
    assert!(
        text(&output.stderr).contains("another weftd uses it"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn once_prints_what_came_of_it() {
    let mut start = Start::new("fattree:64").args(&["--once"]);
    let output = output(&mut start.command);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let out = text(&output.stdout);
    assert!(
        out.starts_with("fabric up: 64 HFIs, 5 switches, 136 links, all 272 ports ACTIVE in "),
        "{out}"
    );
    assert!(out.contains("Routes Summary Between:"), "{out}");
    assert!(out.contains("Links Traversed"), "{out}");
}

#[test]
fn metrics_are_openmetrics() {
    let start = Start::new("fattree:16");
    configure(&start.dir.path().join("opafm.xml"), &[ASKS_ONCE]);
    let daemon = start.up();
    daemon.weft_ok(&["sweep", "--wait"]);
    let answer = daemon.scrape_as("application/openmetrics-text");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("application/openmetrics-text"), "{head}");
    for expected in [
        "weft_build_info{version=\"",
        "weft_sweeps_total{reason=\"forced\"} 1\n",
        "weft_sweeps_total{reason=\"start\"} 1\n",
        "weft_sweep_duration_seconds_count 2\n",
        "weft_sweep_phase_duration_seconds_count{phase=\"discover\"} 2\n",
        "weft_fabric_nodes{type=\"hfi\"} 16\n",
        "weft_fabric_nodes{type=\"switch\"} 2\n",
        "weft_fabric_links 40\n",
        "weft_fabric_ports{state=\"active\"} 80\n",
        "weft_last_sweep_sets 0\n",
        "weft_mad_retries_total 0\n",
        "weft_mad_round_trip_seconds ",
        "weft_mad_attributes_total{attribute=\"NodeInfo\",method=\"get\"} ",
    ] {
        assert!(body.contains(expected), "{expected} is missing:\n{body}");
    }
    // The first sweep, and the multicast tables that follow when members are known.
    let generations = ["weft_fabric_generation 1\n", "weft_fabric_generation 2\n"];
    assert!(generations.iter().any(|one| body.contains(one)), "{body}");
    // Each line is a comment or NAME{LABELS} NUMBER, and the text ends as it has to.
    assert!(body.trim_end().ends_with("# EOF"), "{body}");
    for line in body.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("weft_"), "{line}");
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
}

#[test]
fn what_ports_counted_is_in_the_metrics() {
    let daemon = Daemon::up("fattree:16");
    // The first image comes soon after the fabric is up.
    wait_for(|| {
        daemon
            .scrape()
            .contains("weft_pm_sweeps_total")
            .then_some(())
    });
    let body = daemon.scrape();
    for expected in [
        "weft_pm_ports{reading=\"done\"} 82\n",
        "weft_pm_ports{reading=\"failed\"} 0\n",
        "weft_pm_utilized_ports{percent=\"0-10\"} 82\n",
        "weft_pm_troubled_ports{category=\"integrity\"} 0\n",
        "weft_pm_counted_total{counter=\"XmitData\"} ",
        "weft_pm_last_sweep_duration_seconds ",
    ] {
        assert!(body.contains(expected), "{expected} is missing:\n{body}");
    }
}

#[test]
fn the_log_can_be_json() {
    let daemon = Start::new("one-switch:2").args(&["--log", "json"]).up();
    let log = daemon.log();
    let lines = log
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let ended = lines
        .into_iter()
        .find(|line| line["fields"]["event"] == "sweep_ended")
        .unwrap();
    assert_eq!(ended["fields"]["sweep"], 1);
}
