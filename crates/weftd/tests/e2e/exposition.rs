//! Metrics as their readers want them.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::harness::{Daemon, text};

#[test]
fn promtool_finds_nothing_wrong() {
    let daemon = Daemon::up("fattree:16");
    let answer = daemon.scrape();
    assert!(
        answer.contains("content-type: text/plain; version=0.0.4"),
        "{answer}"
    );
    let (_, metrics) = answer.split_once("\r\n\r\n").unwrap();
    assert!(metrics.contains("\nweft_sweeps_total{"), "{metrics}");
    promtool_accepts(metrics);
}

/// Passes where there is no promtool.
pub(crate) fn promtool_accepts(metrics: &str) {
    let Some(promtool) = weft_peers::program("promtool") else {
        return;
    };
    let mut check = Command::new(promtool);
    check.args(["check", "metrics"]).stdin(Stdio::piped());
    check.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut check = check.spawn().unwrap();
    check
        .stdin
        .take()
        .unwrap()
        .write_all(metrics.as_bytes())
        .unwrap();
    let ended = check.wait_with_output().unwrap();
    let said = text(&ended.stdout) + &text(&ended.stderr);
    assert!(ended.status.success(), "{said}\n{metrics}");
}

#[test]
fn openmetrics_is_for_those_who_ask_for_it() {
    let daemon = Daemon::up("one-switch:2");
    let answer = daemon.scrape_as("application/openmetrics-text;version=1.0.0,text/plain;q=0.5");
    assert!(
        answer.contains("content-type: application/openmetrics-text"),
        "{answer}"
    );
    assert!(answer.contains("# TYPE weft_build info"), "{answer}");
    assert!(answer.trim_end().ends_with("# EOF"), "{answer}");
}
