//! The daemon is killed at each step in which it writes registrations, totals of counters and the record of changes.
//! Nothing that was acknowledged is lost, nothing is there that was not asked for, and the daemon after it goes on.
//!
//! strace kills it when it enters the system call, so that the step before is done and this one is not.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use weft_interop::membership::{self, JOIN};
use weft_wire::header::method;

use crate::counters::{Lab, total};
use crate::harness::{Daemon, Start, text, wait_for};
use crate::pair::elevating;
use crate::quarantine::json;
use crate::registrations::{BROADCAST, stored};
use crate::struck::{Struck, begin, disabled, ended, site};

const SIGKILL: i32 = 9;
/// Totals are written every minute.
const SAVED_WITHIN: Duration = Duration::from_secs(150);

/// A system call on a file of the state directory, and which of these calls it is, counted from 1.
#[derive(Debug, Clone, Copy)]
struct Step {
    call: &'static str,
    file: &'static str,
    number: u32,
}

const fn step(call: &'static str, file: &'static str, number: u32) -> Step {
    Step { call, file, number }
}

/// strace, which kills a daemon at a step.
struct Striker {
    strace: Child,
    /// Open, so that strace may say what it likes.
    _said: BufReader<ChildStderr>,
}

impl Striker {
    /// Waits for the step of a daemon.
    fn at(strace: &Path, daemon: &Daemon, step: Step) -> Self {
        let dir = daemon.dir.path().join("state").canonicalize().unwrap();
        let Step { call, file, number } = step;
        let mut command = Command::new(strace);
        command
            .args(["-f", "-o", "/dev/null", "-P"])
            .arg(match file {
                "" => dir,
                file => dir.join(file),
            });
        command.args(["-e", &format!("trace={call}")]);
        command.args(["-e", &format!("inject={call}:signal=SIGKILL:when={number}")]);
        command.args(["-p", &daemon.pid().to_string()]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut strace = command.spawn().unwrap();
        let mut said = BufReader::new(strace.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert!(line.contains("attached"), "{line}");
        Self {
            strace,
            _said: said,
        }
    }

    /// Waits until it has killed the daemon; the daemon's directory.
    fn strikes(mut self, daemon: Daemon, step: Step) -> TempDir {
        wait_for(|| self.strace.try_wait().unwrap());
        let (signal, dir) = daemon.killed();
        assert_eq!(signal, Some(SIGKILL), "{step:?}");
        dir
    }
}

/// Every step of a write that replaces a file.
const fn replacing(new: &'static str) -> [Step; 4] {
    [
        step("openat", new, 1),
        step("write", new, 1),
        step("fsync", new, 1),
        step("/^rename", new, 1),
    ]
}

/// Strikes the write of a join, and judges what hosts notice and who is a member; whether the file was there after it.
fn strike_join(strace: &Path, step: Step) -> bool {
    let site = site();
    let daemon = site.start(elevating(), 0).up();
    let members = [2, 5];
    site.join(&members);
    wait_for(|| stored(daemon.dir.path()).exists().then_some(()));
    site.settled();
    let striker = Striker::at(strace, &daemon, step);
    let change = (method::SET, JOIN);
    let told = membership::ask(&site.fabric, site.hosts[3], BROADCAST, change);
    let dir = striker.strikes(daemon, step);
    let is_stored = stored(dir.path()).exists();
    let _again = Struck::new(&site, dir).judged(&site, &format!("{step:?}"));
    if is_stored {
        assert_eq!(site.asked(), [0; 16], "{step:?}: hosts notice nothing");
    } else {
        // Who was told that he is a member, and everybody else, is asked to say it again.
        wait_for(|| (site.asked() == [1; 16]).then_some(()));
        site.join(&members);
        site.join(&[3]);
    }
    let leave = |host: usize| site.ask(host, method::DELETE);
    assert_ne!(leave(9), 0, "{step:?}: host 9 never joined");
    for member in members {
        let left = leave(member);
        assert_eq!(left, 0, "{step:?}: {member} was told that it is a member");
    }
    let is_member = leave(3) == 0;
    assert!(
        is_member || told != Some(0),
        "{step:?}: host 3 was told that it is a member"
    );
    is_stored
}

#[test]
fn a_join_is_kept_or_asked_for_again_wherever_the_write_of_registrations_is_struck() {
    let Some(strace) = weft_peers::program("strace") else {
        return;
    };
    // The file is removed before a join is answered, and written after it. Both are made to last in the directory.
    let removed = [step("/^unlink", "registrations.0", 1), step("fsync", "", 1)];
    let written = replacing("registrations.0.new");
    let steps = removed
        .into_iter()
        .chain(written)
        .chain([step("fsync", "", 2)]);
    let stored: Vec<bool> = std::thread::scope(|scope| {
        let strikes: Vec<_> = steps
            .map(|step| {
                let strace = &strace;
                scope.spawn(move || strike_join(strace, step))
            })
            .collect();
        let judged = strikes.into_iter().map(|strike| strike.join());
        judged.map(Result::unwrap).collect()
    });
    let with_file = stored.iter().filter(|one| **one).count();
    let without = stored.len() - with_file;
    assert!(
        with_file > 0 && without >= 4,
        "{with_file} with the file, {without} without"
    );
}

/// The record of changes, and whether all of it is as it was written.
fn records(daemon: &Daemon, at: Step) -> Vec<Value> {
    let verified = daemon.weft(&["audit", "verify"]);
    assert!(
        verified.status.success(),
        "{at:?}: {}",
        text(&verified.stderr)
    );
    let listed = daemon.weft_ok(&["audit", "list", "--json"]);
    listed.lines().map(json).collect()
}

/// What became of a request, in the record; none where it is not there.
fn result_of(records: &[Value], reason: &str) -> Option<String> {
    let found = records.iter().find(|one| one["reason"] == reason)?;
    Some(found["result"].as_str().unwrap().to_owned())
}

fn audit_file(dir: &Path) -> PathBuf {
    dir.join("state/audit.0/000000000001.audit")
}

/// A power cut leaves a part of the last line.
fn tear(file: &Path) {
    let mut bytes = std::fs::read(file).unwrap();
    let last = bytes[..bytes.len() - 1]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .unwrap();
    bytes.truncate(last + (bytes.len() - last) / 2);
    std::fs::write(file, bytes).unwrap();
}

/// What is found after a change whose record was struck, and that the record goes on.
fn judge_record(again: &Daemon, at: Step, result: Option<&str>, is_done: bool) {
    let found = records(again, at);
    assert_eq!(
        result_of(&found, "the first").as_deref(),
        Some("ok"),
        "{at:?}"
    );
    assert_eq!(result_of(&found, "the second").as_deref(), result, "{at:?}");
    assert!(disabled(again, "the first"), "{at:?}: it was promised");
    assert_eq!(disabled(again, "the second"), is_done, "{at:?}");
    again.weft_ok(&disable("the third", "node:edge3:port:5"));
    let found = records(again, at);
    assert_eq!(
        result_of(&found, "the third").as_deref(),
        Some("ok"),
        "{at:?}"
    );
}

fn disable<'a>(reason: &'a str, port: &'a str) -> [&'a str; 5] {
    ["port", "disable", "--reason", reason, port]
}

#[test]
fn nothing_is_done_that_the_record_lacks_wherever_its_write_is_struck() {
    let Some(strace) = weft_peers::program("strace") else {
        return;
    };
    const FILE: &str = "audit.0/000000000001.audit";
    let asked = step("fdatasync", FILE, 1);
    // The request is not written, not on the disk, torn by a power cut; it is carried out, not in the state, in it.
    for (step, is_torn, result, is_done) in [
        (step("pwrite64", FILE, 1), false, None, false),
        (asked, false, Some(""), false),
        (asked, true, None, false),
        (step("/^rename", "state.0.new", 1), false, Some(""), false),
        (step("fsync", "", 1), false, Some(""), true),
    ] {
        let site = site();
        let daemon = site.start(elevating(), 0).up();
        daemon.weft_ok(&disable("the first", "node:edge1:port:5"));
        let striker = Striker::at(&strace, &daemon, step);
        let client = begin(&daemon, &disable("the second", "node:edge2:port:5"));
        let dir = striker.strikes(daemon, step);
        assert!(
            !ended(client).status.success(),
            "{step:?}: nothing is acknowledged"
        );
        if is_torn {
            tear(&audit_file(dir.path()));
        }
        let again = Struck::new(&site, dir).judged(&site, &format!("{step:?}"));
        judge_record(&again, step, result, is_done);
    }
}

#[test]
fn an_outcome_that_a_power_cut_tears_leaves_its_request_without_one() {
    let site = site();
    let daemon = site.start(elevating(), 0).up();
    daemon.weft_ok(&disable("the first", "node:edge1:port:5"));
    daemon.weft_ok(&disable("the second", "node:edge2:port:5"));
    let dir = daemon.crash();
    tear(&audit_file(dir.path()));
    let at = step("fdatasync", "the record, torn", 2);
    let again = Struck::new(&site, dir).judged(&site, "a torn outcome");
    judge_record(&again, at, Some(""), true);
}

/// Waits for a write of totals, which comes each minute.
fn within_a_write<T>(step: Step, mut look: impl FnMut() -> Option<T>) -> T {
    let start = std::time::Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(
            start.elapsed() < SAVED_WITHIN,
            "{step:?}: nothing is written"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Strikes a write of totals; they go on where they were.
fn strike_totals(strace: &Path, step: Step) {
    let lab = Lab::new();
    let daemon = lab.daemon(&[]);
    total(&daemon, "xmit_discards", 0);
    lab.errors("5", "700", "40");
    let since = total(&daemon, "xmit_discards", 40)["since"].clone();
    let file = daemon.dir.path().join("state/counters.0");
    within_a_write(step, || file.exists().then_some(()));
    lab.errors("5", "0", "2");
    let mut striker = Striker::at(strace, &daemon, step);
    total(&daemon, "xmit_discards", 42);
    within_a_write(step, || striker.strace.try_wait().unwrap());
    let dir = striker.strikes(daemon, step);
    lab.errors("5", "1", "3");
    let again = Start::connected_in(dir, &lab.emulator.socket()).up();
    let port = total(&again, "xmit_discards", 45);
    assert_eq!(port["since"], since, "{step:?}: they go on");
    assert_eq!(
        port["totals"]["local_link_integrity_errors"], 701,
        "{step:?}"
    );
    assert!(
        !again.log().contains("cannot be used"),
        "{step:?}: {}",
        again.log()
    );
}

#[test]
fn totals_go_on_wherever_their_write_is_struck() {
    let Some(strace) = weft_peers::program("strace") else {
        return;
    };
    std::thread::scope(|scope| {
        for step in replacing("counters.0.new") {
            let strace = &strace;
            scope.spawn(move || strike_totals(strace, step));
        }
    });
}
