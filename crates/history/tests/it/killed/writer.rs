//! The process that is killed. It writes as the daemon's threads do: one the history, another the record of changes; and says what
//! it begins, and what has been acknowledged.

use std::io::{Write, stdout};
use std::path::Path;
use std::thread;

use serde_json::json;
use weft_history::audit::{Asked, AuditLog, Body, Ended};
use weft_history::{HistoryError, Mark, Recorder, StateRecord};

use super::work::{self, Work};
use super::{BUDGET, DIR, FIRST};

/// A line to whoever reads; one that nobody reads ends the process.
fn say(line: &str) {
    let mut out = stdout().lock();
    let said = out.write_all(format!("{line}\n").as_bytes());
    said.and_then(|()| out.flush()).expect("somebody who reads");
}

#[test]
#[ignore = "is run, and killed, by another test"]
fn writes() {
    let (Ok(dir), Ok(first)) = (std::env::var(DIR), std::env::var(FIRST)) else {
        return;
    };
    let dir = Path::new(&dir);
    let mut recorder = Recorder::open(&dir.join("history"), BUDGET).expect("a recorder");
    let mut log = AuditLog::open(&dir.join("audit")).expect("a record of changes");
    // The test's own first line has no end yet.
    say("\nopen");
    thread::spawn(move || {
        loop {
            change(&mut log);
        }
    });
    let mut state = None;
    for number in first.parse().expect("a number").. {
        say(&format!("begin {number}"));
        work(&mut recorder, number, &mut state).expect("written");
        for said in recorder.warnings() {
            say(&format!("warned {said}"));
        }
        say(&format!("done {number}"));
    }
}

fn work(recorder: &mut Recorder, number: u64, state: &mut Option<u64>) -> Result<(), HistoryError> {
    match Work::of(number) {
        Work::Reading => recorder.image(work::time_ms(number), work::reading(number)),
        Work::Events => recorder.events(&work::events(number)),
        Work::State => {
            let head = work::head(number, number);
            let before = state.filter(|_| !recorder.needs_whole_state(head.time_ms));
            let mut record = match before {
                Some(_) => StateRecord::changed(head),
                None => StateRecord::whole(head),
            };
            let mut before = before.map(work::state);
            for (key, now) in work::state(number) {
                let before = before.as_mut().and_then(Iterator::next);
                record.piece(&key, before.as_ref().map(|(_, was)| &**was), Some(&now))?;
            }
            *state = Some(number);
            recorder.state(record)
        }
        Work::Still => match *state {
            Some(state) => recorder.mark_state(work::head(number, state), Mark::Still),
            None => Ok(()),
        },
    }
}

/// A change with its outcome.
fn change(log: &mut AuditLog) {
    let asked = Asked {
        author: "somebody".to_owned(),
        request: json!({ "why": "because ".repeat(300) }),
        ..Asked::default()
    };
    let (of, hash) = log.append(1, Body::Asked(asked)).expect("appended");
    say(&format!("asked {of} {hash}"));
    let ended = Ended {
        of,
        result: "ok".to_owned(),
        ..Ended::default()
    };
    log.append(2, Body::Ended(ended)).expect("appended");
    say(&format!("ended {of}"));
}
