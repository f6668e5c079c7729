//! `weft what-if` against what then happened: an emulated fabric with traffic, a forecast, the change itself, and the loads
//! of links that the counters show afterwards.
//!
//! `WEFT_WHAT_IF_CASES=20` makes as many cases; a line for each and the figures of all are printed (`--nocapture`).

use std::collections::BTreeMap;

use serde_json::Value;

use crate::emulator::Emulator;
use crate::harness::{Daemon, READ_OFTEN, Start, configure, wait_for};
use crate::quarantine::json;

/// Eight edge switches with four hosts each under four cores.
const TREE: &str = "fattree:32,radix=8";
const EDGES: u64 = 8;
const CORES: u64 = 4;
const HOSTS: u64 = 32;
/// Cases where nothing else is said.
const CASES: u64 = 3;
/// Images after a change until one covers only the time after it.
const IMAGES: u64 = 3;

/// Share of each direction of a link, by the name and port of the sender; `true` between switches.
type Loads = BTreeMap<(String, u64), (f64, bool)>;

/// A stream of numbers by a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn up(dir: &std::path::Path) -> (Emulator, Daemon) {
    let emulator = Emulator::start(TREE, &dir.join("fabric"));
    let start = Start::connected(&emulator.socket());
    configure(&start.dir.path().join("opafm.xml"), &READ_OFTEN);
    (emulator, start.up())
}

fn top(daemon: &Daemon) -> Option<Value> {
    let shown = daemon.weft(&["top", "--once", "--json", "-n", "1000"]);
    serde_json::from_slice(&shown.stdout).ok()
}

/// The loads of an image that covers only time after now.
fn settled(daemon: &Daemon) -> Loads {
    let first = wait_for(|| top(daemon)?["image"].as_u64());
    let image =
        wait_for(|| top(daemon).filter(|top| top["image"].as_u64() >= Some(first + IMAGES)));
    let mut loads = Loads::new();
    for link in image["busiest"].as_array().unwrap() {
        let is_switch = |end: &str| link[end]["switch"] == true;
        let between = is_switch("a") && is_switch("b");
        for (from, way) in [("a", "a_to_b"), ("b", "b_to_a")] {
            let name = link[from]["name"].as_str().unwrap().to_owned();
            let key = (name, link[from]["port"].as_u64().unwrap());
            let share = link[way]["utilization_percent"].as_f64().unwrap() / 100.0;
            loads.insert(key, (share, between));
        }
    }
    loads
}

