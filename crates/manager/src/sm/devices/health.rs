//! How far a node can be relied on.

use weft_fabric::Tick;

use crate::ask::rtt::RoundTrip;

/// How well a node answers and obeys.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// It could not do its work in this sweep.
    pub failed: bool,
    /// It did not do as told in the sweep before.
    pub stubborn: bool,
    /// It may hold something else than it has confirmed: it is read again when it next answers. As
    /// long as it does not, what it has confirmed is the best guess.
    pub doubtful: bool,
    /// Its agent does not know Aggregate.
    pub single: bool,
    pub round_trip: RoundTrip,
    /// The sweep that found it last.
    pub seen: u64,
    /// The sweep in which it answered last.
    pub answered: u64,
    pub answered_at: Tick,
    /// The sweep in which, or after which, it was written to last.
    pub written: u64,
    /// The sweep in which, or after which, an answer of it was last overdue.
    pub overdue: Option<u64>,
}

impl Health {
    /// Whether it has answered in `sweep` and done its work so far.
    pub(crate) fn works_in(&self, sweep: u64) -> bool {
        self.answered == sweep && !self.failed
    }
}
