//! Requests that wait for their answers: bounded in number, matched exactly, sent again with
//! growing patience, given up in bounded time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use weft_fabric::Tick;
use weft_state::State;
use weft_wire::header::method;
use weft_wire::smp::SmpView;

use super::rtt::RoundTrip;
use super::window::Window;

/// Bounds on requests in flight, and timeouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub(crate) struct Budget {
    /// The most requests outstanding to all targets together, 1 to 65,536.
    pub total: usize,
    /// Requests outstanding to one target.
    pub per_target: u8,
    /// First timeout while no round trip has been measured, nanoseconds.
    pub first_timeout_ns: u64,
    /// Shortest first timeout, nanoseconds.
    pub floor_ns: u64,
    /// Longest single timeout, nanoseconds.
    pub ceiling_ns: u64,
    /// Attempts that are always made.
    pub attempts: u32,
    /// No further attempt starts that would end later than this after the first, nanoseconds.
    pub patience_ns: u64,
}

/// Timeouts of answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// First timeout while no round trip has been measured.
    pub first: Duration,
    /// Shortest first timeout.
    pub floor: Duration,
    /// Longest single timeout.
    pub ceiling: Duration,
    /// Attempts that are always made; 0 is as 1.
    pub attempts: u32,
}

impl Budget {
    /// Requests outstanding to all targets and to one; no attempt starts that would end later than
    /// all of the longest timeouts together.
    pub(crate) fn new(total: usize, per_target: u8, patience: Patience) -> Self {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let (ceiling_ns, attempts) = (nanos(patience.ceiling), patience.attempts.max(1));
        Self {
            total,
            per_target,
            first_timeout_ns: nanos(patience.first),
            floor_ns: nanos(patience.floor),
            ceiling_ns,
            attempts,
            patience_ns: ceiling_ns.saturating_mul(u64::from(attempts)),
        }
    }
}

/// In place of the index of a node that is not known.
pub(crate) const NO_NODE: u32 = u32::MAX;

/// Whom a request is for, and how patient to be with it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Target {
    /// Dense index of the node, or [`NO_NODE`].
    pub node: u32,
    /// Estimate of its round trip.
    pub round_trip: RoundTrip,
    /// It did not answer the last time: a few attempts are enough.
    pub silent: bool,
}

/// A request that waits for its answer.
#[derive(Debug, Clone, State)]
struct Pending<T> {
    node: u32,
    tag: T,
    #[state(datagram)]
    mad: Vec<u8>,
    attempt: u32,
    silent: bool,
    first_sent: Tick,
    timeout_ns: u64,
    expires: Tick,
}

#[derive(Debug, Clone, State)]
struct Slot<T> {
    generation: u16,
    pending: Option<Pending<T>>,
}

/// A request with its answer.
#[derive(Debug)]
pub(crate) struct Answered<T> {
    /// The requested node.
    pub node: u32,
    /// The caller's tag.
    pub tag: T,
    /// The request as it was sent.
    pub request: Vec<u8>,
    /// Nanoseconds from sending to the answer, none when it was sent more than once.
    pub round_trip_ns: Option<u64>,
}

/// Result of a timeout.
#[derive(Debug)]
pub(crate) enum Expired<T> {
    /// Send this datagram again.
    Again {
        /// The requested node.
        node: u32,
        /// The caller's tag.
        tag: T,
        /// The request.
        mad: Vec<u8>,
        /// How often it was sent before.
        sent: u32,
    },
    /// The node did not answer.
    GivenUp {
        /// The requested node.
        node: u32,
        /// The caller's tag.
        tag: T,
        /// The request.
        request: Vec<u8>,
        /// Number of attempts.
        attempts: u32,
    },
}

/// Pending requests; `T` is the caller's tag, returned with the answer.
#[derive(Debug, Clone, State)]
pub(crate) struct Transactions<T> {
    budget: Budget,
    slots: Vec<Slot<T>>,
    free: Vec<u16>,
    timers: BinaryHeap<Reverse<(Tick, u16, u16, u32)>>,
    outstanding: usize,
    window: Window,
    overall: RoundTrip,
    /// Each request is sent once.
    once: bool,
}

