//! `weft top` in terminals: what is shown, keys, and the terminal afterwards.

use serde_json::Value;

use crate::harness::{Daemon, READ_OFTEN, Start, configure, text, wait_for};
use crate::perf_groups::SECOND;
use crate::terminal::Terminal;
use crate::then::moment;

/// Two edge switches with four hosts each under two cores, two links from each edge switch to each core.
const FABRIC: &str = "pgft:2;4,2;1,2;1,2";
/// Widths, and the headings of links there.
const SIZES: [(usize, &str); 2] = [
    (80, "LINK % GB/S WAIT% BACK % GB/S WAIT% CONG"),
    (40, "LINK % WAIT% BACK %"),
];
/// Keys, the first line afterwards, and a text of the screen. Later ones follow on earlier ones.
const WALK: [(&[&str], &str, &str); 22] = [
    (
        &["/", "c", "o", "r", "e", "Enter"],
        "16 links by utilization",
        "/core  ",
    ),
    (&["Enter"], ": 2 links", "active"),
    (&["Down", "Enter"], "image", "Other end: "),
    (&["Enter"], "image", "VL "),
    (&["Escape"], "image", "Other end: "),
    (&["Escape"], ": 2 links", "all"),
    (&["Escape"], "16 links by utilization", "/core  "),
    (&["2"], "summary", "CATEGORY"),
    (&["Down", "Down", "Enter"], "group SWs", "inside"),
    (&["End", "Home", "Enter"], "28 ports of SWs", "NEIGHBOR"),
    (&["Escape"], "group SWs", "inside"),
    (&["2"], "summary", "Second "),
    (&["Down", "Down", "Down", "Enter"], "group Second", "out "),
    (&["Down", "Down", "Enter"], "9 ports of Second", "edge2:"),
    (&["7"], "settings", "Interval "),
    (&["End"], "settings", "Second"),
    (&["4"], "virtual fabrics", "Default"),
    (&["Enter"], " ports; image", "node1:1"),
    (&["Enter"], " at ", "Enter: the whole port"),
    (&["5"], "histogram", "90-100 %"),
    (&["6"], "image", "Ports read"),
    (&["?"], "Keys", "Enter go in   Esc back     q leave"),
];

fn daemon() -> Daemon {
    let start = Start::new(FABRIC);
    let changes = [READ_OFTEN[0], SECOND];
    configure(&start.dir.path().join("opafm.xml"), &changes);
    let daemon = start.up();
    let traffic = ["emulator", "traffic", "start", "job", "pairs"];
    daemon.weft_ok(&[&traffic[..], &["node1:node5", "node3:node8"]].concat());
    let used =
        |top: &Value| top["busiest"][0]["a_to_b"]["utilization_percent"].as_f64() > Some(90.0);
    wait_for(|| daemon.top().filter(used));
    daemon
}

/// `weft top` in a terminal, once it shows links.
fn top(daemon: &Daemon, width: usize) -> Terminal {
    let terminal = Terminal::start(daemon.dir.path(), (width, 24), &daemon.api);
    terminal.run("echo before; stty -a > before");
    terminal.run("weft top");
    terminal.waits(|lines| lines[0].contains("16 links by utilization"));
    terminal
}

/// The screen is whole: nothing is cut or has moved to another line.
fn is_whole(lines: &[String], width: usize) {
    let all = lines.join("\n");
    assert!(
        lines.iter().all(|line| line.chars().count() <= width),
        "{all}"
    );
    assert!(!all.contains('…'), "{all}");
    let last = &lines[23];
    assert!(last.contains(" s old") && last.contains("q quit"), "{all}");
    let keys = ["q quit", "? keys", "1-7 screens", "/ filter"];
    assert!(keys.iter().any(|key| last.ends_with(key)), "{all}");
}

#[test]
fn every_screen_is_whole_in_wide_and_narrow_terminals() {
    if weft_peers::program("tmux").is_none() {
        return;
    }
    let daemon = daemon();
    for (width, heading) in SIZES {
        let terminal = top(&daemon, width);
        let lines = terminal.waits(|lines| !lines[2].is_empty());
        let words: Vec<&str> = lines[1].split_whitespace().collect();
        assert_eq!(words.join(" "), heading);
        is_whole(&lines, width);
        for (keys, title, text) in WALK {
            terminal.press(keys);
            let lines = terminal.waits(|lines| {
                lines[0].contains(title) && lines.iter().any(|line| line.contains(text))
            });
            is_whole(&lines, width);
        }
        terminal.press(&["q"]);
        assert_is_as_before(&terminal, &daemon);
    }
}

