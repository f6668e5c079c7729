//! State and events published by the manager's thread for all readers.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use weft_api::v1::watch_response::Content;
use weft_fabric::enums::SmState;
use weft_fabric::key_mask::KeyMask;
use weft_fabric::{Guid, MulticastGroup, Snapshot};
use weft_manager::sm::Status;
use weft_manager::sm::back::RoutingState;
use weft_manager::{Event, SweepPhase, SweepReason, SweepReport};

use crate::attachment::Attachment;
use crate::counters::Counters;
use crate::event::DaemonEvent;
use crate::event_log::EventLog;
use crate::logging::LogLimits;
use crate::names::{Gone, Names};
use crate::peer::Settings;
use crate::trap_limiter::TrapLimiter;

/// Events that a reader may be behind before it is dropped.
pub(crate) const BACKLOG: usize = 65_536;
/// Events that a reader can go on from.
const KEPT_EVENTS: usize = 65_536;
/// Sweeps that are remembered.
pub(crate) const KEPT_SWEEPS: usize = 256;

/// Something that happened, with its place in time.
#[derive(Debug, Clone)]
pub(crate) struct Stamped {
    /// Counts up from 1.
    pub(crate) sequence: u64,
    /// Generation of the snapshot at that time.
    pub(crate) generation: u64,
    /// Nanoseconds since 1970.
    pub(crate) unix_time_ns: u64,
    /// The event, as clients read it.
    pub(crate) content: Content,
}

/// The running sweep.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Current {
    /// Its number.
    pub(crate) number: u64,
    /// Why it began.
    pub(crate) reason: SweepReason,
    /// Its current phase.
    pub(crate) phase: SweepPhase,
}

/// Sweeps and events of the past.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    sequence: u64,
    events: VecDeque<Arc<Stamped>>,
    sweeps: VecDeque<Arc<SweepReport>>,
    current: Option<Current>,
    gone: Gone,
    trap_limiter: TrapLimiter,
    requests_dropped: u64,
}

impl Journal {
    /// The last sweeps, the newest first.
    pub(crate) fn sweeps(&self) -> impl Iterator<Item = &Arc<SweepReport>> {
        self.sweeps.iter().rev()
    }

    /// The running sweep.
    pub(crate) fn current(&self) -> Option<Current> {
        self.current
    }

    /// Number of the last event.
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Traps that were no events.
    pub(crate) fn traps_suppressed(&self) -> u64 {
        self.trap_limiter.total()
    }

    /// Requests that were dropped because their senders had too many.
    pub(crate) fn requests_dropped(&self) -> u64 {
        self.requests_dropped
    }

    /// Whether a trap is one too many of its source.
    fn is_suppressed(&mut self, what: &DaemonEvent) -> bool {
        match what {
            DaemonEvent::Fabric(Event::Trap { lid, .. }) => !self.trap_limiter.admits(*lid),
            _ => false,
        }
    }

