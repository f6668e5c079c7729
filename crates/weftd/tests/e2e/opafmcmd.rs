//! The vendor's unmodified `opafmcmd` and `opafmcmdall` on a running daemon.
//!
//! They look for a manager in /var/lib/opa-fm. Each runs in a mount namespace of its own where that is the directory
//! of the daemon's sockets.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use crate::harness::{Daemon, Start, text, wait_for};
use crate::process::{output, program};

/// Makes the directory $0 appear as /var/lib/opa-fm, and runs the rest.
const PLACE: &str = "mount -t tmpfs none /var/lib && ln -s \"$0\" /var/lib/opa-fm && exec \"$@\"";

/// A daemon with sockets, and the vendor's client.
struct Place {
    daemon: Daemon,
    sockets: PathBuf,
    client: PathBuf,
}

impl Place {
    /// None where this machine lacks the client or namespaces.
    fn new(client: &str, name: &str) -> Option<Self> {
        let client = weft_peers::program(client)?;
        let dir = tempfile::tempdir().unwrap();
        std::fs::copy(crate::harness::stock_config(), dir.path().join("opafm.xml")).unwrap();
        let sockets = dir.path().join("s");
        let mut start = Start::in_dir(dir, "one-switch:4");
        start.command.arg0(name).arg("--opafmcmd").arg(&sockets);
        let place = Self {
            daemon: start.up(),
            sockets,
            client,
        };
        wait_for(|| place.sockets.join("pm_0").exists().then_some(()));
        let probe = output(place.within(&["true"]).arg("x"));
        if !probe.status.success() {
            weft_peers::not_run(format!("no mount namespaces: {}", text(&probe.stderr)));
            return None;
        }
        Some(place)
    }

    /// A program in the namespace.
    fn within(&self, words: &[&str]) -> std::process::Command {
        let mut command = program(Path::new("unshare"));
        command.args(["-rm", "sh", "-c", PLACE]).arg(&self.sockets);
        command.args(words);
        command
    }

    /// Runs the client; both outputs.
    fn ask(&self, words: &[&str]) -> String {
        let client = self.client.display().to_string();
        let ran = output(&mut self.within(&[&[&*client], words].concat()));
        let said = text(&ran.stdout) + &text(&ran.stderr);
        assert!(!said.is_empty(), "{words:?}: {:?}", ran.status);
        said
    }

    /// Runs a command that has to succeed.
    fn done(&self, words: &[&str]) -> String {
        let said = self.ask(words);
        assert!(!said.contains("Error:"), "{words:?}: {said}");
        said
    }

    /// Runs a command that has to be refused with these words.
    fn refused(&self, words: &[&str], why: &str) {
        let said = self.ask(words);
        assert!(
            said.contains("Error:") && said.contains(why),
            "{words:?}: {said}"
        );
    }
}

