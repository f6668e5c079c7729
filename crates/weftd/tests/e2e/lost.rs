//! The fabric goes and comes back: an emulator is killed, or hangs, under the daemon.

use std::os::unix::net::UnixDatagram;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::emulator::Emulator;
use crate::harness::{Daemon, PATIENCE, Start, configure, wait_for, wait_for_links, weft};
use crate::process::{Reading, program};

/// Time limit for every interface to report the loss.
const SOON: Duration = Duration::from_secs(1);
/// Time limit for a client from start to end.
const AT_ONCE: Duration = Duration::from_secs(3);

fn shown(daemon: &Daemon) -> Value {
    serde_json::from_str(&daemon.weft_ok(&["fabric", "show", "--json"])).unwrap()
}

fn links(daemon: &Daemon) -> String {
    daemon.weft_ok(&["report", "links", "-d", "0"])
}

async fn health(api: &str, service: &str) -> ServingStatus {
    let channel = tonic::transport::Endpoint::from_shared(api.to_owned()).unwrap();
    let mut client = HealthClient::new(channel.connect().await.unwrap());
    let service = service.to_owned();
    let request = HealthCheckRequest { service };
    client.check(request).await.unwrap().into_inner().status()
}

fn metric(daemon: &Daemon, name: &str) -> f64 {
    let text = daemon.scrape();
    let line = text
        .lines()
        .find(|line| line.split(' ').next() == Some(name));
    let line = line.unwrap_or_else(|| panic!("{name}: {text}"));
    line.split(' ').nth(1).unwrap().parse().unwrap()
}

/// The last status line sent to systemd.
fn status(systemd: &UnixDatagram) -> Option<String> {
    let mut buffer = [0; 4096];
    let mut last = None;
    while let Ok(length) = systemd.recv(&mut buffer) {
        let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
        let found = text.lines().find_map(|line| line.strip_prefix("STATUS="));
        last = found.map(str::to_owned).or(last);
    }
    last
}

#[test]
fn a_lost_fabric_is_told_at_once_and_what_needs_it_fails() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("fabric");
    let notified = dir.path().join("notify");
    let systemd = UnixDatagram::bind(&notified).unwrap();
    systemd.set_nonblocking(true).unwrap();
    let emulator = Emulator::start("fattree:16", &socket);
    let mut start = Start::connected(&socket);
    start.command.env("NOTIFY_SOCKET", &notified);
    let daemon = start.up();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let serves = |service| runtime.block_on(health(&daemon.api, service));
    let before = shown(&daemon);
    assert_eq!(before["attached"], true, "{before}");
    assert_eq!(metric(&daemon, "weft_attached"), 1.0);
    wait_for(|| (serves("") == ServingStatus::Serving).then_some(()));
    assert!(links(&daemon).contains("40 Links"));

    emulator.kill();
    let killed = Instant::now();
    wait_for(|| (metric(&daemon, "weft_attached") == 0.0).then_some(()));
    wait_for(|| (serves("") == ServingStatus::NotServing).then_some(()));
    assert!(killed.elapsed() < SOON, "{:?}", killed.elapsed());
    wait_for(|| status(&systemd).filter(|line| line.starts_with("NOT ATTACHED")));
    for (service, expected) in [
        ("weft.v1.PortService", ServingStatus::NotServing),
        ("weft.v1.FabricService", ServingStatus::Serving),
        ("weftd.manager", ServingStatus::Serving),
    ] {
        assert_eq!(serves(service), expected, "{service}");
    }
    let lost = shown(&daemon);
    assert_eq!(lost["attached"], false, "{lost}");
    assert!(before["seen"].is_string(), "{before}");
    assert_eq!(lost["seen"], before["seen"]);
    let text = daemon.weft_ok(&["fabric", "show"]);
    assert!(text.contains("NOT ATTACHED since "), "{text}");
    assert_eq!(metric(&daemon, "weft_master"), 0.0);
    assert!(metric(&daemon, "weft_fabric_age_seconds") > 0.0);
    for command in [
        &["sweep", "--wait"][..],
        &["port", "disable", "node:edge1:port:3"],
        &["port", "disable", "-n", "node:edge1:port:3"],
        &["drain", "node:edge1:port:17"],
        &["route", "plan", "--engine", "dmodc"],
    ] {
        let asked = Instant::now();
        let said = daemon.weft_fails(3, command);
        assert!(
            said.contains("the fabric is out of reach for"),
            "{command:?}: {said}"
        );
        assert!(
            asked.elapsed() < AT_ONCE,
            "{command:?}: {:?}",
            asked.elapsed()
        );
    }

    let _again = Emulator::start("fattree:16", &socket);
    wait_for(|| (metric(&daemon, "weft_attached") == 1.0).then_some(()));
    wait_for(|| (serves("") == ServingStatus::Serving).then_some(()));
    wait_for(|| {
        let swept = daemon.weft(&["sweep", "--wait"]);
        swept.status.success().then_some(())
    });
    let still = links(&daemon);
    assert!(
        still.contains("40 Links"),
        "nothing was done later: {still}"
    );
    assert_eq!(shown(&daemon)["attached"], true);
}

