//! Checking, showing and reloading configurations.

use crate::harness::{Daemon, Start, configure, stock_config, wait_for};

fn edit(daemon: &Daemon, from: &str, to: &str) {
    let file = daemon.dir.path().join("opafm.xml");
    let before = std::fs::read_to_string(&file).unwrap();
    assert!(before.contains(from), "{from}");
    std::fs::write(&file, before.replace(from, to)).unwrap();
}

#[test]
fn a_hangup_puts_a_good_file_in_force_and_leaves_a_bad_one() {
    let daemon = Daemon::up("one-switch:4");
    let effective = || daemon.weft_ok(&["config", "show", "--effective"]);
    assert!(
        effective().contains("<SweepInterval>300</SweepInterval>"),
        "{}",
        effective()
    );
    edit(
        &daemon,
        "<SweepInterval>300</SweepInterval>",
        "<SweepInterval>600</SweepInterval>",
    );
    daemon.signal("HUP");
    wait_for(|| {
        effective()
            .contains("<SweepInterval>600</SweepInterval>")
            .then_some(())
    });

    edit(&daemon, "<Lmc>0</Lmc>", "<Lmc>9</Lmc>");
    daemon.signal("HUP");
    let log =
        wait_for(|| Some(daemon.log()).filter(|log| log.contains("is refused, the old one stays")));
    assert!(log.contains("Lmc"), "the log names the element: {log}");
    assert!(effective().contains("<Lmc>0</Lmc>"));
    let said = daemon.weft(&["config", "reload"]);
    assert_eq!(said.status.code(), Some(1));
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(
        said.contains("refused, the old configuration stays in force"),
        "{said}"
    );
    assert!(said.contains(": error: "), "{said}");

    std::fs::remove_file(daemon.dir.path().join("opafm.xml")).unwrap();
    let gone = daemon.weft_fails(1, &["config", "reload"]);
    assert!(gone.contains("No such file"), "{gone}");
    assert!(
        daemon.weft_ok(&["fabric", "show"]).contains("4 HFIs"),
        "it goes on"
    );
}

#[test]
fn values_without_effect_are_counted_at_start_and_after_a_reload() {
    let start = Start::new("one-switch:2");
    let file = start.dir.path().join("opafm.xml");
    let sweeps = "<Lmc>0</Lmc><ForceRebalance>1</ForceRebalance>";
    configure(&file, &[("<Lmc>0</Lmc>", sweeps)]);
    let daemon = start.up();
    let file = file.to_str().unwrap();
    let counted = |values: &str| {
        let text = format!("{values} no effect here in {file}; to list: weft config check {file}");
        daemon.log().contains(&text)
    };
    assert!(counted("1 value has"), "{}", daemon.log());
    let listed = daemon.weft_ok(&["config", "check", file]);
    assert!(
        listed.contains("Sm/ForceRebalance: no effect here: routes always are"),
        "{listed}"
    );

    edit(
        &daemon,
        sweeps,
        &format!("{sweeps}<TerminateAfter>3</TerminateAfter>"),
    );
    daemon.weft_ok(&["config", "reload"]);
    wait_for(|| counted("2 values have").then_some(()));
}

#[test]
fn an_element_is_explained_with_and_without_a_file() {
    let daemon = Daemon::up("one-switch:2");
    let file = daemon.dir.path().join("opafm.xml");
    let file = file.to_str().unwrap();
    let explain = |arguments: &[&str]| {
        let nobody = ["--address", "http://127.0.0.1:1", "config", "explain"];
        daemon.weft_ok(&[&nobody, arguments].concat())
    };
    let alone = explain(&["Sm/SweepInterval"]);
    assert!(
        alone.contains("  default   300\n  effect    yes\n"),
        "{alone}"
    );
    assert!(!alone.contains("value"), "{alone}");
    let text = std::fs::read_to_string(file).unwrap();
    let line = text
        .lines()
        .position(|line| line.contains("<SweepInterval>300"));
    let place = format!("  value     300  {file}:{}", line.unwrap() + 1);
    let there = explain(&["sm/sweepinterval", file]);
    assert!(there.contains(&place), "{there}");
    let json = explain(&["TerminateAfter", file, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["path"], "Sm/TerminateAfter");
    let why = json[0]["no_effect"].as_str().unwrap();
    assert!(why.contains("for development"), "{why}");
    assert_eq!(json[0]["values"][0]["value"], "0");
    assert!(json[0]["values"][0]["line"].is_null());

    let unknown = daemon.weft_fails(2, &["config", "explain", "HoqLif"]);
    assert!(unknown.contains("perhaps `HoqLife`"), "{unknown}");
    let beyond = daemon.weft_fails(2, &["config", "explain", "Lmc", file, "--instance", "1"]);
    assert!(beyond.contains("1 instance"), "{beyond}");
}

#[test]
fn a_reload_can_be_tried_first() {
    let daemon = Daemon::up("one-switch:2");
    edit(
        &daemon,
        "<SweepInterval>300</SweepInterval>",
        "<SweepInterval>600</SweepInterval>",
    );
    let tried = daemon.weft_ok(&["config", "reload", "--dry-run"]);
    assert!(tried.contains("would be in force"), "{tried}");
    let effective = daemon.weft_ok(&["config", "show", "--effective"]);
    assert!(effective.contains("<SweepInterval>300</SweepInterval>"));
    let done = daemon.weft_ok(&["config", "reload"]);
    assert!(done.contains("in force"), "{done}");
}

#[test]
fn files_are_checked_without_a_daemon() {
    let daemon = Daemon::up("one-switch:2");
    let stock = stock_config();
    let stock = stock.to_str().unwrap();
    let fine = daemon.weft_ok(&["--address", "http://127.0.0.1:1", "config", "check", stock]);
    assert!(
        fine.contains("nothing wrong") || fine.contains("usable"),
        "{fine}"
    );
    let shown = daemon.weft_ok(&["config", "show", "--effective", stock]);
    assert!(shown.contains("<SweepInterval>300</SweepInterval>"));

    let bad = daemon.dir.path().join("bad.xml");
    let text = std::fs::read_to_string(stock).unwrap();
    let text = text.replace("<Lmc>0</Lmc>", "<Lmc>9</Lmc><Lmz>1</Lmz>");
    std::fs::write(&bad, text).unwrap();
    let bad = bad.to_str().unwrap();
    let output = daemon.weft(&["config", "check", bad]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("bad.xml:"), "{said}");
    assert!(said.contains("error: ") && said.contains("Lmc"), "{said}");
    assert!(said.contains("Lmz"), "every finding at once: {said}");
    assert!(!said.contains('\u{1b}'), "no colours into a pipe");
    let colored = daemon.weft(&["--color", "always", "config", "check", bad]);
    assert!(String::from_utf8_lossy(&colored.stdout).contains('\u{1b}'));
    let json = daemon.weft(&["config", "check", "--json", bad]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["usable"], false);
    assert!(json["findings"].as_array().unwrap().len() >= 2);
    let missing = daemon.weft_fails(4, &["config", "check", "/nonexistent.xml"]);
    assert!(missing.contains("/nonexistent.xml"), "{missing}");
}
