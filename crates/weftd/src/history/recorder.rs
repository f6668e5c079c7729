//! The thread that writes.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use tokio::sync::mpsc;
use tracing::warn;
use weft_history::{EventRow, Gap, HistoryError, PortRow, Recorder};

use super::rows::{event_row, port_rows};
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
        failing: None,
    };
    // What is kept is there before the first reading.
    let opened = writer.write(|_| Ok(()));
    writer.told(opened);
    while let Some(work) = queue.blocking_recv() {
        let mut next = Some(work);
        while let Some(work) = next.take() {
            writer.take(work);
            if writer.pending.len() < BATCH_MAX {
                next = queue.try_recv().ok();
            }
        }
        let written = writer.events();
        writer.told(written);
    }
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
    failing: Option<Failing>,
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
                self.told(written);
            }
        }
    }

    fn reading(&mut self, time_ms: i64, rows: Vec<PortRow>) -> Result<(), HistoryError> {
        let count = rows.len() as u64;
        let gap = self.failing.as_ref().map(|failing| Gap {
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

    /// Tells that nothing can be written, or that it can again: each once.
    fn told(&mut self, written: Result<(), HistoryError>) {
        match (written, self.failing.take()) {
            (Err(_), failing @ Some(_)) => self.failing = failing,
            (Err(error), None) => {
                let why = error.to_string();
                self.history.state().failure.clone_from(&why);
                self.failing = Some(Failing {
                    after_ms: self.recorder.as_ref().and_then(Recorder::last_ms),
                    since_ns: unix_time_ns(),
                    why: why.clone(),
                });
                self.hub.tell(DaemonEvent::HistoryUnwritten { why });
            }
            (Ok(()), Some(failing)) => {
                self.history.state().failure.clear();
                let seconds = unix_time_ns().saturating_sub(failing.since_ns) / 1_000_000_000;
                self.hub.tell(DaemonEvent::HistoryWritten { seconds });
            }
            (Ok(()), None) => {}
        }
    }
}
