//! The fabric's state over time: what is looked at, and what of it is recorded.
//!
//! A state is the published snapshot with what subnet administration knows, what people have decided about routes, and the page of what is wrong. It is looked at when a snapshot is published,
//! when a sweep ends and each second, for groups and settings that have changed meanwhile; only what both states do not
//! share is compared, on the thread that writes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use weft_api::snapshot::{KeptState, health_piece};
use weft_fabric::cables::CableMemories;
use weft_fabric::{MulticastGroup, Snapshot};
use weft_health::{Color, Page};
use weft_history::{HistoryError, Mark, Recorder, STATE_LASTS_MS, StateHead, StateRecord};
use weft_manager::sa::SaSettings;
use weft_manager::sm::back::RoutingState;

use crate::administration::{Wanted, administered};
use crate::event_hub::{EventHub, unix_time_ms};
use crate::grpc::health_page;
use crate::health::Health;
use crate::query_thread::QuerySettings;

/// Between two looks at what is not published.
pub(super) const LOOK: Duration = Duration::from_secs(1);
/// Between two marks that nothing has changed: of so much time before a crash nothing is known.
const MARK: Duration = Duration::from_millis(STATE_LASTS_MS as u64 / 10);

/// What a state is made of.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    snapshot: Arc<Snapshot>,
    groups: Arc<Vec<MulticastGroup>>,
    settings: Arc<SaSettings>,
    /// What people have decided about routes.
    routing: Option<Arc<RoutingState>>,
    /// The page of what is wrong; none before the first.
    health: Option<Arc<HealthPage>>,
    /// What cables are where; what their modules measured is that of some moment.
    cables: Arc<CableMemories>,
    /// Whether groups and virtual fabrics are those of another manager.
    led: bool,
}

impl Parts {
    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.snapshot, &other.snapshot)
            && Arc::ptr_eq(&self.groups, &other.groups)
            && Arc::ptr_eq(&self.settings, &other.settings)
            && self.routing.as_ref().map(Arc::as_ptr) == other.routing.as_ref().map(Arc::as_ptr)
            && self.health.as_ref().map(Arc::as_ptr) == other.health.as_ref().map(Arc::as_ptr)
            && Arc::ptr_eq(&self.cables, &other.cables)
            && self.led == other.led
    }

    /// What is kept of it.
    fn kept(&self) -> KeptState {
        let health = self.health.as_ref().map(|page| page.message.clone());
        if self.led {
            return KeptState::of_follower(&self.snapshot, health);
        }
        let routing = self.routing.as_ref();
        KeptState {
            snapshot: Arc::new(self.snapshot()),
            routing: routing.and_then(|routing| serde_json::to_vec(&**routing).ok()),
            health,
        }
    }

    /// The snapshot that readers of a master get.
    fn snapshot(&self) -> Snapshot {
        let (mut snapshot, groups) = (Arc::clone(&self.snapshot), Arc::clone(&self.groups));
        Arc::make_mut(&mut snapshot).cables = Arc::clone(&self.cables);
        let wanted = Wanted {
            device_groups: true,
            quarantined: true,
        };
        administered(snapshot, groups, &self.settings, wanted)
    }
}

/// A page of what is wrong that is kept until one finds something else.
#[derive(Debug)]
struct HealthPage {
    substance: Substance,
    message: Vec<u8>,
}

/// What a page finds: colours of figures, and findings with theirs. Values that change with each page do not count.
type Substance = (Vec<Color>, Vec<(u64, Color)>);

fn substance(page: &Page) -> Substance {
    let figures = page.figures.iter().map(|figure| figure.color);
    let findings = page.findings.iter();
    let mut findings: Vec<_> = findings.map(|one| (one.key(), one.color)).collect();
    findings.sort_unstable();
    (figures.collect(), findings)
}

/// A state that is to be recorded.
#[derive(Debug)]
pub(super) struct State {
    pub(super) head: StateHead,
    parts: Parts,
}

/// Something to be recorded of states.
#[derive(Debug)]
pub(super) enum Seen {
    /// The state has changed.
    State(Box<State>),
    /// It is as before.
    Mark(StateHead, Mark),
}

/// Looks for states.
pub(super) struct Lookout {
    hub: Arc<EventHub>,
    settings: watch::Receiver<QuerySettings>,
    in_force: Arc<SaSettings>,
    health: Health,
    /// The page that was looked at last, and the one that is kept.
    page: (Arc<Page>, Option<Arc<HealthPage>>),
    cables: watch::Receiver<Arc<CableMemories>>,
    /// Those that were looked at last, and those that are kept until others are there.
    cables_seen: (Arc<CableMemories>, Arc<CableMemories>),
    last: Option<Parts>,
    marked: Instant,
}

impl Lookout {
    pub(super) fn new(
        hub: Arc<EventHub>,
        settings: watch::Receiver<QuerySettings>,
        health: Health,
        cables: watch::Receiver<Arc<CableMemories>>,
    ) -> Self {
        let in_force = Arc::new(settings.borrow().sa.clone());
        Self {
            hub,
            settings,
            in_force,
            health,
            page: Default::default(),
            cables,
            cables_seen: Default::default(),
            last: None,
            marked: Instant::now(),
        }
    }

