//! Streams of packets in which a lost one is noticed by what follows it.
//!
//! A packet's place in its flow is that of its message among those that its rank has begun, and its
//! number in the message; it also carries the pass, which counts how often the sender has gone back.
//! A flow is written down once it has lost a packet: while nothing is lost there is none.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use crate::constants::TCP_DUPLICATES;
use crate::packets::Picos;

/// Content of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Packets that processors write for one other rank, and control of rendezvous.
    Pio,
    /// Packets that the engines send eagerly to one other rank.
    Dma,
    /// A window of a rendezvous.
    Window,
    /// Requests to read.
    Request,
    /// Packets by which a kernel answers them.
    Response,
    /// An IP packet.
    Segment,
}

/// The name of a flow: two ranks, or a transfer and a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) kind: Kind,
    pub(super) one: u32,
    pub(super) other: u32,
}

/// Bits of a message's or a packet's number in a tag.
pub(super) const NUMBER_BITS: u32 = 20;
const NUMBERS: u32 = (1 << NUMBER_BITS) - 1;
const PASSES: u32 = 15;

/// The pass before another one.
pub(super) fn before(pass: u32) -> u32 {
    pass.wrapping_sub(1) & PASSES
}

/// A packet's number in its flow; wraps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Number of the message among those of its rank.
    pub(super) serial: u32,
    /// Number of the packet in the message.
    pub(super) number: u32,
}

impl Place {
    /// Whether it comes before another one.
    fn is_before(self, other: Self) -> bool {
        match other.serial.wrapping_sub(self.serial) & NUMBERS {
            0 => self.number < other.number,
            ahead => ahead <= NUMBERS / 2,
        }
    }
}

/// Flow data in a packet's tag, in 24 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) pass: u32,
    /// Number of the packet, or of a request among those of its rank.
    pub(super) number: u32,
}

impl Stamp {
    pub(super) fn bits(self) -> u64 {
        u64::from(self.pass << NUMBER_BITS | self.number & NUMBERS)
    }

    pub(super) fn of(bits: u64) -> Self {
        let bits = bits as u32;
        Self {
            pass: bits >> NUMBER_BITS & PASSES,
            number: bits & NUMBERS,
        }
    }
}

/// Decision of a receiver on a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is the next one.
    Taken,
    /// It is dropped: out of sequence, or a second copy.
    Refused,
    /// Refused, and the sender is told what is missing.
    Missing,
}

/// A flow that has lost a packet.
#[derive(Debug, Clone)]
pub(super) struct Flow {
    pub(super) key: Key,
    pub(super) from: u32,
    pub(super) to: u32,
    /// Distinguishes it from others that had or will have its slot.
    uid: u32,
    pub(super) pass: u32,
    /// The first of this pass that is missing.
    pub(super) missing: Option<Place>,
    /// The receiver has reported a gap, and got nothing of it since.
    told: bool,
    /// Of a segment: the first number that the receiver lacks, once the sender went back.
    have: Option<u32>,
    /// Later segments that have come whole.
    later: u32,
    pub(super) timeout: Picos,
    pub(super) deadline: Picos,
    /// When its timer runs out.
    pub(super) armed: Picos,
}

impl Flow {
    /// A packet was lost; returns whether it is the first of its pass.
    pub(super) fn lose(&mut self, stamp: Stamp, place: Place) -> bool {
        if stamp.pass != self.pass {
            return false;
        }
        let first = self.missing.is_none();
        if self.missing.is_none_or(|known| place.is_before(known)) {
            self.missing = Some(place);
        }
        first
    }

    /// A packet has arrived.
    pub(super) fn judge(&mut self, stamp: Stamp, place: Place) -> Verdict {
        if stamp.pass != self.pass {
            return Verdict::Refused;
        }
        if self.missing.is_some_and(|gap| !place.is_before(gap)) {
            let tells = !self.told && self.key.kind != Kind::Segment;
            self.told |= tells;
            return if tells {
                Verdict::Missing
            } else {
                Verdict::Refused
            };
        }
        if let Some(have) = &mut self.have {
            if place.number < *have {
                return Verdict::Refused;
            }
            *have = place.number + 1;
        }
        self.told = false;
        Verdict::Taken
    }

    /// The sender queries progress; returns whether the receiver misses something, which it reports.
    pub(super) fn check(&mut self) -> bool {
        self.told |= self.missing.is_some();
        self.missing.is_some()
    }

    /// A later segment has come whole; returns whether TCP tells that this one is lost.
    pub(super) fn count_later(&mut self) -> bool {
        self.later += 1;
        let tells = self.later == TCP_DUPLICATES && !self.told && self.missing.is_some();
        self.told |= tells;
        tells
    }

