//! `weft health`: the page over planted faults, its commands, what outlasts a restart, metrics and events.

use std::path::Path;

use serde_json::Value;
use weft_fabric::FabricSpec;
use weft_health::Memory;

use crate::emulator::Emulator;
use crate::harness::{ASKS_ONCE, Daemon, READ_OFTEN, Start, configure, text, wait_for};
use crate::quarantine::json;
use crate::watch::Watcher;

/// Four edge switches with four hosts each under four cores.
const TREE: &str = "pgft:2;4,4;1,4;1,1;radix=8";
/// The second edge switch; its ports 5 to 8 lead to cores.
const EDGE: &str = "0x0011750102000002";
/// `<SubnetPrefix>` of the stock configuration.
const PREFIX: u64 = 0xFE80_0000_0000_0000;
/// Exit codes of a page.
const YELLOW: i32 = 10;
const RED: i32 = 11;

/// A daemon that has seen the whole fabric for a while.
struct Lab {
    emulator: Emulator,
    daemon: Daemon,
    _dir: tempfile::TempDir,
}

/// What an earlier daemon would have seen of the fabric.
fn write_seen(state: &Path) {
    let spec: FabricSpec = TREE.parse().unwrap();
    let topology = spec.generate().unwrap();
    let now = std::time::SystemTime::now();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let mut memory = Memory::default();
    for ago in [600, 300] {
        memory.look(now - ago, &topology, 86_400, |_| None);
    }
    std::fs::create_dir_all(state).unwrap();
    std::fs::write(state.join("seen.0"), memory.encode(PREFIX)).unwrap();
}

impl Lab {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let emulator = Emulator::start(TREE, &dir.path().join("fabric"));
        let start = Start::connected(&emulator.socket());
        let changes = [READ_OFTEN[0], ASKS_ONCE];
        configure(&start.dir.path().join("opafm.xml"), &changes);
        write_seen(&start.dir.path().join("state"));
        let daemon = start.up();
        let lab = Self {
            emulator,
            daemon,
            _dir: dir,
        };
        lab.until(&[]);
        lab
    }

    fn page(&self) -> Value {
        let shown = self.daemon.weft(&["health", "--json"]);
        json(&text(&shown.stdout))
    }

    /// Waits until a page after a sweep has findings of these kinds, in any order; besides, what devices have counted
    /// before stays told.
    fn until(&self, kinds: &[&str]) -> Value {
        let mut wanted: Vec<&str> = kinds.to_vec();
        wanted.sort_unstable();
        let mut last = Value::Null;
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait_for(|| {
                let shown = self.daemon.weft(&["health", "--json"]);
                let page: Value = serde_json::from_slice(&shown.stdout).ok()?;
                last = page.clone();
                let mut figures = page["figures"].as_array()?.iter();
                let sweeps = figures.find(|one| one["name"] == "sweeps")?;
                let has_swept = sweeps["value"] != "no sweep has ended yet";
                let found = page["findings"].as_array()?.iter();
                let found = found.filter_map(|one| one["kind"].as_str());
                let mut found: Vec<&str> = found.filter(|kind| *kind != "past_errors").collect();
                found.sort_unstable();
                (has_swept && found == wanted).then(|| page.clone())
            })
        }));
        found.unwrap_or_else(|_| panic!("{wanted:?} were expected: {last:#}"))
    }

    fn swept(&self) {
        self.daemon.weft_ok(&["sweep", "--wait"]);
    }

    fn code(&self) -> i32 {
        self.daemon.weft(&["health"]).status.code().unwrap()
    }
}

fn find<'a>(page: &'a Value, kind: &str) -> &'a Value {
    let mut all = page["findings"].as_array().unwrap().iter();
    all.find(|one| one["kind"] == kind).unwrap()
}

/// A point that names a port of the second edge switch.
fn port(number: &str) -> String {
    format!("node:edge2:port:{number}")
}