    fn note(&mut self, event: &Event) {
        match event {
            Event::NodeVanished { node, name } => self.gone.note(*node, name.clone()),
            Event::SweepStarted { number, reason, .. } => {
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

/// Start of a new reader of events.
#[derive(Debug)]
pub(crate) struct Subscription {
    /// Sequence number of the last event that the reader has.
    pub(crate) after: u64,
    /// Whether requested events are no longer available.
    pub(crate) gap: bool,
    /// Events that it has missed and gets first.
    pub(crate) missed: Vec<Arc<Stamped>>,
    /// Events to come.
    pub(crate) coming: broadcast::Receiver<Arc<Stamped>>,
}

/// A plan that the configuration file does not have.
#[derive(Debug, Clone, Default)]
pub(crate) struct Planned {
    /// What is said of it; empty where there is none.
    pub(crate) words: Arc<str>,
    /// Whether it is in force; else it has ended.
    pub(crate) in_force: bool,
}

/// The configuration in force.
#[derive(Debug, Clone, Default)]
pub(crate) struct InForce {
    /// XML with every value written out but keys.
    pub(crate) effective: String,
    /// The instance's name.
    pub(crate) instance: String,
    /// What another manager of a pair is to have too; none without a file.
    pub(crate) settings: Option<Arc<Settings>>,
    /// Whether a standby that has other settings than its master is none (`ConfigConsistencyCheckLevel` 2).
    pub(crate) refuses_other_settings: bool,
}

/// Everything that the manager's thread publishes. Readers never wait for it, nor it for them.
#[derive(Debug)]
pub(crate) struct EventHub {
    /// Identifies this run, so that tokens of another run are recognised.
    pub(crate) run: u64,
    snapshot: watch::Sender<Arc<Snapshot>>,
    multicast_groups: watch::Sender<Arc<Vec<MulticastGroup>>>,
    mask: Mutex<KeyMask>,
    event_log: Mutex<EventLog>,
    status: watch::Sender<Arc<Status>>,
    attachment: watch::Sender<Attachment>,
    /// End of the last sweep that found the fabric, nanoseconds since 1970; 0 before the first.
    seen_unix_ns: AtomicU64,
    config: watch::Sender<Arc<InForce>>,
    planned: watch::Sender<Planned>,
    /// What people have decided about routes; none before the manager has told it.
    routing: watch::Sender<Option<Arc<RoutingState>>>,
    journal: Mutex<Journal>,
    counters: Counters,
    events: broadcast::Sender<Arc<Stamped>>,
}

impl EventHub {
    pub(crate) fn new(config: InForce) -> Self {
        Self {
            run: unix_time_ns(),
            snapshot: watch::Sender::new(Arc::default()),
            multicast_groups: watch::Sender::new(Arc::default()),
            mask: Mutex::default(),
            event_log: Mutex::default(),
            status: watch::Sender::new(Arc::default()),
            attachment: watch::Sender::new(Attachment::now(true)),
            seen_unix_ns: AtomicU64::new(0),
            config: watch::Sender::new(Arc::new(config)),
            planned: watch::Sender::default(),
            routing: watch::Sender::default(),
            journal: Mutex::default(),
            counters: Counters::new(),
            events: broadcast::Sender::new(BACKLOG),
        }
    }

    /// The fabric now, without keys.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.borrow().clone()
    }

    /// Snapshots as they are published.
    pub(crate) fn snapshots(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.snapshot.subscribe()
    }

    /// The role of this manager and the master, where that is another one.
    pub(crate) fn leader(&self) -> Option<(SmState, Guid)> {
        let status = self.status();
        let led = matches!(status.role, SmState::STANDBY | SmState::NOT_ACTIVE);
        Some(status.role).filter(|_| led).zip(status.master)
    }

    /// The multicast groups with their members, by GID.
    pub(crate) fn multicast_groups(&self) -> Arc<Vec<MulticastGroup>> {
        self.multicast_groups.borrow().clone()
    }

    pub(crate) fn set_multicast_groups(&self, groups: Arc<Vec<MulticastGroup>>) {
        self.multicast_groups.send_replace(groups);
    }

    /// The manager's counters, at most a second old.
    pub(crate) fn status(&self) -> Arc<Status> {
        self.status.borrow().clone()
    }

    /// The same, as they are published.
    pub(crate) fn statuses(&self) -> watch::Receiver<Arc<Status>> {
        self.status.subscribe()
    }

    /// Counts of datagrams, queries and sweeps.
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Whether the fabric can be reached.
    pub(crate) fn attachment(&self) -> Attachment {
        *self.attachment.borrow()
    }

    /// Changes of that.
    pub(crate) fn attachments(&self) -> watch::Receiver<Attachment> {
        self.attachment.subscribe()
    }

    /// When a sweep last confirmed the fabric that readers see, nanoseconds since 1970; 0 before the
    /// first has ended.
    pub(crate) fn seen_unix_ns(&self) -> u64 {
        self.seen_unix_ns.load(Ordering::Relaxed)
    }

    /// The configuration in force.
    pub(crate) fn config(&self) -> Arc<InForce> {
        self.config.borrow().clone()
    }

    /// Changes of that.
    pub(crate) fn configs(&self) -> watch::Receiver<Arc<InForce>> {
        self.config.subscribe()
    }

    /// What is said of a plan that the configuration file does not have; empty where there is none.
    pub(crate) fn planned(&self) -> Arc<str> {
        self.planned.borrow().words.clone()
    }

    /// Changes of that.
    pub(crate) fn plans(&self) -> watch::Receiver<Planned> {
        self.planned.subscribe()
    }

    /// What people have decided about routes; none before the manager has told it.
    pub(crate) fn routing(&self) -> Option<Arc<RoutingState>> {
        self.routing.borrow().clone()
    }

    pub(crate) fn set_routing(&self, routing: RoutingState) {
        self.routing.send_replace(Some(Arc::new(routing)));
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

    /// Publishes the fabric without its keys.
    pub(crate) fn publish(&self, snapshot: &Snapshot) {
        // A panic under this lock leaves at worst nodes that are masked again.
        let mut mask = self.mask.lock().unwrap_or_else(PoisonError::into_inner);
        let mut published = mask.snapshot(snapshot);
        published.unix_time = unix_time_ns() / 1_000_000_000;
        self.snapshot.send_replace(Arc::new(published));
    }

    /// Stores the manager's counters, several times a second, and reports floods that have ended.
    pub(crate) fn set_status(&self, status: Status) {
        self.status.send_replace(Arc::new(status));
        let suppressed = self.journal().trap_limiter.ended(unix_time_ns());
        for (lid, count) in suppressed {
            self.tell(DaemonEvent::TrapsSuppressed { lid, count });
        }
    }

    pub(crate) fn set_attached(&self, attached: bool) {
        let attachment = Attachment::now(attached);
        self.attachment.send_replace(attachment);
        self.tell(DaemonEvent::Attachment(attachment));
    }

    pub(crate) fn set_planned(&self, planned: Planned) {
        self.planned.send_replace(planned);
    }

    pub(crate) fn set_config(&self, config: InForce) {
        self.config.send_replace(Arc::new(config));
    }

    /// Publishes an event to watchers and to the log.
    pub(crate) fn tell(&self, what: DaemonEvent) {
        if let DaemonEvent::Fabric(Event::SweepEnded(report)) = &what
            && report.hfis + report.switches > 0
        {
            self.seen_unix_ns.store(unix_time_ns(), Ordering::Relaxed);
        }
        let snapshot = self.snapshot();
        let mut journal = self.journal();
        if journal.is_suppressed(&what) {
            return;
        }
        match &what {
            DaemonEvent::Fabric(event) => journal.note(event),
            DaemonEvent::RequestsDropped { count, .. } => journal.requests_dropped += count,
            _ => {}
        }
        let names = Names {
            topology: &snapshot.topology,
            gone: &journal.gone,
        };
        let sweep = journal.current.map_or(0, |current| current.number);
        let content = what.content(&names, sweep);
        journal.sequence += 1;
        let event = Arc::new(Stamped {
            sequence: journal.sequence,
            generation: snapshot.generation,
            unix_time_ns: unix_time_ns(),
            content,
        });
        journal.events.push_back(event.clone());
        if journal.events.len() > KEPT_EVENTS {
            journal.events.pop_front();
        }
        // An error only means that nobody is subscribed.
        let _ = self.events.send(event.clone());
        drop(journal);
        self.event_log().log(&what, &event.content);
    }

    /// Puts limits of lines in the log in force.
    pub(crate) fn set_log_limits(&self, limits: LogLimits) {
        self.event_log().set_limits(limits);
    }

    /// A reading of the counters has ended.
    pub(crate) fn counters_read(&self) {
        self.event_log().counters_read();
    }

    /// Current or last known name of a node; empty if it was never seen.
    pub(crate) fn name_of(&self, node: Guid) -> String {
        let snapshot = self.snapshot();
        let names = Names {
            topology: &snapshot.topology,
            gone: &self.journal().gone,
        };
        names.of(node)
    }

    fn event_log(&self) -> MutexGuard<'_, EventLog> {
        // A panic under this lock leaves at worst counts of lines.
        self.event_log
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
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

/// Milliseconds since 1970 by the system's clock.
pub(crate) fn unix_time_ms() -> i64 {
    (unix_time_ns() / 1_000_000) as i64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn silent(hub: &EventHub) {
        let node = weft_fabric::Guid(1);
        let attribute = "PortInfo".to_owned();
        hub.tell(DaemonEvent::Fabric(Event::NodeSilent { node, attribute }));
    }

    #[test]
    fn a_reader_goes_on_where_it_was() {
        let hub = EventHub::new(InForce::default());
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
    fn a_flood_of_traps_evicts_nothing() {
        let hub = EventHub::new(InForce::default());
        hub.set_status(Status::default());
        silent(&hub);
        for number in 0..2 * KEPT_EVENTS as u32 {
            let (lid, what) = (weft_fabric::Lid(number % 50_000 + 1), "flap".to_owned());
            let number = u64::from(number) + 1;
            hub.tell(DaemonEvent::Fabric(Event::Trap { number, lid, what }));
        }
        let kept = hub.subscribe(Some(0));
        assert!(
            !kept.gap && kept.missed.len() < 1000,
            "{}",
            kept.missed.len()
        );
        assert!(matches!(kept.missed[0].content, Content::NodeSilent(_)));
        let counted = hub.journal().traps_suppressed() + kept.missed.len() as u64 - 1;
        assert_eq!(counted, 2 * KEPT_EVENTS as u64, "every trap is counted");
    }

    #[test]
    fn what_is_too_old_is_a_gap() {
        let hub = EventHub::new(InForce::default());
        (0..KEPT_EVENTS + 10).for_each(|_| silent(&hub));
        assert!(hub.subscribe(Some(9)).gap);
        assert!(!hub.subscribe(Some(10)).gap);
    }
}
