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
