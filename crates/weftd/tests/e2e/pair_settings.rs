//! Two daemons whose settings differ: both say which, and by `ConfigConsistencyCheckLevel` the standby is one or is not.

use std::time::Instant;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Daemon, configure, wait_for};
use crate::pair::{Pair, leads, role};

const NAME: &str = "<Name>fm0</Name>";
/// A setting as the master has it, and another value.
const MASTERS: &str = "<NodeAppearanceMsgThreshold>100<";
const OTHER: &str = "<NodeAppearanceMsgThreshold>50<";
const PATH: &str = "Sm/NodeAppearanceMsgThreshold";
/// What the standby's log says of it.
const TOLD: &str = "Sm/NodeAppearanceMsgThreshold is 50 here, 100 there";

/// A directory with another setting than the master's, and another level of the log, which may differ.
fn other(level: u8) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let elements = format!(
        "{NAME}<ElevatedPriority>8</ElevatedPriority><LogLevel>3</LogLevel>\
         <ConfigConsistencyCheckLevel>{level}</ConfigConsistencyCheckLevel>"
    );
    let changes = [(NAME, elements.as_str()), (MASTERS, OTHER)];
    configure(&dir.path().join("opafm.xml"), &changes);
    dir
}

fn pair(level: u8) -> Pair {
    Pair::with(other(level), str::to_owned)
}

/// What a daemon shows of settings that differ, once it knows.
fn settings(daemon: &Daemon) -> Value {
    wait_for(|| Some(Pair::shown(daemon)?["settings"].clone()).filter(|told| !told.is_null()))
}

fn differing(here: &str, there: &str) -> Value {
    json!({ "count": 1, "first": [{ "path": PATH, "here": here, "there": there }] })
}

#[test]
fn a_standby_with_other_settings_is_none_until_they_are_the_same() {
    let pair = pair(2);
    let (master, standby) = (&pair.master, &pair.standby);
    standby.logs(TOLD);
    wait_for(|| (role(standby) == "Inactive").then_some(()));
    assert_eq!(settings(standby), differing("50", "100"));
    wait_for(|| (settings(master) == differing("100", "50")).then_some(()));
    for daemon in [master, standby] {
        let shown = daemon.weft_ok(&["fabric", "show"]);
        assert!(
            shown.contains("NOT AS THERE: 1 setting\n  Sm/NodeAppearanceMsgThreshold: "),
            "{shown}"
        );
    }

    let file = standby.dir.path().join("opafm.xml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace(OTHER, MASTERS)).unwrap();
    standby.weft_ok(&["config", "reload"]);
    standby.logs("the settings are those of the manager at");
    wait_for(|| (role(standby) == "Standby").then_some(()));
    assert_eq!(settings(standby)["count"], 0);
    pair.even();
    master.signal("KILL");
    leads(standby, Instant::now());
    let log = standby.log();
    assert!(!log.contains("are asked to register again"), "{log}");
}

#[test]
fn a_standby_that_only_warns_takes_over() {
    let pair = pair(1);
    pair.standby.logs(TOLD);
    assert_eq!(settings(&pair.standby)["count"], 1);
    assert_eq!(role(&pair.standby), "Standby");
    pair.master.signal("KILL");
    leads(&pair.standby, Instant::now());
}
