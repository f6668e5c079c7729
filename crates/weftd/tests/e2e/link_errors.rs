//! Links with errors: the rules' file, `weft quarantine`, events and routes, with counters of real programs.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::emulator::Emulator;
use crate::harness::{Daemon, READ_OFTEN, Start, configure, text, wait_for, weft};
use crate::process::{output, program};
use crate::quarantine::{json, routes_over};
use crate::watch::Watcher;

/// Four edge switches with four hosts each under four cores.
const TREE: &str = "pgft:2;4,4;1,4;1,1;radix=8";
/// The second edge switch; its ports 5 to 8 lead to cores.
const EDGE: &str = "0x0011750102000002";
/// One bit in 10^9 of four lanes at 25.78125 Gb/s for 20 s are 2062 errors.
const BEYOND: &str = "3000";

/// Rules that need no minutes to be broken.
fn write_rules(dir: &Path, action: &str, bounds: &str, hold: &str) -> PathBuf {
    let file = dir.join("link-rules.xml");
    let text = format!(
        "<LinkRules>\n<Bounds>{bounds}</Bounds>\n<Hold><First>{hold}</First></Hold>\n<SymbolErrors>\n\
         <Action>{action}</Action>\n<ShortWindow>20s</ShortWindow><ShortLimit>1e-9</ShortLimit>\n\
         <LongWindow>1h</LongWindow><LongLimit>1e-6</LongLimit>\n</SymbolErrors>\n</LinkRules>\n"
    );
    std::fs::write(&file, text).unwrap();
    file
}

struct Lab {
    dir: tempfile::TempDir,
    emulator: Emulator,
}

impl Lab {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let emulator = Emulator::start(TREE, &dir.path().join("fabric"));
        Self { dir, emulator }
    }

    /// A daemon that reads counters every second.
    fn daemon(&self, rules: Option<&Path>) -> Daemon {
        let start = Start::connected(&self.emulator.socket());
        configure(&start.dir.path().join("opafm.xml"), &READ_OFTEN);
        match rules {
            Some(rules) => start.args(&["--link-rules", rules.to_str().unwrap()]).up(),
            None => start.up(),
        }
    }

    /// A port of the edge switch counts errors once counters have been read before.
    fn errors(&self, daemon: &Daemon, port: &str) {
        readings(daemon, 2);
        let count = ["count-errors", EDGE, port, "--symbol-errors", BEYOND];
        self.emulator.change(&count);
    }
}

/// Waits for readings of the counters.
fn readings(daemon: &Daemon, count: u64) {
    let read = || {
        let metrics = daemon.scrape();
        let line = metrics
            .lines()
            .find(|line| line.starts_with("weft_pm_sweeps_total "));
        let number = line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
        number.unwrap_or(0)
    };
    let before = read();
    wait_for(|| (read() >= before + count).then_some(()));
}

fn list(daemon: &Daemon) -> Vec<Value> {
    let ports = json(&daemon.weft_ok(&["quarantine", "list", "--json"]));
    ports.as_array().unwrap().clone()
}

fn point(port: &str) -> String {
    format!("node:edge2:port:{port}")
}

#[test]
fn without_the_file_errors_change_nothing() {
    let lab = Lab::new();
    let daemon = lab.daemon(None);
    lab.errors(&daemon, "5");
    readings(&daemon, 3);
    daemon.weft_ok(&["sweep", "--wait"]);
    assert_eq!(list(&daemon), [] as [Value; 0]);
    assert!(routes_over(&daemon, "edge2", "5") > 0);
    assert!(!daemon.log().contains("has errors"), "{}", daemon.log());
}

