//! Reliability of a node.

use weft_fabric::Tick;
use weft_state::State;

use crate::ask::rtt::RoundTrip;

/// Reliability of a node's answers and writes.
#[derive(Debug, Clone, Default, State)]
pub(crate) struct Health {
    /// It could not do its work in this sweep.
    pub failed: bool,
    /// It did not apply a write in the previous sweep.
    pub stubborn: bool,
    /// Its state is uncertain: it is read again when it next answers. Until
    /// then, its confirmed state is the best estimate.
    pub doubtful: bool,
    /// A write has arrived a second time, after a later one: what was there before may be back. True until it is
    /// read again.
    pub overwritten: bool,
    /// Another manager may have written to it since it was last read: its linear table may be any.
    pub foreign: bool,
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
