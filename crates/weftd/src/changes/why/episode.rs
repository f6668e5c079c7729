//! An event with those around it: what came before, and the rest of its sweep.

use std::collections::VecDeque;

use weft_history::{EventFilter, HistoryError};

use super::super::Sources;
use super::super::happened::{Happened, KINDS, Running};

/// Events before the one that is asked about, and after it in its sweep. Of a larger sweep the first are told.
const BEFORE_MAX: usize = 512;
const AFTER_MAX: usize = 512;

/// Kinds besides those of changes.
const MORE: [&str; 2] = ["sweep_started", "trap"];

/// Events of one run of the daemon, in order.
pub(super) struct Episode {
    events: Vec<Happened>,
    /// Place of the one that is asked about.
    at: usize,
}

impl Episode {
    /// The event of this run and number; none where it is not kept.
    pub(super) fn around(
        sources: &Sources<'_>,
        (run, sequence): (u64, u64),
        warnings: &mut Vec<String>,
    ) -> Result<Option<Self>, HistoryError> {
        let Some(reader) = &sources.history else {
            return Ok(None);
        };
        let mut running = Running::default();
        let mut events: VecDeque<Happened> = VecDeque::new();
        let mut at = None;
        let mut sink = |row: weft_history::EventRow| {
            if row.run != run {
                return at.is_none();
            }
            let is_it = row.sequence == sequence;
            let event = Happened::of(row, &mut running, sources.name_of);
            if !is_it && !is_told(&event) {
                return true;
            }
            let ends = event.row.kind == "sweep_ended";
            let sweep = event.sweep;
            events.push_back(event);
            match at {
                None if is_it => {
                    at = Some(events.len() - 1);
                    sweep > 0 && !ends
                }
                None => {
                    if events.len() > BEFORE_MAX {
                        events.pop_front();
                    }
                    true
                }
                Some(at) => !ends && events.len() < at + AFTER_MAX,
            }
        };
        let all = EventFilter::default();
        reader.events((0, i64::MAX), &all, &mut sink, &mut |word| {
            warnings.push(word)
        })?;
        let events = events.into();
        Ok(at.map(|at| Self { events, at }))
    }

    /// The event that is asked about.
    pub(super) fn event(&self) -> &Happened {
        &self.events[self.at]
    }

    /// An event of its sweep.
    pub(super) fn of_sweep(&self, kind: &str) -> Option<&Happened> {
        let mut events = self.sweep();
        events.find(|event| event.row.kind == kind)
    }

    /// Events of its sweep, in order; none where it is of no sweep.
    pub(super) fn sweep(&self) -> impl Iterator<Item = &Happened> {
        let sweep = self.event().sweep;
        let events = self.events.iter();
        events.filter(move |event| sweep > 0 && event.sweep == sweep)
    }

    /// Events before its sweep began, or before it where it is of no sweep, the newest first.
    pub(super) fn before(&self) -> impl Iterator<Item = &Happened> {
        let begin = self.of_sweep("sweep_started");
        let begin = begin.map_or(self.event().row.sequence, |begin| begin.row.sequence);
        let events = self.events.iter().rev();
        events.filter(move |event| event.row.sequence < begin)
    }

    /// Events of its sweep and before it, the newest first.
    pub(super) fn until_its_end(&self) -> impl Iterator<Item = &Happened> {
        let sweep: Vec<&Happened> = self.sweep().collect();
        sweep.into_iter().rev().chain(self.before())
    }
}

/// Whether an event may be a cause, or bounds a sweep.
fn is_told(event: &Happened) -> bool {
    let kind = event.row.kind.as_str();
    KINDS.contains(&kind) || MORE.contains(&kind)
}
