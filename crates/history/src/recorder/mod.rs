//! The writing end.
//!
//! | module | contents |
//! |---|---|
//! | `counters`, `events` | the open log of a table, and how it becomes a segment |
//! | `states` | states, in files of their own |
//! | `files` | all files, and room for more |

mod counters;
mod events;
mod files;
mod logs;
mod states;

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::budget::STATES_SHARE;
use crate::error::HistoryError;
use crate::gaps::{Gap, Gaps};
use crate::log::{LogFile, encode_events, encode_image};
use crate::row::{EventRow, PortRow};
use crate::segment::SegmentName;
use crate::states::{Flags, StateHead, StateRecord, encode_mark};
use crate::tables::{Resolution, Table};
use counters::OpenCounters;
use events::OpenEvents;
pub use files::Usage;
use files::{Files, make_dir};
use states::States;

/// Least budget, bytes.
pub const BUDGET_MIN: u64 = 1 << 20;
/// Times that can be recorded, milliseconds since 1970: up to the year 5138.
const TIME_MAX_MS: i64 = 100_000_000_000_000;
/// Milliseconds of a segment of readings.
const SEGMENT_MS: i64 = 600_000;
/// Milliseconds of a segment of events.
const DAY_MS: i64 = 86_400_000;
/// Bytes above which a log is closed early; less where the budget is small.
const LOG_MAX: u64 = 128 << 20;
const EVENT_LOG_MAX: u64 = 4 << 20;

/// Why it is said that a state is still so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Time has passed: at least each [`STATE_LASTS_MS`](crate::STATE_LASTS_MS).
    Still,
    /// A sweep has ended.
    SweepEnded,
    /// Nothing more is recorded: of the time after it nothing is known.
    End,
}

/// Writes a history.
#[derive(Debug)]
pub struct Recorder {
    root: PathBuf,
    files: Files,
    counters: OpenCounters,
    events: OpenEvents,
    states: States,
    gaps: Gaps,
    /// Of each resolution: whether the last roll-up to it did not fit into the budget.
    lacks_room: [bool; Resolution::ALL.len()],
    warnings: Vec<String>,
}

impl Recorder {
    /// Opens the history in a directory, or begins one, with a budget of bytes for all its files.
    ///
    /// # Errors
    /// That the directory cannot be read or written.
    pub fn open(root: &Path, budget: u64) -> Result<Self, HistoryError> {
        if budget < BUDGET_MIN {
            let why = format!("a budget of {budget} bytes: at least {BUDGET_MIN}");
            return Err(HistoryError::Input(why));
        }
        for table in Table::ALL {
            make_dir(&table.dir(root))?;
        }
        let mut warnings = Vec::new();
        let (gaps, damage) = Gaps::open(root)?;
        warnings.extend(damage);
        let mut files = Files::open(root, budget)?;
        let counters = OpenCounters::open(root, &mut files, &mut warnings)?;
        let events = OpenEvents::open(root, &mut files, &mut warnings)?;
        let states = States::open(root, &mut warnings)?;
        let mut recorder = Self {
            root: root.to_owned(),
            files,
            counters,
            events,
            states,
            gaps,
            lacks_room: [false; Resolution::ALL.len()],
            warnings,
        };
        recorder.make_room(0)?;
        Ok(recorder)
    }

    /// What was found damaged, and that roll-ups begin not to fit into the budget, in words, once.
    pub fn warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// Records a reading of the counters; `ports` are in order of GUID and port, the time is in milliseconds since 1970.
    /// When that returns, it is on the disk. A reading of the same time as the one before is left out.
    ///
    /// # Errors
    /// Why it is not recorded; nothing of it is.
    pub fn image(&mut self, time_ms: i64, ports: Vec<PortRow>) -> Result<(), HistoryError> {
        if !(0..TIME_MAX_MS).contains(&time_ms) || !ports.is_sorted_by(|a, b| a.key < b.key) {
            let why = format!("a reading at {time_ms} ms whose ports are not in order");
            return Err(HistoryError::Input(why));
        }
        if self.counters.last_ms == Some(time_ms) {
            return Ok(());
        }
        self.note_gap(time_ms)?;
        if self
            .counters
            .ends_before(time_ms, LOG_MAX.min(self.files.budget / 16))
        {
            self.close_counters()?;
        }
        let payload = encode_image(time_ms, &self.counters.rows, &ports);
        self.make_room(LogFile::cost(&payload))?;
        self.counters.log.append(&payload)?;
        self.counters.appended(time_ms, ports);
        Ok(())
    }

