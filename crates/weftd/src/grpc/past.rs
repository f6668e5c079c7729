//! The fabric of a moment of the past.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};
use weft_api::snapshot::{HEALTH, ROUTING, of_pieces};
use weft_api::time::timestamp_ms;
use weft_api::v1;
use weft_api::v1::moment::Moment as Asked;
use weft_fabric::Snapshot;
use weft_history::{Reader, StateAnswer, StateHead, StateId, StatePieces, StateQuestion};

use super::details::{DOMAIN, bounded};
use super::history::{millis, status};
use super::{Services, background};
use crate::event_hub::unix_time_ms;

/// Reason of a moment of which nothing is known.
const NOT_KNOWN: &str = "NOT_KNOWN_THEN";
/// Reason of a moment whose state has not what is asked for.
pub(super) const NOT_KEPT: &str = "NOT_KEPT_THEN";

/// States that were asked for last and are kept: two are compared, and a page asks about the same one several times. At 27,648
/// hosts each has some 150 MB.
const STATES_MAX: usize = 2;
/// How long they are kept after they were asked for.
const KEPT: Duration = Duration::from_secs(60);

/// A moment of the past.
pub(super) struct Past {
    /// The fabric, and what was kept beside it.
    pub(super) state: Arc<State>,
    /// Which moment it is.
    pub(super) shown: v1::MomentShown,
}

/// A state of the past.
#[derive(Debug)]
pub(super) struct State {
    /// The fabric.
    pub(super) snapshot: Arc<Snapshot>,
    /// What people had decided about routes, as it was kept; none where it was not.
    pub(super) routing: Option<Vec<u8>>,
    /// The page of what was wrong, as it was kept; none where it was not.
    pub(super) health: Option<Vec<u8>>,
}

/// The states that were asked for last, and when.
#[derive(Debug, Clone)]
pub(crate) struct LastStates {
    all: Arc<Mutex<VecDeque<LastState>>>,
    kept: Duration,
}

impl Default for LastStates {
    fn default() -> Self {
        Self::new(KEPT)
    }
}

#[derive(Debug)]
struct LastState {
    id: StateId,
    state: Arc<State>,
    asked: Instant,
}

impl LastStates {
    fn new(kept: Duration) -> Self {
        Self {
            all: Arc::default(),
            kept,
        }
    }

    fn get(&self, id: StateId) -> Option<Arc<State>> {
        let all = self.all();
        let found = all.iter().find(|last| last.id == id)?;
        Some(Arc::clone(&found.state))
    }

    /// Keeps a state for a while, in place of the one that was not asked for longest.
    fn keep(&self, id: StateId, state: &Arc<State>) {
        let mut all = self.all();
        all.retain(|last| last.id != id);
        all.truncate(STATES_MAX - 1);
        all.push_front(LastState {
            id,
            state: Arc::clone(state),
            asked: Instant::now(),
        });
        let this = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(this.kept).await;
            this.all().retain(|last| last.asked.elapsed() < this.kept);
        });
    }

    fn all(&self) -> MutexGuard<'_, VecDeque<LastState>> {
        // Nothing is left half changed under this lock.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Services {
    /// The fabric as it was at a moment, and which moment that is.
    pub(super) async fn past(
        &self,
        at: v1::Moment,
    ) -> Result<(Arc<Snapshot>, v1::MomentShown), Status> {
        let past = self.past_of("at", at).await?;
        Ok((Arc::clone(&past.state.snapshot), past.shown))
    }

    /// All that is known of the moment that a field of a request has.
    pub(super) async fn past_of(&self, field: &str, at: v1::Moment) -> Result<Past, Status> {
        let question = question(field, &at)?;
        let (history, permit) = self.history().await?;
        let last = self.last_states.clone();
        let read = background::begin(move || {
            let _permit = permit;
            read(&history.reader(), &last, question)
        });
        read.await?
    }

    /// The fabric of a moment of the past, and which one it is, or the published one.
    pub(super) async fn then_or_now(
        &self,
        at: Option<v1::Moment>,
    ) -> Result<(Arc<Snapshot>, Option<v1::MomentShown>), Status> {
        let Some(at) = at else {
            return Ok((self.hub.snapshot(), None));
        };
        let (snapshot, moment) = self.past(at).await?;
        Ok((snapshot, Some(moment)))
    }
}

pub(super) fn question(field: &str, at: &v1::Moment) -> Result<StateQuestion, Status> {
    match &at.moment {
        None => Err(Status::invalid_argument(format!(
            "{field}: expected a time, a sweep or a generation"
        ))),
        Some(Asked::Generation(generation)) => Ok(StateQuestion::Generation(*generation)),
        Some(Asked::Sweep(sweep)) => Ok(StateQuestion::Sweep(*sweep)),
        Some(Asked::Time(time)) => {
            let at = millis(field, time)?;
            match at <= unix_time_ms() {
                true => Ok(StateQuestion::At(at)),
                false => Err(Status::invalid_argument(format!(
                    "{field}: expected a time up to now"
                ))),
            }
        }
    }
}

