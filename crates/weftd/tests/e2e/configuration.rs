//! Checking, showing and reloading configurations.

use crate::harness::{Daemon, stock_config, wait_for};

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
