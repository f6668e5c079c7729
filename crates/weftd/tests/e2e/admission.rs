//! Devices that are not let into the fabric, as people see them.

use serde_json::Value;

use crate::emulator::Emulator;
use crate::harness::{Start, wait_for};
use crate::watch::Watcher;

const LIAR: &str = "0x0011750101000003";
const OTHER: &str = "0x00117501010000ff";
/// The port before it.
const BEFORE: &str = "node:switch1:port:3";

#[test]
fn a_host_with_a_wrong_guid_is_refused_told_and_let_in_again() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("fabric");
    let emulator = Emulator::start("one-switch:4", &socket);
    let daemon = Start::connected(&socket).up();
    let (mut watcher, _) = Watcher::start(&daemon, &[]);

    emulator.change(&["claim", LIAR, "--port-guid", OTHER]);
    daemon.weft_ok(&["sweep", "--wait"]);
    let told = watcher.until("device_refused")["data"].clone();
    assert_eq!(told["neighbour_guid"], LIAR, "{told}");
    assert!(told["evidence"].as_str().unwrap().contains(OTHER), "{told}");
    daemon.logs("is not let into the fabric at port 3 of switch1");

    let list = daemon.weft_ok(&["quarantine", "list"]);
    assert!(list.contains("until the device is right"), "{list}");
    let json = daemon.weft_ok(&["quarantine", "list", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&json[0]["refused"], &json[0]["left_s"]),
        (&true.into(), &Value::Null)
    );
    let why = daemon.weft_ok(&["quarantine", "why", BEFORE]);
    assert!(why.contains(OTHER), "{why}");

    emulator.change(&["claim", LIAR]);
    daemon.weft_ok(&["sweep", "--wait"]);
    watcher.until("refusal_over");
    wait_for(|| {
        let list = daemon.weft_ok(&["quarantine", "list"]);
        list.starts_with("no port is in quarantine").then_some(())
    });
}
