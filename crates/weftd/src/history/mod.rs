//! Counters, events and the fabric's states of the past, in files on this host.
//!
//! A task follows the totals of counters, the events and what is published, and hands them to a thread that writes: neither the manager nor
//! a reader of the API ever waits for the disk. What the thread has no time for is dropped and counted.
//!
//! | module | contents |
//! |---|---|
//! | `args` | options |
//! | `recorder` | the thread, and what it does when it cannot write |
//! | `rows` | totals and events as rows |
//! | `states` | states of the fabric, and what of them has changed |
//! | `metrics` | metrics |

mod args;
mod metrics;
mod recorder;
mod rows;
mod states;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{mpsc, watch};
use tokio::time::MissedTickBehavior;
use tracing::warn;
use weft_api::v1::watch_response::Content;
use weft_fabric::cables::CableMemories;
use weft_fabric::{Guid, PortNum};
use weft_history::{Reader, Usage};
use weft_manager::pm::Counters;
use weft_manager::port_totals::PortTotals;

use crate::error::DaemonError;
use crate::event_hub::{EventHub, Stamped, unix_time_ms};
use crate::health::Health;
use crate::query_thread::QuerySettings;
use crate::stopping::Stopping;
use crate::supervisor;
pub(crate) use args::{HistoryArgs, HistoryPlace};
use states::{Lookout, Seen};

/// Work that waits for the thread.
const WORK_MAX: usize = 8_192;
/// Readings among it, and states: each may be large.
const READINGS_MAX: u64 = 2;
const STATES_MAX: u64 = 2;
/// Time that the thread has at the end.
const END: Duration = Duration::from_secs(5);

/// What the thread is to record.
enum Work {
    Reading(Arc<PortTotals>),
    Event(Arc<Stamped>),
    Seen(Seen),
}

/// The history as others see it.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) place: HistoryPlace,
    state: Mutex<State>,
    readings_waiting: AtomicU64,
    readings_dropped: AtomicU64,
    states_waiting: AtomicU64,
    states_dropped: AtomicU64,
    events_dropped: AtomicU64,
}

/// What the thread says of itself.
#[derive(Debug, Default, Clone)]
struct State {
    usage: Usage,
    readings: u64,
    rows: u64,
    events: u64,
    states: u64,
    /// Last write, seconds since 1970; 0 before the first.
    written_unix_s: u64,
    /// Why nothing can be written; empty where it can.
    failure: String,
}

impl History {
    pub(crate) fn new(place: HistoryPlace) -> Self {
        Self {
            place,
            state: Mutex::default(),
            readings_waiting: AtomicU64::new(0),
            readings_dropped: AtomicU64::new(0),
            states_waiting: AtomicU64::new(0),
            states_dropped: AtomicU64::new(0),
            events_dropped: AtomicU64::new(0),
        }
    }

    /// Reads the files.
    pub(crate) fn reader(&self) -> Reader {
        Reader::new(&self.place.dir)
    }

    /// Why nothing can be written; empty where it can.
    pub(crate) fn failure(&self) -> String {
        self.state().failure.clone()
    }