/// Attempts for a target that was silent the last time.
const SILENT_ATTEMPTS: u32 = 3;

/// Bits of a generation.
const GENERATION: u16 = 0x7FFF;
/// The request is a Set.
const WRITES: u32 = 1 << 31;

/// The transaction's slot and its generation, and whether it writes, in the lower half of the
/// identifier: a kernel may replace the upper half by its own.
fn transaction_id(slot: u16, generation: u16, writes: bool) -> u64 {
    let writes = if writes { WRITES } else { 0 };
    u64::from(writes | u32::from(generation) << 16 | u32::from(slot))
}

/// Whether a transaction identifier was given to a Set.
pub(crate) fn is_of_a_set(transaction_id: u64) -> bool {
    transaction_id as u32 & WRITES != 0
}

const METHOD_AT: usize = 3;
const TRANSACTION_ID_AT: usize = 8;
const INITIAL_PATH: std::ops::Range<usize> = 40..104;

impl<T: Copy> Transactions<T> {
    pub(crate) fn new(budget: Budget) -> Self {
        Self {
            budget,
            slots: Vec::new(),
            free: Vec::new(),
            timers: BinaryHeap::new(),
            outstanding: 0,
            window: Window::default(),
            overall: RoundTrip::default(),
            once: false,
        }
    }

    /// Whether requests that are not answered in time are sent again, as they are from the beginning.
    pub(crate) fn send_again(&mut self, again: bool) {
        self.once = !again;
    }

    /// Changes the bounds; for requests in flight they hold from their next timeout on.
    pub(crate) fn set_budget(&mut self, budget: Budget) {
        self.budget = budget;
    }

    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Round trip of all targets together.
    pub(crate) fn overall(&self) -> RoundTrip {
        self.overall
    }

    /// Requests that wait for their answers.
    pub(crate) fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// Nodes are numbered anew: the first is that which had the first number of `order`, and so on. Requests
    /// to others go on without a node.
    pub(crate) fn renumber(&mut self, order: &[u32]) {
        let pending = self
            .slots
            .iter_mut()
            .filter_map(|slot| slot.pending.as_mut());
        for pending in pending {
            let new = order.iter().position(|old| *old == pending.node);
            pending.node = new.map_or(NO_NODE, |new| new as u32);
        }
    }

    /// The requests to a node that wait for their answers.
    pub(crate) fn to(&self, node: u32) -> impl Iterator<Item = &[u8]> {
        let pending = self.slots.iter().filter_map(|slot| slot.pending.as_ref());
        let to = pending.filter(move |pending| pending.node == node);
        to.map(|pending| pending.mad.as_slice())
    }

    /// Whether a request to a node is in flight for a purpose.
    pub(crate) fn is_asked(&self, node: u32, tag: &T) -> bool
    where
        T: PartialEq,
    {
        let mut pending = self.slots.iter().filter_map(|slot| slot.pending.as_ref());
        pending.any(|pending| pending.node == node && pending.tag == *tag)
    }

    /// Whether one more may be sent.
    pub(crate) fn has_room(&self) -> bool {
        self.outstanding < self.most().min(self.window.size())
    }

    /// The most requests that are ever in flight together.
    fn most(&self) -> usize {
        self.budget.total.min(usize::from(u16::MAX))
    }