#[test]
fn a_dry_run_tells_and_the_real_thing_acts_within_its_bounds() {
    let lab = Lab::new();
    let rules = write_rules(lab.dir.path(), "dry-run", "", "1h");
    let daemon = lab.daemon(Some(&rules));
    daemon.logs("rules for links with errors: symbol errors dry-run, discards off");
    let (mut watcher, _) = Watcher::start(&daemon, &[]);
    lab.errors(&daemon, "5");
    let told = watcher.until("link_isolation_dry_run")["data"].clone();
    assert_eq!(told["a"]["name"], "edge2");
    assert_eq!(told["a"]["port"], 5);
    assert_eq!(told["b"]["name"], "core1");
    assert_eq!(
        (&told["measured"], &told["limit"]),
        (&3000.into(), &2062.into())
    );
    let entries = list(&daemon);
    assert_eq!(entries[0]["dry_run"], true);
    assert_eq!(entries[0]["quarantined"], false);
    assert_eq!(entries[0]["left_s"], Value::Null);
    let lines = daemon.weft_ok(&["quarantine", "list"]);
    assert!(lines.contains("dry run, would be in quarantine"), "{lines}");
    daemon.weft_ok(&["sweep", "--wait"]);
    assert!(routes_over(&daemon, "edge2", "5") > 0);

    write_rules(
        lab.dir.path(),
        "quarantine",
        "<MostAtOnce>1</MostAtOnce>",
        "1h",
    );
    daemon.weft_ok(&["config", "reload"]);
    watcher.until("config_reloaded");
    lab.errors(&daemon, "6");
    let told = watcher.until("link_isolated")["data"].clone();
    assert_eq!(
        (&told["a"]["port"], &told["hold_s"]),
        (&6.into(), &3600.0.into())
    );
    wait_for(|| (routes_over(&daemon, "edge2", "6") == 0).then_some(()));
    daemon.logs("has errors: 3000 symbol errors within 20 s, bit error rate 1.454e-9");
    let log = daemon.log();
    let line = log
        .lines()
        .find(|line| line.contains("routes leave it out for 1 h"))
        .unwrap();
    assert!(
        line.contains("of edge2 (") && line.contains("of core2 ("),
        "{line}"
    );

    lab.errors(&daemon, "7");
    let told = watcher.until("link_spared")["data"].clone();
    assert_eq!(told["a"]["port"], 7);
    let why = told["spared"].as_str().unwrap();
    assert!(why.contains("MostAtOnce"), "{why}");
    daemon.weft_ok(&["sweep", "--wait"]);
    assert!(routes_over(&daemon, "edge2", "7") > 0);
    let lines = daemon.weft_ok(&["quarantine", "list"]);
    assert!(lines.contains("in use with errors"), "{lines}");
    let why = daemon.weft_ok(&["quarantine", "why", &point("6")]);
    assert!(
        why.contains("more: 3000 symbol errors within 20 s"),
        "{why}"
    );
    assert!(
        why.contains("link: up, and routes leave it out: its symbol errors"),
        "{why}"
    );

    let said = daemon.weft_ok(&["quarantine", "release", &point("6")]);
    assert!(said.starts_with("released port 6 of edge2; "), "{said}");
    let over = watcher.until("link_errors_over")["data"].clone();
    assert_eq!(
        (&over["was_isolated"], &over["a"]["port"]),
        (&true.into(), &6.into())
    );
    daemon.weft_ok(&["sweep", "--wait"]);
    assert!(routes_over(&daemon, "edge2", "6") > 0);
}

#[test]
fn a_link_comes_back_by_itself_and_outlasts_a_crash_before() {
    let lab = Lab::new();
    let rules = write_rules(lab.dir.path(), "quarantine", "", "25s");
    let daemon = lab.daemon(Some(&rules));
    let (mut watcher, _) = Watcher::start(&daemon, &[]);
    lab.errors(&daemon, "5");
    watcher.until("link_isolated");
    wait_for(|| (routes_over(&daemon, "edge2", "5") == 0).then_some(()));
    // Its answer means that all before it is on disk as well.
    daemon.weft_ok(&["quarantine", "add", &point("8")]);
    let dir = daemon.crash();
    let start = Start::connected_in(dir, &lab.emulator.socket());
    let daemon = start.args(&["--link-rules", rules.to_str().unwrap()]).up();
    assert_eq!(routes_over(&daemon, "edge2", "5"), 0);
    let entries = list(&daemon);
    let entry = entries.iter().find(|one| one["by_errors"] == true).unwrap();
    assert_eq!(entry["quarantined"], true);
    assert!(entry["left_s"].as_f64().unwrap() <= 25.0, "{entry}");
    assert_eq!(entry["far"]["name"], "core1");
    daemon.logs("may be used again: its time is over");
    wait_for(|| (routes_over(&daemon, "edge2", "5") > 0).then_some(()));
}

#[test]
fn the_last_path_stays_in_use() {
    let lab = Lab::new();
    let rules = write_rules(lab.dir.path(), "quarantine", "<Hosts>never</Hosts>", "1h");
    let daemon = lab.daemon(Some(&rules));
    for port in ["5", "6", "7"] {
        daemon.weft_ok(&["quarantine", "add", &point(port)]);
    }
    daemon.weft_ok(&["sweep", "--wait"]);
    let (mut watcher, _) = Watcher::start(&daemon, &[]);
    // The only way up that is left, and a host's link.
    for (port, why) in [("8", "last path"), ("1", "a host would be cut off")] {
        lab.errors(&daemon, port);
        let told = watcher.until("link_spared")["data"].clone();
        let spared = told["spared"].as_str().unwrap();
        assert!(spared.contains(why), "{spared}");
        daemon.weft_ok(&["sweep", "--wait"]);
        assert!(routes_over(&daemon, "edge2", port) > 0);
    }
}