    /// The sender goes back: a new pass begins with the missing packets, if there are any.
    pub(super) fn go_back(&mut self) -> Option<Place> {
        let missing = self.missing.take()?;
        self.pass = (self.pass + 1) & PASSES;
        match self.key.kind {
            // A window's new pass has a new generation, in which each gap is reported.
            Kind::Window => self.told = false,
            Kind::Segment => self.have = self.have.or(Some(missing.number)),
            _ => {}
        }
        Some(missing)
    }
}

/// All that have lost a packet.
#[derive(Debug, Clone, Default)]
pub(super) struct Flows {
    all: Vec<Flow>,
    free: Vec<u32>,
    by_key: BTreeMap<Key, u32>,
    uids: u32,
    /// Packets to be sent again before others, by transfer.
    again: BTreeMap<u32, VecDeque<Stamp>>,
    /// Transfers, and numbers of their packets that have come, where they can overtake each other.
    come: BTreeSet<(u32, u32)>,
}

const UIDS: u32 = (1 << 24) - 1;

impl Flows {
    /// Whether nothing was lost.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Its word in tags.
    pub(super) fn word(&self, slot: u32) -> u64 {
        u64::from(self.all[slot as usize].uid) << 32 | u64::from(slot)
    }

    /// The slot of a word, none when its flow is over.
    pub(super) fn slot(&self, word: u64) -> Option<u32> {
        let slot = word as u32;
        let flow = self.all.get(slot as usize)?;
        let lives = self.by_key.get(&flow.key) == Some(&slot);
        (lives && u64::from(flow.uid) == word >> 32).then_some(slot)
    }

    pub(super) fn get(&self, slot: u32) -> &Flow {
        &self.all[slot as usize]
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> &mut Flow {
        &mut self.all[slot as usize]
    }

    pub(super) fn find(&self, key: Key) -> Option<u32> {
        self.by_key.get(&key).copied()
    }

    /// The pass in which packets of a flow are sent.
    pub(super) fn pass(&self, key: Key) -> u32 {
        self.find(key).map_or(0, |slot| self.get(slot).pass)
    }

    /// The flow of a name, which is new if it is not there.
    pub(super) fn open(&mut self, key: Key, (from, to): (u32, u32)) -> u32 {
        if let Some(slot) = self.find(key) {
            return slot;
        }
        self.uids = (self.uids + 1) & UIDS;
        let flow = Flow {
            key,
            from,
            to,
            uid: self.uids,
            pass: 0,
            missing: None,
            told: false,
            have: None,
            later: 0,
            timeout: 0,
            deadline: Picos::MAX,
            armed: Picos::MAX,
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.all[slot as usize] = flow;
                slot
            }
            None => {
                self.all.push(flow);
                self.all.len() as u32 - 1
            }
        };
        self.by_key.insert(key, slot);
        slot
    }

    /// Forgets the windows and segments of a transfer that is over.
    pub(super) fn forget(&mut self, transfer: u32) {
        let come = self.come.range((transfer, 0)..=(transfer, u32::MAX));
        let come: Vec<(u32, u32)> = come.copied().collect();
        come.iter().for_each(|packet| {
            self.come.remove(packet);
        });
        for kind in [Kind::Window, Kind::Segment] {
            let name = |other| Key {
                kind,
                one: transfer,
                other,
            };
            let keys = self.by_key.range(name(0)..=name(u32::MAX));
            let keys: Vec<(Key, u32)> = keys.map(|(key, slot)| (*key, *slot)).collect();
            for (key, slot) in keys {
                self.by_key.remove(&key);
                self.free.push(slot);
            }
        }
        self.again.remove(&transfer);
    }

    /// Notes that a packet of a transfer has come; returns whether it is the first time.
    pub(super) fn note(&mut self, transfer: u32, number: u32) -> bool {
        self.come.insert((transfer, number))
    }

    /// Slots of the segments between two ranks that wait for missing packets.
    pub(super) fn open_segments(&self, from: u32, to: u32) -> Vec<u32> {
        let least = Key {
            kind: Kind::Segment,
            one: 0,
            other: 0,
        };
        let slots = self.by_key.range(least..).map(|(_, slot)| *slot);
        let slots = slots.filter(|slot| {
            let flow = self.get(*slot);
            (flow.from, flow.to) == (from, to) && flow.missing.is_some()
        });
        slots.collect()
    }

