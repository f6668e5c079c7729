//! The thread that writes.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use tokio::sync::mpsc;
use tracing::warn;
use weft_history::{EventRow, Gap, HistoryError, PortRow, Recorder};

use super::rows::{event_row, port_rows};
use super::states::{Recorded, Seen};
use super::{History, Work};
use crate::event::DaemonEvent;
use crate::event_hub::{EventHub, unix_time_ns};

/// Events that wait while nothing can be written; above that the oldest are dropped.
const PENDING_MAX: usize = 4_096;
/// Events of one write.
const BATCH_MAX: usize = 512;

/// Records what comes until no more can.
pub(super) fn run(history: &History, hub: &EventHub, mut queue: mpsc::Receiver<Work>) {
    let mut writer = Writer {
        history,
        hub,
        recorder: None,
        pending: VecDeque::new(),
        failing: [None, None],
        recorded: Recorded::default(),
    };
    // What is kept is there before the first reading.
    let opened = writer.write(|_| Ok(()));
    writer.told(Kept::Rows, opened);
    while let Some(work) = queue.blocking_recv() {
        let mut next = Some(work);
        while let Some(work) = next.take() {
            writer.take(work);
            if writer.pending.len() < BATCH_MAX {
                next = queue.try_recv().ok();
            }
        }
        let written = writer.events();
        writer.told(Kept::Rows, written);
    }
    writer.end();
}

/// What is written of its own: one may be possible where the other is not.
#[derive(Debug, Clone, Copy)]
enum Kept {
    /// Counters and events.
    Rows,
    /// States of the fabric.
    States,
}

/// Since when nothing can be written.
struct Failing {
    /// The last reading that was, milliseconds since 1970.
    after_ms: Option<i64>,
    since_ns: u64,
    why: String,
}

struct Writer<'a> {
    history: &'a History,
    hub: &'a EventHub,
    recorder: Option<Recorder>,
    pending: VecDeque<EventRow>,
    /// By [`Kept`].
    failing: [Option<Failing>; 2],
    recorded: Recorded,
}

impl Writer<'_> {
    fn take(&mut self, work: Work) {
        match work {
            Work::Event(event) => {
                self.pending.extend(event_row(self.hub.run, &event));
                if self.pending.len() > PENDING_MAX {
                    self.pending.pop_front();
                    self.history.events_dropped.fetch_add(1, Ordering::Relaxed);
                }
            }
            Work::Reading(totals) => {
                self.history
                    .readings_waiting
                    .fetch_sub(1, Ordering::Relaxed);
                let (time_ms, rows) = port_rows(&totals);
                let written = self.reading(time_ms, rows);
                if written.is_err() {
                    self.history
                        .readings_dropped
                        .fetch_add(1, Ordering::Relaxed);
                }
                self.told(Kept::Rows, written);
            }
            Work::Seen(seen) => self.seen(seen),
        }
    }

    fn seen(&mut self, seen: Seen) {
        let is_state = matches!(seen, Seen::State(_));
        if is_state {
            self.history.states_waiting.fetch_sub(1, Ordering::Relaxed);
        }
        let mut recorded = std::mem::take(&mut self.recorded);
        let written = recorded.record(seen, &mut |work| self.write(work));
        self.recorded = recorded;
        match &written {
            Ok(true) => self.history.state().states += 1,
            Err(_) if is_state => {
                self.history.states_dropped.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
        self.told(Kept::States, written.map(|_| ()));
    }

    /// Says that nothing more is recorded.
    fn end(&mut self) {
        let recorded = std::mem::take(&mut self.recorded);
        let written = recorded.end(&mut |work| self.write(work));
        self.told(Kept::States, written);
    }

    fn reading(&mut self, time_ms: i64, rows: Vec<PortRow>) -> Result<(), HistoryError> {
        let count = rows.len() as u64;
        let gap = self.failing[Kept::Rows as usize]
            .as_ref()
            .map(|failing| Gap {
                from_ms: failing.after_ms.unwrap_or(time_ms),
                to_ms: time_ms,
                why: failing.why.clone(),
            });
        self.write(|recorder| {
            recorder.image(time_ms, rows)?;
            gap.map_or(Ok(()), |gap| recorder.gap(gap))
        })?;
        let mut state = self.history.state();
        (state.readings, state.rows) = (state.readings + 1, state.rows + count);
        Ok(())
    }

    fn events(&mut self) -> Result<(), HistoryError> {
        while !self.pending.is_empty() {
            let batch: Vec<EventRow> = self.pending.iter().take(BATCH_MAX).cloned().collect();
            self.write(|recorder| recorder.events(&batch))?;
            self.pending.drain(..batch.len());
            self.history.state().events += batch.len() as u64;
        }
        Ok(())
    }

    /// Writes by the recorder, which is opened again where its files have gone.
    fn write(
        &mut self,
        work: impl FnOnce(&mut Recorder) -> Result<(), HistoryError>,
    ) -> Result<(), HistoryError> {
        let place = &self.history.place;
        let mut recorder = match self.recorder.take() {
            Some(recorder) if place.dir.is_dir() => recorder,
            _ => Recorder::open(&place.dir, place.budget)?,
        };
        let worked = work(&mut recorder);
        for said in recorder.warnings() {
            warn!(event = "history_damaged", "history: {said}");
        }
        let mut state = self.history.state();
        state.usage = recorder.usage();
        if worked.is_ok() {
            state.written_unix_s = unix_time_ns() / 1_000_000_000;
        }
        drop(state);
        self.recorder = Some(recorder);
        worked
    }

    /// Tells that something cannot be written, or that all can again: each once.
    fn told(&mut self, kept: Kept, written: Result<(), HistoryError>) {
        let was_failing = self.failing.iter().any(Option::is_some);
        let slot = &mut self.failing[kept as usize];
        match (written, slot.take()) {
            (Err(_), failing @ Some(_)) => *slot = failing,
            (Err(error), None) => {
                let why = match kept {
                    Kept::Rows => error.to_string(),
                    Kept::States => format!("the state of the fabric: {error}"),
                };
                *slot = Some(Failing {
                    after_ms: self.recorder.as_ref().and_then(Recorder::last_ms),
                    since_ns: unix_time_ns(),
                    why: why.clone(),
                });
                self.history.state().failure.clone_from(&why);
                if !was_failing {
                    self.hub.tell(DaemonEvent::HistoryUnwritten { why });
                }
            }
            (Ok(()), Some(failing)) => {
                let other = self.failing.iter().flatten().next();
                let why = other.map_or_else(String::new, |failing| failing.why.clone());
                let all = why.is_empty();
                self.history.state().failure = why;
                if all {
                    let seconds = unix_time_ns().saturating_sub(failing.since_ns) / 1_000_000_000;
                    self.hub.tell(DaemonEvent::HistoryWritten { seconds });
                }
            }
            (Ok(()), None) => {}
        }
    }
}
