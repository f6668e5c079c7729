//! The state of any time is the one that was recorded, whatever happens between.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use weft_history::{
    Mark, PastState, Reader, Recorder, STATE_LASTS_MS, StateAnswer, StateHead, StateQuestion,
    StateRecord,
};

use crate::model::{Random, START, bytes, files};

type Pieces = BTreeMap<Vec<u8>, Vec<u8>>;

/// A record that was acknowledged.
#[derive(Debug, Clone)]
struct Recorded {
    head: StateHead,
    begins: bool,
    mark: Option<Mark>,
    pieces: Pieces,
}

/// What should be read: everything that was acknowledged, in its order.
#[derive(Debug, Default)]
struct Oracle(Vec<Recorded>);

impl Oracle {
    /// The record whose state lasts at a time.
    fn at(&self, time_ms: i64) -> Option<&Recorded> {
        let place = self.0.iter().rposition(|one| one.head.time_ms <= time_ms)?;
        let (one, next) = (&self.0[place], self.0.get(place + 1));
        let from = one.head.time_ms;
        let until = match next {
            _ if one.mark == Some(Mark::End) => from,
            None => from + STATE_LASTS_MS,
            Some(next) if next.begins || next.head.time_ms > from + STATE_LASTS_MS => from,
            Some(next) => next.head.time_ms.max(from),
        };
        (time_ms <= until).then_some(one)
    }
}

/// A daemon that records.
struct Daemon {
    dir: PathBuf,
    budget: u64,
    recorder: Recorder,
    pieces: Pieces,
    /// The state that was recorded last; none where the recorder has none to go on from.
    last: Option<Pieces>,
    head: StateHead,
    /// Time of the last record that the recorder goes on from.
    last_ms: i64,
    begins: bool,
    oracle: Oracle,
    random: Random,
}

impl Daemon {
    fn new(dir: &Path, budget: u64, seed: u64) -> Self {
        Self {
            dir: dir.to_owned(),
            budget,
            recorder: Recorder::open(dir, budget).expect("a recorder"),
            pieces: Pieces::new(),
            last: None,
            head: StateHead {
                time_ms: START,
                sweep: 1,
                generation: 0,
            },
            last_ms: 0,
            begins: true,
            oracle: Oracle::default(),
            random: Random(seed),
        }
    }

    /// Changes a few pieces.
    fn change(&mut self) {
        for _ in 0..=self.random.next(4) {
            let key = vec![self.random.next(20) as u8];
            let random = &mut self.random;
            match random.next(6) {
                0 => drop(self.pieces.remove(&key)),
                1 => {
                    let len = random.next(3_000);
                    let value = (0..len).map(|_| random.next(256) as u8).collect();
                    self.pieces.insert(key, value);
                }
                _ => {
                    let value = self.pieces.entry(key).or_default();
                    let at = random.next(value.len() as u64 + 1) as usize;
                    let gone = (random.next(5) as usize).min(value.len() - at);
                    let come: Vec<u8> = (0..random.next(5)).map(|byte| byte as u8).collect();
                    value.splice(at..at + gone, come);
                }
            }
        }
        self.head.generation += 1;
    }

    fn record(&mut self) {
        let whole = self.last.is_none() || self.recorder.needs_whole_state(self.head.time_ms);
        let before = self.last.take().filter(|_| !whole).unwrap_or_default();
        let mut record = match whole {
            true => StateRecord::whole(self.head),
            false => StateRecord::changed(self.head),
        };
        let keys = before.keys().chain(self.pieces.keys());
        let mut keys: Vec<&Vec<u8>> = keys.collect();
        keys.sort();
        keys.dedup();
        for key in keys {
            let (before, now) = (before.get(key), self.pieces.get(key));
            let (before, now) = (before.map(Vec::as_slice), now.map(Vec::as_slice));
            record.piece(key, before, now).expect("a small piece");
        }
        self.recorder.state(record).expect("room");
        self.last = Some(self.pieces.clone());
        self.acknowledged(None);
    }

    fn mark(&mut self, why: Mark) {
        self.recorder.mark_state(self.head, why).expect("room");
        let follows = !self.begins && self.head.time_ms >= self.last_ms;
        if follows {
            self.acknowledged(Some(why));
        }
    }

    fn acknowledged(&mut self, mark: Option<Mark>) {
        self.oracle.0.push(Recorded {
            head: self.head,
            begins: std::mem::take(&mut self.begins),
            mark,
            pieces: self.last.clone().unwrap_or_default(),
        });
        self.last_ms = self.head.time_ms;
    }

