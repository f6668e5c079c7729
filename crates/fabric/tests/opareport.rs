//! Debian's `opareport` reads every kind of fabric that we export, and finds nothing wrong.
#![allow(clippy::unwrap_used)]

mod common;

use std::io::Write;
use std::process::{Command, Stdio};

use weft_fabric::Snapshot;
use weft_fabric::export::{SnapshotOptions, write_snapshot};

fn snapshot_xml(snapshot: &Snapshot) -> Vec<u8> {
    let mut xml = Vec::new();
    write_snapshot(snapshot, SnapshotOptions::default(), &mut xml).unwrap();
    xml
}

/// What `opareport -q -X - -o <report>` prints to standard output; it must print no error.
fn opareport(xml: &[u8], report: &str) -> String {
    let mut child = Command::new("opareport")
        .args(["-q", "-X", "-", "-o", report])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(xml).unwrap();
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success() && errors.is_empty(),
        "{report}: {errors}"
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const FABRICS: &[&str] = &["one-switch:4", "fattree:128", "swd06,hosts=2"];

#[test]
fn trees_and_chassis_are_routed_without_fault() {
    if !common::peer("opareport") {
        return;
    }
    for fabric in FABRICS {
        for lmc in [0, 2] {
            let snapshot = common::bring_up(common::generate(fabric), lmc);
            let xml = snapshot_xml(&snapshot);
            for report in ["validateroutes", "validatecreditloops", "nodes"] {
                let text = opareport(&xml, report);
                println!("{fabric} {report}\n{}", &text[..text.len().min(1500)]);
            }
        }
    }
}
