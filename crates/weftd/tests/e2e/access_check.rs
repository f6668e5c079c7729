//! `weftd access check`: a file of rules without a daemon.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::harness::text;
use crate::process::{output, program};

const RULES: &str = "\
loopback = \"none\"

[operate]
users = [\"root\", \"no such user\"]
certificates = [\"uri:spiffe://example.org/ci\"]

[plans]
two_persons = \"settings\"

[[limit]]
name = \"two switches at once\"
roles = [\"operate\"]
drained_switches = 2

[[limit]]
name = \"say why\"
methods = [\"SetPorts\"]
reason = true

[[limit]]
name = \"not at night\"
callers = [\"uri:spiffe://example.org/ci\"]
days = [\"Friday\"]
hours = [\"22:00-06:00\"]
enforce = false
";

fn check(args: &[&str]) -> Output {
    let mut command = program(Path::new(env!("CARGO_BIN_EXE_weftd")));
    command.args(["access", "check"]).args(args);
    output(&mut command)
}

/// A file of rules in a directory.
fn written(rules: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("access.toml");
    std::fs::write(&file, rules).unwrap();
    let name = file.to_str().unwrap().to_owned();
    (dir, name)
}

#[test]
fn a_file_is_checked_and_says_what_each_caller_may_do() {
    let (_dir, file) = written(RULES);
    let callers = [
        "--caller",
        "root",
        "--caller",
        "loopback",
        "--caller",
        "cn:x,uri:spiffe://example.org/ci",
    ];
    let args = [&[file.as_str(), "--json"], &callers[..]].concat();
    let checked = check(&args);
    assert_eq!(text(&checked.stderr), "");
    assert_eq!(checked.status.code(), Some(0));
    let report: Value = serde_json::from_slice(&checked.stdout).unwrap();
    assert_eq!(report["file"], json!(file));
    assert_eq!(report["loopback"], Value::Null);
    assert_eq!(report["users"], "view");
    assert_eq!(report["two_persons"], "settings");
    assert_eq!(report["unknown"], json!(["user no such user"]));
    let limits = report["limits"].as_array().unwrap();
    assert_eq!(limits.len(), 3);
    assert_eq!(limits[0]["drained_switches"], 2);
    assert_eq!(limits[1]["methods"], json!(["SetPorts"]));
    assert_eq!(limits[2]["hours"], json!(["22:00-06:00"]));
    assert_eq!(limits[2]["enforce"], false);
    let [root, loopback, ci] = report["callers"].as_array().unwrap().as_slice() else {
        panic!("{report}")
    };
    let may = |of: &Value, method: &str| of["methods"].as_array().unwrap().contains(&json!(method));
    // Root administers whatever the file says.
    assert_eq!(root["identity"], "user:root");
    assert_eq!(root["role"], "administer");
    assert!(may(root, "ReloadConfig") && may(root, "SetPorts"));
    assert_eq!(root["limits"], json!(["say why"]));
    assert_eq!(loopback["role"], Value::Null);
    assert_eq!(loopback["methods"], json!([]));
    assert_eq!(ci["role"], "operate");
    assert!(may(ci, "SetPorts") && !may(ci, "ReloadConfig"));
    let all = ["two switches at once", "say why", "not at night"];
    assert_eq!(ci["limits"], json!(all));

    let args = [&[file.as_str()], &callers[..]].concat();
    let shown = text(&check(&args).stdout);
    for words in [
        "access.toml can be used\n  at a loopback address: none\n",
        "  NOT KNOWN on this host, nobody has its role: user no such user\n",
        "  limit \"two switches at once\", operate: at most 2 drained switches\n",
        "  limit \"say why\": asks for a reason for SetPorts\n",
        ", Friday, 22:00-06:00: refuses for all changes (only told, not enforced)\n",
        "loopback: none\n  may call: nothing\n",
        "user:root: administer\n  may call: reads, and ",
    ] {
        assert!(shown.contains(words), "{words:?}: {shown}");
    }
}

#[test]
fn a_file_that_a_daemon_refuses_is_refused_with_its_line() {
    for (rules, words) in [
        ("\n[operate]\nuser = []", "line 3"),
        ("[[limit]]\nname = \"a\"\ndrained_switches = -1", "line 3"),
    ] {
        let (_dir, file) = written(rules);
        let checked = check(&[&file]);
        let said = text(&checked.stderr);
        assert_eq!(checked.status.code(), Some(2), "{said}");
        assert!(said.contains(words) && said.contains(&file), "{said}");
        assert_eq!(text(&checked.stdout), "");
    }
    for (caller, words) in [
        ("no such user", "is not known on this host"),
        ("uid:x", "has no number"),
        ("cn:", "is no name of a certificate"),
        ("cn:a,b", "'b' is no name of a certificate"),
    ] {
        let checked = check(&["--caller", caller]);
        let said = text(&checked.stderr);
        assert_eq!(checked.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{caller}: {said}");
    }
    let missing = check(&["/does/not/exist"]);
    assert_eq!(missing.status.code(), Some(2));
}