#[test]
fn a_file_with_a_mistake_is_refused_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let rules = write_rules(
        dir.path(),
        "quarantine",
        "<MostPerHuor>1</MostPerHuor>",
        "1h",
    );
    let mut command = program(Path::new(env!("CARGO_BIN_EXE_weftd")));
    command.args(["--emulate", "one-switch:2", "--link-rules"]);
    let refused = output(command.arg(&rules));
    assert_eq!(refused.status.code(), Some(3));
    let said = text(&refused.stderr);
    let expected = format!(
        "{}:2: error: LinkRules/Bounds/MostPerHuor: ",
        rules.display()
    );
    assert!(said.contains(&expected), "{said}");
    assert!(
        said.contains("allowed: MostPerHour, MostAtOnce, Hosts"),
        "{said}"
    );

    let check = |code: i32| {
        let mut command = program(weft());
        command.args(["config", "check", "--link-rules"]);
        let checked = output(command.arg(&rules));
        let said = text(&checked.stdout);
        assert_eq!(checked.status.code(), Some(code), "{said}");
        said
    };
    assert!(check(1).contains(&expected));
    write_rules(dir.path(), "quarantine", "", "1h");
    assert!(check(0).contains("nothing wrong"));
    let daemon = Start::new("one-switch:2");
    let daemon = daemon.args(&["--link-rules", rules.to_str().unwrap()]).up();
    write_rules(dir.path(), "quarantine", "", "1week");
    let refused = daemon.weft(&["config", "reload"]);
    assert_eq!(refused.status.code(), Some(1));
    let said = text(&refused.stdout) + &text(&refused.stderr);
    assert!(said.contains("`week` is no unit of time here"), "{said}");
    daemon.signal("HUP");
    daemon.logs("the new configuration is refused, the old one stays in force");
    std::fs::remove_file(&rules).unwrap();
    let said = daemon.weft_fails(1, &["config", "reload"]);
    assert!(said.contains("No such file"), "{said}");
    assert!(daemon.weft_ok(&["fabric", "show"]).contains("HFIs"));
}

#[test]
fn discards_and_bad_quality_are_told_and_hosts_are_cut_off_where_that_is_allowed() {
    let lab = Lab::new();
    let rules = lab.dir.path().join("link-rules.xml");
    let text = "<LinkRules><Bounds><Hosts>always</Hosts></Bounds>\
        <Discards><Action>quarantine</Action><Window>20s</Window><PerSecond>10</PerSecond></Discards>\
        <LinkQuality><Action>dry-run</Action><Window>3s</Window><AtMost>2</AtMost></LinkQuality></LinkRules>";
    std::fs::write(&rules, text).unwrap();
    let daemon = lab.daemon(Some(&rules));
    let (mut watcher, _) = Watcher::start(&daemon, &[]);
    let quality = |value| lab.emulator.change(&["link-quality", EDGE, "6", value]);
    quality("2");
    let told = watcher.until("link_isolation_dry_run")["data"].clone();
    assert_eq!(
        (&told["a"]["port"], &told["rule"]),
        (&6.into(), &"link quality".into())
    );
    assert_eq!(told["what"], "link quality 2 for 3 s; 2 and less is bad");
    quality("3");
    let over = watcher.until("link_errors_over")["data"].clone();
    assert_eq!(over["was_isolated"], false);
    assert_eq!(list(&daemon), [] as [Value; 0]);

    assert!(routes_over(&daemon, "edge2", "1") > 0);
    let discards = ["count-errors", EDGE, "1", "--discards", "201"];
    lab.emulator.change(&discards);
    let told = watcher.until("link_isolated")["data"].clone();
    assert_eq!(
        told["what"],
        "201 packets dropped within 20 s; the limit is 200"
    );
    wait_for(|| (routes_over(&daemon, "edge2", "1") == 0).then_some(()));
    daemon.weft_ok(&["quarantine", "release", &point("1")]);
    daemon.weft_ok(&["sweep", "--wait"]);
    assert!(routes_over(&daemon, "edge2", "1") > 0);
}
