//! The daemon at an HFI, which goes away and comes back: a host of an emulated fabric through the
//! preload library.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use weft_interop::fabric::library;

use crate::emulator::Emulator;
use crate::harness::{Daemon, Start, stock_config, wait_for};
use crate::process::program;

const FABRIC: &str = "fattree:16,radix=8";
/// Within which a loss has to be in the log.
const NOTICED_WITHIN: Duration = Duration::from_secs(1);
/// Observation time of a daemon without a fabric, and its limit of CPU time.
const WITHOUT: Duration = Duration::from_secs(3);
const PROCESSOR_MAX: Duration = Duration::from_millis(500);

fn daemon_at_hfi(address: &str) -> Daemon {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("opafm.xml");
    std::fs::copy(stock_config(), &config).unwrap();
    let mut command = program(Path::new(env!("CARGO_BIN_EXE_weftd")));
    command
        .env("LD_PRELOAD", library())
        .env("WEFT_EMULATOR", address)
        .args(["--hfi", "hfi1_0:1", "--opafmcmd", "off"])
        .args(["--metrics", "127.0.0.1:0", "--listen"])
        .arg(format!("unix:{}", dir.path().join("api.sock").display()))
        .arg("--config")
        .arg(config)
        .arg("--state-dir")
        .arg(dir.path().join("state"))
        .arg("--address-file")
        .arg(dir.path().join("addresses"))
        .stdout(Stdio::null());
    Start { command, dir }.up()
}

/// Time that a process has had on the processors.
fn processor_time(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // Behind the name, which may have blanks in it; fields 14 and 15 of proc(5), in ticks of 10 ms.
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    let ticks = fields.split(' ').skip(11).take(2);
    let ticks: u64 = ticks.map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(10 * ticks)
}

fn seen(daemon: &Daemon) -> [String; 2] {
    ["nodes", "lids"].map(|report| {
        let full = daemon.weft_ok(&["report", report]);
        // Behind the heading, which has the date.
        let (_, body) = full.split_once(" in Fabric").unwrap();
        // ActCount counts the manager's actions.
        let lasting = body.lines().filter(|line| !line.contains("ActCount"));
        lasting.collect::<Vec<_>>().join("\n")
    })
}

#[test]
fn an_hfi_that_goes_is_missed_at_once_and_taken_again_when_it_is_back() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("fabric.sock");
    let emulator = Emulator::start(FABRIC, &socket);
    let daemon = daemon_at_hfi(&format!("unix:{}", socket.display()));
    daemon.weft_ok(&["sweep", "--wait"]);
    let before = seen(&daemon);
    let active = "64 active";
    let shown = daemon.weft_ok(&["fabric", "show"]);
    assert!(shown.contains(active), "{shown}");
    let traffic = daemon.weft_fails(1, &["emulator", "traffic", "list"]);
    assert!(traffic.contains("this fabric is not emulated"), "{traffic}");

    let lost = Instant::now();
    emulator.kill();
    wait_for(|| daemon.log().contains("the fabric is gone").then_some(()));
    assert!(lost.elapsed() < NOTICED_WITHIN, "{:?}", lost.elapsed());

    let busy = processor_time(daemon.pid());
    std::thread::sleep(WITHOUT);
    let busy = processor_time(daemon.pid()) - busy;
    assert!(busy < PROCESSOR_MAX, "{busy:?} of {WITHOUT:?}");
    assert_eq!(seen(&daemon), before, "nothing is forgotten");

    let _emulator = Emulator::start(FABRIC, &socket);
    wait_for(|| daemon.log().contains("the fabric is back").then_some(()));
    // The new fabric has been switched on only now: it gets the LIDs that the old one had.
    daemon.weft_ok(&["sweep", "--wait"]);
    daemon.weft_ok(&["sweep", "--wait"]);
    assert_eq!(seen(&daemon), before);
    let shown = daemon.weft_ok(&["fabric", "show"]);
    assert!(shown.contains(active), "{shown}");
}
