//! The export in the format of ibnetdiscover, read by ibsim and written again by ibnetdiscover itself.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use weft_interop::Running;

use crate::harness::{Daemon, text, wait_for};

/// One end of a cable: node and port, and those at the other end.
type End = (String, String, String, String);

#[test]
fn ibnetdiscover_sees_the_exported_fabric_on_ibsim() {
    let (Some(ibsim), Some(run)) = (
        weft_peers::program("ibsim"),
        weft_peers::program("ibsim-run"),
    ) else {
        return;
    };
    if weft_peers::program("ibnetdiscover").is_none() {
        return;
    }
    let daemon = Daemon::up("pgft:2;4,3;1,2;1,2");
    let file = daemon.dir.path().join("net");
    daemon.weft_ok(&[
        "fabric",
        "export",
        "--ibnetdiscover",
        "-o",
        file.to_str().unwrap(),
    ]);
    let ours = ends(&std::fs::read_to_string(&file).unwrap());
    // 12 hosts, and two cables from each of three edges to each of two cores.
    assert_eq!(ours.len(), 2 * (12 + 12));

    let socket = format!("weft-{}", std::process::id());
    let mut simulator = Command::new(ibsim);
    simulator
        .args(["-s", "-n"])
        .arg(&file)
        .env("IBSIM_SOCKNAME", &socket);
    let said = daemon.dir.path().join("ibsim.said");
    let log = std::fs::File::create(&said).unwrap();
    simulator
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log);
    let _simulator = Running::start(simulator.current_dir(daemon.dir.path()));
    wait_for(|| {
        let mut discover = Command::new(&run);
        discover.arg("ibnetdiscover").env("IBSIM_SOCKNAME", &socket);
        let seen = discover.env("SIM_HOST", "node1 hfi1_0").output().unwrap();
        let theirs = ends(&text(&seen.stdout));
        let is_whole = seen.status.success() && theirs == ours;
        if !is_whole {
            let (status, words) = (seen.status, text(&seen.stderr));
            let simulator = std::fs::read_to_string(&said).unwrap();
            eprintln!("{status}, {} ends: {words}\n{simulator}", theirs.len());
        }
        is_whole.then_some(())
    });
}

/// All ends of cables of a dump.
fn ends(dump: &str) -> BTreeSet<End> {
    let mut node = String::new();
    let mut ends = BTreeSet::new();
    for line in dump.lines() {
        let quoted = line.split('"').nth(1).unwrap_or_default().to_owned();
        if line.starts_with("Switch") || line.starts_with("Ca") {
            node = quoted;
        } else if line.starts_with('[') {
            let mut numbers = line
                .split('[')
                .skip(1)
                .map(|rest| rest.split(']').next().unwrap().to_owned());
            let (port, far) = (numbers.next().unwrap(), numbers.next().unwrap());
            ends.insert((node.clone(), port, quoted, far));
        }
    }
    ends
}
