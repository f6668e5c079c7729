//! I7 by writes: two managers never act on one connected fabric for longer than they need to find
//! each other. Until then neither knows the other's tables, and I2 cannot hold.

use std::time::Duration;

use super::{Breach, Invariant};
use weft_fabric::{Guid, Tick};

/// Two managers that write within this time act at once.
pub const WINDOW: Duration = Duration::from_secs(10);

/// A Set that a manager sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// When.
    pub at: Tick,
    /// Number of the manager.
    pub member: usize,
    /// The connected fabric that it was sent into, by the lowest GUID of a node there.
    pub part: Guid,
}

/// Longest time from sending a Set to its execution where agents answer at once: two delays of up to 2 ms and an agent's
/// full queue.
pub const IN_FLIGHT_MAX: Duration = Duration::from_millis(10);

/// The exception to I2: whether a manager whose Set was carried out at `done` could not know the tables
/// of all switches, because another manager wrote to a switch at `other_wrote`, after the beginning of
/// the sweep in which the Set was sent. `sweeps` are the times at which the sender's sweeps began; from sending a Set
/// to its execution it is `in_flight` at most.
pub fn could_not_know(
    done: Tick,
    in_flight: Duration,
    other_wrote: Option<Tick>,
    sweeps: impl IntoIterator<Item = Tick>,
) -> bool {
    let sent_in = sweeps.into_iter().filter(|at| *at + in_flight <= done);
    let began = sent_in.max().unwrap_or_default();
    other_wrote.is_some_and(|wrote| wrote >= began)
}

/// Maximum number of contentions reported.
const TOLD_MAX: usize = 3;

/// A time in which managers took turns to write.
#[derive(Debug, Clone, Copy)]
struct Contention {
    first: Write,
    last: Write,
}

/// I7 over writes in order of time: managers take turns in one connected fabric, each within [`WINDOW`] of
/// the other, for no longer than `within`.
pub fn check(writes: &[Write], within: Duration) -> Vec<Breach> {
    let mut parts: Vec<Guid> = writes.iter().map(|write| write.part).collect();
    parts.sort_unstable();
    parts.dedup();
    let spans = parts.into_iter().flat_map(|part| contentions(writes, part));
    let long = spans.filter(|span| span.last.at.since(span.first.at) > within);
    long.take(TOLD_MAX).map(breach).collect()
}

fn contentions(writes: &[Write], part: Guid) -> Vec<Contention> {
    let own: Vec<Write> = writes
        .iter()
        .copied()
        .filter(|write| write.part == part)
        .collect();
    let mut spans: Vec<Contention> = Vec::new();
    for pair in own.windows(2) {
        let [first, last] = [pair[0], pair[1]];
        if first.member == last.member || last.at.since(first.at) > WINDOW {
            continue;
        }
        match spans.last_mut() {
            Some(span) if first.at.since(span.last.at) <= WINDOW => span.last = last,
            _ => spans.push(Contention { first, last }),
        }
    }
    spans
}

fn breach(Contention { first, last }: Contention) -> Breach {
    let what = format!(
        "managers {} and {} both wrote to the fabric around {} from {} to {} ns",
        first.member, last.member, first.part, first.at.0, last.at.0
    );
    Breach::new(Invariant::OneMaster, what)
}
