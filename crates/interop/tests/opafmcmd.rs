//! The vendor's `opafmcmd` prints the same about both managers.
#![allow(clippy::unwrap_used)]

use std::process::Command;
use std::time::{Duration, Instant};

use weft_interop::vendor_sm::{SmSettings, VendorSm, turn};
use weft_interop::{Fabric, Weftd};
use weft_peers::{VENDOR_SM, program};

const PATIENCE: Duration = Duration::from_secs(60);
/// Commands that tell nothing about the fabric, in this order.
const COMMANDS: [&[&str]; 14] = [
    &["smForceSweep"],
    &["smPauseSweeps"],
    &["smResumeSweeps"],
    &["smRestorePriority"],
    &["smResetCounters"],
    &["pmResetCounters"],
    &["smLogLevel", "3"],
    &["smLogMode", "1"],
    &["smLogMask", "PM", "0x1ff"],
    &["smPerfDebug"],
    &["smAdaptiveRouting"],
    &["smAdaptiveRouting", "0"],
    &["smStateDump", "/tmp"],
    &["feLogLevel", "3"],
];

/// What the client prints about each command.
fn printed(client: &std::path::Path, directory: &str) -> Vec<String> {
    let ask = |words: &&[&str]| {
        let words = words.iter().map(|word| match *word {
            "/tmp" => directory,
            word => word,
        });
        let ran = Command::new(client).args(words).output().unwrap();
        let both = [ran.stdout, ran.stderr].concat();
        String::from_utf8(both).unwrap().replace(directory, "DIR")
    };
    COMMANDS.iter().map(ask).collect()
}

/// Waits until the client reaches a manager.
fn reached(client: &std::path::Path) {
    let until = Instant::now() + PATIENCE;
    loop {
        let ran = Command::new(client).arg("pmShowCounters").output().unwrap();
        if String::from_utf8_lossy(&ran.stdout).contains("PM Counters as of") {
            return;
        }
        assert!(
            Instant::now() < until,
            "opafmcmd reaches no manager: {ran:?}"
        );
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn opafmcmd_prints_the_same_about_both_managers() {
    let (Some(_), Some(client)) = (program(VENDOR_SM), program("opafmcmd")) else {
        return;
    };
    let _turn = turn();
    let settings = SmSettings {
        pm: true,
        ..SmSettings::default()
    };
    let dumps = tempfile::tempdir().unwrap();
    let directory = dumps.path().display().to_string();
    let vendor = {
        let fabric = Fabric::start("one-switch:4");
        let sm = VendorSm::start(&fabric, "node1", &settings);
        sm.swept(1, PATIENCE);
        // Its sockets are there when its threads have begun; too many attempts before that end its server.
        std::thread::sleep(Duration::from_secs(5));
        printed(&client, &directory)
    };
    let fabric = Fabric::start("one-switch:4");
    let mut weftd = Weftd::start_for_opafmcmd(&fabric, "node1", &settings);
    weftd.wait_until_master(PATIENCE);
    reached(&client);
    assert_eq!(printed(&client, &directory), vendor);
}