    /// Records events, in their order. When that returns, they are on the disk.
    ///
    /// # Errors
    /// Why they are not recorded; none of them is.
    pub fn events(&mut self, events: &[EventRow]) -> Result<(), HistoryError> {
        let Some(first) = events.first() else {
            return Ok(());
        };
        let is_time = |event: &EventRow| (0..TIME_MAX_MS).contains(&event.time_ms);
        if !events.iter().all(is_time) {
            return Err(HistoryError::Input("events without a time".to_owned()));
        }
        if self
            .events
            .ends_before(first.time_ms, EVENT_LOG_MAX.min(self.files.budget / 64))
        {
            self.close_events()?;
        }
        let payload = encode_events(events);
        self.make_room(LogFile::cost(&payload))?;
        self.events.log.append(&payload)?;
        self.events.appended(first.time_ms);
        Ok(())
    }

    /// Whether the next state, of this time, must be a whole one ([`StateRecord::whole`]).
    pub fn needs_whole_state(&self, time_ms: i64) -> bool {
        self.states.must_be_whole(time_ms)
    }

    /// Records a state; what has changed in it is since the last one that was recorded. When that returns, it is on the
    /// disk.
    ///
    /// # Errors
    /// Why it is not recorded; nothing of it is. Of the time up to the next one nothing is known then.
    pub fn state(&mut self, record: StateRecord) -> Result<(), HistoryError> {
        let recorded = self.try_state(record);
        if recorded.is_err() {
            self.states.lost();
        }
        recorded
    }

    fn try_state(&mut self, record: StateRecord) -> Result<(), HistoryError> {
        let (time_ms, whole) = (record.head().time_ms, record.is_whole());
        let payloads = self.states.payloads(record)?;
        let needed = payloads.iter().map(|payload| LogFile::cost(payload)).sum();
        // One that is larger than all of them may be would push everything else out.
        let budget = self.files.budget / 16 * STATES_SHARE;
        if needed > budget {
            return Err(HistoryError::Budget { needed, budget });
        }
        self.make_room(needed)?;
        self.states.append(time_ms, whole, &payloads)
    }

    /// Records that the last state is still so. After a state that could not be recorded that does nothing.
    ///
    /// # Errors
    /// Why it is not recorded.
    pub fn mark_state(&mut self, state: StateHead, why: Mark) -> Result<(), HistoryError> {
        let flags = Flags {
            sweep_ended: why == Mark::SweepEnded,
            ends: why == Mark::End,
            ..Flags::default()
        };
        self.make_room(LogFile::cost(&encode_mark(state, flags)))?;
        self.states.mark(state, flags)
    }

    /// Records a time of which nothing is known.
    ///
    /// # Errors
    /// Why it is not recorded.
    pub fn gap(&mut self, gap: Gap) -> Result<(), HistoryError> {
        self.make_room(Gaps::cost())?;
        self.gaps.add(gap)
    }

    /// Time of the last reading, milliseconds since 1970.
    pub fn last_ms(&self) -> Option<i64> {
        self.counters.last_ms
    }

    /// What the files take.
    pub fn usage(&self) -> Usage {
        let logs = [
            (
                Table::Counters(Resolution::Image),
                &self.counters.log,
                self.counters.first_ms,
            ),
            (Table::Events, &self.events.log, self.events.first_ms),
        ];
        let mut usage = self.files.usage(logs, self.gaps.len());
        usage.states = self.states.bytes();
        usage.bytes += usage.states;
        let oldest = [usage.oldest_ms, self.states.oldest_ms()];
        usage.oldest_ms = oldest.into_iter().flatten().min();
        usage
    }

    /// Makes segments of the open logs.
    ///
    /// # Errors
    /// Why they are as before.
    pub fn close(&mut self) -> Result<(), HistoryError> {
        self.close_counters()?;
        self.close_events()
    }

    /// Notes that the clock or the readings have jumped.
    fn note_gap(&mut self, time_ms: i64) -> Result<(), HistoryError> {
        let Some(last) = self.counters.last_ms else {
            return Ok(());
        };
        let seconds = (last - time_ms) / 1000;
        let why = match time_ms < last {
            true => format!(
                "the clock went back by {seconds} s: what was recorded before for these times is no longer shown"
            ),
            false if time_ms - last > self.counters.usual_ms() => {
                "no counters were read: the daemon did not run or could not, or the clock went forward".to_owned()
            }
            false => return Ok(()),
        };
        let gap = Gap {
            from_ms: last.min(time_ms),
            to_ms: last.max(time_ms),
            why,
        };
        // Of a reading that is tried again it is there already.
        match self.gaps.kept.last() == Some(&gap) {
            true => Ok(()),
            false => self.gap(gap),
        }
    }

