//! Changes of ports by operators as the vendor's tools see them: beacons, widths, disabled ports, and their CSV.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use weft_interop::vendor_sm::{SmSettings, turn};
use weft_interop::{Fabric, Weftd};
use weft_peers::program;

const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(200);
/// Two edge switches with two hosts each under two cores.
const TREE: &str = "pgft:2;2,2;1,2;1,1;radix=4";
/// The host that the manager and the tools run on.
const HOST: &str = "node1";

/// Runs one of the vendor's tools until its output has all these texts.
fn shows(fabric: &Fabric, line: &str, expected: &[&str]) {
    let until = Instant::now() + PATIENCE;
    loop {
        let ran = fabric.run(HOST, line);
        if expected.iter().all(|text| ran.text.contains(text)) {
            return;
        }
        assert!(
            Instant::now() < until,
            "{line}: {expected:?} in {}",
            ran.text
        );
        std::thread::sleep(PAUSE);
    }
}

/// The LID of a switch, from the vendor's report.
fn lid(fabric: &Fabric, node: &str) -> String {
    let ran = fabric.run(HOST, &format!("opareport -o nodes -F 'node:{node}' -d 1"));
    let (_, after) = ran
        .text
        .split_once("LID: ")
        .unwrap_or_else(|| panic!("{}", ran.text));
    after.split_whitespace().next().unwrap().to_owned()
}

#[test]
fn the_vendors_tools_see_what_is_changed() {
    let tools = ["opareport", "opaportinfo", "opasmaquery"];
    if tools.iter().any(|tool| program(tool).is_none()) {
        return;
    }
    let _turn = turn();
    let fabric = Fabric::start(TREE);
    let mut daemon = Weftd::start(&fabric, HOST, &SmSettings::default());
    daemon.wait_until_master(PATIENCE);
    let lid = lid(&fabric, "edge2");
    let info = format!("opaportinfo -l {lid} -m 1");
    let port = "node:edge2:port:1";

    daemon.told(&["port", "led", "on", port]);
    shows(
        &fabric,
        "opareport -o links -F led:on",
        &["1 Matching Links Found", "edge2"],
    );
    shows(
        &fabric,
        &format!("opasmaquery -o portinfo -l {lid} -m 1"),
        &["LedEnabled: On"],
    );
    daemon.told(&["port", "led", "off", port]);
    shows(
        &fabric,
        "opareport -o links -F led:on",
        &["LED State Not Found"],
    );

    shows(
        &fabric,
        &info,
        &["LinkWidth      Act: 4            En: 1,2,3,4"],
    );
    daemon.told(&["port", "link", "--width", "2x", port]);
    shows(&fabric, &info, &["LinkWidth      Act: 2            En: 2 "]);

    daemon.told(&["port", "disable", "--reason", "bad cable", port]);
    shows(&fabric, &info, &["PhysicalState: Disabled"]);
    daemon.told(&["port", "enable", port]);
    shows(&fabric, &info, &["PhysicalState: LinkUp"]);
}

#[test]
fn lists_pass_between_the_vendors_scripts_and_ours() {
    let tools = [
        "opaextractsellinks",
        "opaenableports",
        "opareport",
        "opaxmlextract",
    ];
    if tools.iter().any(|tool| program(tool).is_none()) {
        return;
    }
    let _turn = turn();
    let fabric = Fabric::start(TREE);
    let mut daemon = Weftd::start(&fabric, HOST, &SmSettings::default());
    daemon.wait_until_master(PATIENCE);
    let found = fabric.run(
        HOST,
        "opaextractsellinks -F 'node:edge2:port:1' 2>/dev/null",
    );
    assert_eq!(
        found.text.matches(';').count(),
        7,
        "one link: {}",
        found.text
    );
    let file = fabric.directory().join("links.csv");
    std::fs::write(&file, &found.text).unwrap();
    let file = file.display().to_string();
    let said = daemon.told(&[
        "port",
        "disable",
        "--reason",
        "dead server",
        "--from",
        &file,
    ]);
    assert_eq!(said, "disabled port 1 of edge2\n");
    let csv = daemon.told(&["port", "list", "--disabled", "--csv"]);
    assert!(csv.trim_end().ends_with(";dead server"), "{csv}");
    std::fs::write(&file, csv).unwrap();
    let enabled = fabric.run(HOST, &format!("opaenableports < {file}"));
    assert!(
        enabled.text.contains("Enabled: 1; Skipped: 0"),
        "{}",
        enabled.text
    );
    // Another tool has enabled it: the list says so.
    let until = Instant::now() + PATIENCE;
    while !daemon
        .told(&["port", "list", "--disabled"])
        .contains("enabled by another tool")
    {
        daemon.told(&["sweep", "--wait"]);
        assert!(Instant::now() < until);
        std::thread::sleep(PAUSE);
    }
}