/// Lets the manager wait for agents for some seconds.
const PATIENT: (&str, &str) = (
    "<SweepInterval>300</SweepInterval>",
    "<SweepInterval>300</SweepInterval><MaxAttempts>40</MaxAttempts>",
);

#[test]
fn what_its_client_no_longer_waits_for_is_not_begun() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("fabric");
    let emulator = Emulator::start("fattree:16", &socket);
    let start = Start::connected(&socket);
    configure(&start.dir.path().join("opafm.xml"), &[PATIENT]);
    let daemon = start.up();
    assert!(links(&daemon).contains("40 Links"));
    let disable = |port: u8| {
        let mut command = program(weft());
        let point = format!("node:edge1:port:{port}");
        command
            .env("WEFT_ADDRESS", &daemon.api)
            .args(["port", "disable", &point]);
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    // The fabric is attached but silent: the first request is in flight, the second is queued.
    emulator.signal("STOP");
    let mut first = disable(3);
    daemon.has_been_asked(1);
    let mut second = disable(4);
    daemon.has_been_asked(2);
    second.kill().unwrap();
    second.wait().unwrap();
    daemon.notices_that_a_client_left();
    emulator.signal("CONT");
    let end = wait_for(|| first.try_wait().unwrap());
    assert!(end.success(), "{}", daemon.log());
    daemon.weft_ok(&["sweep", "--wait"]);
    let now = links(&daemon);
    assert!(
        now.contains("39 Links"),
        "one port is off: {now}\n{}",
        daemon.log()
    );
    let log = daemon.log();
    assert!(
        log.contains("port 4 of ") && log.contains("is unchanged"),
        "{log}"
    );
    assert!(log.contains("port 3 of "), "{log}");
}

#[test]
fn the_loss_is_an_event_and_the_daemon_can_be_stopped_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("fabric");
    let emulator = Emulator::start("one-switch:4", &socket);
    let daemon = Start::connected(&socket).up();
    let mut command = program(weft());
    command
        .env("WEFT_ADDRESS", &daemon.api)
        .args(["watch", "--json"]);
    let mut watcher = Reading::start(&mut command);
    watcher.line();
    emulator.kill();
    let until = Instant::now() + PATIENCE;
    loop {
        let line: Value = serde_json::from_str(&watcher.line().unwrap()).unwrap();
        if line["event"] == "attachment_changed" {
            assert_eq!(line["data"]["attached"], false);
            break;
        }
        assert!(Instant::now() < until);
    }
    assert!(
        daemon.stop().0 == Some(0),
        "it stops while the fabric is gone"
    );
}

#[test]
fn a_port_that_was_disabled_is_enabled_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("fabric");
    let _emulator = Emulator::start("fattree:16", &socket);
    let daemon = Start::connected(&socket).up();
    let node = daemon.weft_ok(&["report", "nodes", "-F", "node:node3 hfi1_0"]);
    let guid = node.split_whitespace().find(|word| word.starts_with("0x"));
    let guid = guid.unwrap_or_else(|| panic!("{node}")).to_owned();
    daemon.weft_ok(&["port", "disable", "node:node3 hfi1_0:port:1"]);
    wait_for_links(&daemon, 39);
    let (code, state) = daemon.stop();
    assert_eq!(code, Some(0));

    let again = Start::connected_in(state, &socket).up();
    assert!(links(&again).contains("39 Links"), "{}", links(&again));
    let point = format!("nodeguid:{guid}:port:1");
    let other = again.weft_fails(1, &["port", "enable", "nodeguid:0x77:port:1"]);
    assert!(other.contains("no node"), "{other}");
    again.weft_ok(&["port", "enable", &point]);
    wait_for_links(&again, 40);
}
