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
        Self::on("one-switch:4", client, name)
    }

    fn on(fabric: &str, client: &str, name: &str) -> Option<Self> {
        let client = weft_peers::program(client)?;
        let dir = tempfile::tempdir().unwrap();
        std::fs::copy(crate::harness::stock_config(), dir.path().join("opafm.xml")).unwrap();
        let sockets = dir.path().join("s");
        let mut start = Start::in_dir(dir, fabric);
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
    place.done(&["smForceRebalance"]);
    place.done(&["smForceAttributeRewrite", "1"]);
    place.done(&["smSkipAttrWrite", "0x200"]);
    let shown = daemon.weft_ok(&["fabric", "show"]);
    assert!(shown.contains("SkipAttributeWrite 0x200"), "{shown}");
    place.done(&["smSkipAttrWrite", "0"]);
    place.done(&["smForceAttributeRewrite", "0"]);
    place.refused(&["smForceAttributeRewrite", "2"], "must be either 0");
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

/// The rows of a table of loops: LID and hops.
fn loops(shown: &str) -> Vec<(String, String)> {
    let rows = shown.lines().filter(|line| line.contains("->"));
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, _, _, _, lid, hops @ ..] = &words[..] else {
            return None;
        };
        Some(((*lid).to_owned(), hops.join(" ")))
    };
    rows.filter(|line| !line.contains("PATH["))
        .filter_map(row)
        .collect()
}

#[test]
fn opafmcmd_runs_the_loop_test() {
    let fabric = "pgft:2;2,2;1,2;1,2;radix=8";
    let Some(place) = Place::on(fabric, "opafmcmd", "weftd") else {
        return;
    };
    let idle = place.done(&["smLooptestShowConfig"]);
    assert!(idle.contains("The loop test is not running"), "{idle}");
    for words in [
        &["smLooptestStop"][..],
        &["smLooptestInjectPackets", "2"],
        &["smLooptestInjectAtNode", "5"],
    ] {
        let said = place.done(words);
        assert!(
            said.contains("Ignored: the loop test is not running"),
            "{said}"
        );
    }
    let said = place.done(&["smLooptestStart", "1"]);
    assert!(said.contains("runs, with 1 packet for each loop"), "{said}");
    let said = place.done(&["smLooptestFastModeStart"]);
    assert!(
        said.contains("Ignored: the loop test is running already"),
        "{said}"
    );
    // Four pairs of switches with two cables each, both directions.
    let all = place.done(&["smLooptestShowLoopPaths"]);
    let rows = loops(&all);
    assert_eq!(rows.len(), 8, "{all}");
    assert!(all.contains("There are 8 loops of up to 3 links"), "{all}");
    // Entries of the loop at both of its switches, by the hops' ports.
    let (lid, hops) = &rows[0];
    for hop in hops.split(' ') {
        let (node, port) = hop.split("->").next().unwrap().split_once(':').unwrap();
        let table = place.done(&["smLooptestShowSwitchLft", node]);
        let port: u8 = port.parse().unwrap();
        assert!(table.contains(&format!(" {lid}   {port:04}\n")), "{table}");
        let through = place.done(&["smLooptestShowLoopPaths", node]);
        assert!(
            through.contains(&format!("4 of them lead through node {node}")),
            "{through}"
        );
    }
    let topology = place.done(&["smLooptestShowTopology"]);
    assert!(
        topology.contains("switch  GUID=0x0011750102000001 [edge1]"),
        "{topology}"
    );
    let node = hops.split(':').next().unwrap();
    let said = place.done(&["smLooptestInjectAtNode", node]);
    assert!(
        said.contains("Packets are injected into the loops through switch"),
        "{said}"
    );
    place
        .daemon
        .logs("opafmcmd orders the loop test: inject packets at switch");
    let config = place.done(&["smLooptestShowConfig"]);
    assert!(config.contains(&format!("Node {node}\n")), "{config}");
    place.done(&["smLooptestInjectPackets", "3"]);
    place.done(&["smLooptestInjectEachSweep", "0"]);
    place.done(&["smLooptestPathLength", "2"]);
    place.done(&["smLooptestMinISLRedundancy", "2"]);
    let config = place.done(&["smLooptestShowConfig"]);
    assert!(
        config.contains("        2           00003        All Nodes"),
        "{config}"
    );
    assert!(
        config.contains("FastMode=0, FastMode MinISLRedundancy=2, InjectEachSweep=0"),
        "{config}"
    );
    let said = place.done(&["smLooptestStop"]);
    assert!(said.contains("The loop test has ended"), "{said}");
    let said = place.done(&["smLooptestShowLoopPaths"]);
    assert!(said.contains("The loop test is not running"), "{said}");
    let said = place.done(&["smLooptestFastModeStart", "2"]);
    assert!(said.contains("runs, with 2 packets"), "{said}");
    let all = place.done(&["smLooptestShowLoopPaths"]);
    assert!(
        all.contains("second LID, for packets in the other direction"),
        "{all}"
    );
    place.done(&["smLooptestStop"]);
}

#[test]
fn what_weftd_lacks_is_refused_in_words() {
    let Some(place) = Place::new("opafmcmd", "weftd") else {
        return;
    };
    for words in [
        &["saPerfDebug"][..],
        &["saRmppDebug"],
        &["pmDebug"],
        &["pmRmppDebug"],
    ] {
        place.refused(words, "Data type not supported");
    }
    place
        .daemon
        .logs("asks for saPerfDebug, which weftd does not have");
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
fn opacabletest_starts_and_stops_the_test_of_links_between_switches() {
    let name = "weftd as sm -e sm_0";
    let Some(place) = Place::on("pgft:2;2,2;1,2;1,1;radix=4", "opacabletest", name) else {
        return;
    };
    // The place where it looks for the vendor's client.
    if !Path::new("/usr/lib/opa-fm/bin/fm_cmdall").exists() {
        weft_peers::not_run("no fm_cmdall");
        return;
    }
    let said = place.done(&["-h", "node1", "start_isl"]);
    assert!(
        said.contains("runs, with 5 packets for each loop"),
        "{said}"
    );
    let shown = || place.daemon.weft_ok(&["fm", "loop-test", "show"]);
    let running = shown();
    assert!(running.contains("of these in no loop: 0"), "{running}");
    assert!(
        running.contains("5 for each since the start, 10 in all"),
        "{running}"
    );
    let said = place.done(&["-h", "node1", "stop_isl"]);
    assert!(said.contains("The loop test has ended"), "{said}");
    assert!(shown().starts_with("Loop test: not running\n"));
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
