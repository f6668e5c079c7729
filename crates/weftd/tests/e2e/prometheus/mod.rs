//! Alert rules and dashboards, with Debian's Prometheus and Alertmanager.

mod dashboards;
mod remote_write;
mod server;

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::access::role_data;
use crate::emulator::Emulator;
use crate::etcd::begun;
use crate::harness::{Start, text, wait_for};
use server::{Monitoring, shipped};

const RULES: &str = "prometheus/weft.rules.yml";
const TESTS: &str = "prometheus/weft.rules.test.yml";

fn read(path: &str) -> String {
    fs::read_to_string(shipped(path)).unwrap()
}

/// What follows a word, in all lines that begin with it.
fn after<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    let lines = text.lines().map(str::trim_start);
    lines.filter_map(|line| line.strip_prefix(word)).collect()
}

#[test]
fn every_alert_and_recorded_series_has_a_test_that_promtool_passes() {
    let (rules, tests) = (read(RULES), read(TESTS));
    for (rule, test) in [("- alert: ", "alertname: "), ("- record: ", "- expr: ")] {
        let names: BTreeSet<&str> = after(&rules, rule).into_iter().collect();
        let tested: BTreeSet<&str> = after(&tests, test).into_iter().collect();
        assert!(!names.is_empty());
        let untested: Vec<_> = names.difference(&tested).collect();
        assert!(untested.is_empty(), "{untested:?}");
    }
    let Some(promtool) = weft_peers::program("promtool") else {
        return;
    };
    for (check, file) in [
        (["check", "rules"], RULES),
        (["test", "rules"], TESTS),
        (["check", "config"], "prometheus/prometheus.yml"),
    ] {
        let ended = Command::new(&promtool)
            .args(check)
            .arg(shipped(file))
            .output()
            .unwrap();
        assert!(
            ended.status.success(),
            "{}{}",
            text(&ended.stdout),
            text(&ended.stderr)
        );
    }
}

/// Names that begin with `weft_` in a text.
fn metrics(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'));
    words.filter(|word| word.starts_with("weft_")).collect()
}

#[test]
fn every_metric_of_a_rule_or_a_dashboard_is_on_the_daemons_page() {
    let ports = [
        "--port-metrics",
        "nodetype:SW",
        "--port-metrics",
        "nodetype:FI",
        "--tls-cert",
        &role_data("server.pem"),
        "--tls-key",
        &role_data("server.key"),
        "--peer",
        "http://127.0.0.1:1",
        "--ha",
        "etcd://127.0.0.1:1/hall1",
    ];
    let daemon = begun(Start::new("one-switch:2").args(&ports));
    // Those of ports come with the first reading of counters.
    let last = ["weft_pm_ports", "weft_hca_port_transmit_discards_total"];
    let page = wait_for(|| {
        let page = daemon.scrape();
        last.iter().all(|name| page.contains(name)).then_some(page)
    });
    let there = metrics(&page);
    let files = [
        RULES,
        "grafana/weft-fabric.json",
        "grafana/weft-links.json",
        "grafana/weft-manager.json",
    ];
    for file in files {
        let asked = read(file);
        let asked = metrics(&asked);
        assert!(asked.len() > 2, "{file}: {asked:?}");
        let missing: Vec<_> = asked.difference(&there).collect();
        assert!(missing.is_empty(), "{file}: {missing:?}");
    }
}

#[test]
fn faults_become_alerts_at_the_alertmanager() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("fabric");
    let emulator = Emulator::start("fattree:16", &socket);
    let daemon = Start::connected(&socket).up();
    let Some(monitoring) = Monitoring::start(&daemon) else {
        return;
    };
    wait_for(|| (!monitoring.query("weft:fabric_links:max1h").is_empty()).then_some(()));
    assert_eq!(monitoring.alerts(), Vec::<String>::new());
    let fires = |alert: &str| {
        wait_for(|| {
            monitoring
                .alerts()
                .iter()
                .any(|name| name == alert)
                .then_some(())
        });
    };
    emulator.change(&["link-down", "0x0011750102000001", "10"]);
    fires("WeftLinksLost");
    emulator.kill();
    fires("WeftDetached");
    assert_eq!(daemon.stop().0, Some(0));
    fires("WeftDown");
}