    /// What all ports had counted in the last reading of the last two hours; nothing where none can be read.
    pub(crate) fn last_totals(&self) -> Vec<((Guid, PortNum), Counters)> {
        let told = |word: String| warn!(event = "history_damaged", "history: {word}");
        let read = self
            .reader()
            .reading(unix_time_ms(), &mut |word| told(word));
        let read = read.unwrap_or_else(|error| {
            told(error.to_string());
            None
        });
        let ports = read.into_iter().flat_map(|reading| reading.ports);
        let totals = ports.map(|port| {
            let key = (Guid(port.key.guid), PortNum(port.key.port));
            (key, port.values.totals)
        });
        totals.collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic under this lock leaves at worst a number that is old.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is recorded.
pub(crate) struct Sources {
    pub(crate) hub: Arc<EventHub>,
    pub(crate) totals: watch::Receiver<Arc<PortTotals>>,
    pub(crate) settings: watch::Receiver<QuerySettings>,
    pub(crate) health: Health,
    pub(crate) cables: watch::Receiver<Arc<CableMemories>>,
}

/// Records until it is time to stop, and then what is still to be recorded.
pub(crate) async fn keep(
    history: Arc<History>,
    sources: Sources,
    stopping: Stopping,
) -> Result<(), DaemonError> {
    let Sources {
        hub,
        totals,
        settings,
        health,
        cables,
    } = sources;
    let (work, queue) = mpsc::channel(WORK_MAX);
    let (of_thread, told) = (Arc::clone(&history), Arc::clone(&hub));
    let ended = supervisor::spawn("history", move || {
        recorder::run(&of_thread, &told, queue);
        Ok(())
    })?;
    let lookout = Lookout::new(Arc::clone(&hub), settings, health, cables);
    tokio::select! {
        () = follow(&history, &hub, totals, lookout, &work) => {}
        () = stopping.wait() => {}
    }
    drop(work);
    // Nobody waits for a disk that hangs.
    let ended = tokio::time::timeout(END, ended).await;
    ended.unwrap_or(Ok(()))
}

/// Hands on what happens; ends when the thread has.
async fn follow(
    history: &History,
    hub: &EventHub,
    mut totals: watch::Receiver<Arc<PortTotals>>,
    mut lookout: Lookout,
    work: &mpsc::Sender<Work>,
) {
    let mut snapshots = hub.snapshots();
    let mut ticks = tokio::time::interval(states::LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut seen = |seen: Seen| hand(history, work, Work::Seen(seen));
    let mut events = hub.subscribe(Some(0));
    let mut last = 0;
    for event in std::mem::take(&mut events.missed) {
        hand(history, work, Work::Event(event));
    }
    loop {
        tokio::select! {
            changed = totals.changed() => {
                if changed.is_err() {
                    return;
                }
                let now = totals.borrow_and_update().clone();
                // Totals of an earlier run have no reading.
                let Some(number) = now.image().map(|image| image.number) else {
                    continue;
                };
                if last > 0 {
                    let missed = number.saturating_sub(last + 1);
                    history.readings_dropped.fetch_add(missed, Ordering::Relaxed);
                }
                last = number;
                hand(history, work, Work::Reading(now));
            }
            changed = snapshots.changed() => {
                if changed.is_err() {
                    return;
                }
                lookout.look(&mut seen);
            }
            _ = ticks.tick() => lookout.tick(&mut seen),
            event = events.coming.recv() => match event {
                Ok(event) => {
                    // The state that it ended with comes before.
                    if matches!(event.content, Content::SweepEnded(_)) {
                        lookout.sweep_ended(&mut seen);
                    }
                    hand(history, work, Work::Event(event));
                }
                Err(RecvError::Lagged(lost)) => {
                    history.events_dropped.fetch_add(lost, Ordering::Relaxed);
                }
                Err(RecvError::Closed) => return,
            },
            () = work.closed() => return,
        }
    }
}

/// Puts work into the queue, or drops and counts it; returns whether it is in the queue.
fn hand(history: &History, queue: &mpsc::Sender<Work>, work: Work) -> bool {
    let (waiting, dropped) = match &work {
        Work::Reading(_) => (
            Some((&history.readings_waiting, READINGS_MAX)),
            &history.readings_dropped,
        ),
        Work::Seen(Seen::State(_)) => (
            Some((&history.states_waiting, STATES_MAX)),
            &history.states_dropped,
        ),
        Work::Seen(Seen::Mark(..)) => (None, &history.states_dropped),
        Work::Event(_) => (None, &history.events_dropped),
    };
    let has_room =
        waiting.is_none_or(|(waiting, max)| waiting.fetch_add(1, Ordering::Relaxed) < max);
    if has_room && queue.try_send(work).is_ok() {
        return true;
    }
    if let Some((waiting, _)) = waiting {
        waiting.fetch_sub(1, Ordering::Relaxed);
    }
    dropped.fetch_add(1, Ordering::Relaxed);
    false
}
