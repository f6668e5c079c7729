//! Plain copies of what was published and decided, by time.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use prost::Message;
use weft_api::snapshot::{KeptState, parts};
use weft_api::v1::SnapshotExtra;
use weft_fabric::Snapshot;
use weft_history::STATE_LASTS_MS;

const EXTRAS: [SnapshotExtra; 2] = [SnapshotExtra::MulticastTables, SnapshotExtra::PortTables];

/// A plain copy of what was published and decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Copy {
    generation: u64,
    /// Digest of every part that a reader gets.
    digest: u64,
    routing: Option<Vec<u8>>,
}

impl Copy {
    pub(crate) fn of(state: &KeptState) -> Self {
        Self::new(&state.snapshot, state.routing.clone())
    }

    pub(crate) fn new(snapshot: &Arc<Snapshot>, routing: Option<Vec<u8>>) -> Self {
        let mut hasher = DefaultHasher::new();
        for part in parts(Arc::clone(snapshot), &EXTRAS, None) {
            part.encode_to_vec().hash(&mut hasher);
        }
        Self {
            generation: snapshot.generation,
            digest: hasher.finish(),
            routing,
        }
    }
}

/// A moment at which the state was looked at.
#[derive(Debug)]
pub(crate) struct Look {
    pub(crate) time_ms: i64,
    /// The first one of a run.
    pub(crate) begins: bool,
    /// The last one of a run that ended in order.
    pub(crate) ends: bool,
    pub(crate) copy: Arc<Copy>,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Oracle(Vec<Look>);

impl Oracle {
    pub(crate) fn push(&mut self, look: Look) {
        self.0.push(look);
    }

    pub(crate) fn last(&self) -> Option<&Look> {
        self.0.last()
    }

    pub(crate) fn first_ms(&self) -> i64 {
        self.0[0].time_ms
    }

    /// What was there at a time; none where nobody looked.
    pub(crate) fn at(&self, time_ms: i64) -> Option<&Copy> {
        let place = self.0.partition_point(|look| look.time_ms <= time_ms);
        let look = &self.0[place.checked_sub(1)?];
        let until = match self.0.get(place) {
            _ if look.ends => look.time_ms,
            None => look.time_ms + STATE_LASTS_MS,
            // Nobody looked meanwhile: the process did not run, or was stopped.
            Some(next) if next.begins || next.time_ms > look.time_ms + STATE_LASTS_MS => {
                look.time_ms
            }
            Some(next) => next.time_ms,
        };
        (time_ms <= until).then_some(&*look.copy)
    }
}
