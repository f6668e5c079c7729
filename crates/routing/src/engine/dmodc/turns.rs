//! Destinations take the candidates of a set in turn.

use weft_fabric::UNREACHABLE;

use crate::engine::divisor::Divisor;
use crate::engine::rows::take_turns;

/// A bit for each slot: a switch has at most 254 neighbours, and twice as many slots.
const SLOT_WORDS: usize = 8;

/// The candidates of a set.
pub(super) struct Turns<'a> {
    /// In the order in which destinations take them, [`UNREACHABLE`] for a missing one.
    pub(super) ports: &'a [u8],
    /// Positions of missing ports.
    pub(super) missing: &'a [u32],
    pub(super) deal: Deal,
}

/// Assignment of destinations to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Deal {
    /// The number of ports.
    pub(super) count: Divisor,
    /// Number of slots that destinations are assigned to.
    pub(super) slots: usize,
    /// Neighbours and links that there are.
    pub(super) neighbours: usize,
    pub(super) links: usize,
    /// Number of LIDs of one host after which a candidate is skipped.
    pub(super) skip: u32,
}

/// Position of a destination.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start {
    /// In the list.
    place: usize,
    /// Number of rounds through the list before it.
    round: u32,
}

impl Turns<'_> {
    /// Position of a number.
    pub(super) fn start(&self, number: u32) -> Start {
        Start {
            place: self.deal.count.rest(number) as usize,
            round: self.deal.count.quotient(number),
        }
    }

    /// Position of the next number.
    pub(super) fn after(&self, start: Start) -> Start {
        match start.place + 1 == self.ports.len() {
            true => Start {
                place: 0,
                round: start.round.wrapping_add(1),
            },
            false => Start {
                place: start.place + 1,
                ..start
            },
        }
    }

    /// The port of a destination.
    pub(super) fn port(&self, start: Start) -> u8 {
        match self.ports[start.place] {
            UNREACHABLE => self.ports[self.instead(start, 0)],
            port => port,
        }
    }

    /// Replacement for a missing port: in each round the destinations of all missing ports go to the next
    /// existing ones, so that these get equal numbers; `further` places on
    /// for LIDs with an offset.
    fn instead(&self, Start { place, round }: Start, further: usize) -> usize {
        let rank = self
            .missing
            .partition_point(|missing| (*missing as usize) < place);
        let first = self.missing.first().map_or(0, |missing| *missing as usize);
        let before = (round as usize).wrapping_mul(self.missing.len());
        let there = self.ports.len() - self.missing.len();
        let index = before.wrapping_add(first + rank + further) % there.max(1);
        let skipped = |at: usize, missing: &u32| at + usize::from(*missing as usize <= at);
        self.missing.iter().fold(index, skipped)
    }

    /// The next place of an existing port.
    fn next(&self, place: usize) -> usize {
        let (before, after) = self.ports.split_at(place + 1);
        let is_there = |port: &u8| *port != UNREACHABLE;
        let further = after.iter().position(is_there).map(|step| place + 1 + step);
        let around = || before.iter().position(is_there);
        further.or_else(around).unwrap_or(place)
    }

    /// Successive destinations with one LID each.
    pub(super) fn take(&self, entries: &mut [u8], start: Start) {
        take_turns(entries, self.ports, start.place);
        let count = self.ports.len();
        for &missing in self.missing {
            let missing = missing as usize;
            let (ahead, first) = match missing < start.place {
                true => (missing + count - start.place, start.round.wrapping_add(1)),
                false => (missing - start.place, start.round),
            };
            let entries = entries.iter_mut().skip(ahead).step_by(count);
            for (entry, round) in entries.zip(first..) {
                *entry = self.port(Start {
                    place: missing,
                    round,
                });
            }
        }
    }

    /// The LIDs of one end port: each takes another neighbour.
    pub(super) fn spread(&self, entries: &mut [u8], start: Start) {
        match entries {
            [] => return,
            [entry] => {
                *entry = self.port(start);
                return;
            }
            _ => {}
        }
        let step = self.step(entries.len());
        let all_differ = step > 1 || entries.len() <= self.deal.skip as usize;
        if self.missing.is_empty() {
            self.successive(entries, start.place, step);
        } else if all_differ && entries.len() <= self.deal.neighbours {
            self.apart(entries, start, step);
        } else {
            self.walk(entries, start);
        }
    }

    /// Distance between successive LIDs of a host. If it is large, hosts next to each other share few
    /// paths, and an uneven remainder falls to other paths for each LID.
    fn step(&self, lids: usize) -> usize {
        (self.deal.slots / lids).max(1)
    }

    fn successive(&self, entries: &mut [u8], place: usize, step: usize) {
        let turns = self.ports.len() / self.deal.slots.max(1);
        let is_even = self.ports.len() == self.deal.links;
        if is_even && entries.len() > self.deal.slots && entries.len() <= turns {
            return self.along_trunks(entries, place);
        }
        let skip = if step > 1 { u32::MAX } else { self.deal.skip };
        for (entry, index) in entries.iter_mut().zip(0..) {
            let further = index * step as u32 + index / skip;
            *entry = self.ports[self.deal.count.rest(place as u32 + further) as usize];
        }
    }

    /// Trunks with a link for each LID: a neighbour after the other, over links far apart.
    fn along_trunks(&self, entries: &mut [u8], place: usize) {
        let turns = self.ports.len() / self.deal.slots;
        let step = turns / entries.len();
        let (turn, slot) = (place / self.deal.slots, place % self.deal.slots);
        for (index, entry) in entries.iter_mut().enumerate() {
            let turn = (turn + index * step) % turns;
            *entry = self.ports[turn * self.deal.slots + (slot + index) % self.deal.slots];
        }
    }

    /// At most as many LIDs as neighbours: those of missing ports go to some that no other LID of the
    /// host takes.
    fn apart(&self, entries: &mut [u8], Start { place, round }: Start, step: usize) {
        let start = |index: usize| {
            let place = (place + index * step) as u32;
            Start {
                place: self.deal.count.rest(place) as usize,
                round: round.wrapping_add(self.deal.count.quotient(place)),
            }
        };
        let mut taken = [0u64; SLOT_WORDS];
        for index in 0..entries.len() {
            take(&mut taken, start(index).place % self.deal.slots);
        }
        for (index, entry) in entries.iter_mut().enumerate() {
            let mut to = start(index).place;
            if self.ports[to] == UNREACHABLE {
                to = self.instead(start(index), index * step);
                let mut places = 0..self.ports.len();
                while !take(&mut taken, to % self.deal.slots) && places.next().is_some() {
                    to = self.next(to);
                }
            }
            *entry = self.ports[to];
        }
    }

    /// More LIDs than neighbours, or than are sent here by rotation: takes the existing ports one
    /// after the other.
    fn walk(&self, entries: &mut [u8], start: Start) {
        let mut place = start.place;
        if self.ports[place] == UNREACHABLE {
            place = self.next(place);
        }
        for (entry, index) in entries.iter_mut().zip(1u32..) {
            *entry = self.ports[place];
            place = self.next(place);
            if index.is_multiple_of(self.deal.skip) {
                place = self.next(place);
            }
        }
    }
}

/// Takes a slot; returns whether it was free.
fn take(taken: &mut [u64; SLOT_WORDS], slot: usize) -> bool {
    let (word, bit) = (&mut taken[slot / 64 % SLOT_WORDS], 1 << (slot % 64));
    let was_free = *word & bit == 0;
    *word |= bit;
    was_free
}
