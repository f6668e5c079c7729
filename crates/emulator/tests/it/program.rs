//! The program `weft-emulator` itself: its messages and exit codes.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use weft_emulator::traffic::TrafficReport;

const PROGRAM: &str = env!("CARGO_BIN_EXE_weft-emulator");

fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

/// Starts the program and waits until it listens; returns its output.
fn start(arguments: &[&str]) -> (Child, Vec<String>) {
    let mut child = Command::new(PROGRAM)
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let said = output.lines().map(Result::unwrap).take(2).collect();
    (child, said)
}

fn listen(path: &Path) -> String {
    format!("unix:{}", path.display())
}

#[test]
fn it_says_what_it_hosts_takes_changes_and_ends_cleanly() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fabric.sock");
    let address = listen(&path);
    let (mut child, said) = start(&["one-switch:3", "--listen", &address]);
    assert!(
        said[0].starts_with("3 hosts, 1 switch, 3 links; first host: "),
        "{said:?}"
    );
    assert_eq!(said[1], format!("listening on {address}"));
    let guid = said[0].split(['(', ')']).nth(1).unwrap();
    let ctl = |arguments: &[&str]| {
        let output = run(&[&["ctl", "--connect", &address], arguments].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        (output.status.success(), error)
    };
    let changes: [&[&str]; 7] = [
        &["link-down", guid, "1"],
        &["link-up", guid, "1"],
        &["node-down", guid],
        &["node-up", guid],
        &["silence", guid],
        &["slow", guid, "1ms"],
        &["faults", "--loss", "0.1", "--delay-max", "1ms"],
    ];
    for change in changes {
        assert_eq!(ctl(change), (true, String::new()), "{change:?}");
    }
    names_and_shares(&address);
    let traffic: [&[&str]; 3] = [
        &[
            "traffic",
            "start",
            "a",
            "pairs",
            "node1:node2",
            "--rate",
            "50",
        ],
        &["traffic", "start", "b", "uniform"],
        &["traffic", "stop", "b"],
    ];
    for change in traffic {
        assert_eq!(ctl(change), (true, String::new()), "{change:?}");
    }
    let listed = run(&["ctl", "--connect", &address, "traffic", "list"]).stdout;
    let listed: TrafficReport = serde_json::from_slice(&listed).unwrap();
    assert_eq!(listed.jobs.len(), 1);
    assert_eq!(listed.jobs[0].job.rate_percent, 50.0);
    let (done, error) = ctl(&["traffic", "start", "c", "circle"]);
    assert!(!done && error.contains("hotspot to=HOST"), "{error}");
    let (done, error) = ctl(&["link-down", guid, "9"]);
    assert!(
        !done && error.contains("port 9") && error.contains("no cable"),
        "{error}"
    );
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
    assert!(child.wait().unwrap().success());
    assert!(!path.exists());
}