    /// Hands over what is to be recorded now; what is not taken is tried again. Returns whether all was taken.
    pub(super) fn look(&mut self, hand: &mut dyn FnMut(Seen) -> bool) -> bool {
        if self.settings.has_changed().unwrap_or(false) {
            self.in_force = Arc::new(self.settings.borrow_and_update().sa.clone());
        }
        let parts = Parts {
            snapshot: self.hub.snapshot(),
            groups: self.hub.multicast_groups(),
            settings: Arc::clone(&self.in_force),
            routing: self.hub.routing(),
            health: self.page(),
            cables: self.cables(),
            led: self.hub.leader().is_some(),
        };
        let same = self.last.as_ref().is_some_and(|last| last.is(&parts));
        // Before the first sweep there is nothing.
        if parts.snapshot.generation == 0 || same {
            return true;
        }
        let head = self.head(&parts);
        let state = State {
            head,
            parts: parts.clone(),
        };
        let taken = hand(Seen::State(Box::new(state)));
        if taken {
            (self.last, self.marked) = (Some(parts), Instant::now());
        }
        taken
    }

    /// The last cables that are not those before.
    fn cables(&mut self) -> Arc<CableMemories> {
        let now = Arc::clone(&self.cables.borrow());
        let (seen, kept) = &mut self.cables_seen;
        if !Arc::ptr_eq(seen, &now) {
            if !kept.same_cables(&now) {
                *kept = Arc::clone(&now);
            }
            *seen = now;
        }
        Arc::clone(kept)
    }

    /// The last page that finds something else than the one before it.
    fn page(&mut self) -> Option<Arc<HealthPage>> {
        let now = self.health.page();
        let (seen, kept) = &mut self.page;
        if now.unix_time > 0 && !Arc::ptr_eq(seen, &now) {
            let substance = substance(&now);
            let is_new = |kept: &Arc<HealthPage>| kept.substance != substance;
            if kept.as_ref().is_none_or(is_new) {
                let message = health_piece(&health_page(&now, &self.hub));
                *kept = Some(Arc::new(HealthPage { substance, message }));
            }
            *seen = now;
        }
        kept.clone()
    }

    /// Looks, and hands over a mark where it is time for one.
    pub(super) fn tick(&mut self, hand: &mut dyn FnMut(Seen) -> bool) {
        if self.look(hand) && self.marked.elapsed() >= MARK {
            self.mark(Mark::Still, hand);
        }
    }

    /// Looks, and hands over that a sweep has ended.
    pub(super) fn sweep_ended(&mut self, hand: &mut dyn FnMut(Seen) -> bool) {
        if self.look(hand) {
            self.mark(Mark::SweepEnded, hand);
        }
    }

    fn mark(&mut self, why: Mark, hand: &mut dyn FnMut(Seen) -> bool) {
        if let Some(parts) = &self.last
            && hand(Seen::Mark(self.head(parts), why))
        {
            self.marked = Instant::now();
        }
    }

    fn head(&self, parts: &Parts) -> StateHead {
        let journal = self.hub.journal();
        let current = journal.current().map(|current| current.number);
        let last = || journal.sweeps().next().map(|sweep| sweep.number);
        StateHead {
            time_ms: unix_time_ms(),
            sweep: current.or_else(last).unwrap_or(0),
            generation: parts.snapshot.generation,
        }
    }
}

/// The states that are recorded.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// The last one, from which the next one's changes are told.
    last: Option<KeptState>,
    head: Option<StateHead>,
    /// One that could not be recorded, and no later one has come.
    lost: Option<Box<State>>,
}

/// What is to be written; the recorder is one that may have been opened again.
pub(super) type Write<'a> = dyn FnMut(&mut dyn FnMut(&mut Recorder) -> Result<(), HistoryError>) -> Result<(), HistoryError>
    + 'a;

impl Recorded {
    /// Records what was seen; returns whether it was a state.
    pub(super) fn record(
        &mut self,
        seen: Seen,
        write: &mut Write<'_>,
    ) -> Result<bool, HistoryError> {
        match (seen, self.lost.take()) {
            (Seen::State(state), _) => self.state(state, write),
            // It is still to be recorded, as of now.
            (Seen::Mark(head, _), Some(lost)) => {
                let parts = lost.parts;
                self.state(Box::new(State { head, parts }), write)
            }
            (Seen::Mark(head, why), None) => {
                self.head = Some(head);
                let last = self.last.as_ref();
                write(&mut |recorder| {
                    // A file that is at its end, or gone, has a next one also where nothing changes.
                    if let Some(last) = last
                        && recorder.needs_whole_state(head.time_ms)
                    {
                        recorder.state(record_of(head, None, last)?)?;
                    }
                    recorder.mark_state(head, why)
                })?;
                Ok(false)
            }
        }
    }

    fn state(&mut self, state: Box<State>, write: &mut Write<'_>) -> Result<bool, HistoryError> {
        let now = state.parts.kept();
        let recorded = write(&mut |recorder| {
            let whole = recorder.needs_whole_state(state.head.time_ms);
            let before = self.last.as_ref().filter(|_| !whole);
            recorder.state(record_of(state.head, before, &now)?)
        });
        match recorded {
            Ok(()) => (self.last, self.head) = (Some(now), Some(state.head)),
            Err(_) => self.lost = Some(state),
        }
        recorded.map(|()| true)
    }

    /// Records that the daemon ends.
    pub(super) fn end(&self, write: &mut Write<'_>) -> Result<(), HistoryError> {
        let Some(head) = self.head.filter(|_| self.lost.is_none()) else {
            return Ok(());
        };
        let head = StateHead {
            time_ms: unix_time_ms(),
            ..head
        };
        write(&mut |recorder| recorder.mark_state(head, Mark::End))
    }
}

/// A state, as what has changed since the one before or as a whole one.
fn record_of(
    head: StateHead,
    before: Option<&KeptState>,
    now: &KeptState,
) -> Result<StateRecord, HistoryError> {
    let mut record = match before {
        Some(_) => StateRecord::changed(head),
        None => StateRecord::whole(head),
    };
    now.pieces_since(before, &mut |piece| {
        record.piece(piece.key, piece.before, piece.now)
    })?;
    Ok(record)
}
