//! A link that goes down again and again: `weft quarantine`.

use std::path::Path;

use serde_json::Value;

use crate::emulator::Emulator;
use crate::harness::{Daemon, Start, configure, wait_for};
use crate::watch::Watcher;

const POLICY: [(&str, &str); 1] = [("<HighThreshold>25<", "<HighThreshold>3<")];
const HOST: &str = "0x0011750101000003";

/// A daemon at an emulator of its own, with changes to the stock file.
fn up(dir: &Path, changes: &[(&str, &str)]) -> (Emulator, Daemon) {
    let socket = dir.join("fabric");
    let emulator = Emulator::start("one-switch:4", &socket);
    let start = Start::connected(&socket);
    configure(&start.dir.path().join("opafm.xml"), changes);
    (emulator, start.up())
}

#[test]
fn a_flapping_port_is_named_listed_and_released() {
    let dir = tempfile::tempdir().unwrap();
    let (emulator, daemon) = up(dir.path(), &POLICY);
    assert_eq!(
        daemon.weft_ok(&["quarantine", "list"]),
        "no port is in quarantine or held back\n"
    );
    let (mut watcher, _) = Watcher::start(&daemon, &[]);
    let listed = || -> Value {
        serde_json::from_str(&daemon.weft_ok(&["quarantine", "list", "--json"])).unwrap()
    };
    let losses = || listed()[0]["losses"].as_u64();
    for _ in 0..2 {
        emulator.change(&["link-down", HOST, "1"]);
        watcher.until("link_vanished");
        emulator.change(&["link-up", HOST, "1"]);
        watcher.until("link_appeared");
    }
    emulator.change(&["link-down", HOST, "1"]);
    let told = watcher.until("port_quarantined");
    assert_eq!(told["data"]["losses"], 3);
    assert_eq!(told["data"]["port"]["name"], "switch1");
    assert_eq!(losses(), Some(3), "{}", listed());
    assert_eq!(listed()[0]["quarantined"], true);
    let text = daemon.weft_ok(&["quarantine", "list"]);
    assert!(text.starts_with("switch1 ("), "{text}");
    assert!(text.contains("port 3: in quarantine for"), "{text}");

    emulator.change(&["link-up", HOST, "1"]);
    daemon.weft_ok(&["sweep", "--wait"]);
    let log = daemon.log();
    assert!(
        log.contains("carries no data: it went down 3 times"),
        "{log}"
    );
    let wrong = daemon.weft(&["quarantine", "release", "node:switch1:port:1"]);
    assert_eq!(wrong.status.code(), Some(1));
    let said = String::from_utf8(wrong.stderr).unwrap();
    assert!(said.contains("is not in quarantine"), "{said}");
    let said = daemon.weft_ok(&["quarantine", "release", "node:switch1:port:3"]);
    assert!(
        said.starts_with("released port 3 of switch1; sweep "),
        "{said}"
    );
    watcher.until("port_released");
    daemon.weft_ok(&["sweep", "--wait"]);
    let route = ["report", "route", "-S", "lid:1", "-D", "node:node3 hfi1_0"];
    let route = daemon.weft_ok(&route);
    assert!(route.contains("node3"), "{route}");
    assert_eq!(listed(), Value::Array(Vec::new()));
    let over = "the quarantine of port 3 of switch1";
    wait_for(|| daemon.log().contains(over).then_some(()));
}

#[test]
fn a_port_that_reports_errors_is_disabled_and_can_be_enabled() {
    let dir = tempfile::tempdir().unwrap();
    let lmc = "<Lmc>0</Lmc>";
    let policy =
        "<TrapThreshold>20</TrapThreshold><TrapThresholdMinCount>2</TrapThresholdMinCount>";
    let (emulator, daemon) = up(dir.path(), &[(lmc, &format!("{lmc}{policy}"))]);
    let (mut watcher, _) = Watcher::start(&daemon, &[]);
    for _ in 0..2 {
        emulator.change(&["link-errors", "0x0011750102000001", "3"]);
        watcher.until("trap");
    }
    let storm = watcher.until("trap_storm")["data"].clone();
    assert_eq!(
        (&storm["traps"], &storm["port"]["port"]),
        (&2.into(), &3.into())
    );
    watcher.until("link_vanished");
    daemon.weft_ok(&["port", "enable", "node:switch1:port:3"]);
    watcher.until("link_appeared");
}