/// Reads a moment, its state only where it is not among the last ones; in a thread that knows the runtime.
pub(super) fn read(
    reader: &Reader,
    last: &LastStates,
    question: StateQuestion,
) -> Result<Past, Status> {
    let mut warnings = Vec::new();
    // It may be forgotten between two looks.
    let kept = RefCell::new(None);
    let wants = |id| {
        let state = last.get(id);
        let wants = state.is_none();
        kept.replace(state);
        wants
    };
    let answer = reader.state_if(question, &wants, &mut |word| warnings.push(word));
    let found = match answer.map_err(|error| status(&error))? {
        StateAnswer::Known(found) => found,
        StateAnswer::Unknown { before, after } => {
            return Err(unknown(question, before, after, &warnings));
        }
    };
    let state = match kept.take() {
        Some(state) => state,
        None => Arc::new(state_of(found.pieces)?),
    };
    last.keep(found.id, &state);
    let shown = v1::MomentShown {
        time: Some(timestamp_ms(found.time_ms)),
        since: Some(timestamp_ms(found.since.time_ms)),
        sweep: found.sweep,
        generation: found.since.generation,
        warnings,
    };
    Ok(Past { state, shown })
}

fn state_of(mut pieces: StatePieces) -> Result<State, Status> {
    // Copied: a piece keeps all that was read with it.
    let mut apart = |key: &[u8]| pieces.remove(key).map(|piece| piece.to_vec());
    let (routing, health) = (apart(&ROUTING), apart(&HEALTH));
    let snapshot = of_pieces(&pieces).map_err(|error| Status::internal(error.to_string()))?;
    Ok(State {
        snapshot: Arc::new(snapshot),
        routing,
        health,
    })
}

fn unknown(
    question: StateQuestion,
    before: Option<StateHead>,
    after: Option<StateHead>,
    warnings: &[String],
) -> Status {
    let time = |head: StateHead| timestamp_ms(head.time_ms).to_string();
    let (before, after) = (before.map(time), after.map(time));
    let mut text = match question {
        StateQuestion::At(ms) => format!("nothing is known of {}", timestamp_ms(ms)),
        StateQuestion::Sweep(sweep) => format!("nothing is known of sweep {sweep}"),
        StateQuestion::Generation(number) => format!("nothing is known of generation {number}"),
    };
    text += &match (&before, &after) {
        (Some(before), Some(after)) => {
            format!(": the nearest known times are {before} and {after}")
        }
        (Some(nearest), None) | (None, Some(nearest)) => {
            format!(": the nearest known time is {nearest}")
        }
        (None, None) => "; `weft history` tells what is kept".to_owned(),
    };
    for warning in warnings {
        text += &format!(". {warning}");
    }
    let metadata = [("before", before), ("after", after)];
    let metadata = metadata
        .into_iter()
        .filter_map(|(name, time)| Some((name.to_owned(), time?)));
    let metadata: std::collections::HashMap<String, String> = metadata.collect();
    let details = ErrorDetails::with_error_info(NOT_KNOWN, DOMAIN, metadata);
    Status::with_error_details(Code::NotFound, bounded(&text), details)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use weft_api::snapshot::pieces;
    use weft_fabric::Topology;
    use weft_history::{Recorder, StateRecord};

    use super::*;

    const START: i64 = 1_795_651_200_000;

    fn record(recorder: &mut Recorder, time_ms: i64, generation: u64) {
        let head = StateHead {
            time_ms,
            sweep: generation,
            generation,
        };
        let snapshot = Snapshot {
            generation,
            topology: Arc::new(Topology::default()),
            ..Snapshot::default()
        };
        let mut record = StateRecord::whole(head);
        pieces(None, &snapshot, &mut |piece| {
            record.piece(piece.key, piece.before, piece.now)
        })
        .unwrap();
        record
            .piece(&HEALTH, None, Some(&[generation as u8]))
            .unwrap();
        recorder.state(record).unwrap();
    }

    #[tokio::test]
    async fn a_state_is_read_once_and_forgotten_after_a_while() {
        let dir = tempfile::tempdir().unwrap();
        let mut recorder = Recorder::open(dir.path(), 64 << 20).unwrap();
        for number in 1..=3 {
            record(&mut recorder, START + 1000 * number, number as u64);
        }
        let (reader, last) = (Reader::new(dir.path()), LastStates::default());
        let read = |ms: i64| read(&reader, &last, StateQuestion::At(START + ms)).unwrap();
        let first = read(1000);
        assert_eq!(first.state.snapshot.generation, 1);
        assert_eq!(first.state.health.as_deref(), Some(&[1][..]));
        let same = |a: &Past, b: &Past| Arc::ptr_eq(&a.state, &b.state);
        // Another moment of the same state.
        let later = read(1900);
        assert!(same(&first, &later));
        assert_eq!(later.shown.time, Some(timestamp_ms(START + 1900)));
        assert_eq!(later.shown.since, Some(timestamp_ms(START + 1000)));
        let (second, third) = (read(2000), read(3000));
        assert_eq!(third.state.snapshot.generation, 3);
        assert_eq!(last.all().len(), STATES_MAX);
        assert!(same(&second, &read(2500)) && same(&third, &read(3500)));
        assert!(!same(&first, &read(1000)), "the one before the last two");
        let last = LastStates::new(Duration::from_millis(20));
        super::read(&reader, &last, StateQuestion::At(START + 2000)).unwrap();
        while !last.all().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
