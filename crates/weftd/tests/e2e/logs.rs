//! The log settings of opafm.xml.

use std::os::unix::net::UnixDatagram;
use std::path::Path;

use crate::emulator::Emulator;
use crate::harness::{Daemon, PATIENCE, READ_OFTEN, Start, configure, text, wait_for};
use crate::process::{output, program};

const LEVEL: &str = "<LogLevel>2</LogLevel>";
/// A line of the subnet manager at debug, one of no part with a mask, one of events at info.
const DETAIL: &str = "sweep: program";
const PROGRESS: &str = "API at http";
const UP: &str = "fabric up";

/// A daemon whose stock file has other log settings.
fn with(logging: &str) -> Start {
    let start = Start::new("one-switch:4");
    configure(&start.dir.path().join("opafm.xml"), &[(LEVEL, logging)]);
    start
}

#[test]
fn levels_and_modes_of_the_file_count_unless_the_command_line_has_one() {
    for (logging, shown, hidden) in [
        (
            "<LogLevel>5</LogLevel>",
            &[DETAIL, PROGRESS, UP][..],
            &[][..],
        ),
        ("<LogLevel>2</LogLevel>", &[PROGRESS, UP], &[DETAIL]),
        ("<LogLevel>1</LogLevel>", &[UP], &[DETAIL, PROGRESS]),
        (
            "<LogLevel>2</LogLevel><LogMode>1</LogMode>",
            &[UP],
            &[DETAIL, PROGRESS],
        ),
    ] {
        let log = with(logging).up().log();
        let has = |line: &&&str| log.contains(**line);
        assert!(shown.iter().all(|line| has(&line)), "{logging}: {log}");
        assert!(!hidden.iter().any(|line| has(&line)), "{logging}: {log}");
    }
    let daemon = with("<LogLevel>5</LogLevel>")
        .args(&["--log-level", "info"])
        .up();
    assert!(!daemon.log().contains(DETAIL));
    let level = daemon.weft_ok(&["fm", "log-level"]);
    assert_eq!(level, "Log level: info, set by the command line\n");
}

#[test]
fn a_reload_changes_the_level() {
    let daemon = with(LEVEL).up();
    let file = daemon.dir.path().join("opafm.xml");
    configure(&file, &[(LEVEL, "<LogLevel>4</LogLevel>")]);
    daemon.weft_ok(&["config", "reload"]);
    let level = daemon.weft_ok(&["fm", "log-level"]);
    assert_eq!(
        level,
        "Log level: info,weftd=debug, set by the configuration\n"
    );
    daemon.weft_ok(&["sweep", "--wait"]);
    wait_for(|| daemon.log().contains(DETAIL).then_some(()));
}

#[test]
fn masks_set_the_levels_of_parts() {
    let masks =
        "<SM_LogMask>0x7ff</SM_LogMask><SA_LogMask>0x3</SA_LogMask><PM_LogMask>0x7ff</PM_LogMask>";
    let start = Start::new("one-switch:4");
    let masked = format!("{LEVEL}{masks}");
    let changes = [&[(LEVEL, &*masked)][..], &READ_OFTEN].concat();
    configure(&start.dir.path().join("opafm.xml"), &changes);
    let daemon = start.up();
    assert!(daemon.log().contains(DETAIL), "{}", daemon.log());
    wait_for(|| {
        daemon
            .log()
            .contains("counters of 9 ports read")
            .then_some(())
    });
    let absent = "registrations";
    assert!(!daemon.log().contains(absent), "{}", daemon.log());
    assert!(Daemon::up("one-switch:4").log().contains(absent));
}

