//! What the manager's thread tells, for everybody who reads.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use weft_fabric::Snapshot;
use weft_manager::sm::Status;
use weft_manager::{Event, SweepPhase, SweepReason, SweepReport};

/// Events that a reader may be behind before it is dropped.
pub(crate) const BACKLOG: usize = 65_536;
/// Events that a reader can go on from.
const KEPT_EVENTS: usize = 65_536;
/// Sweeps that are remembered.
pub(crate) const KEPT_SWEEPS: usize = 256;

/// Something that happened.
#[derive(Debug, Clone)]
pub(crate) enum Happening {
    /// In the fabric.
    Fabric(Event),
    /// The configuration was read again.
    Config {
        /// It is in force now.
        applied: bool,
        /// What to tell people.
        what: String,
    },
}

/// Something that happened, with its place in time.
#[derive(Debug, Clone)]
pub(crate) struct Stamped {
    /// Counts up from 1.
    pub(crate) sequence: u64,
    /// Of the snapshot at that time.
    pub(crate) generation: u64,
    /// Nanoseconds since 1970.
    pub(crate) unix_time_ns: u64,
    /// What.
    pub(crate) what: Happening,
}

/// The sweep under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Current {
    /// Its number.
    pub(crate) number: u64,
    /// Why it began.
    pub(crate) reason: SweepReason,
    /// Where it is.
    pub(crate) phase: SweepPhase,
}

/// Sweeps and events of the past.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    sequence: u64,
    events: VecDeque<Arc<Stamped>>,
    sweeps: VecDeque<Arc<SweepReport>>,
    current: Option<Current>,
}

impl Journal {
    /// The last sweeps, the newest first.
    pub(crate) fn sweeps(&self) -> impl Iterator<Item = &Arc<SweepReport>> {
        self.sweeps.iter().rev()
    }

    /// The sweep under way.
    pub(crate) fn current(&self) -> Option<Current> {
        self.current
    }

    /// Number of the last event.
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    fn note(&mut self, event: &Event) {
        match event {
            Event::SweepStarted { number, reason } => {
                let (number, reason) = (*number, *reason);
                self.current = Some(Current {
                    number,
                    reason,
                    phase: SweepPhase::Discover,
                });
            }
            Event::Phase(phase) => {
                if let Some(current) = &mut self.current {
                    current.phase = *phase;
                }
            }
            Event::SweepEnded(report) => {
                self.current = None;
                self.sweeps.push_back(Arc::new(report.clone()));
                if self.sweeps.len() > KEPT_SWEEPS {
                    self.sweeps.pop_front();
                }
            }
            _ => {}
        }
    }
}

/// Where a new reader of events stands.
#[derive(Debug)]
pub(crate) struct Subscription {
    /// Sequence that it goes on after.
    pub(crate) after: u64,
    /// Events that it asked for are no longer there.
    pub(crate) gap: bool,
    /// Events that it has missed and gets first.
    pub(crate) missed: Vec<Arc<Stamped>>,
    /// Events to come.
    pub(crate) coming: broadcast::Receiver<Arc<Stamped>>,
}

/// The configuration in force.
#[derive(Debug, Clone, Default)]
pub(crate) struct InForce {
    /// XML with every value written out.
    pub(crate) effective: String,
    /// The instance's name.
    pub(crate) instance: String,
}

/// What the manager's thread tells. Readers never wait for it, nor it for them.
#[derive(Debug)]
pub(crate) struct Hub {
    /// Of this run, so that tokens of another are known.
    pub(crate) run: u64,
    snapshot: watch::Sender<Arc<Snapshot>>,
    status: watch::Sender<Arc<Status>>,
    config: watch::Sender<Arc<InForce>>,
    journal: Mutex<Journal>,
    events: broadcast::Sender<Arc<Stamped>>,
}

impl Hub {
    pub(crate) fn new(config: InForce) -> Self {
        Self {
            run: unix_time_ns(),
            snapshot: watch::Sender::new(Arc::default()),
            status: watch::Sender::new(Arc::default()),
            config: watch::Sender::new(Arc::new(config)),
            journal: Mutex::default(),
            events: broadcast::Sender::new(BACKLOG),
        }
    }

