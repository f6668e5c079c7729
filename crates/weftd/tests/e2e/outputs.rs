//! Closed or full outputs: no program panics, and none continues silently.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use crate::harness::{Daemon, READ_OFTEN, Start, configure, text, wait_for, wait_for_links, weft};
use crate::process::{output, output_to, program};

fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").unwrap()
}

/// The writing end of a pipe without a reader.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

/// Exit status of a program with both outputs closed, and with both full.
fn ends(command: impl Fn() -> Command) -> [ExitStatus; 2] {
    let of = |stdout: Stdio, stderr: Stdio| {
        let mut command = command();
        command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
        command.status().unwrap()
    };
    [of(closed(), closed()), of(full().into(), full().into())]
}

#[test]
fn no_error_panics_where_nobody_reads_it() {
    let weftd = Path::new(env!("CARGO_BIN_EXE_weftd"));
    let cases: [(&Path, &[&str], i32); 4] = [
        (weft(), &["report", "lids", "--snapshot", "/nonexistent"], 4),
        (weft(), &["config", "show", "--effective", "/dev/null"], 1),
        (weftd, &["--config", "/nonexistent"], 3),
        (weftd, &["--emulate", "fattree:0"], 4),
    ];
    for (path, args, code) in cases {
        let ended = ends(|| {
            let mut command = program(path);
            command.args(args);
            command
        });
        for status in ended {
            assert_eq!(status.code(), Some(code), "{path:?} {args:?}");
        }
    }
}

/// An output that is closed or full ends a command of a client, also one that would go on for ever.
#[test]
fn a_result_that_cannot_be_written_ends_its_command() {
    let start = Start::new("one-switch:4");
    configure(&start.dir.path().join("opafm.xml"), &READ_OFTEN);
    let daemon = start.up();
    wait_for(|| daemon.top());
    let commands: [&[&str]; 9] = [
        &["report", "nodes"],
        &["report", "links", "--json"],
        &["report", "route", "-S", "sm", "-D", "nodetype:FI"],
        &["fabric", "show"],
        &["fabric", "export", "--snapshot"],
        &["watch"],
        &["watch", "--json"],
        &["top"],
        &["top", "--json"],
    ];
    for args in commands {
        let told = |stdout: Stdio| {
            let mut command = program(weft());
            command.env("WEFT_ADDRESS", &daemon.api).args(args);
            output_to(&mut command, stdout)
        };
        let (code, said) = told(full().into());
        assert_eq!(code, Some(4), "{args:?}: {said}");
        assert!(said.contains("No space left on device"), "{args:?}: {said}");
        let (code, said) = told(closed());
        assert_eq!(code, Some(0), "{args:?}: {said}");
        assert_eq!(said, "", "{args:?}");
    }
}

#[test]
fn a_daemon_runs_on_where_its_log_cannot_be_written() {
    for format in ["human", "json"] {
        let mut start = Start::new("one-switch:2").args(&["--log", format]);
        start.command.stdout(closed()).stderr(full());
        let daemon = start.up_unlogged();
        let shown = || daemon.weft_ok(&["fabric", "show"]);
        wait_for(|| shown().contains("2 HFIs").then_some(()));
        assert_eq!(daemon.stop().0, Some(0));
    }
}

#[test]
fn a_change_stops_with_its_output_and_is_told_by_the_next_call() {
    let daemon = Daemon::up("one-switch:6");
    let state = daemon.dir.path().join("home");
    let call = |args: &[&str]| {
        let mut command = program(weft());
        command.env("WEFT_ADDRESS", &daemon.api).args(args);
        command.env("XDG_STATE_HOME", &state);
        command
    };
    let all = ["port", "disable", "--all", "nodepat:node[3-6]*"];
    let mut command = call(&all);
    let ended = command.stdout(closed()).stderr(closed()).status().unwrap();
    assert_eq!(ended.code(), Some(4), "it stopped");
    // One port is off, not four; the report has it once the sweep that follows has ended.
    wait_for_links(&daemon, 5);

    let next = output(&mut call(&["fabric", "show"]));
    assert!(next.status.success());
    let said = text(&next.stderr);
    assert!(said.contains("disabled port 1 of node3 hfi1_0"), "{said}");
    assert!(said.contains("3 more ports were left alone"), "{said}");
    let later = output(&mut call(&["fabric", "show"]));
    assert_eq!(text(&later.stderr), "", "it is said once");

    let mut dry = call(&[&all[..], &["--dry-run"]].concat());
    let ended = dry.stdout(closed()).status().unwrap();
    assert!(ended.success(), "nothing was changed");
    assert_eq!(text(&output(&mut call(&["fabric", "show"])).stderr), "");
}
