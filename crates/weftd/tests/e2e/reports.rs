//! The client's reports on a running fabric.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::harness::{Daemon, Start, text, weft};
use crate::process::{output, program};

#[test]
fn an_engine_that_does_not_fit_is_told() {
    let start = Start::new("torus:4x4");
    let file = start.dir.path().join("opafm.xml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace(">auto<", ">fattree<")).unwrap();
    let daemon = start.up();
    let shown = daemon.weft_ok(&["fabric", "show", "--json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let routing = &shown["routing"];
    assert_eq!(routing["engines_given_up"], 1, "{routing}");
    assert_eq!(routing["engine"], "fattree, up*/down* only");
}

#[test]
fn reports_exports_and_routes_agree() {
    let daemon = Daemon::up("fattree:16");
    let shown = daemon.weft_ok(&["fabric", "show"]);
    assert!(shown.contains("16 HFIs, 2 switches, 40 links"), "{shown}");
    assert!(shown.contains("80 active"), "{shown}");
    assert!(shown.contains("\nRouting: dmodc\n"), "{shown}");
    for report in ["nodes", "links", "comps", "lids", "linear"] {
        let live = daemon.weft_ok(&["report", report]);
        assert!(live.ends_with("---------\n"), "{live}");
        let json: Value =
            serde_json::from_str(&daemon.weft_ok(&["report", report, "--json"])).unwrap();
        assert!(json["title"].is_string(), "{json}");
    }
    let links = daemon.weft_ok(&["report", "links"]);
    assert!(
        links.contains("40 Links in Fabric:\nRate NodeGUID"),
        "{links}"
    );
    let route = [
        "report",
        "route",
        "-S",
        "nodepat:\"node1 hfi1_0\":port:1",
        "-D",
        "node:node16 hfi1_0",
    ];
    let hops = daemon.weft_ok(&route);
    assert!(
        hops.contains("        Rate NodeGUID          Port Type Name\n        100g "),
        "{hops}"
    );
    assert!(hops.contains("Links Traversed"), "{hops}");
}

/// An exported snapshot gives the same reports offline, also with opareport if that is installed.
#[test]
fn an_exported_snapshot_gives_the_same_reports() {
    let daemon = Daemon::up("fattree:16");
    let file = daemon.dir.path().join("snapshot.xml");
    let file = file.to_str().unwrap();
    daemon.weft_ok(&["fabric", "export", "--snapshot", "--output", file]);
    for report in ["links", "lids", "linear"] {
        let live = daemon.weft_ok(&["report", report]);
        let offline = daemon.weft_ok(&["report", report, "--snapshot", file]);
        assert_eq!(live, offline, "{report}");
    }
    // Both read the file: the activity counter of a live subnet manager goes on.
    let route = ["-S", "lid:1", "-D", "nodetype:FI"];
    for report in ["lids", "links", "comps", "linear", "nodes", "route"] {
        let points = if report == "route" { &route[..] } else { &[] };
        let offline = [&["report", report, "--snapshot", file][..], points].concat();
        let ours = daemon.weft_ok(&offline);
        let mut opareport = Command::new("opareport");
        opareport
            .args(["-q", "-X", file, "-o", report])
            .args(points);
        if let Some(theirs) = weft_peers::output(&mut opareport) {
            assert_eq!(text(&theirs.stdout), ours, "{report}");
        }
    }
}

#[test]
fn exports_of_other_formats() {
    let daemon = Daemon::up("one-switch:3");
    let dump = daemon.weft_ok(&["fabric", "export", "--ibnetdiscover"]);
    assert!(dump.contains("node3 hfi1_0"), "{dump}");
    let dot = daemon.weft_ok(&["fabric", "export", "--dot"]);
    assert!(dot.starts_with("graph "), "{dot}");
}

#[test]
fn what_cannot_be_shown_is_told() {
    let daemon = Daemon::up("one-switch:2");
    for (code, args, expected) in [
        (
            1,
            &["report", "route", "-D", "node:nosuch"][..],
            "no node named 'nosuch' in the fabric",
        ),
        (
            2,
            &["report", "lids", "-F", "bogus:1"],
            "no keyword 'bogus'; it begins with one of gid,",
        ),
        (
            2,
            &["report", "lids", "-F", "lid:x"],
            "character 5: expected a number",
        ),
        (
            4,
            &["report", "lids", "--snapshot", "/nonexistent"],
            "/nonexistent: No such file",
        ),
        (
            2,
            &["fabric", "export"],
            "required arguments were not provided",
        ),
        (
            2,
            &["--address", "nonsense", "fabric", "show"],
            "is no address of a daemon",
        ),
        (
            2,
            &["--address", "https://127.0.0.1:1", "fabric", "show"],
            "https needs --tls-ca",
        ),
        (
            3,
            &["--address", "http://127.0.0.1:1", "fabric", "show"],
            "no weftd at http://127.0.0.1:1: nothing listens there",
        ),
    ] {
        let said = daemon.weft_fails(code, args);
        assert!(said.contains(expected), "{args:?}: {said}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let daemon = Daemon::up("fattree:64");
    let pipe = format!("{} report nodes | head -1", weft().display());
    let mut shell = program(Path::new("bash"));
    shell
        .args(["-o", "pipefail", "-c", &pipe])
        .env("WEFT_ADDRESS", &daemon.api);
    let output = output(&mut shell);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "Node Type Summary\n");
}
