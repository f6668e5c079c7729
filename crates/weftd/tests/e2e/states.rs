//! The fabric of the past: `--at` shows what was shown then, over faults and crashes of the daemon.

use std::time::{Duration, SystemTime};

use weft_report::{REPORTS, Takes};

use crate::emulator::Emulator;
use crate::harness::{Daemon, Start, text, wait_for, wait_for_links};
use crate::quarantine::json;

/// Two edge switches with two hosts each under two cores.
const TREE: &str = "pgft:2;2,2;1,2;1,1;radix=8";
/// How long after a change the last state of the fabric is recorded: groups are looked at each second.
const SETTLED: Duration = Duration::from_millis(2_500);

/// A moment, with what commands printed then.
struct Moment {
    at: String,
    printed: Vec<String>,
}

/// The time now, as RFC 3339 has it.
fn now() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    weft_api::time::timestamp(since.unwrap().as_nanos() as u64).to_string()
}

/// All reports that need nothing but the fabric.
fn reports() -> Vec<&'static str> {
    let other = [Takes::Counters, Takes::Expected];
    let kinds = REPORTS.iter().filter(|kind| {
        // Of cables nothing is kept, the other needs ends, and XML has the options of its call.
        let lacking = ["cablehealth", "route", "topology"].contains(&kind.name);
        !lacking && !other.iter().any(|takes| kind.takes.contains(takes))
    });
    kinds.map(|kind| kind.name).collect()
}

/// What commands print of the fabric, at a moment where that is given.
fn printed(daemon: &Daemon, at: &[&str]) -> Vec<String> {
    let reports = reports();
    let details = ["report", "-d", "2"];
    let commands: [&[&str]; 6] = [
        &[&details[..], &reports].concat(),
        &[&["report", "--json"][..], &reports].concat(),
        &["route", "show", "node1", "node4", "--json"],
        &["fabric", "export", "--snapshot", "-V"],
        &["fabric", "export", "--topology"],
        &["fabric", "export", "--ibnetdiscover"],
    ];
    let printed = commands.iter().map(|command| {
        let shown = daemon.weft(&[command, at].concat());
        // A report of a fault is one too, with exit code 1.
        assert!(
            shown.status.code().is_some_and(|code| code < 2),
            "{command:?}: {}",
            text(&shown.stderr)
        );
        if !at.is_empty() {
            let told = text(&shown.stderr);
            assert!(told.contains("weft: the fabric of "), "{command:?}: {told}");
        }
        without_cables(&text(&shown.stdout))
    });
    printed.collect()
}

/// A snapshot without the memories of cables, which are not kept; other texts as they are.
fn without_cables(text: &str) -> String {
    let mut kept = String::new();
    let mut inside = false;
    for line in text.lines() {
        let place = line.trim_start();
        inside |= place.starts_with("<CableInfo>");
        if !inside {
            kept += line;
            kept.push('\n');
        }
        inside &= !place.starts_with("</CableInfo>");
    }
    kept
}

fn moment(daemon: &Daemon) -> Moment {
    std::thread::sleep(SETTLED);
    let printed = printed(daemon, &[]);
    let at = now();
    // Recorded as well: after a crash nothing is known of the time since the last record.
    daemon.weft_ok(&["sweep", "--wait"]);
    std::thread::sleep(Duration::from_millis(500));
    Moment { at, printed }
}