    fn close_counters(&mut self) -> Result<(), HistoryError> {
        if !self.counters.log.has_frames() {
            return Ok(());
        }
        let limit = self.left();
        self.counters.close(&self.root, &mut self.files, limit)?;
        self.roll_up_all()?;
        self.make_room(0)
    }

    fn close_events(&mut self) -> Result<(), HistoryError> {
        if !self.events.log.has_frames() {
            return Ok(());
        }
        let limit = self.left();
        self.events.close(&self.root, &mut self.files, limit)?;
        self.make_room(0)
    }

    /// Rolls up all segments that are enough for a coarser one, as far as there is room.
    fn roll_up_all(&mut self) -> Result<(), HistoryError> {
        for resolution in Resolution::ALL {
            while let Some((_, count)) = resolution.coarser()
                && self.files.not_rolled_up(resolution).len() >= count
            {
                match self.roll_up(resolution, count) {
                    // No reading is lost for that: it is tried again, unless what it is made of has to go first.
                    Err(error) if error.is_over_limit() => break,
                    rolled_up => rolled_up?,
                }
            }
        }
        Ok(())
    }

    /// Rolls up the oldest segments of a resolution that are not yet.
    fn roll_up(&mut self, from: Resolution, count: usize) -> Result<(), HistoryError> {
        let Some((to, _)) = from.coarser() else {
            return Ok(());
        };
        let mut segments = self.files.not_rolled_up(from);
        segments.truncate(count);
        let (table, limit) = (Table::Counters(to), self.left());
        let made = crate::rollup::roll_up(&segments, (from, to), &table.dir(&self.root), limit);
        if let Err(error @ HistoryError::Damaged { .. }) = &made {
            self.set_aside(from, error)?;
            return Ok(());
        }
        match &made {
            Err(error) if error.is_over_limit() => self.warn_of_room(to),
            made => self.lacks_room[to as usize] &= made.is_err(),
        }
        made?;
        self.files.list(table)
    }

    /// Warns once that roll-ups to a resolution do not fit into the budget, until one does.
    fn warn_of_room(&mut self, to: Resolution) {
        if !std::mem::replace(&mut self.lacks_room[to as usize], true) {
            let (seconds, budget) = (to.period_ms() / 1000, self.files.budget);
            self.warnings.push(format!(
                "counters of each {seconds} s do not fit into the budget of {budget} bytes: those that they are made \
                 of may be removed without them"
            ));
        }
    }

    /// Takes a damaged segment out of the table.
    fn set_aside(
        &mut self,
        resolution: Resolution,
        error: &HistoryError,
    ) -> Result<(), HistoryError> {
        let HistoryError::Damaged { path, .. } = error else {
            return Ok(());
        };
        let aside = path.with_extension("parquet.damaged");
        std::fs::rename(path, &aside).map_err(HistoryError::io(path))?;
        let aside = aside.display();
        self.warnings
            .push(format!("{error}; it is set aside as {aside}"));
        self.files.list(Table::Counters(resolution))
    }

    /// Bytes that all files take.
    fn total(&self) -> u64 {
        let logs = self.counters.log.len() + self.events.log.len() + self.gaps.len();
        self.files.closed() + logs + self.states.bytes()
    }

    /// Bytes that may still be written.
    fn left(&self) -> u64 {
        self.files.budget.saturating_sub(self.total())
    }

    /// Removes files until so many bytes can be written, and after them the segments of the open logs and a roll-up.
    fn make_room(&mut self, bytes: u64) -> Result<(), HistoryError> {
        let budget = self.files.budget;
        let logs = self.counters.log.len() + self.events.log.len();
        while self.left() < bytes.saturating_mul(2) + logs + budget / 16 {
            let states_above = self.states.closed_bytes() > budget / 16 * STATES_SHARE;
            if states_above && self.states.remove_oldest()? {
                continue;
            }
            let Some((table, path)) = self.files.victim() else {
                match self.states.remove_oldest()? {
                    true => continue,
                    false => break,
                }
            };
            match table {
                Table::Counters(resolution) if self.is_not_rolled_up(resolution, &path) => {
                    let count = resolution.coarser().map_or(1, |(_, count)| count);
                    // Without room for that it goes without.
                    if self.roll_up(resolution, count).is_err() {
                        self.files.remove(table, &path)?;
                    }
                }
                _ => self.files.remove(table, &path)?,
            }
        }
        match bytes <= self.left() {
            true => Ok(()),
            false => Err(HistoryError::Budget {
                needed: bytes,
                budget,
            }),
        }
    }

    fn is_not_rolled_up(&self, resolution: Resolution, path: &Path) -> bool {
        let segments = self.files.not_rolled_up(resolution);
        resolution.coarser().is_some() && segments.iter().any(|(_, one)| one == path)
    }
}

#[cfg(test)]
mod tests;
