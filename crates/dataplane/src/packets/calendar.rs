//! Events in order of time; those of one moment by a rule, see [`Order`].
//!
//! A calendar queue: a wheel of slots of about a nanosecond each for near events, a heap for far
//! ones. Insertion and removal take constant time for near events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Picos, event};

/// A slot covers 2^10 ps.
const SLOT_BITS: u32 = 10;
/// Slots of the wheel: 4.2 µs, several packets of the largest size.
const SLOTS: usize = 4_096;
const WORDS: usize = SLOTS / 64;

/// Order of two events of one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// The one that was put in first.
    #[default]
    Entry,
    /// By kind and place, so that the events of a device do not depend on when other devices
    /// insert theirs: a fabric that is cut into [`Shards`](super::Shards) needs it.
    Place,
}

/// Something that will happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Picos,
    /// The event, encoded by its creator.
    pub code: u64,
}

/// Events to come.
#[derive(Debug, Clone)]
pub struct Calendar {
    order: Order,
    /// Events of the slot at hand, in order from `next`.
    current: Vec<Event>,
    next: usize,
    /// Number of the slot at hand, counted from time 0.
    slot: u64,
    wheel: Vec<Vec<Event>>,
    /// One bit for each slot of the wheel that has events.
    occupied: [u64; WORDS],
    far: BinaryHeap<Reverse<(Picos, u64, u64)>>,
    /// Orders far events of the same moment.
    sequence: u64,
    len: usize,
}

impl Calendar {
    /// Without events.
    pub fn new(order: Order) -> Self {
        Self {
            order,
            current: Vec::new(),
            next: 0,
            slot: 0,
            wheel: vec![Vec::new(); SLOTS],
            occupied: [0; WORDS],
            far: BinaryHeap::new(),
            sequence: 0,
            len: 0,
        }
    }

    /// Number of events to come.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is to come.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts an event in. One that lies before the last one taken out happens next.
    #[inline]
    pub fn push(&mut self, at: Picos, code: u64) {
        self.len += 1;
        let slot = at >> SLOT_BITS;
        let code = self.mix(at, code);
        let event = Event { at, code };
        if slot <= self.slot {
            self.insert(event);
        } else if slot - self.slot < SLOTS as u64 {
            self.put(slot, event);
        } else {
            self.sequence += 1;
            self.far.push(Reverse((at, self.sequence, code)));
        }
    }

    #[inline]
    fn put(&mut self, slot: u64, event: Event) {
        let place = slot as usize % SLOTS;
        self.wheel[place].push(event);
        self.occupied[place / 64] |= 1 << (place % 64);
    }

    /// Inserts into the rest of the current slot.
    fn insert(&mut self, event: Event) {
        let rest = &self.current[self.next..];
        let rank = self.rank(&event);
        let before =
            |other: &Event| other.at < event.at || other.at == event.at && self.rank(other) <= rank;
        let place = self.next + rest.partition_point(before);
        self.current.insert(place, event);
    }

    #[inline]
    fn rank(&self, event: &Event) -> u64 {
        match self.order {
            Order::Entry => 0,
            Order::Place => event::rank(event.code),
        }
    }

    /// Events are kept so that they need no more than be compared.
    #[inline]
    fn mix(&self, at: Picos, code: u64) -> u64 {
        match self.order {
            Order::Entry => code,
            Order::Place => event::mix(at, code),
        }
    }

    /// When the next event is.
    pub fn peek(&self) -> Option<Picos> {
        if let Some(event) = self.current.get(self.next) {
            return Some(event.at);
        }
        let near = self.next_occupied();
        let near = near.map(|slot| &self.wheel[slot as usize % SLOTS]);
        let near = near.and_then(|events| events.iter().map(|event| event.at).min());
        let far = self.far.peek().map(|Reverse((at, ..))| *at);
        near.into_iter().chain(far).min()
    }

    /// The next event, if it is not after `until`.
    #[inline]
    pub fn pop(&mut self, until: Picos) -> Option<Event> {
        if self.next == self.current.len() && !self.turn(until) {
            return None;
        }
        let Event { at, code } = self.current[self.next];
        if at > until {
            return None;
        }
        self.next += 1;
        self.len -= 1;
        let code = self.mix(at, code);
        Some(Event { at, code })
    }