/// What a case does: the traffic, what is asked, and how it is done and undone.
struct Case {
    traffic: Vec<Vec<String>>,
    asked: Vec<String>,
    ctl: Option<[String; 2]>,
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

fn case(numbers: &mut Numbers) -> Case {
    let rate = 10 + numbers.below(60);
    let seed = numbers.below(1_000);
    let by = 1 + numbers.below(HOSTS - 1);
    let hot = 1 + numbers.below(HOSTS);
    let first = match numbers.below(4) {
        0 => format!("one permutation seed={seed} --rate {rate}"),
        1 => format!("one shift by={by} --rate {rate}"),
        2 => format!("one uniform --rate {rate}"),
        _ => format!("one hotspot to=node{hot} percent=5 --rate {rate}"),
    };
    let mut traffic = vec![words(&first)];
    if numbers.below(2) == 0 {
        traffic.push(words(&format!(
            "two permutation seed={} --rate 20",
            seed + 1
        )));
    }
    let (edge, core) = (1 + numbers.below(EDGES), 1 + numbers.below(CORES));
    let (asked, ctl) = match numbers.below(4) {
        0 => (format!("drain core{core}"), None),
        1 => (format!("drain edge{edge}:{}", 4 + core), None),
        2 => {
            let port = format!("edge{edge}:{}", 4 + core);
            (
                format!("fault {port}"),
                Some(["link-down".to_owned(), port]),
            )
        }
        _ => {
            let name = format!("core{core}");
            (
                format!("fault {name}"),
                Some(["node-down".to_owned(), name]),
            )
        }
    };
    Case {
        traffic,
        asked: words(&asked),
        ctl,
    }
}

/// The loads that a forecast has; links that it does not tell keep theirs.
fn foreseen(forecast: &Value, before: &Loads) -> Loads {
    let mut loads = before.clone();
    for link in forecast["links"].as_array().unwrap() {
        let name = link["from"]["name"].as_str().unwrap().to_owned();
        let key = (name, link["from"]["port"].as_u64().unwrap());
        if let Some((load, _)) = loads.get_mut(&key) {
            *load = link["after"].as_f64().unwrap();
        }
    }
    loads
}

/// Differences of loads between switches.
fn differences(loads: &Loads, measured: &Loads) -> Vec<f64> {
    let between = measured.iter().filter(|(_, (_, between))| *between);
    between
        .map(|(key, (load, _))| (loads.get(key).map_or(0.0, |(load, _)| *load) - load).abs())
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn change(daemon: &Daemon, emulator: &Emulator, case: &Case, back: bool) {
    match &case.ctl {
        Some([what, at]) => {
            let what = match back {
                true => what.replace("down", "up"),
                false => what.clone(),
            };
            emulator.change(&[&what, at]);
        }
        None => {
            let point = match case.asked[1].split_once(':') {
                Some((node, port)) => format!("node:{node}:port:{port}"),
                None => format!("node:{}", case.asked[1]),
            };
            let verb = if back { "undrain" } else { "drain" };
            daemon.weft_ok(&[verb, &point]);
        }
    }
    // A trap has told of it, or the drain has swept: routes are whole when one more sweep has ended.
    std::thread::sleep(std::time::Duration::from_secs(1));
    daemon.weft_ok(&["sweep", "--wait"]);
}

#[test]
fn loads_of_links_are_as_foreseen() {
    let cases = std::env::var("WEFT_WHAT_IF_CASES").ok();
    let cases = cases.map_or(CASES, |cases| cases.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let (emulator, daemon) = up(dir.path());
    let mut numbers = Numbers(1);
    let (mut all, mut unchanged, mut doubts) = (Vec::new(), Vec::new(), Vec::new());
    for number in 1..=cases {
        let case = case(&mut numbers);
        for traffic in &case.traffic {
            let start = ["traffic", "start"].map(str::to_owned);
            let start: Vec<String> = start.into_iter().chain(traffic.iter().cloned()).collect();
            emulator.change(&start.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let before = settled(&daemon);
        let asked: Vec<&str> = case.asked.iter().map(String::as_str).collect();
        let asked = [&["what-if"], &asked[..], &["--json", "--limit", "10000"]].concat();
        let forecast = json(&daemon.weft_ok(&asked));
        change(&daemon, &emulator, &case, false);
        let after = settled(&daemon);
        change(&daemon, &emulator, &case, true);
        emulator.change(&["traffic", "stop"]);
        let errors = differences(&foreseen(&forecast, &before), &after);
        let moved = differences(&before, &after);
        let worst = errors.iter().copied().fold(0.0, f64::max);
        let doubt = forecast["doubt"]["median"].as_f64().unwrap();
        println!(
            "case {number}: {}, {:?}: mean error {:.4}, worst {worst:.4}; nothing foreseen {:.4}; doubt {doubt:.4}",
            case.asked.join(" "),
            case.traffic
                .iter()
                .map(|words| words.join(" "))
                .collect::<Vec<_>>(),
            mean(&errors),
            mean(&moved),
        );
        assert_eq!(forecast["pairs_cut_off"], 0, "{forecast}");
        all.extend(errors);
        unchanged.extend(moved);
        doubts.push(doubt);
    }
    all.sort_by(f64::total_cmp);
    let at = |part: usize| all[(all.len() - 1) * part / 100];
    println!(
        "{} directions of links: median {:.4}, 90 % below {:.4}, worst {:.4}, mean {:.4}; nothing foreseen: mean {:.4}",
        all.len(),
        at(50),
        at(90),
        at(100),
        mean(&all),
        mean(&unchanged)
    );
    assert!(at(50) < 0.05, "median {}", at(50));
    assert!(mean(&all) < mean(&unchanged), "worse than no forecast");
}

/// A host's link that is lost cuts its pairs off; with traffic that is given everything is known.
#[test]
fn what_is_cut_off_and_what_fills_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let (_emulator, daemon) = up(dir.path());
    let file = dir.path().join("traffic");
    // Four hosts of one edge switch send 9 GB/s each to four of another.
    let lines = (1..=4).map(|host| format!("node{host},node{},9 # a pair\n", host + 4));
    std::fs::write(&file, lines.collect::<String>()).unwrap();
    let file = file.to_str().unwrap();
    let ask =
        |asked: &[&str]| daemon.weft_ok(&[&["what-if"], asked, &["--traffic", file]].concat());
    let lost = ask(&["fault", "edge1:1"]);
    assert!(
        lost.starts_with("If edge1:1 were lost, with the traffic that was given:\n"),
        "{lost}"
    );
    assert!(lost.contains("1 of 4 pairs cut off\n"), "{lost}");
    assert!(
        lost.contains("cut off: node1 hfi1_0:1 > node5 hfi1_0:1, 9.00 GB/s now\n"),
        "{lost}"
    );
    // Three uplinks carry 36 GB/s of 37.5; two cannot.
    let three = json(&ask(&["fault", "core1", "--json"]));
    let two = json(&ask(&["fault", "core1", "core2", "--json"]));
    assert_eq!(three["pairs_cut_off"], 0, "{three}");
    let sends = |forecast: &Value| -> f64 {
        let hosts = forecast["hosts"].as_array().unwrap().iter();
        hosts
            .map(|host| host["sends_after"].as_f64().unwrap() / 1e9)
            .sum()
    };
    assert_eq!(two["losing_hosts"], 8, "{two}");
    assert!(sends(&two) < 25.1, "{two}");
    assert!(
        two["full_after"].as_u64() >= Some(2) && two["full_before"] == 0,
        "{two}"
    );
    assert!(two["links"][0]["wanted"].as_f64() > Some(1.0), "{two}");
    let table = ask(&["fault", "core1", "core2"]);
    assert!(
        table.contains("  fills: ")
            && table.contains("\nSENDS GB/s   THEN  GETS GB/s   THEN  HOST\n"),
        "{table}"
    );
    let wide: Vec<&str> = table
        .lines()
        .filter(|line| line.chars().count() > 80)
        .collect();
    assert!(wide.is_empty(), "{wide:?}");
    // Nothing has changed.
    let drains = daemon.weft_ok(&["route", "drains"]);
    assert!(drains.contains("nothing is drained"), "{drains}");
    for asked in [
        &["plan", "--engine", "fattree"][..],
        &["drain", "core1"],
        &["drain", "edge1:5"],
    ] {
        let forecast = ask(asked);
        assert!(
            forecast.contains("with the traffic that was given"),
            "{forecast}"
        );
    }
    let config = daemon.dir.path().join("opafm.xml");
    let config = ask(&["config", config.to_str().unwrap()]);
    assert!(config.contains("No link's load changes."), "{config}");
}

#[test]
fn questions_that_make_no_sense_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let (_emulator, daemon) = up(dir.path());
    let file = dir.path().join("traffic");
    let path = file.to_str().unwrap();
    for (content, code, told) in [
        (
            "node1,node2",
            4,
            "line 1: 'node1,node2': expected FROM,TO,GB/s",
        ),
        ("node1,node99,1", 1, "flow 1: no host node99"),
        ("node1,node1,1", 1, "flow 1: node1 sends to itself"),
        ("node1,node2,2e9", 1, "at most 1000000000000 (1,000 GB/s)"),
    ] {
        std::fs::write(&file, content).unwrap();
        let error = daemon.weft_fails(code, &["what-if", "fault", "core1", "--traffic", path]);
        assert!(error.contains(told), "{error}");
    }
    for (code, args, told) in [
        (1, &["fault", "core9"][..], "core9"),
        (1, &["plan", "--engine", "magic"], "no engine is called"),
        (2, &["plan"], "required"),
        (2, &["fault"], "required"),
        (1, &["drain", "node:node1 hfi1_0"], "no switch"),
        (
            2,
            &["fault", "core1", "--at", "2099-01-01"],
            "is yet to come",
        ),
        (
            1,
            &["fault", "core1", "--at", "1999-01-01"],
            "nothing is known of ",
        ),
        (2, &["fault", "core1", "--limit", "0"], "0 is not in"),
    ] {
        let error = daemon.weft_fails(code, &[&["what-if"], args].concat());
        assert!(error.contains(told), "{args:?}: {error}");
    }
    std::fs::write(&file, "<Config><Nothing/></Config>").unwrap();
    let output = daemon.weft(&["what-if", "config", path]);
    assert_eq!(output.status.code(), Some(1));
}

/// The traffic of a moment of the past, by the history.
#[test]
fn the_past_is_asked_as_well() {
    let dir = tempfile::tempdir().unwrap();
    let (emulator, daemon) = up(dir.path());
    emulator.change(&["traffic", "start", "one", "shift", "by=4", "--rate", "30"]);
    settled(&daemon);
    std::thread::sleep(std::time::Duration::from_secs(2));
    let since = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
    let then = weft_api::time::timestamp(since.unwrap().as_nanos() as u64).to_string();
    emulator.change(&["traffic", "stop"]);
    settled(&daemon);
    let loads = |args: &[&str]| {
        let asked = [&["what-if", "drain", "core1", "--json"], args].concat();
        let forecast = json(&daemon.weft_ok(&asked));
        assert!(forecast["counters_span_seconds"].as_f64() > Some(0.0));
        assert_eq!(forecast["moment"].is_null(), args.is_empty());
        let links = forecast["links"].as_array().unwrap().iter();
        links
            .map(|link| link["before"].as_f64().unwrap())
            .sum::<f64>()
    };
    assert!(loads(&[]) < 0.01);
    let past = wait_for(|| Some(loads(&["--at", &then])).filter(|loads| *loads > 0.1));
    // Each core carries a quarter of what 32 hosts send, up and down.
    assert!(past < 10.0, "{past}");
}
