//! The record of changes: nothing that was acknowledged is lost, and no line can be changed unseen.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use weft_history::audit::{
    Asked, AuditLog, Body, Ended, FILE_LEN_MAX, FILES_MAX, Hash, LINE_MAX, Record, read, verify,
};

const ALL: (u64, u64) = (0, u64::MAX);

fn asked(number: u64) -> Body {
    Body::Asked(Asked {
        way: "grpc".to_owned(),
        author: format!("user{number}"),
        method: "weft.v1.PortService/SetPortState".to_owned(),
        request: json!({ "port": number, "reason": "a \"quote\" and\na line" }),
        ..Asked::default()
    })
}

fn ended(of: u64) -> Body {
    Body::Ended(Ended {
        of,
        result: "ok".to_owned(),
        ..Ended::default()
    })
}

/// Appends requests with outcomes; the sequence numbers are `first` and those after it.
fn requests(log: &mut AuditLog, count: u64) {
    for _ in 0..count {
        let (of, _) = log.append(1_000, asked(0)).expect("appended");
        log.append(2_000, ended(of)).expect("appended");
    }
}

fn records(dir: &Path) -> Vec<Record> {
    let mut records = Vec::new();
    read(dir, ALL, &mut |record| records.push(record)).expect("read");
    records
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(dir).expect("a directory");
    let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    files
}

fn faults(dir: &Path) -> u64 {
    verify(dir, None).expect("read").faults_in_all
}

/// What sha256sum of coreutils says.
fn sha256sum(text: &str) -> String {
    let mut child = Command::new("sha256sum")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("sha256sum");
    let mut input = child.stdin.take().expect("its input");
    input.write_all(text.as_bytes()).expect("written");
    drop(input);
    let output = child.wait_with_output().expect("its output");
    let text = String::from_utf8(output.stdout).expect("text");
    text.split_whitespace().next().expect("a hash").to_owned()
}

#[test]
fn sha256sum_agrees_with_every_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut log = AuditLog::open(dir.path()).expect("a record");
    requests(&mut log, 5);
    let text = std::fs::read_to_string(&files(dir.path())[0]).expect("a file");
    let mut lines = text.lines();
    let mut last = lines.next().expect("a first line").to_owned();
    let mut count = 0;
    for line in lines {
        let (hash, json) = line.split_once(' ').expect("two parts");
        assert_eq!(sha256sum(&format!("{last} {json}")), hash);
        last = hash.to_owned();
        count += 1;
    }
    assert_eq!(count, 10);
    let verdict = verify(dir.path(), Hash::parse(&last)).expect("read");
    assert_eq!((verdict.faults_in_all, verdict.has_known), (0, true));
    assert_eq!((verdict.first, verdict.last), (1, 10));
    assert_eq!(verdict.head.to_string(), last);
}

#[test]
fn requests_are_read_with_their_outcomes() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut log = AuditLog::open(dir.path()).expect("a record");
    let (first, _) = log.append(10, asked(1)).expect("appended");
    let (second, _) = log.append(20, asked(2)).expect("appended");
    log.append(30, ended(second)).expect("appended");
    let (third, _) = log.append(40, asked(3)).expect("appended");
    log.append(50, ended(first)).expect("appended");
    drop(log);
    // A later run does not know them.
    AuditLog::open(dir.path()).expect("a record");
    let found = records(dir.path());
    let told: Vec<_> = found
        .iter()
        .map(|record| {
            let ended = record.ended.as_ref().map(|(time, _)| *time);
            (record.sequence, record.asked.author.as_str(), ended)
        })
        .collect();
    assert_eq!(
        told,
        [
            (first, "user1", Some(50)),
            (second, "user2", Some(30)),
            (third, "user3", None)
        ]
    );
    let mut some = Vec::new();
    read(dir.path(), (15, 20), &mut |record| {
        some.push(record.sequence)
    })
    .expect("read");
    assert_eq!(some, [second]);
}

#[test]
fn a_file_torn_at_any_byte_goes_on_and_tells() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut log = AuditLog::open(dir.path()).expect("a record");
    requests(&mut log, 2);
    drop(log);
    let path = files(dir.path()).remove(0);
    let whole = std::fs::read(&path).expect("a file");
    for len in 0..whole.len() {
        std::fs::write(&path, &whole[..len]).expect("written");
        let lines = whole[..len].iter().filter(|byte| **byte == b'\n').count();
        let is_torn = len > 0 && whole[len - 1] != b'\n';
        let mut log = AuditLog::open(dir.path()).expect("a record");
        let (sequence, _) = log.append(3_000, asked(9)).expect("appended");
        drop(log);
        let expected = lines.saturating_sub(1) as u64 + u64::from(is_torn) + 1;
        assert_eq!(sequence, expected, "{len} bytes");
        assert_eq!(faults(dir.path()), 0, "{len} bytes");
        let last = records(dir.path()).pop().expect("a request");
        assert_eq!(last.asked.author, "user9", "{len} bytes");
    }
}