#[test]
fn findings_of_many_kinds_name_commands_that_run() {
    let lab = Lab::new();
    assert_eq!(lab.page()["color"], "green", "{:#}", lab.page());
    assert_eq!(lab.code(), 0);
    let (mut watcher, _) = Watcher::start(&lab.daemon, &[]);
    lab.emulator.change(&["link-down", EDGE, "6"]);
    lab.swept();
    lab.until(&["missing_link"]);
    let told = watcher.until("health_changed")["data"].clone();
    assert_eq!(
        (&told["before"], &told["now"]),
        (&"green".into(), &"yellow".into())
    );
    lab.daemon.logs("health is yellow, it was green");
    assert_eq!(lab.code(), YELLOW);
    lab.daemon.weft_ok(&["port", "disable", &port("1")]);
    lab.daemon
        .weft_ok(&["quarantine", "add", &port("5"), "--reason", "rack move"]);
    lab.daemon.weft_ok(&["drain", "node:edge3:port:5"]);
    lab.emulator.change(&["node-down", "0x001175010100000d"]);
    lab.emulator.change(&["link-quality", EDGE, "3", "2"]);
    lab.swept();
    let kinds = [
        "disabled",
        "quarantined",
        "drained",
        "missing_link",
        "missing_host",
        "quality",
    ];
    let page = lab.until(&kinds);
    // A quarantined link carries no data either: with the one that is lost two of 16 are missing.
    let told = watcher.until("health_changed")["data"].clone();
    assert_eq!(
        (&told["before"], &told["now"]),
        (&"yellow".into(), &"red".into())
    );
    assert_eq!(page["color"], "red");
    assert_eq!(lab.code(), RED);

    let missing = find(&page, "missing_link");
    let ends = [&missing["a"], &missing["b"]];
    assert!(
        ends.iter()
            .any(|end| end["guid"] == EDGE && end["port"] == 6),
        "{missing}"
    );
    assert!(
        missing["since"].as_str().unwrap().starts_with("20"),
        "{missing}"
    );
    let disabled = find(&page, "disabled");
    assert_eq!(disabled["host_names"], Value::from(vec!["node5 hfi1_0"]));
    let host = find(&page, "missing_host");
    assert_eq!(host["a"]["name"], "node13 hfi1_0");
    assert!(
        find(&page, "quarantined")["what"]
            .as_str()
            .unwrap()
            .contains("rack move")
    );

    for finding in page["findings"].as_array().unwrap() {
        let next = finding["next"].as_str().unwrap();
        let words: Vec<&str> = next.split(' ').collect();
        assert_eq!(words[0], "weft", "{finding}");
        // What takes the link of a host down comes last.
        lab.daemon.weft_ok(&words[1..]);
    }
    lab.swept();
    lab.until(&["missing_link", "missing_host", "quality", "quarantined"]);
}

#[test]
fn a_dead_switch_is_red_and_is_forgotten_by_an_order() {
    let lab = Lab::new();
    lab.emulator.change(&["node-down", EDGE]);
    lab.swept();
    let page = lab.until(&["missing_switch"]);
    let switch = find(&page, "missing_switch");
    assert_eq!(
        (&switch["a"]["guid"], &switch["hosts"]),
        (&EDGE.into(), &4.into())
    );
    assert_eq!(lab.code(), RED);
    let metrics = lab.daemon.scrape();
    for line in [
        "weft_health{figure=\"overall\"} 2",
        "weft_health{figure=\"endpoints\"} 2",
        "weft_health_findings{kind=\"missing_switch\"} 1",
        "weft_health_findings{kind=\"missing_host\"} 0",
    ] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
    let shown = text(&lab.daemon.weft(&["health", "--all"]).stdout);
    assert!(shown.starts_with("health: RED, as of 20"), "{shown}");
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
    let csv = text(&lab.daemon.weft(&["health", "--csv"]).stdout);
    assert!(csv.contains("\nfinding,red,missing_switch,"), "{csv}");

    // The daemon has been told before it is killed, and the next one misses the same.
    let (code, dir) = lab.daemon.stop();
    assert_eq!(code, Some(0));
    let lab = Lab {
        daemon: Start::connected_in(dir, &lab.emulator.socket()).up(),
        ..lab
    };
    let again = lab.until(&["missing_switch"]);
    assert_eq!(find(&again, "missing_switch")["since"], switch["since"]);

    let forget = |point: &str| lab.daemon.weft_ok(&["health", "forget", point]);
    let dry = lab
        .daemon
        .weft_ok(&["health", "forget", "-n", "node:edge2"]);
    assert_eq!(dry, "would forget 1 node and 8 links that are gone\n");
    let said = forget(&format!("nodeguid:{EDGE}"));
    assert_eq!(said, "forgot 1 node and 8 links that are gone\n");
    for host in 5..=8 {
        forget(&format!("\"node:node{host} hfi1_0\"").replace('"', ""));
    }
    // The ports of the cores still have their cables.
    let page = lab.until(&["down"; 4]);
    assert_eq!(page["color"], "yellow");
    lab.daemon
        .weft_fails(1, &["health", "forget", "node:nobody"]);
    let wrong = lab.daemon.weft_fails(1, &["health", "forget", "lid:3"]);
    assert!(
        wrong.contains("allowed: nodeguid:GUID, node:NAME"),
        "{wrong}"
    );
}

#[test]
fn a_saved_baseline_is_what_should_be_and_a_damaged_memory_is_none() {
    let lab = Lab::new();
    lab.emulator.change(&["link-down", EDGE, "6"]);
    lab.swept();
    lab.until(&["missing_link"]);
    lab.daemon.weft_ok(&["baseline", "save", "as-it-is"]);
    lab.until(&[]);

    let start = Start::new("one-switch:2");
    configure(&start.dir.path().join("opafm.xml"), &[ASKS_ONCE]);
    let state = start.dir.path().join("state");
    std::fs::create_dir_all(&state).unwrap();
    std::fs::write(state.join("seen.0"), b"WEFTSEEN and rubbish").unwrap();
    let daemon = start.up();
    daemon.logs("what was there before is learnt anew");
    wait_for(|| (daemon.weft(&["health"]).status.code() == Some(0)).then_some(()));
}