    /// Ends in the middle of a write, and begins again.
    fn kill(&mut self) {
        let newest = files(&self.dir.join("states")).pop();
        if let Some(newest) = newest {
            let mut bytes = fs::read(&newest).expect("a file of states");
            let torn = self.random.next(40).min(bytes.len() as u64 - 8) as usize;
            let torn = bytes[8..8 + torn].to_vec();
            bytes.extend(torn);
            fs::write(&newest, bytes).expect("a file");
        }
        // What is open is not closed.
        self.recorder = Recorder::open(&self.dir, self.budget).expect("a recorder");
        assert_eq!(self.recorder.warnings(), Vec::<String>::new());
        (self.last, self.begins) = (None, true);
        self.head.sweep = 1;
    }

    fn step(&mut self, what: u8) {
        self.head.time_ms += 1 + self.random.next(70_000) as i64;
        match what {
            0..=4 => {
                self.change();
                self.record();
            }
            5..=7 => self.mark(Mark::Still),
            8..=11 => {
                self.mark(Mark::SweepEnded);
                self.head.sweep += 1;
            }
            12 => self.head.time_ms += 2 * STATE_LASTS_MS,
            13 => self.head.time_ms -= self.random.next(1_000_000) as i64,
            14 => {
                self.mark(Mark::End);
                self.kill();
            }
            _ => self.kill(),
        }
    }

    fn ask(&self, question: StateQuestion) -> StateAnswer {
        let mut said = Vec::new();
        let answer = Reader::new(&self.dir).state(question, &mut |word| said.push(word));
        assert_eq!(said, Vec::<String>::new());
        answer.expect("an answer")
    }

    /// Compares what is read of a time; without a budget nothing may be missing.
    fn check(&self, time_ms: i64) {
        let expected = self.oracle.at(time_ms);
        match (self.ask(StateQuestion::At(time_ms)), expected) {
            (StateAnswer::Known(read), Some(expected)) => same(&read, expected, time_ms),
            (StateAnswer::Unknown { .. }, None) => {}
            (StateAnswer::Unknown { before: None, .. }, Some(_)) if self.budget < 16 << 20 => {
                let oldest = Reader::new(&self.dir).kept().expect("what is kept");
                let oldest = oldest.states.oldest_ms.expect("a state");
                assert!(time_ms < oldest, "{time_ms} is after {oldest}");
            }
            (read, expected) => panic!("at {time_ms}: {read:?} where {expected:?} was recorded"),
        }
    }
}

fn same(read: &PastState, expected: &Recorded, time_ms: i64) {
    let pieces = read.pieces.iter();
    let pieces: Pieces = pieces
        .map(|(key, value)| (key.clone(), value.to_vec()))
        .collect();
    assert_eq!(pieces, expected.pieces, "at {time_ms}");
    assert_eq!((read.time_ms, read.sweep), (time_ms, expected.head.sweep));
    assert!(read.since.time_ms <= expected.head.time_ms);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn the_state_of_any_time_is_as_it_was(
        seed in any::<u64>(),
        steps in proptest::collection::vec(0_u8..16, 1..120),
        small in any::<bool>(),
    ) {
        let dir = tempfile::tempdir().expect("a directory");
        let budget = if small { 1 << 20 } else { 1 << 30 };
        let mut daemon = Daemon::new(dir.path(), budget, seed);
        for step in steps {
            daemon.step(step);
            prop_assert!(bytes(dir.path()) <= budget);
        }
        prop_assert_eq!(daemon.recorder.usage().bytes, bytes(dir.path()));
        let times: Vec<i64> = daemon.oracle.0.iter().map(|one| one.head.time_ms).collect();
        for time in &times {
            for off in [-1, 0, 1, 30_000, STATE_LASTS_MS, STATE_LASTS_MS + 1] {
                daemon.check(time + off);
            }
        }
        if let Some(last) = times.last() {
            let answer = daemon.ask(StateQuestion::At(*last));
            prop_assert!(matches!(answer, StateAnswer::Known(_)), "the newest state stays");
        }
    }
}

