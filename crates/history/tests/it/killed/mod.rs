//! kill -9 of a process that writes, again and again over the same files: what it had acknowledged is there, and nothing else.
//!
//! | module | contents |
//! |---|---|
//! | `work` | what is written |
//! | `writer` | the process that writes |
//! | `known` | what should be read, and whether it is |

mod known;
mod work;
mod writer;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::model::Random;
use known::Known;
use work::Work;

/// Where the process writes, and the number of its first piece of work.
const DIR: &str = "WEFT_HISTORY_WRITER_DIR";
const FIRST: &str = "WEFT_HISTORY_WRITER_FIRST";
/// So little that files are removed after a few hundred kills.
const BUDGET: u64 = 4 << 20;
/// Readings, events and changes of the time since the last look are compared after each kill, everything after so many.
const WHOLE: u64 = 25;

/// When the process is killed.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// So many microseconds after its start.
    Opening(u64),
    /// So many after it has opened its files.
    Writing(u64),
    /// So many after the beginning of a reading with which a segment ends, and perhaps a roll-up begins.
    Closing(u64),
}

impl Moment {
    fn any(random: &mut Random) -> Self {
        match random.next(6) {
            0 => Self::Opening(random.next(15_000)),
            1 | 2 => Self::Writing(random.next(30_000)),
            _ => Self::Closing(random.next(20_000)),
        }
    }
}

/// A line of the process.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Open,
    Begin(u64),
    Done(u64),
    /// Sequence number and hash of a request.
    Asked(u64, String),
    Ended(u64),
    /// Of the test harness.
    Other,
}

impl Line {
    fn of(line: &str) -> Self {
        let words: Vec<&str> = line.split(' ').collect();
        let number = || words[1].parse().expect("a number");
        match words[0] {
            "open" => Self::Open,
            "begin" => Self::Begin(number()),
            "done" => Self::Done(number()),
            "asked" => Self::Asked(number(), words[2].to_owned()),
            "ended" => Self::Ended(number()),
            "warned" => panic!("{line}"),
            _ => Self::Other,
        }
    }

    /// Whether the segment before ends with it.
    fn closes(&self) -> bool {
        let segment = |number| work::time_ms(number).div_euclid(600_000);
        match *self {
            Self::Begin(number) if Work::of(number) == Work::Reading => {
                let mut before = (0..number).rev();
                let before = before.find(|number| Work::of(*number) == Work::Reading);
                before.is_some_and(|before| segment(before) != segment(number))
            }
            _ => false,
        }
    }
}

fn start(dir: &Path, first: u64) -> (Child, BufReader<ChildStdout>) {
    let own = std::env::current_exe().expect("this program");
    let mut child = Command::new(own)
        .args([
            "--exact",
            "killed::writer::writes",
            "--ignored",
            "--nocapture",
        ])
        .env(DIR, dir)
        .env(FIRST, first.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let out = child.stdout.take().expect("its output");
    (child, BufReader::new(out))
}

/// Starts the process, kills it at a moment, and returns what it said.
fn killed(dir: &Path, first: u64, moment: Moment) -> Vec<Line> {
    let (mut child, out) = start(dir, first);
    let mut lines = out.lines().map(|line| Line::of(&line.expect("a line")));
    let mut said = Vec::new();
    let pause = match moment {
        Moment::Opening(pause) => pause,
        Moment::Writing(pause) => {
            said.extend(lines.by_ref().take_while(|line| *line != Line::Open));
            pause
        }
        Moment::Closing(pause) => {
            for line in lines.by_ref() {
                let is_now = line.closes();
                said.push(line);
                if is_now {
                    break;
                }
            }
            pause
        }
    };
    thread::sleep(Duration::from_micros(pause));
    // SIGKILL, on Unix.
    child.kill().expect("a process that runs");
    said.extend(lines);
    let status = child.wait().expect("its end");
    assert_eq!(status.code(), None, "it ended by itself");
    said
}

/// Kills as often; returns after how many of them a segment was half written, and a roll-up.
fn kills(count: u64, seed: u64) -> [u64; 2] {
    let dir = tempfile::tempdir().expect("a directory");
    let (mut known, mut random) = (Known::new(dir.path()), Random(seed));
    let mut half = [0; 2];
    for kill in 1..=count {
        let moment = Moment::any(&mut random);
        let said = killed(dir.path(), known.next(), moment);
        for (half, is_half) in half.iter_mut().zip(known.half_written()) {
            *half += u64::from(is_half);
        }
        known.take(said);
        if kill % WHOLE == 0 || kill == count {
            known.check_all();
        }
    }
    println!("{count} kills, half written segments and roll-ups: {half:?}; {known}");
    half
}

#[test]
fn a_process_that_is_killed_loses_nothing_that_it_acknowledged() {
    let [segments, _] = kills(200, 1);
    assert!(segments > 0);
}

#[test]
#[ignore = "minutes"]
fn a_process_that_is_killed_a_thousand_times_loses_nothing_that_it_acknowledged() {
    let [segments, roll_ups] = kills(1_000, 2);
    assert!(segments > 0 && roll_ups > 0);
}