    /// Registers a request and writes its transaction identifier into it. The caller has seen
    /// [`Self::has_room`].
    pub(crate) fn begin(&mut self, now: Tick, target: Target, tag: T, mad: &mut [u8]) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot {
                generation: 0,
                pending: None,
            });
            (self.slots.len() - 1) as u16
        });
        let timeout_ns = self.first_timeout(&target.round_trip);
        let expires = Tick(now.0.saturating_add(timeout_ns));
        let entry = &mut self.slots[usize::from(slot)];
        entry.generation = entry.generation.wrapping_add(1) & GENERATION;
        let writes = mad.get(METHOD_AT) == Some(&method::SET);
        let id = transaction_id(slot, entry.generation, writes);
        if let Some(to) = mad.get_mut(TRANSACTION_ID_AT..TRANSACTION_ID_AT + 8) {
            to.copy_from_slice(&id.to_be_bytes());
        }
        entry.pending = Some(Pending {
            node: target.node,
            tag,
            mad: mad.to_vec(),
            attempt: 1,
            silent: target.silent,
            first_sent: now,
            timeout_ns,
            expires,
        });
        let generation = entry.generation;
        self.outstanding += 1;
        self.arm(expires, slot, generation, 1);
    }

    fn first_timeout(&self, target: &RoundTrip) -> u64 {
        let budget = &self.budget;
        let measured = target.timeout_ns().max(self.overall.timeout_ns());
        let timeout = measured.unwrap_or(budget.first_timeout_ns);
        timeout.clamp(budget.floor_ns, budget.ceiling_ns.max(budget.floor_ns))
    }

    fn arm(&mut self, at: Tick, slot: u16, generation: u16, attempt: u32) {
        if self.timers.len() > 4 * self.slots.len() + 64 {
            let slots = &self.slots;
            self.timers
                .retain(|Reverse((_, slot, generation, attempt))| {
                    is_current(slots, *slot, *generation, *attempt)
                });
        }
        self.timers.push(Reverse((at, slot, generation, attempt)));
    }

    /// Finds the request that a response answers and ends it. `None` for a response without a
    /// request, or one that does not fit it.
    pub(crate) fn answer(
        &mut self,
        now: Tick,
        response: &SmpView<'_>,
        mad: &[u8],
    ) -> Option<Answered<T>> {
        self.take(now, response.header.transaction_id, |_, request| {
            fits(request, response, mad)
        })
    }

    /// Finds the request with a transaction identifier and ends it, if `fits` accepts
    /// its tag and its datagram.
    pub(crate) fn take(
        &mut self,
        now: Tick,
        transaction_id: u64,
        fits: impl FnOnce(&T, &[u8]) -> bool,
    ) -> Option<Answered<T>> {
        let id = transaction_id as u32;
        let (slot, generation) = (id as u16, (id >> 16) as u16 & GENERATION);
        let entry = self.slots.get_mut(usize::from(slot))?;
        let pending = entry.pending.as_ref()?;
        if entry.generation != generation || !fits(&pending.tag, &pending.mad) {
            return None;
        }
        let pending = entry.pending.take()?;
        self.free.push(slot);
        self.outstanding -= 1;
        let round_trip_ns =
            (pending.attempt == 1).then(|| now.0.saturating_sub(pending.first_sent.0));
        if let Some(round_trip_ns) = round_trip_ns {
            self.overall.sample(round_trip_ns);
            self.window.answered(self.outstanding + 1, self.most());
        }
        Some(Answered {
            node: pending.node,
            tag: pending.tag,
            request: pending.mad,
            round_trip_ns,
        })
    }

    /// Forgets the requests that `which` picks by what was attached: they are not sent again, and
    /// their answers are strays.
    pub(crate) fn withdraw(&mut self, which: impl Fn(&T) -> bool) {
        for (number, slot) in self.slots.iter_mut().enumerate() {
            if slot
                .pending
                .take_if(|pending| which(&pending.tag))
                .is_some()
            {
                self.free.push(number as u16);
                self.outstanding -= 1;
            }
        }
    }

    /// The next request whose time is up, none when all may still wait.
    pub(crate) fn expire(&mut self, now: Tick) -> Option<Expired<T>> {
        loop {
            let Reverse((at, slot, generation, attempt)) = *self.timers.peek()?;
            let current = is_current(&self.slots, slot, generation, attempt);
            if current && at > now {
                return None;
            }
            self.timers.pop();
            if current && !self.may_wait(now, slot) {
                return self.time_out(now, slot);
            }
        }
    }

    /// Gives a request that was sent once more time, if answers of all targets have become slower since it was sent: what is
    /// only late is not asked for twice.
    fn may_wait(&mut self, now: Tick, slot: u16) -> bool {
        let timeout_ns = self.first_timeout(&RoundTrip::default());
        let entry = &mut self.slots[usize::from(slot)];
        let Some(pending) = entry
            .pending
            .as_mut()
            .filter(|request| request.attempt == 1)
        else {
            return false;
        };
        let expires = Tick(pending.first_sent.0.saturating_add(timeout_ns));
        if expires <= now {
            return false;
        }
        (pending.timeout_ns, pending.expires) = (timeout_ns, expires);
        let generation = entry.generation;
        self.arm(expires, slot, generation, 1);
        true
    }

    fn time_out(&mut self, now: Tick, slot: u16) -> Option<Expired<T>> {
        let budget = self.budget;
        let entry = self.slots.get_mut(usize::from(slot))?;
        let pending = entry.pending.as_mut()?;
        if pending.attempt == 1 && !pending.silent {
            self.window.late(now, pending.first_sent);
        }
        let next_ns = (2 * pending.timeout_ns).min(budget.ceiling_ns.max(budget.floor_ns));
        let waited_ns = now.0.saturating_sub(pending.first_sent.0);
        let within = waited_ns.saturating_add(next_ns) <= budget.patience_ns;
        let more = !self.once && (pending.attempt < budget.attempts || within);
        if !more || (pending.silent && pending.attempt >= SILENT_ATTEMPTS) {
            let pending = entry.pending.take()?;
            self.free.push(slot);
            self.outstanding -= 1;
            return Some(Expired::GivenUp {
                node: pending.node,
                tag: pending.tag,
                request: pending.mad,
                attempts: pending.attempt,
            });
        }
        pending.attempt += 1;
        pending.timeout_ns = next_ns;
        pending.expires = Tick(now.0.saturating_add(next_ns));
        let (expires, attempt, mad) = (pending.expires, pending.attempt, pending.mad.clone());
        let (node, tag) = (pending.node, pending.tag);
        let generation = entry.generation;
        self.arm(expires, slot, generation, attempt);
        let sent = attempt.saturating_sub(1);
        Some(Expired::Again {
            node,
            tag,
            mad,
            sent,
        })
    }

    /// When [`Self::expire`] has something to say next.
    pub(crate) fn deadline(&self) -> Option<Tick> {
        // The heap's top may be out of date and early, never late: that costs one empty call.
        self.timers
            .peek()
            .filter(|_| self.outstanding > 0)
            .map(|Reverse((at, ..))| *at)
    }

    /// Drops timers of requests that are over from the top of the heap, so that
    /// [`Self::deadline`] is exact.
    pub(crate) fn settle(&mut self) {
        while let Some(Reverse((_, slot, generation, attempt))) = self.timers.peek() {
            if is_current(&self.slots, *slot, *generation, *attempt) {
                return;
            }
            self.timers.pop();
        }
    }
}

fn is_current<T>(slots: &[Slot<T>], slot: u16, generation: u16, attempt: u32) -> bool {
    slots.get(usize::from(slot)).is_some_and(|entry| {
        entry.generation == generation
            && entry
                .pending
                .as_ref()
                .is_some_and(|pending| pending.attempt == attempt)
    })
}

/// Whether a response has the class, the attribute, the modifier and the route of its request.
fn fits(request: &[u8], response: &SmpView<'_>, mad: &[u8]) -> bool {
    let Ok(asked) = SmpView::parse(request) else {
        return false;
    };
    let same_route = match (asked.directed, response.directed) {
        (Some(_), Some(_)) => {
            asked.header.hop_count == response.header.hop_count
                && request.get(INITIAL_PATH) == mad.get(INITIAL_PATH)
        }
        (None, None) => true,
        _ => false,
    };
    same_route
        && response.header.method == method::GET_RESP
        && response.header.attribute_id == asked.header.attribute_id
        && response.header.attribute_modifier == asked.header.attribute_modifier
}

#[cfg(test)]
#[path = "transactions_tests.rs"]
mod tests;