#[test]
fn opafmcmd_controls_the_manager() {
    let Some(place) = Place::new("opafmcmd", "weftd") else {
        return;
    };
    let daemon = &place.daemon;
    let said = place.done(&["smForceSweep"]);
    assert!(said.contains("Successfully sent Force Sweep"), "{said}");
    wait_for(|| {
        daemon
            .log()
            .contains("sweep 2 (forced) ended")
            .then_some(())
    });

    let counters = place.done(&["smShowCounters"]);
    assert!(counters.contains("SM Counters as of"), "{counters}");
    let count = |text: &str, name: &str| {
        let line = text
            .lines()
            .find(|line| line.trim_start().starts_with(name));
        let value = line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
        value.unwrap_or_else(|| panic!("{name}: {text}"))
    };
    assert!(count(&counters, "Set PortInfo:") > 0);
    assert_eq!(count(&counters, "sweeps: forced:"), 1);
    place.done(&["smResetCounters"]);
    assert_eq!(
        count(&place.done(&["smShowCounters"]), "sweeps: forced:"),
        0
    );
    let counters = place.done(&["pmShowCounters"]);
    assert!(counters.contains("PM Counters as of"), "{counters}");
    count(&counters, "ports read:");
    place.done(&["pmResetCounters"]);

    place.done(&["smPauseSweeps"]);
    assert!(
        daemon
            .weft_ok(&["fabric", "show"])
            .contains("SWEEPS PAUSED")
    );
    place.refused(&["smForceSweep"], "Busy");
    place.done(&["smResumeSweeps"]);
    assert!(
        !daemon
            .weft_ok(&["fabric", "show"])
            .contains("SWEEPS PAUSED")
    );

    place.done(&["smLogLevel", "5"]);
    let level = daemon.weft_ok(&["fm", "log-level"]);
    assert!(level.contains("set by opafmcmd"), "{level}");
    place.refused(&["smLogLevel", "9"], "Invalid");
    place.done(&["smLogLevel", "2"]);
    place.done(&["smLogMode", "1"]);
    place.done(&["smLogMask", "PM", "0x7ff"]);
    let level = daemon.weft_ok(&["fm", "log-level"]);
    let quiet = "warn,weftd::event_log=info,weftd::pm_log=debug, set by opafmcmd";
    assert!(level.contains(quiet), "{level}");
    place.refused(&["smLogMask", "MAI", "0x1"], "Data type not supported");
    place.refused(&["smLogMode", "2"], "Data type not supported");
    place.done(&["smRestorePriority"]);
    place.done(&["smPerfDebug"]);
    let said = place.done(&["smAdaptiveRouting"]);
    assert!(said.contains("SM Adaptive Routing is disabled"), "{said}");
    place.done(&["smAdaptiveRouting", "1", "-f", "5"]);
    let said = place.done(&["smAdaptiveRouting"]);
    assert!(
        said.contains("enabled") && said.contains("Frequency is 5"),
        "{said}"
    );
    let shown = daemon.weft_ok(&["fabric", "show"]);
    assert!(
        shown.contains("adaptive routing on, ARFrequency 5"),
        "{shown}"
    );

    let dumps = daemon.dir.path().join("dumps");
    std::fs::create_dir(&dumps).unwrap();
    place.done(&["smStateDump", &dumps.display().to_string()]);
    let dump = std::fs::read_dir(&dumps).unwrap().next().unwrap().unwrap();
    assert_eq!(dump.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let dump = std::fs::read_to_string(dump.path()).unwrap();
    assert!(dump.starts_with('{') && dump.contains("weft-dump 1"));
    place.refused(&["smStateDump", "/nowhere/at/all"], "Internal Error");
}

#[test]
fn what_weftd_lacks_is_refused_in_words() {
    let Some(place) = Place::new("opafmcmd", "weftd") else {
        return;
    };
    for words in [
        &["smForceRebalance"][..],
        &["smForceAttributeRewrite", "1"],
        &["smSkipAttrWrite", "1"],
        &["saPerfDebug"],
        &["saRmppDebug"],
        &["pmDebug"],
        &["pmRmppDebug"],
        &["smLooptestStart"],
        &["smLooptestFastModeStart"],
        &["smLooptestStop"],
        &["smLooptestInjectPackets"],
        &["smLooptestInjectAtNode"],
        &["smLooptestInjectEachSweep"],
        &["smLooptestPathLength"],
        &["smLooptestMinISLRedundancy"],
        &["smLooptestShowLoopPaths"],
        &["smLooptestShowSwitchLft"],
        &["smLooptestShowTopology"],
        &["smLooptestShowConfig"],
    ] {
        place.refused(words, "Data type not supported");
    }
    place
        .daemon
        .logs("asks for smForceRebalance, which weftd does not have");
    place.refused(&["-i", "3", "smForceSweep"], "Not connected");
}

#[test]
fn opafmcmdall_finds_a_daemon_by_its_process_name() {
    let name = "weftd as sm -e sm_0";
    let Some(place) = Place::new("opafmcmdall", name) else {
        return;
    };
    let said = place.done(&["-i", "0", "smShowCounters"]);
    assert!(said.contains("SM Counters as of"), "{said}");
}

#[test]
fn hostile_clients_are_disconnected_and_others_served() {
    let dir = tempfile::tempdir().unwrap();
    let sockets = dir.path().join("s");
    let start = Start::new("one-switch:4");
    let daemon = start
        .args(&["--opafmcmd", &sockets.display().to_string()])
        .up();
    let socket = wait_for(|| Some(sockets.join("sm_0")).filter(|path| path.exists()));
    let answered = |bytes: &[u8]| {
        let mut stream = UnixStream::connect(&socket).unwrap();
        // The daemon may have closed it already.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer.len()
    };
    let header = |command: u64, len: u64| {
        let mut bytes = vec![1, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend(command.to_ne_bytes());
        bytes.extend(1_u64.to_ne_bytes());
        bytes.extend(len.to_ne_bytes());
        bytes
    };
    let open = [&header(1, 8)[..], &0x0006_6A82_3948_2938_u64.to_ne_bytes()].concat();
    for bytes in [
        vec![0; 4096],
        vec![0xFF; 65_536],
        header(4, u64::MAX),
        [&header(1, 8)[..], &[0; 8]].concat(),
        header(4, 0),
    ] {
        assert_eq!(answered(&bytes), 0);
    }
    let short = [&open[..], &header(4, 3), &[0; 3]].concat();
    assert_eq!(answered(&short), 40, "only the opening is answered");
    let held: Vec<UnixStream> = (0..8)
        .map(|_| UnixStream::connect(&socket).unwrap())
        .collect();
    let ping = [&open[..], &header(3, 0)].concat();
    assert_eq!(answered(&ping), 40 + 32);
    drop(held);
    daemon.weft_ok(&["fabric", "show"]);
    let (code, _) = daemon.stop();
    assert_eq!(code, Some(0));
    assert!(!socket.exists(), "removed at the end");
}

#[test]
fn a_directory_that_cannot_be_used_is_said_and_the_daemon_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let start = Start::new("one-switch:4");
    let daemon = start
        .args(&["--opafmcmd", &file.display().to_string()])
        .up();
    let said = "opafmcmd does not reach this daemon";
    wait_for(|| daemon.log().contains(said).then_some(()));
    daemon.weft_ok(&["sweep", "--wait"]);
}