#[test]
fn a_sweep_is_that_of_the_last_run_that_had_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut daemon = Daemon::new(dir.path(), 1 << 30, 5);
    for _ in 0..2 {
        for _ in 0..600 {
            daemon.head.time_ms += 10_000;
            daemon.change();
            daemon.record();
            daemon.head.time_ms += 1_000;
            daemon.mark(Mark::SweepEnded);
            daemon.head.time_ms += 1_000;
            daemon.mark(Mark::Still);
            daemon.head.sweep += 1;
        }
        daemon.kill();
    }
    assert!(files(&dir.path().join("states")).len() > 4, "several files");
    for sweep in [1, 2, 299, 600] {
        let of = |one: &&Recorded| one.head.sweep == sweep && one.mark == Some(Mark::SweepEnded);
        let expected = daemon.oracle.0.iter().rfind(of).expect("a sweep");
        let StateAnswer::Known(read) = daemon.ask(StateQuestion::Sweep(sweep)) else {
            panic!("sweep {sweep} is not known");
        };
        same(&read, expected, expected.head.time_ms);
    }
    let unknown = StateAnswer::Unknown {
        before: None,
        after: None,
    };
    assert_eq!(daemon.ask(StateQuestion::Sweep(601)), unknown);
}

#[test]
fn what_is_nearest_is_told_where_nothing_is_known() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut daemon = Daemon::new(dir.path(), 1 << 30, 6);
    let ask = |daemon: &Daemon, time: i64| match daemon.ask(StateQuestion::At(time)) {
        StateAnswer::Unknown { before, after } => (
            before.map(|head| head.time_ms - START),
            after.map(|head| head.time_ms - START),
        ),
        StateAnswer::Known(_) => panic!("{time} is known"),
    };
    assert_eq!(ask(&daemon, START), (None, None));
    daemon.change();
    daemon.record();
    daemon.head.time_ms += 60_000;
    daemon.mark(Mark::End);
    daemon.kill();
    daemon.head.time_ms += 5_000;
    daemon.record();
    assert_eq!(ask(&daemon, START - 1), (None, Some(0)));
    assert_eq!(ask(&daemon, START + 60_001), (Some(60_000), Some(65_000)));
    let after = START + 65_000 + STATE_LASTS_MS + 1;
    assert_eq!(ask(&daemon, after), (Some(65_000), None));
}

#[test]
fn a_flipped_bit_is_told_and_never_another_state() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut daemon = Daemon::new(dir.path(), 1 << 30, 7);
    for _ in 0..6 {
        daemon.change();
        daemon.record();
        daemon.head.time_ms += 10_000;
        daemon.mark(Mark::Still);
        daemon.head.time_ms += 10_000;
    }
    let file = files(&dir.path().join("states")).remove(0);
    let whole = fs::read(&file).expect("a file of states");
    let times: Vec<i64> = daemon.oracle.0.iter().map(|one| one.head.time_ms).collect();
    for bit in (64..8 * whole.len()).step_by(97) {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        fs::write(&file, &flipped).expect("a file");
        let mut lost = 0;
        for time in &times {
            let mut said = Vec::new();
            let reader = Reader::new(dir.path());
            let answer = reader.state(StateQuestion::At(time + 1), &mut |word| said.push(word));
            match answer.expect("an answer") {
                StateAnswer::Known(read) => {
                    let expected = daemon.oracle.at(time + 1).expect("what was recorded");
                    same(&read, expected, time + 1);
                }
                StateAnswer::Unknown { .. } => lost += 1,
            }
            let is_told = |word: &String| word.contains("is damaged");
            assert!(said.iter().all(is_told), "bit {bit}: {said:?}");
        }
        assert!(lost > 0, "bit {bit} is not seen");
    }
    fs::write(&file, &whole[..whole.len() / 2]).expect("a file");
    let mut recorder = Recorder::open(dir.path(), 1 << 30).expect("a recorder");
    assert!(recorder.warnings().is_empty(), "a torn tail is cut");
}

#[test]
fn a_state_larger_than_its_share_pushes_nothing_out() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut daemon = Daemon::new(dir.path(), 1 << 20, 8);
    daemon.change();
    daemon.record();
    let mut record = StateRecord::whole(daemon.head);
    let large: Vec<u8> = (0..300_000)
        .map(|_| daemon.random.next(256) as u8)
        .collect();
    record.piece(b"large", None, Some(&large)).expect("a piece");
    let refused = daemon.recorder.state(record).expect_err("too large");
    let refused = refused.to_string();
    assert!(
        refused.ends_with("do not fit into the budget of 131072 bytes"),
        "{refused}"
    );
    daemon.head.time_ms += 1_000;
    // Nothing says that it is still as before.
    daemon
        .recorder
        .mark_state(daemon.head, Mark::Still)
        .expect("room");
    daemon.check(daemon.head.time_ms - 1_000);
    (daemon.begins, daemon.last_ms) = (true, i64::MAX);
    daemon.head.time_ms += 1_000;
    daemon.change();
    daemon.record();
    daemon.check(daemon.head.time_ms - 1);
    daemon.check(daemon.head.time_ms);
}