/// Nodes and ports by name, with what is said of each change.
fn names_and_shares(address: &str) {
    let said = |arguments: &[&str]| {
        // The address is understood after the change as well.
        let output = run(&[&["ctl"], arguments, &["--connect", address]].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(error, "", "{arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let one = "cable cut: switch1:2 (to node2 hfi1_0:1)\n";
    assert_eq!(said(&["link-down", "switch1:2"]), one);
    assert_eq!(said(&["link-down", "switch1", "2"]), one);
    let back = said(&["link-up", "switch*:*"]);
    assert_eq!(back.lines().count(), 3, "{back}");
    assert_eq!(
        said(&["link-lanes", "node3:1", "2"]),
        "lanes set: node3 hfi1_0:1 (to switch1:3)\n"
    );
    assert_eq!(said(&["node-down", "node[12]"]).lines().count(), 2);
    assert_eq!(said(&["node-up", "node*"]).lines().count(), 3);
    let json: serde_json::Value =
        serde_json::from_str(&said(&["silence", "switch1", "--json"])).unwrap();
    assert_eq!(json["at"][0]["name"], "switch1");
    said(&["speak", "switch1"]);
    for (arguments, expected) in [
        (
            &["node-down", "nod9"][..],
            "no node is called 'nod9' in the emulated fabric; there are node",
        ),
        (&["link-down", "switch1"], "allowed: NODE:PORT"),
        (&["link-down", "5%"], "no links between switches"),
        (&["link-down", "0%"], "allowed: over 0 to 100 %"),
        (
            &["link-lanes", "switch1:1", "5"],
            "lanes: 5, allowed: 1 to 4",
        ),
        (&["link-down", "switch1:77"], "no cable at port 77"),
    ] {
        let output = run(&[&["ctl", "--connect", address], arguments].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && error.contains(expected),
            "{arguments:?}: {error}"
        );
    }
}

/// The examples of the documentation, on the fabric that it names.
#[test]
fn the_documented_faults_can_be_caused() {
    let text = include_str!("../../../../docs/using.md");
    let section = text.split("## Faults by hand").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let address = listen(&directory.path().join("fabric.sock"));
    let (mut child, _) = start(&["fattree:16,radix=8", "--listen", &address]);
    let lines = section
        .lines()
        .filter_map(|line| line.strip_prefix("weft-emulator ctl "));
    let examples: Vec<Vec<String>> = lines
        .map(|line| {
            let line = line.split('#').next().unwrap().replace('\'', "");
            line.split_whitespace().map(str::to_owned).collect()
        })
        .collect();
    assert!(examples.len() > 15, "{examples:?}");
    for example in &examples {
        let words: Vec<&str> = example.iter().map(String::as_str).collect();
        let output = run(&[&["ctl", "--connect", &address], &words[..]].concat());
        assert!(
            output.status.success(),
            "{example:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(!output.stdout.is_empty(), "{example:?}");
    }
    // Every fault that there is has an example.
    let help = String::from_utf8(run(&["ctl", "--help"]).stdout).unwrap();
    let commands = help.split("Commands:").nth(1).unwrap();
    let commands = commands.split("\n\n").next().unwrap().lines();
    let commands = commands
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' '));
    for command in commands.filter_map(|line| line.split_whitespace().next()) {
        let has = command == "help" || examples.iter().any(|example| example[0] == command);
        assert!(has, "{command}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_makes_no_sense_is_refused_in_words() {
    let directory = tempfile::tempdir().unwrap();
    let socket = listen(&directory.path().join("fabric.sock"));
    let cases: [(&[&str], &str); 7] = [
        (&["bogus:3"], "no kind is called"),
        (
            &["one-switch:3", "--listen", "tcp:0.0.0.0:0"],
            "other machines",
        ),
        (&["one-switch:3", "--listen", "pigeon:1"], "unknown kind"),
        (
            &["one-switch:3", "--listen", &socket, "--loss", "7"],
            "loss is 7",
        ),
        (&["one-switch:3", "--latency", "5"], "ns, us, ms or s"),
        (&["/no/such/file.xml"], "/no/such/file.xml"),
        (
            &["ctl", "--connect", "unix:/no/socket", "node-down", "0x1"],
            "cannot be reached",
        ),
    ];
    for (arguments, expected) in cases {
        let output = run(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{arguments:?}");
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}

#[test]
fn it_neither_panics_nor_stops_where_its_outputs_cannot_be_written() {
    let full = || {
        std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap()
    };
    let mut refused = Command::new(PROGRAM);
    let refused = refused.args(["one-switch:2", "--listen", "unix:/nonexistent/socket"]);
    let status = refused.stdout(full()).stderr(full()).status().unwrap();
    assert_eq!(status.code(), Some(1));

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fabric.sock");
    let mut running = Command::new(PROGRAM);
    running.args(["one-switch:2", "--log", "debug", "--listen", &listen(&path)]);
    let mut child = running.stdout(full()).stderr(full()).spawn().unwrap();
    let start = std::time::Instant::now();
    let list = ["ctl", "--connect", &listen(&path), "traffic", "list"];
    while !run(&list).status.success() {
        assert_eq!(child.try_wait().unwrap(), None, "it has ended");
        assert!(start.elapsed().as_secs() < 60, "it does not listen");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let unread = Command::new(PROGRAM)
        .args(list)
        .stdout(full())
        .stderr(full())
        .status();
    assert_eq!(
        unread.unwrap().code(),
        Some(1),
        "the list could not be written"
    );
    child.kill().unwrap();
    child.wait().unwrap();
}