#[test]
fn what_is_shown_of_then_is_what_was_shown_then() {
    let dir = tempfile::tempdir().unwrap();
    let emulator = Emulator::start(TREE, &dir.path().join("fabric"));
    let before = now();
    let daemon = Start::connected(&emulator.socket()).up();
    wait_for_links(&daemon, 8);
    let mut moments = vec![moment(&daemon)];
    emulator.change(&["link-down", "edge1:3"]);
    wait_for_links(&daemon, 7);
    moments.push(moment(&daemon));
    let dir = daemon.crash();
    std::thread::sleep(Duration::from_millis(20));
    let between = now();
    let daemon = Start::connected_in(dir, &emulator.socket()).up();
    emulator.change(&["link-up", "edge1:3"]);
    wait_for_links(&daemon, 8);
    moments.push(moment(&daemon));
    let (code, dir) = daemon.stop();
    assert_eq!(code, Some(0));
    let stopped = now();
    let daemon = Start::connected_in(dir, &emulator.socket()).up();
    moments.push(moment(&daemon));
    for (place, moment) in moments.iter().enumerate() {
        let shown = printed(&daemon, &["--at", &moment.at]);
        for (then, shown) in moment.printed.iter().zip(&shown) {
            assert!(then == shown, "moment {place}:\n{then}\nis not\n{shown}");
        }
    }
    assert!(moments[0].printed != moments[1].printed && moments[1].printed != moments[2].printed);
    for unknown in [&before, &between, &stopped] {
        let told = daemon.weft_fails(1, &["report", "nodes", "--at", unknown]);
        assert!(
            told.contains("nothing is known of ") && told.contains("the nearest known time"),
            "{told}"
        );
    }
    let sweep = json(&daemon.weft_ok(&["fabric", "show", "--at", "sweep:1", "--json"]));
    assert_eq!((&sweep["sweep"], &sweep["links"]), (&1.into(), &8.into()));
    let then = daemon.weft_ok(&["fabric", "show", "--at", &moments[1].at]);
    assert!(then.contains("4 HFIs, 4 switches, 7 links"), "{then}");
    let picture = daemon.weft_ok(&["fabric", "export", "--dot", "--at", &moments[1].at]);
    assert!(picture.starts_with("graph"), "{picture}");
    differences(&daemon, &moments);
    let kept = json(&daemon.weft_ok(&["history", "--json"]));
    let tables = kept["tables"].as_array().unwrap();
    let states = tables.iter().find(|table| table["table"] == "states");
    assert!(states.unwrap()["files"].as_u64() >= Some(3), "{kept}");
    let metrics = daemon.scrape();
    assert!(
        metrics.contains("weft_history_bytes{table=\"states\",resolution=\"\"}"),
        "{metrics}"
    );
    assert!(
        metrics.contains("weft_history_dropped_total{table=\"states\"} 0"),
        "{metrics}"
    );
}

/// Before and after the link went down, and when it was up again.
fn differences(daemon: &Daemon, moments: &[Moment]) {
    let [first, cut, again, ..] = moments else {
        panic!("three moments");
    };
    let shown = daemon.weft(&["diff", &first.at, &cut.at]);
    let shown = (shown.status.code(), text(&shown.stdout));
    assert!(
        shown.1.starts_with("- link edge1:3 to core1:1\n"),
        "{shown:?}"
    );
    assert!(
        shown
            .1
            .contains("\n0 nodes gone, 0 new; 1 links gone, 0 new, 0 at another rate;"),
        "{shown:?}"
    );
    assert_eq!(shown.0, Some(1));
    let shown = daemon.weft(&["diff", &cut.at, &again.at, "--json"]);
    let shown = json(&text(&shown.stdout));
    assert_eq!(shown["links_new"].as_array().unwrap().len(), 1, "{shown}");
    assert!(shown["routes_moved"].as_u64() > Some(0), "{shown}");
    let same = daemon.weft_ok(&["diff", &again.at, "now"]);
    assert_eq!(same, "No node, link, LID or route differs.\n");
    let file = daemon.dir.path().join("then.xml");
    let file = file.to_str().unwrap();
    daemon.weft_ok(&[
        "fabric",
        "export",
        "--snapshot",
        "--at",
        &cut.at,
        "-o",
        file,
    ]);
    let shown = daemon.weft(&["diff", file, &cut.at]);
    assert_eq!(shown.status.code(), Some(0), "{}", text(&shown.stdout));
}

#[test]
fn a_moment_that_makes_no_sense_is_told() {
    let daemon = Start::new(TREE).up();
    for (at, code, told) in [
        ("2099-01-01", 2, "is yet to come"),
        ("yesterday", 2, "expected a time"),
        ("sweep:x", 2, "expected the number of a sweep"),
        ("1999-01-01", 1, "the nearest known time is "),
        (
            "sweep:99999",
            1,
            "nothing is known of sweep 99999; `weft history` tells what is kept",
        ),
    ] {
        let message = wait_for(|| {
            let message = daemon.weft_fails(code, &["report", "nodes", "--at", at]);
            // The first state may not be there yet.
            (message.contains(told) || code == 2).then_some(message)
        });
        assert!(message.contains(told), "{at}: {message}");
    }
    let args = ["report", "nodes", "--at", "-1m", "-X", "file"];
    let message = daemon.weft_fails(2, &args);
    assert!(message.contains("cannot be used with"), "{message}");
    let without = Start::new(TREE).args(&["--history", "off"]).up();
    let message = without.weft_fails(1, &["report", "nodes", "--at", "now"]);
    assert!(message.contains("weftd keeps no history"), "{message}");
}