#[test]
fn a_terminal_is_filtered_frozen_and_resized() {
    if weft_peers::program("tmux").is_none() {
        return;
    }
    let daemon = daemon();
    let terminal = top(&daemon, 80);
    terminal.press(&["3", "/", "n", "o", "d", "e", "1"]);
    terminal.waits(|lines| lines[23].starts_with("/node1_"));
    terminal.press(&["Enter"]);
    let rows = |lines: &[String]| lines[2..23].iter().filter(|line| !line.is_empty()).count();
    let lines = terminal.waits(|lines| lines[23].starts_with("/node1  ") && rows(lines) == 2);
    assert!(
        lines[2..4].iter().all(|line| line.contains("node1:1")),
        "{lines:#?}"
    );

    terminal.press(&["Space"]);
    let frozen = terminal.waits(|lines| lines[23].contains("FROZEN"));
    let image = || wait_for(|| daemon.top())["image"].as_u64().unwrap();
    let first = image();
    wait_for(|| (image() >= first + 2).then_some(()));
    let age = |lines: &[String]| {
        let words: Vec<&str> = lines[23].split_whitespace().collect();
        let at = words.iter().position(|word| *word == "old").unwrap();
        words[at - 2].parse::<u64>().unwrap()
    };
    // It is drawn on, with the same reading, which gets older.
    let later = terminal.waits(|lines| age(lines) > age(&frozen));
    assert_eq!(later[..23], frozen[..23]);
    terminal.press(&["Space"]);
    terminal.waits(|lines| !lines[23].contains("FROZEN") && lines[0] != frozen[0]);

    terminal.resize(40, 20);
    let lines = terminal.waits(|lines| lines.len() == 20 && lines[19].contains(" s old"));
    assert!(lines[1].ends_with("NEIGHBOR"), "{lines:#?}");
    // That ends it as q does.
    terminal.press(&["C-c"]);
    assert_is_as_before(&terminal, &daemon);
}

#[test]
fn a_moment_of_the_past_is_shown_and_stepped_through() {
    let daemon = daemon();
    let busy = moment();
    daemon.weft_ok(&["emulator", "traffic", "stop", "--all"]);
    let used = |top: &Value| top["busiest"][0]["a_to_b"]["utilization_percent"].as_f64();
    // Management goes on.
    let is_idle = |top: &Value| used(top).is_some_and(|percent| percent < 1.0);
    wait_for(|| daemon.top().filter(is_idle));
    let idle = moment();
    let top = |arguments: &[&str]| {
        let all = [&["top", "--json"], arguments].concat();
        let shown = daemon.weft(&all);
        assert!(text(&shown.stderr).contains("weft: the fabric of "));
        serde_json::from_slice::<Value>(&shown.stdout).unwrap()
    };
    let then = top(&["--at", &busy]);
    assert!(used(&then) > Some(90.0), "{then:#}");
    assert_eq!(
        (&then["image"], &then["links"]),
        (&Value::Null, &Value::from(16))
    );
    assert!(then["time"].as_str() <= Some(&busy) && then["moment"]["sweep"].is_u64());
    assert!(is_idle(&top(&["--at", &idle])));
    for screen in ["summary", "ports", "histogram", "image"] {
        let [busy, idle] =
            [&busy, &idle].map(|at| top(&["--at", at, "--screen", screen])["rows"].clone());
        assert!(busy.as_array().is_some_and(|rows| !rows.is_empty()));
        assert_ne!(busy, idle, "{screen}");
    }
    let ports = ["counters", "--json", "-F", "node:node1", "--at"];
    let sent = |at: &str| {
        let read = daemon.weft_ok(&[&ports[..], &[at]].concat());
        let read: Value = serde_json::from_str(&read).unwrap();
        read["ports"][0]["totals"]["xmit_data"].as_u64().unwrap()
    };
    assert!(sent(&busy) > 0 && sent(&busy) < sent(&idle));
    for (arguments, code, told) in [
        (
            &["top", "--once", "--at", "1999-01-01"][..],
            1,
            "the nearest known time",
        ),
        (&["counters", "--per-vf", "--at", &busy], 1, "are not kept"),
        (
            &["counters", "--watch", "--at", &busy],
            2,
            "cannot be used with",
        ),
    ] {
        let message = daemon.weft_fails(code, arguments);
        assert!(message.contains(told), "{arguments:?}: {message}");
    }
    if weft_peers::program("tmux").is_none() {
        return;
    }
    let terminal = Terminal::start(daemon.dir.path(), (80, 24), &daemon.api);
    terminal.run(&format!("weft top --at {busy}"));
    let past = terminal.waits(|lines| lines[0].starts_with("PAST reading of "));
    assert!(past[2].contains("100.0"), "{past:#?}");
    terminal.press(&[","]);
    let earlier = terminal.waits(|lines| lines[0] != past[0]);
    terminal.press(&["."]);
    terminal.waits(|lines| lines[0] == past[0]);
    assert!(earlier[0] < past[0], "{earlier:#?}");
    terminal.press(&["4"]);
    terminal.waits(|lines| lines[1].contains("are not kept"));
    terminal.press(&["1", "l"]);
    let live = terminal.waits(|lines| lines[0].starts_with("Image "));
    assert!(!live[2].contains("100.0"), "{live:#?}");
    terminal.press(&["<"]);
    terminal.waits(|lines| lines[0].starts_with("PAST reading of "));
    terminal.press(&["q"]);
}

/// The shell has its terminal back, with what was on it, its cursor and its settings.
fn assert_is_as_before(terminal: &Terminal, daemon: &Daemon) {
    let lines = terminal.waits(|lines| lines.iter().any(|line| line == "before"));
    assert!(
        lines.iter().all(|line| !line.contains(" s old")),
        "{lines:#?}"
    );
    terminal.run("stty -a > after; echo done");
    terminal.waits(|lines| lines.iter().any(|line| line == "done"));
    let [before, after] = ["before", "after"]
        .map(|name| std::fs::read_to_string(daemon.dir.path().join(name)).unwrap());
    let same = |text: &str| {
        let lines = text.lines().filter(|line| !line.contains("columns"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(same(&before), same(&after));
    assert_eq!(terminal.flags(), "alternate 0, cursor 1");
}