#[test]
fn the_log_goes_to_a_file_and_elsewhere_unless_the_mode_says_no() {
    for (mode, elsewhere) in [(0, true), (2, false)] {
        let start = Start::new("one-switch:4");
        let file = start.dir.path().join("log");
        let logging = format!(
            "{LEVEL}<LogMode>{mode}</LogMode><LogFile>{}</LogFile>",
            file.display()
        );
        configure(&start.dir.path().join("opafm.xml"), &[(LEVEL, &logging)]);
        let stderr = start.dir.path().join("stderr");
        let mut start = start;
        start
            .command
            .stderr(std::fs::File::create(&stderr).unwrap());
        let daemon = start.up_unlogged();
        let read = |file: &Path| std::fs::read_to_string(file).unwrap_or_default();
        wait_for(|| read(&file).contains(UP).then_some(()));
        assert_eq!(read(&stderr).contains(UP), elsewhere, "{}", read(&stderr));

        let shown = daemon.weft_ok(&["fm", "show"]);
        assert!(
            shown.contains(&format!("Log file: {}\n", file.display())),
            "{shown}"
        );
        let moved = file.with_extension("1");
        std::fs::rename(&file, &moved).unwrap();
        daemon.signal("HUP");
        wait_for(|| file.exists().then_some(()));
        daemon.weft_ok(&["sweep", "--wait"]);
        wait_for(|| read(&file).contains("sweep 2").then_some(()));
        assert!(read(&moved).contains(UP));
    }
    let daemon = with(&format!("{LEVEL}<LogFile>/nowhere/at/all</LogFile>")).up();
    let said = "/nowhere/at/all (LogFile) cannot be opened";
    assert!(daemon.log().contains(said), "{}", daemon.log());
}

/// Makes the directory $0 appear as that of the journal's socket, and runs the rest.
const JOURNAL: &str = "mount -t tmpfs none /run && mkdir -p /run/systemd && ln -s \"$0\" /run/systemd/journal \
    && exec \"$@\"";

#[test]
fn lines_in_the_journal_have_the_facility() {
    let dir = tempfile::tempdir().unwrap();
    let journal = UnixDatagram::bind(dir.path().join("socket")).unwrap();
    journal.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut probe = program(Path::new("unshare"));
    let probed = output(
        probe
            .args(["-rm", "sh", "-c", JOURNAL])
            .arg(dir.path())
            .arg("true"),
    );
    if !probed.status.success() {
        return weft_peers::not_run(format!("no mount namespaces: {}", text(&probed.stderr)));
    }
    let file = dir.path().join("opafm.xml");
    configure(
        &file,
        &[(
            LEVEL,
            &format!("{LEVEL}<SyslogFacility>local3</SyslogFacility>"),
        )],
    );
    let mut command = program(Path::new("unshare"));
    command.args(["-rm", "sh", "-c", JOURNAL]).arg(dir.path());
    command.arg(env!("CARGO_BIN_EXE_weftd"));
    command.args([
        "--log",
        "journald",
        "--emulate",
        "one-switch:2",
        "--once",
        "--config",
    ]);
    command
        .arg(&file)
        .args(["--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"]);
    let reader = std::thread::spawn(move || {
        let mut entry = vec![0; 65_536];
        loop {
            let len = journal.recv(&mut entry).unwrap();
            let entry = text(&entry[..len]);
            if entry.contains("fabric up") {
                return entry;
            }
        }
    });
    let ran = output(&mut command);
    let said = text(&ran.stderr);
    assert!(ran.status.success(), "{:?}: {said}", ran.status);
    let entry = reader.join().unwrap();
    assert!(entry.contains("SYSLOG_FACILITY\n"), "{entry}");
    // A field of the journal's native protocol: its length, then its value.
    assert!(entry.contains("\u{2}\0\0\0\0\0\0\x0019\n"), "{entry:?}");
}

const TREE: &str = "pgft:2;2,2;1,2;1,1;radix=4";
/// The same with a third core, so that two links can go.
const THREE_CORES: &str = "pgft:2;2,2;1,3;1,1;radix=6";

/// A daemon at an emulator of its own, with a change of the stock file.
fn at_emulator(fabric: &str, dir: &Path, change: (&str, &str)) -> (Emulator, Daemon) {
    let socket = dir.join("fabric");
    let emulator = Emulator::start(fabric, &socket);
    let start = Start::connected(&socket);
    configure(&start.dir.path().join("opafm.xml"), &[change]);
    (emulator, start.up())
}

/// The place of such settings in the stock file.
const NODES: &str = "<NodeAppearanceMsgThreshold>100</NodeAppearanceMsgThreshold>";

