//! What should be read, by what the process said before it was killed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use weft_history::audit::{self, AuditLog};
use weft_history::{
    EventRow, Kept, PortKey, Reader, Recorder, Resolution, Sample, StateAnswer, StateQuestion,
    Table,
};

use super::work::{self, Work};
use super::{BUDGET, Line};
use crate::model::{bytes, files};

/// Steps before the first piece of work of a process that are looked at again after its end.
const LOOK_BACK: u64 = 40;

/// What has been acknowledged, and what of the rest turned out to be there.
#[derive(Debug)]
pub(super) struct Known {
    dir: PathBuf,
    /// Numbers of readings, events and states.
    there: BTreeSet<u64>,
    next: u64,
    /// Hashes of requests by their sequence numbers, and whether they have ended.
    changes: BTreeMap<u64, (String, bool)>,
}

impl Known {
    pub(super) fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            there: BTreeSet::new(),
            next: 0,
            changes: BTreeMap::new(),
        }
    }

    /// The number of the next piece of work.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    fn history(&self) -> PathBuf {
        self.dir.join("history")
    }

    fn reader(&self) -> Reader {
        Reader::new(&self.history())
    }

    /// Whether a segment of readings or events is half written, and whether a roll-up is.
    pub(super) fn half_written(&self) -> [bool; 2] {
        let history = self.history();
        let mut half = [false; 2];
        // It may have been killed before it made its directory.
        if !history.is_dir() {
            return half;
        }
        for file in files(&history) {
            let is_in = |dir| file.parent().is_some_and(|parent| parent.ends_with(dir));
            if file.extension().is_some_and(|kind| kind == "tmp") {
                half[usize::from(!is_in("image") && !is_in("events"))] = true;
            }
        }
        half
    }

    /// Takes what the process said, and compares what it wrote.
    pub(super) fn take(&mut self, said: Vec<Line>) {
        let first = self.next;
        let mut under_way = None;
        for line in said {
            match line {
                Line::Begin(number) => {
                    self.next = number + 1;
                    under_way = Some(number);
                }
                Line::Done(number) => {
                    self.there.insert(number);
                    under_way = None;
                }
                Line::Asked(sequence, hash) => {
                    self.changes.insert(sequence, (hash, false));
                }
                Line::Ended(of) => self.changes.get_mut(&of).expect("a request").1 = true,
                Line::Open | Line::Other => {}
            }
        }
        // It may have been killed before it made its directory.
        if self.history().is_dir() {
            let used = bytes(&self.history());
            assert!(used <= BUDGET, "{used} bytes");
            self.check_recent(first.saturating_sub(LOOK_BACK), under_way);
        }
    }

    /// Compares what was written of late. What was under way is there as a whole, or not at all.
    fn check_recent(&mut self, from: u64, under_way: Option<u64>) {
        let numbers: BTreeSet<u64> = (from..self.next).collect();
        if let Some(number) = under_way
            && self.is_there(number)
        {
            self.there.insert(number);
        }
        let span = (work::time_ms(from) - 1, i64::MAX / 4);
        for (key, samples) in work::ports().into_iter().zip(self.samples(span)) {
            let read: BTreeSet<u64> = samples.iter().map(|one| valid(key, one)).collect();
            assert_eq!(read, &self.readings(key) & &numbers, "{key:?}");
        }
        self.check_events(span);
        for number in self.there.range(from..) {
            self.check_state(*number);
        }
    }

    /// Compares everything.
    pub(super) fn check_all(&mut self) {
        // Whoever opens the files after a kill finds no damage.
        let mut recorder = Recorder::open(&self.history(), BUDGET).expect("a recorder");
        assert_eq!(recorder.warnings(), Vec::<String>::new());
        assert!(bytes(&self.history()) <= BUDGET);
        drop(recorder);
        let kept = self.reader().kept().expect("what is kept");
        let all = self.samples((0, i64::MAX / 4));
        for (key, samples) in work::ports().into_iter().zip(all) {
            let read: BTreeSet<u64> = samples.iter().map(|one| valid(key, one)).collect();
            assert_eq!(read.len(), samples.len(), "{key:?}");
            self.check_readings(key, &read, &kept);
        }
        let events = oldest_ms(&kept, Table::Events);
        self.check_events((events.unwrap_or(0), i64::MAX / 4));
        let states = kept.states.oldest_ms.unwrap_or(i64::MAX);
        for number in &self.there {
            if work::time_ms(*number) >= states {
                self.check_state(*number);
            }
        }
        self.check_changes();
    }

    fn samples(&self, span: (i64, i64)) -> Vec<Vec<Sample>> {
        let mut warn = |word| panic!("{word}");
        let samples = self.reader().samples(&work::ports(), span, 0, &mut warn);
        samples.expect("readings")
    }

    fn events(&self, span: (i64, i64)) -> Vec<EventRow> {
        let mut events = Vec::new();
        let mut sink = |event| {
            events.push(event);
            true
        };
        let mut warn = |word| panic!("{word}");
        let read = self
            .reader()
            .events(span, &Default::default(), &mut sink, &mut warn);
        read.expect("events");
        events
    }

    fn state(&self, number: u64) -> StateAnswer {
        let question = StateQuestion::At(work::time_ms(number));
        let mut warn = |word| panic!("{word}");
        let answer = self.reader().state(question, &mut warn);
        answer.expect("an answer")
    }

    /// Whether a piece of work that was not acknowledged is there.
    fn is_there(&self, number: u64) -> bool {
        let time_ms = work::time_ms(number);
        match Work::of(number) {
            Work::Reading => {
                let samples = self.samples((time_ms - 1, time_ms));
                samples.iter().any(|samples| !samples.is_empty())
            }
            Work::Events => !self.events((time_ms, time_ms)).is_empty(),
            Work::State => match self.state(number) {
                StateAnswer::Known(state) => state.since.generation == number,
                StateAnswer::Unknown { .. } => false,
            },
            Work::Still => false,
        }
    }

    /// Readings that have a port.
    fn readings(&self, key: PortKey) -> BTreeSet<u64> {
        let has = |number: &&u64| {
            Work::of(**number) == Work::Reading
                && work::reading(**number).iter().any(|row| row.key == key)
        };
        self.there.iter().filter(has).copied().collect()
    }

    /// Of each time there is what the finest table that is kept has: all readings, or the last of each period.
    fn check_readings(&self, key: PortKey, read: &BTreeSet<u64>, kept: &Kept) {
        let expected = self.readings(key);
        let invented: Vec<&u64> = read.difference(&expected).collect();
        assert_eq!(invented, Vec::<&u64>::new(), "{key:?}");
        let mut until = i64::MAX;
        for resolution in Resolution::ALL {
            let Some(oldest) = oldest_ms(kept, Table::Counters(resolution)) else {
                continue;
            };
            let mut last = BTreeMap::new();
            for number in &expected {
                let time_ms = work::time_ms(*number);
                let period = time_ms - time_ms.rem_euclid(resolution.period_ms().max(1));
                if period >= oldest {
                    last.insert(period, *number);
                }
            }
            // Later ones are those of a finer table.
            last.retain(|_, number| work::time_ms(*number) < until);
            let lost: Vec<&u64> = last
                .values()
                .filter(|number| !read.contains(number))
                .collect();
            assert_eq!(lost, Vec::<&u64>::new(), "{key:?} of {resolution:?}");
            until = until.min(oldest);
        }
    }

    fn check_events(&self, (from_ms, to_ms): (i64, i64)) {
        let times = |number: &&u64| (from_ms..to_ms).contains(&work::time_ms(**number));
        let there = self.there.iter().filter(times);
        let there = there.filter(|number| Work::of(**number) == Work::Events);
        let expected: Vec<EventRow> = there.flat_map(|number| work::events(*number)).collect();
        assert!(self.events((from_ms, to_ms)) == expected);
    }

    fn check_state(&self, number: u64) {
        if Work::of(number) != Work::State {
            return;
        }
        let StateAnswer::Known(state) = self.state(number) else {
            panic!("nothing is known of state {number}");
        };
        assert_eq!(state.since.generation, number);
        let pieces = state.pieces.iter();
        let pieces = pieces.map(|(key, value)| (key.to_vec(), value.to_vec()));
        assert!(pieces.eq(work::state(number)), "state {number}");
    }

    /// Every request that was acknowledged is in the chain, with its outcome, and the chain is whole.
    fn check_changes(&self) {
        let dir = self.dir.join("audit");
        drop(AuditLog::open(&dir).expect("a record of changes"));
        let verdict = audit::verify(&dir, None).expect("a verdict");
        assert_eq!(verdict.faults, []);
        let mut read = BTreeMap::new();
        let mut take = |record: audit::Record| {
            read.insert(
                record.sequence,
                (record.hash.to_string(), record.ended.is_some()),
            );
        };
        audit::read(&dir, (0, u64::MAX), &mut take).expect("requests");
        for (sequence, (hash, ended)) in self.changes.range(verdict.first..) {
            let (found, has_ended) = read.get(sequence).expect("a request that was acknowledged");
            assert!(
                found == hash && (*has_ended || !ended),
                "request {sequence}"
            );
        }
    }
}

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (there, changes) = (self.there.len(), self.changes.len());
        write!(
            f,
            "{there} of {} pieces of work are there, {changes} changes",
            self.next
        )
    }
}

/// The number of a reading that has just what it should.
fn valid(key: PortKey, sample: &Sample) -> u64 {
    let number = work::number(sample.time_ms).expect("a time of a reading");
    let row = work::reading(number).into_iter().find(|row| row.key == key);
    assert_eq!(row.map(|row| row.values), Some(sample.values), "{key:?}");
    number
}

fn oldest_ms(kept: &Kept, table: Table) -> Option<i64> {
    let kept = kept.tables.iter().find(|one| one.table == table);
    kept.and_then(|one| one.oldest_ms)
}
