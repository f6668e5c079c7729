//! A state as it is kept: the snapshot, and what goes with it.

use std::sync::Arc;

use weft_fabric::Snapshot;

use super::pieces::{HEALTH, Piece, ROUTING, pieces};

/// A state as it is kept.
#[derive(Debug)]
pub struct KeptState {
    /// The snapshot that readers get.
    pub snapshot: Arc<Snapshot>,
    /// What people have decided about routes, as JSON; none where another manager runs the fabric.
    pub routing: Option<Vec<u8>>,
    /// The page of what is wrong, encoded; none before the first.
    pub health: Option<Vec<u8>>,
}

impl KeptState {
    /// Of a manager that follows another one, whose groups, virtual fabrics and decisions it does not know.
    pub fn of_follower(snapshot: &Snapshot, health: Option<Vec<u8>>) -> Self {
        let mut snapshot = snapshot.clone();
        (snapshot.lacking.administration, snapshot.lacking.cables) = (true, true);
        Self {
            snapshot: Arc::new(snapshot),
            routing: None,
            health,
        }
    }

    /// Hands over its pieces that are not as in the state before, all where there is none.
    ///
    /// # Errors
    /// The first one of `sink`.
    pub fn pieces_since<E>(
        &self,
        before: Option<&Self>,
        sink: &mut dyn FnMut(Piece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        pieces(before.map(|before| &*before.snapshot), &self.snapshot, sink)?;
        let routing = before.and_then(|before| before.routing.as_deref());
        let health = before.and_then(|before| before.health.as_deref());
        let beside: [(&[u8], _, _); 2] = [
            (&ROUTING, routing, self.routing.as_deref()),
            (&HEALTH, health, self.health.as_deref()),
        ];
        let mut beside = beside.into_iter();
        beside.try_for_each(|(key, before, now)| sink(Piece { key, before, now }))
    }
}