/// Changes the fabric so that one sweep finds all changes.
fn in_one_sweep(daemon: &Daemon, change: impl FnOnce()) {
    daemon.weft_ok(&["fm", "pause"]);
    change();
    daemon.weft_ok(&["fm", "resume"]);
    let sweeps = || daemon.log().matches(" ended in ").count();
    let before = sweeps();
    daemon.weft(&["sweep", "--wait"]);
    wait_for(|| (sweeps() > before).then_some(()));
}

fn count(daemon: &Daemon, what: &str) -> usize {
    daemon
        .log()
        .lines()
        .filter(|line| line.contains(what))
        .count()
}

#[test]
fn lines_about_nodes_that_come_or_go_are_limited() {
    for (limit, lines) in [(0, 3), (1, 1)] {
        let dir = tempfile::tempdir().unwrap();
        let settings = format!("<NodeAppearanceMsgThreshold>{limit}</NodeAppearanceMsgThreshold>");
        let (emulator, daemon) = at_emulator("one-switch:4", dir.path(), (NODES, &settings));
        in_one_sweep(&daemon, || {
            for host in 2..=4 {
                emulator.change(&[
                    "link-down",
                    &format!("{:#x}", 0x0011_7501_0100_0000_u64 + host),
                    "1",
                ]);
            }
        });
        assert_eq!(count(&daemon, "node vanished: "), lines, "{}", daemon.log());
        let rest = format!("{} more nodes and links", 3 - lines);
        assert_eq!(daemon.log().contains(&rest), lines < 3, "{}", daemon.log());
    }
}

#[test]
fn lines_about_links_that_come_or_go_are_limited() {
    for (limit, lines) in [(0, 2), (1, 1)] {
        let dir = tempfile::tempdir().unwrap();
        let settings = format!("<PortBounceLogLimit>{limit}</PortBounceLogLimit>");
        let (emulator, daemon) = at_emulator(THREE_CORES, dir.path(), (NODES, &settings));
        let links = daemon.weft_ok(&["report", "links", "--json"]);
        let between = uplinks(&links);
        in_one_sweep(&daemon, || {
            for (guid, port) in [&between[0], &between[1]] {
                emulator.change(&["link-down", guid, port]);
            }
        });
        assert_eq!(count(&daemon, "link vanished: "), lines, "{}", daemon.log());
    }
}

/// One end of each link between switches.
fn uplinks(links: &str) -> Vec<(String, String)> {
    let report: serde_json::Value = serde_json::from_str(links).unwrap();
    let links = report["links"]
        .as_array()
        .unwrap_or_else(|| panic!("{report}"));
    let ends = |link: &serde_json::Value| [link["from"].clone(), link["to"].clone()];
    let between = links
        .iter()
        .map(ends)
        .filter(|ends| ends.iter().all(|end| end["type"] == "SW"));
    between
        .map(|[a, _]| {
            (
                a["guid"].as_str().unwrap().to_owned(),
                a["port"].to_string(),
            )
        })
        .collect()
}

#[test]
fn a_rack_that_vanishes_is_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let (emulator, daemon) = at_emulator(TREE, dir.path(), (NODES, NODES));
    in_one_sweep(&daemon, || {
        emulator.change(&["node-down", "0x0011750102000002"]);
    });
    let log = daemon.log();
    assert_eq!(count(&daemon, "3 nodes vanished: edge2"), 1, "{log}");
    assert_eq!(count(&daemon, "node vanished: "), 0, "{log}");
    assert_eq!(count(&daemon, "link vanished: "), 0, "{log}");
}

#[test]
fn a_trap_soon_after_another_has_no_line() {
    for (interval, lines) in [(0, 2), (3600, 1)] {
        let dir = tempfile::tempdir().unwrap();
        let settings =
            format!("<TrapLogSuppressTriggerInterval>{interval}</TrapLogSuppressTriggerInterval>");
        let (emulator, daemon) = at_emulator("one-switch:4", dir.path(), (NODES, &settings));
        let (mut watcher, _) = crate::watch::Watcher::start(&daemon, &[]);
        for _ in 0..2 {
            emulator.change(&["link-errors", "0x0011750102000001", "3"]);
            watcher.until("trap");
        }
        // The manager's lines are in the order of its events, and behind them.
        daemon.weft_ok(&["sweep", "--wait"]);
        daemon.logs("(forced) ended in");
        assert_eq!(count(&daemon, "trap of "), lines, "{}", daemon.log());
    }
}
