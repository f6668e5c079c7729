//! The program: campaigns from the command line, and readers of its output.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::{Command, Stdio};

fn weft_lab() -> Command {
    Command::new(env!("CARGO_BIN_EXE_weft-lab"))
}

#[test]
fn the_last_seed_is_one_too() {
    let output = weft_lab()
        .args(["election", "--seed", "18446744073709551615"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("seed 18446744073709551615: "), "{text}");
    assert!(text.contains("\n1 seeds, "), "{text}");
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let directory = tempfile::tempdir().unwrap();
    let scenario = directory.path().join("t.scenario");
    fs::write(
        &scenario,
        "fabric one-switch:2\ntraffic osu_latency iterations=1\n",
    )
    .unwrap();
    let scenario = scenario.to_str().unwrap();
    for arguments in [&["run", scenario][..], &["election", "--seeds", "0..1"]] {
        let mut command = weft_lab();
        let command = command.args(arguments).stderr(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), error.as_str()), (Some(0), ""));
    }
}

#[test]
fn an_output_that_is_full_is_an_error_without_a_panic() {
    let full = || {
        fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap()
    };
    for arguments in [
        &["election", "--seeds", "0..1"][..],
        &["run", "/nonexistent"],
    ] {
        let mut command = weft_lab();
        let command = command.args(arguments).stdout(full()).stderr(full());
        assert_eq!(command.status().unwrap().code(), Some(2), "{arguments:?}");
    }
}

/// A recording of a manager that brings up 4 hosts.
fn recording(directory: &std::path::Path) -> std::path::PathBuf {
    use std::time::Duration;
    let fabric = "fattree:4".parse::<weft_fabric::generate::FabricSpec>();
    let fabric = std::sync::Arc::new(fabric.unwrap().generate().unwrap());
    let tape = weft_testkit::Tape::default();
    let (options, settings) = (Default::default(), Default::default());
    let tap = weft_testkit::NoTap;
    let taped = Some(tape.clone());
    let mut world = weft_testkit::World::taped(fabric, options, settings, tap, taped).unwrap();
    let ended = world.bring_up(Duration::from_secs(60)).unwrap();
    assert_eq!(ended, weft_testkit::Wait::Done);
    world.end_tape();
    let file = directory.join("manager.weftrec");
    fs::write(&file, &tape.files()[0]).unwrap();
    file
}

fn replay(file: &std::path::Path, more: &[&str]) -> (Option<i32>, String, String) {
    let output = weft_lab().arg("replay").arg(file).args(more).output();
    let output = output.unwrap();
    let [text, error] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (output.status.code(), text, error)
}

#[test]
fn a_recording_runs_again_to_where_it_is_to_stop() {
    let directory = tempfile::tempdir().unwrap();
    let file = recording(directory.path());
    let (code, text, _) = replay(&file, &[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("\n  result: the same to the last byte\n"),
        "{text}"
    );
    assert!(text.contains(" 6 nodes, 28 links"), "{text}");
    assert!(text.contains("between sweeps, 0 requests open"), "{text}");
    for (until, state) in [
        ("step:2", "Discover"),
        ("sweep:1", "Discover"),
        ("event:sweepended", "between sweeps"),
        ("0", "between sweeps"),
    ] {
        let (code, text, _) = replay(&file, &["--until", until]);
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains(state), "{until}: {text}");
    }
    let (code, text, _) = replay(&file, &["--steps", "--last", "0", "--json"]);
    assert_eq!(code, Some(0), "{text}");
    let none: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(none["shown"], serde_json::json!([]));
    let (code, text, _) = replay(&file, &["--steps", "--last", "2", "--json"]);
    assert_eq!(code, Some(0), "{text}");
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["same"], true);
    assert_eq!(value["shown"].as_array().unwrap().len(), 2);
    assert_eq!(value["state"]["nodes"], 6);
}

#[test]
fn a_recording_that_is_damaged_torn_or_none_says_where_and_what() {
    let directory = tempfile::tempdir().unwrap();
    let file = recording(directory.path());
    let whole = fs::read(&file).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    for (bytes, code, said) in [
        (damaged, 1, "damaged at byte "),
        (
            whole[..whole.len() - 1].to_vec(),
            0,
            "was not written whole",
        ),
    ] {
        fs::write(&file, bytes).unwrap();
        let (ended, text, error) = replay(&file, &[]);
        assert_eq!(ended, Some(code), "{text}{error}");
        assert!(text.contains(said), "{text}");
    }
    fs::write(&file, "<Config/>").unwrap();
    let (code, _, error) = replay(&file, &[]);
    assert_eq!(code, Some(2));
    assert!(
        error.contains("manager.weftrec: this is no recording"),
        "{error}"
    );
    let (code, _, error) = replay(&file, &["--until", "day:1"]);
    assert_eq!(code, Some(2));
    assert!(
        error.contains("wanted step:N, sweep:N, event:KIND or seconds"),
        "{error}"
    );
}