    /// The fabric now.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.borrow().clone()
    }

    /// The manager's counters, at most a second old.
    pub(crate) fn status(&self) -> Arc<Status> {
        self.status.borrow().clone()
    }

    /// The configuration in force.
    pub(crate) fn config(&self) -> Arc<InForce> {
        self.config.borrow().clone()
    }

    /// Ends when the first sweep has ended.
    pub(crate) async fn first_sweep(&self) {
        let mut events = self.events.subscribe();
        while self.journal().sweeps().next().is_none() {
            if matches!(events.recv().await, Err(RecvError::Closed)) {
                return;
            }
        }
    }

    /// Past sweeps and events; hold it briefly.
    pub(crate) fn journal(&self) -> MutexGuard<'_, Journal> {
        // A panic under this lock leaves at worst an event unsaid.
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn publish(&self, snapshot: &Snapshot) {
        let unix_time = unix_time_ns() / 1_000_000_000;
        let stamped = Snapshot {
            unix_time,
            ..snapshot.clone()
        };
        self.snapshot.send_replace(Arc::new(stamped));
    }

    pub(crate) fn set_status(&self, status: Status) {
        self.status.send_replace(Arc::new(status));
    }

    pub(crate) fn set_config(&self, config: InForce) {
        self.config.send_replace(Arc::new(config));
    }

    /// Tells that something happened.
    pub(crate) fn tell(&self, what: Happening) {
        let generation = self.snapshot.borrow().generation;
        let mut journal = self.journal();
        if let Happening::Fabric(event) = &what {
            journal.note(event);
        }
        journal.sequence += 1;
        let (sequence, unix_time_ns) = (journal.sequence, unix_time_ns());
        let event = Arc::new(Stamped {
            sequence,
            generation,
            unix_time_ns,
            what,
        });
        journal.events.push_back(event.clone());
        if journal.events.len() > KEPT_EVENTS {
            journal.events.pop_front();
        }
        // An error only says that nobody listens.
        let _ = self.events.send(event);
    }

    /// Begins to read events: after `after` of this run where that is given, else from now on.
    pub(crate) fn subscribe(&self, after: Option<u64>) -> Subscription {
        let journal = self.journal();
        let coming = self.events.subscribe();
        let first_kept = journal.sequence + 1 - journal.events.len() as u64;
        match after {
            Some(after) if after <= journal.sequence && after + 1 >= first_kept => {
                let missed = journal.events.iter().filter(|event| event.sequence > after);
                let missed = missed.cloned().collect();
                Subscription {
                    after,
                    gap: false,
                    missed,
                    coming,
                }
            }
            _ => Subscription {
                after: journal.sequence,
                gap: after.is_some(),
                missed: Vec::new(),
                coming,
            },
        }
    }
}

/// Nanoseconds since 1970 by the system's clock.
pub(crate) fn unix_time_ns() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn silent(hub: &Hub) {
        let node = weft_fabric::Guid(1);
        let attribute = "PortInfo".to_owned();
        hub.tell(Happening::Fabric(Event::NodeSilent { node, attribute }));
    }

    #[test]
    fn a_reader_goes_on_where_it_was() {
        let hub = Hub::new(InForce::default());
        (0..3).for_each(|_| silent(&hub));
        let subscription = hub.subscribe(Some(1));
        let missed: Vec<u64> = subscription
            .missed
            .iter()
            .map(|event| event.sequence)
            .collect();
        assert_eq!((missed, subscription.gap), (vec![2, 3], false));
        assert!(hub.subscribe(Some(3)).missed.is_empty());
        assert!(hub.subscribe(Some(4)).gap, "an event of the future");
        assert_eq!(hub.subscribe(None).after, 3);
    }

    #[test]
    fn what_is_too_old_is_a_gap() {
        let hub = Hub::new(InForce::default());
        (0..KEPT_EVENTS + 10).for_each(|_| silent(&hub));
        assert!(hub.subscribe(Some(9)).gap);
        assert!(!hub.subscribe(Some(10)).gap);
    }
}
