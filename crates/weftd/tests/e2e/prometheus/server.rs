//! Debian's Prometheus and Alertmanager as ordinary processes, with all their files in a directory of the test.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;
use weft_interop::Running;

use crate::harness::{Daemon, free_address, wait_for};

/// A file of the repository.
pub(super) fn shipped(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../config")
        .join(path)
}

/// Both programs, killed when dropped; they read and evaluate every second.
pub(super) struct Monitoring {
    _processes: [Running; 2],
    _dir: TempDir,
    prometheus: String,
    alertmanager: String,
}

impl Monitoring {
    /// Starts them with the repository's files, on a daemon's metrics. Alerts do not wait. `None` where they are not
    /// installed.
    pub(super) fn start(daemon: &Daemon) -> Option<Self> {
        let alertmanager = weft_peers::program("prometheus-alertmanager")?;
        let prometheus = weft_peers::program("prometheus")?;
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let [alerts_at, prometheus_at] = [(), ()].map(|()| free_address().to_string());
        fs::write(
            at("alertmanager.yml"),
            "route: {receiver: none}\nreceivers: [{name: none}]\n",
        )
        .unwrap();
        fs::write(at("weft.rules.yml"), rules_without_waiting()).unwrap();
        fs::write(at("prometheus.yml"), configuration(daemon, &alerts_at)).unwrap();
        let mut alerts = Command::new(alertmanager);
        alerts.arg(format!(
            "--config.file={}",
            at("alertmanager.yml").display()
        ));
        alerts.arg(format!("--storage.path={}", at("alerts").display()));
        alerts
            .arg(format!("--web.listen-address={alerts_at}"))
            .arg("--cluster.listen-address=");
        let mut server = Command::new(prometheus);
        server.arg(format!("--config.file={}", at("prometheus.yml").display()));
        server.arg(format!("--storage.tsdb.path={}", at("data").display()));
        server.arg(format!("--web.listen-address={prometheus_at}"));
        let start = |command: &mut Command| {
            Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()))
        };
        let monitoring = Self {
            _processes: [start(&mut alerts), start(&mut server)],
            _dir: dir,
            prometheus: prometheus_at,
            alertmanager: alerts_at,
        };
        for address in [&monitoring.alertmanager, &monitoring.prometheus] {
            wait_for(|| get(address, "/-/ready"));
        }
        Some(monitoring)
    }

    /// The series that a query gives now.
    ///
    /// # Panics
    /// When Prometheus refuses the query.
    pub(super) fn query(&self, query: &str) -> Vec<Value> {
        let path = format!("/api/v1/query?query={}", encoded(query));
        let answer = get(&self.prometheus, &path).unwrap_or_else(|| panic!("refused: {query}"));
        let answer: Value = serde_json::from_str(&answer).unwrap();
        answer["data"]["result"].as_array().unwrap().clone()
    }

    /// The names of the alerts that the Alertmanager has.
    pub(super) fn alerts(&self) -> Vec<String> {
        let alerts = get(&self.alertmanager, "/api/v2/alerts").unwrap();
        let alerts: Value = serde_json::from_str(&alerts).unwrap();
        let names = alerts
            .as_array()
            .unwrap()
            .iter()
            .map(|alert| &alert["labels"]["alertname"]);
        names
            .map(|name| name.as_str().unwrap().to_owned())
            .collect()
    }
}

/// The repository's rules, whose alerts fire at once.
fn rules_without_waiting() -> String {
    let rules = fs::read_to_string(shipped("prometheus/weft.rules.yml")).unwrap();
    let lines = rules
        .lines()
        .map(|line| match line.trim_start().starts_with("for: ") {
            true => "        for: 0s",
            false => line,
        });
    lines.collect::<Vec<_>>().join("\n")
}

/// The repository's example with other addresses and intervals.
fn configuration(daemon: &Daemon, alertmanager: &str) -> String {
    let mut text = fs::read_to_string(shipped("prometheus/prometheus.yml")).unwrap();
    let metrics = daemon.metrics.strip_prefix("http://").unwrap();
    let (metrics, _) = metrics.split_once('/').unwrap();
    for (from, to) in [
        ("localhost:9315", metrics),
        ("localhost:9093", alertmanager),
        ("scrape_interval: 15s", "scrape_interval: 1s"),
    ] {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        text = text.replace(from, to);
    }
    format!("global:\n  evaluation_interval: 1s\n{text}")
}

/// The body of an answer with status 200.
pub(super) fn get(address: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    // To a reader of HTTP 1.0 an answer is not cut into chunks.
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.split(' ').nth(1).filter(|status| *status == "200")?;
    Some(body.to_owned())
}

pub(super) fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte.is_ascii_alphanumeric() {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}
