//! proto/check, which judges the API's definition by buf: the definition as it is, and with breaks planted.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../proto");

/// Where the script finds or puts buf.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("definition")
}

fn check(root: &Path) -> Output {
    let mut check = Command::new(root.join("check"));
    check.env("CARGO_TARGET_DIR", target()).output().unwrap()
}

/// A copy of the definition, with `from` replaced by `to` in one of its files.
fn changed(file: &str, from: &str, to: &str) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for name in ["check", "buf.yaml", "baseline.binpb"] {
        fs::copy(Path::new(ROOT).join(name), copy.path().join(name)).unwrap();
    }
    for package in ["weft/v1", "weft/emulator/v1"] {
        let to = copy.path().join(package);
        fs::create_dir_all(&to).unwrap();
        for entry in fs::read_dir(Path::new(ROOT).join(package)).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
    let file = copy.path().join("weft/v1").join(file);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{from}");
    fs::write(&file, text.replacen(from, to, 1)).unwrap();
    copy
}

#[test]
fn the_definition_breaks_no_rule_and_takes_nothing_from_clients() {
    if weft_peers::program("python3").is_none() {
        return;
    }
    let checked = check(Path::new(ROOT));
    let said = String::from_utf8_lossy(&checked.stdout) + String::from_utf8_lossy(&checked.stderr);
    if !target().join("buf/bin/buf").exists() && said.contains("pip") {
        weft_peers::not_run(format_args!("buf cannot be fetched: {said}"));
        return;
    }
    assert!(checked.status.success(), "{said}");

    let planted = [
        // A field gone, renumbered, retyped, and a value of an enumeration renamed.
        (
            "port.proto",
            "uint32 speed_enabled = 2;",
            "",
            "speed_enabled",
        ),
        (
            "port.proto",
            "speed_enabled = 2;",
            "speed_enabled = 3;",
            "\"2\"",
        ),
        (
            "port.proto",
            "uint32 width_enabled",
            "string width_enabled",
            "type",
        ),
        (
            "port.proto",
            "PORT_ACTION_BOUNCE",
            "PORT_ACTION_RETRAIN",
            "BOUNCE",
        ),
        // A field that the baseline does not have, a name that breaks a rule, a call without a comment.
        (
            "port.proto",
            "speed_enabled = 2;",
            "speed_enabled = 2; uint32 more = 3;",
            "--accept",
        ),
        (
            "port.proto",
            "speed_enabled = 2;",
            "speed_enabled = 2; uint32 More = 3;",
            "snake",
        ),
        (
            "port.proto",
            "rpc SetPorts(",
            "rpc Other(OtherRequest) returns (OtherResponse);\n  rpc SetPorts(",
            "comment",
        ),
    ];
    for (file, from, to, word) in planted {
        let copy = changed(file, from, to);
        if to.contains("OtherRequest") {
            let file = copy.path().join("weft/v1").join(file);
            let text = fs::read_to_string(&file).unwrap();
            fs::write(
                file,
                text + "message OtherRequest {}\nmessage OtherResponse {}\n",
            )
            .unwrap();
        }
        let refused = check(copy.path());
        let said =
            String::from_utf8_lossy(&refused.stdout) + String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success(), "{from} -> {to}: {said}");
        assert!(
            said.to_lowercase().contains(&word.to_lowercase()),
            "{word}: {said}"
        );
    }
}