#[test]
fn every_flipped_bit_is_found() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut log = AuditLog::open(dir.path()).expect("a record");
    requests(&mut log, 2);
    let path = files(dir.path()).remove(0);
    let whole = std::fs::read(&path).expect("a file");
    // The last end of a line may as well be torn.
    for place in 0..whole.len() - 1 {
        let mut bytes = whole.clone();
        bytes[place] ^= 1 << (place % 8);
        std::fs::write(&path, &bytes).expect("written");
        assert_ne!(faults(dir.path()), 0, "byte {place}");
        // What comes later is recorded all the same, and the fault stays.
        let mut log = AuditLog::open(dir.path()).expect("a record");
        log.append(3_000, asked(9)).expect("appended");
        assert_ne!(faults(dir.path()), 0, "byte {place}");
        let last = records(dir.path()).pop().expect("a request");
        assert_eq!(last.asked.author, "user9", "byte {place}");
    }
}

#[test]
fn lines_that_are_taken_out_swapped_or_forged_are_found() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut log = AuditLog::open(dir.path()).expect("a record");
    requests(&mut log, 4);
    let head = verify(dir.path(), None).expect("read").head;
    let path = files(dir.path()).remove(0);
    let text = std::fs::read_to_string(&path).expect("a file");
    let lines: Vec<&str> = text.lines().collect();
    let with = |lines: &[&str]| {
        std::fs::write(&path, lines.join("\n") + "\n").expect("written");
        verify(dir.path(), Some(head)).expect("read")
    };
    for out in 1..lines.len() - 1 {
        let mut rest = lines.clone();
        rest.remove(out);
        assert_ne!(with(&rest).faults_in_all, 0, "without line {out}");
        let mut swapped = lines.clone();
        swapped.swap(out, out + 1);
        assert_ne!(with(&swapped).faults_in_all, 0, "line {out} after the next");
    }
    // Without its last line the chain is whole: only the hash that somebody kept tells.
    let cut = with(&lines[..lines.len() - 1]);
    assert_eq!((cut.faults_in_all, cut.has_known), (0, false));
    // A line with a hash of its own making, which later lines do not follow.
    let (before, json) = (&lines[2][..64], lines[3][65..].replace("user0", "other"));
    let forged = format!("{} {json}", sha256sum(&format!("{before} {json}")));
    let mut rest = lines.clone();
    rest[3] = &forged;
    assert_eq!(with(&rest).faults_in_all, 1);
}

#[test]
fn files_are_bounded_and_the_chain_goes_through_them() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut log = AuditLog::open(dir.path()).expect("a record");
    let large = || {
        Body::Asked(Asked {
            request: json!("x".repeat(LINE_MAX - 1_000)),
            ..Asked::default()
        })
    };
    let each = FILE_LEN_MAX / (LINE_MAX as u64 - 1_000) + 2;
    for number in 0..each * (FILES_MAX as u64 + 3) {
        log.append(number, large()).expect("appended");
        if number % 200 == 0 {
            log = AuditLog::open(dir.path()).expect("a record");
        }
    }
    let there = files(dir.path());
    assert_eq!(there.len(), FILES_MAX);
    for file in &there {
        let len = std::fs::metadata(file).expect("a file").len();
        assert!(len <= FILE_LEN_MAX + LINE_MAX as u64, "{len}");
    }
    let verdict = verify(dir.path(), None).expect("read");
    assert_eq!(verdict.faults, []);
    assert!(verdict.first > 1, "{}", verdict.first);
    assert_eq!(verdict.entries, verdict.last - verdict.first + 1);
    std::fs::remove_file(&there[FILES_MAX / 2]).expect("removed");
    assert_ne!(faults(dir.path()), 0);
}

#[test]
fn an_entry_that_is_too_long_changes_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut log = AuditLog::open(dir.path()).expect("a record");
    let long = Body::Asked(Asked {
        request: json!("x".repeat(LINE_MAX)),
        ..Asked::default()
    });
    let error = log.append(0, long).expect_err("too long").to_string();
    assert!(error.contains("at most 65536"), "{error}");
    requests(&mut log, 1);
    assert_eq!(faults(dir.path()), 0);
    assert_eq!(records(dir.path()).len(), 1);
}