    /// Advances to the next slot with events; returns whether there is one that begins by `until`.
    /// Slots that may still get earlier events are left as they are.
    fn turn(&mut self, until: Picos) -> bool {
        self.current.clear();
        self.next = 0;
        if self.len == 0 {
            return false;
        }
        let near = self.next_occupied();
        let far = self.far.peek().map(|Reverse((at, ..))| at >> SLOT_BITS);
        let slot = match (near, far) {
            (Some(near), Some(far)) => near.min(far),
            (near, far) => near.or(far).unwrap_or(self.slot),
        };
        if slot > until >> SLOT_BITS {
            return false;
        }
        self.slot = slot;
        self.bring_near();
        let place = self.slot as usize % SLOTS;
        self.occupied[place / 64] &= !(1 << (place % 64));
        std::mem::swap(&mut self.current, &mut self.wheel[place]);
        self.sort();
        true
    }

    fn sort(&mut self) {
        let current = &mut self.current;
        match self.order {
            Order::Entry => current.sort_by_key(|event| event.at),
            Order::Place => {
                current.sort_by_key(|event| event::moment_and_rank(event.at, event.code));
            }
        }
    }

    /// Moves far events that are now near to the wheel.
    fn bring_near(&mut self) {
        while let Some(Reverse((at, _, code))) = self.far.peek().copied() {
            let slot = at >> SLOT_BITS;
            if slot - self.slot >= SLOTS as u64 {
                return;
            }
            self.far.pop();
            self.put(slot, Event { at, code });
        }
    }

    /// The first slot after the one at hand that has events in the wheel.
    fn next_occupied(&self) -> Option<u64> {
        let start = (self.slot as usize + 1) % SLOTS;
        let first = self.occupied[start / 64] & !0 << (start % 64);
        let word = |step: usize| match step {
            0 => first,
            _ => self.occupied[(start / 64 + step) % WORDS],
        };
        let step = (0..=WORDS).find(|step| word(*step) != 0)?;
        let place = (start / 64 + step) % WORDS * 64 + word(step).trailing_zeros() as usize;
        let ahead = (place + SLOTS - start) % SLOTS;
        Some(self.slot + 1 + ahead as u64)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::packets::{MILLI, NANO, Random};

    /// Events before a far one go through the wheel even if that one is known.
    #[test]
    fn looking_far_ahead_takes_no_memory() {
        let mut calendar = Calendar::new(Order::Place);
        let far = 64 * MILLI;
        calendar.push(far, 7);
        for step in 1..50_000 {
            let at = step * NANO;
            assert_eq!(calendar.peek(), Some(far));
            assert_eq!(calendar.pop(at), None);
            calendar.push(at + 1, 5);
            assert_eq!(calendar.peek(), Some(at + 1));
            let event = calendar.pop(at + 1).map(|event| event.code);
            assert_eq!(event, Some(5));
        }
        let rooms = calendar.wheel.iter().map(Vec::capacity).sum::<usize>();
        assert!(calendar.current.capacity() + rooms <= 4 * (SLOTS + 1));
        assert_eq!(calendar.pop(far).map(|event| event.at), Some(far));
    }

    /// Random events, some put in while others are taken out, against a sorted list.
    #[test]
    fn events_come_out_in_order_of_time_and_then_by_the_rule() {
        for seed in 0..20 {
            check(Order::Entry, seed, |_, _| 0);
            check(Order::Place, seed, |at, code| {
                event::rank(event::mix(at, code))
            });
        }
    }

    fn check(order: Order, seed: u64, rank: fn(Picos, u64) -> u64) {
        let mut random = Random::new(seed);
        let mut calendar = Calendar::new(order);
        let mut model: Vec<(Picos, u64)> = Vec::new();
        let sort = |model: &mut Vec<(Picos, u64)>| {
            model.sort_by_key(|(at, code)| (*at, rank(*at, *code)));
        };
        let mut now = 0;
        for number in 0..5_000 {
            let reach = [2_000, 100_000, 5_000_000, 3_000_000_000][random.below(4) as usize];
            let at = now + u64::from(random.below(reach)) / 100 * 100;
            // Few kinds and places, so that some are the same.
            let code = event::code(number % 3, random.below(5), number as u32);
            calendar.push(at, code);
            model.push((at, code));
            if random.below(3) == 0 {
                sort(&mut model);
                let (at, code) = model.remove(0);
                assert_eq!(calendar.pop(at - 1), None);
                assert_eq!(calendar.pop(at), Some(Event { at, code }));
                now = at;
            }
        }
        sort(&mut model);
        for (at, code) in model {
            assert_eq!(calendar.pop(Picos::MAX), Some(Event { at, code }));
        }
        assert!(calendar.is_empty());
        assert_eq!(calendar.peek(), None);
    }
}