    /// Puts packets of a transfer behind those that are to be sent before its others.
    pub(super) fn repeat(&mut self, transfer: u32, numbers: Range<u32>, pass: u32) {
        let queue = self.again.entry(transfer).or_default();
        queue.extend(numbers.map(|number| Stamp { pass, number }));
    }

    /// The next packet of a transfer that is sent again.
    pub(super) fn next_again(&mut self, transfer: u32) -> Option<Stamp> {
        self.again.get_mut(&transfer)?.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: Key = Key {
        kind: Kind::Pio,
        one: 0,
        other: 1,
    };

    fn at(serial: u32, number: u32) -> Place {
        Place { serial, number }
    }

    fn flow(flows: &mut Flows, key: Key) -> &mut Flow {
        let slot = flows.open(key, (0, 1));
        flows.get_mut(slot)
    }

    #[test]
    fn places_follow_each_other_around_the_end_of_numbers() {
        for (one, other, before) in [
            (at(1, 0), at(1, 1), true),
            (at(1, 5), at(2, 0), true),
            (at(2, 0), at(1, 5), false),
            (at(NUMBERS, 3), at(0, 0), true),
            (at(NUMBERS, 3), at(NUMBERS + 1, 0), true),
            (at(0, 0), at(NUMBERS, 3), false),
            (at(4, 4), at(4, 4), false),
        ] {
            assert_eq!(one.is_before(other), before, "{one:?} before {other:?}");
        }
        let stamp = Stamp {
            pass: before(0),
            number: NUMBERS,
        };
        assert_eq!(Stamp::of(stamp.bits()), stamp);
    }

    #[test]
    fn a_receiver_tells_once_what_it_misses_until_something_comes_in_order() {
        let mut flows = Flows::default();
        let flow = flow(&mut flows, PAIR);
        let stamp = |pass, number| Stamp { pass, number };
        let judge = |flow: &mut Flow, pass, number| flow.judge(stamp(pass, number), at(7, number));
        assert!(flow.lose(stamp(0, 3), at(7, 3)));
        assert!(!flow.lose(stamp(0, 5), at(7, 5)));
        assert_eq!(judge(flow, 0, 2), Verdict::Taken);
        assert_eq!(judge(flow, 0, 4), Verdict::Missing);
        assert_eq!(judge(flow, 0, 6), Verdict::Refused);
        assert_eq!(flow.go_back(), Some(at(7, 3)));
        assert_eq!(flow.go_back(), None);
        // Old copies are refused; the new pass loses its first packet, which is not reported again.
        assert_eq!(judge(flow, 0, 7), Verdict::Refused);
        assert!(!flow.lose(stamp(0, 8), at(7, 8)));
        assert!(flow.lose(stamp(1, 3), at(7, 3)));
        assert_eq!(judge(flow, 1, 4), Verdict::Refused);
        assert!(flow.check());
        flow.go_back();
        assert_eq!(judge(flow, 2, 3), Verdict::Taken);
        assert!(flow.lose(stamp(2, 4), at(7, 4)));
        assert_eq!(judge(flow, 2, 5), Verdict::Missing);
    }

    #[test]
    fn a_second_copy_of_a_segment_gives_only_what_was_missing() {
        let mut flows = Flows::default();
        let segment = Key {
            kind: Kind::Segment,
            ..PAIR
        };
        let flow = flow(&mut flows, segment);
        let judge = |flow: &mut Flow, pass, number| {
            flow.judge(Stamp { pass, number }, at(7, number)) == Verdict::Taken
        };
        assert!(flow.lose(Stamp { pass: 0, number: 2 }, at(7, 2)));
        assert!(judge(flow, 0, 1) && !judge(flow, 0, 3));
        assert_eq!(
            [0; 4].map(|_| flow.count_later()),
            [false, false, true, false]
        );
        flow.go_back();
        let taken: Vec<u32> = (0..8).filter(|number| judge(flow, 1, *number)).collect();
        assert_eq!(taken, [2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn a_word_of_a_flow_that_is_over_means_nothing() {
        let mut flows = Flows::default();
        let window = |one| Key {
            kind: Kind::Window,
            one,
            other: 3,
        };
        let pair = flows.open(PAIR, (0, 1));
        let slot = flows.open(window(9), (0, 1));
        let (word, pair_word) = (flows.word(slot), flows.word(pair));
        assert_eq!(flows.slot(word), Some(slot));
        flows.forget(9);
        assert_eq!(
            (flows.slot(word), flows.slot(pair_word)),
            (None, Some(pair))
        );
        assert_eq!(flows.open(window(10), (0, 1)), slot);
        assert_eq!(flows.slot(word), None);
    }
}
