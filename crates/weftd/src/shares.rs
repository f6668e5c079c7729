//! Datagrams that wait for one thread, by who sent them: each requester in turn gets one taken, and may have only so many
//! wait. A host that floods waits for itself; others wait for one of its datagrams, not for all.

use std::collections::{BTreeMap, VecDeque};

use weft_fabric::Lid;
use weft_wire::packet::Packet;

/// Datagrams of one requester that wait; further ones are dropped. Programs of a host wait for answers, so that an honest
/// one has as many as it has programs.
const EACH_MAX: usize = 4_096;
/// Datagrams of all that wait. Beyond, who has more than his part of them makes room for who has less.
const ALL_MAX: usize = 65_536;
/// Requesters whose drops are counted apart; others are counted together, at LID 0.
const COUNTED_MAX: usize = 16;

/// The waiting ones, and counts of those that were dropped.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    waiting: BTreeMap<Lid, VecDeque<Packet>>,
    /// Who is in `waiting`, in the order of his turn.
    turns: VecDeque<Lid>,
    count: usize,
    dropped: BTreeMap<Lid, u64>,
}

impl Shares {
    /// Nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// One more waits, or is dropped.
    pub(crate) fn push(&mut self, packet: Packet) {
        let from = packet.slid;
        let own = self.waiting.get(&from).map_or(0, VecDeque::len);
        let is_full = self.count >= ALL_MAX;
        if own >= EACH_MAX || is_full && (own >= self.part() || !self.make_room()) {
            self.drop_of(from);
            return;
        }
        if own == 0 {
            self.turns.push_back(from);
        }
        self.waiting.entry(from).or_default().push_back(packet);
        self.count += 1;
    }

    /// The next ones, at most `max`, one of each requester in turn.
    pub(crate) fn take(&mut self, max: usize) -> Vec<Packet> {
        let mut taken = Vec::with_capacity(max.min(self.count));
        while taken.len() < max
            && let Some(lid) = self.turns.pop_front()
        {
            let Some(queue) = self.waiting.get_mut(&lid) else {
                continue; // those with a turn have something
            };
            taken.extend(queue.pop_front());
            match queue.is_empty() {
                true => drop(self.waiting.remove(&lid)),
                false => self.turns.push_back(lid),
            }
        }
        self.count -= taken.len();
        taken
    }

    /// Counts of what was dropped since the last call, by requester.
    pub(crate) fn dropped(&mut self) -> BTreeMap<Lid, u64> {
        std::mem::take(&mut self.dropped)
    }

    /// Something was dropped since the last call of [`Self::dropped`].
    pub(crate) fn has_dropped(&self) -> bool {
        !self.dropped.is_empty()
    }

    /// What each of those who wait may have of all.
    fn part(&self) -> usize {
        (ALL_MAX / self.waiting.len().max(1)).max(1)
    }

    /// The last of whoever has most is dropped, if that is more than one.
    fn make_room(&mut self) -> bool {
        let most = self.waiting.iter_mut().max_by_key(|(_, queue)| queue.len());
        let Some((lid, queue)) = most.filter(|(_, queue)| queue.len() > 1) else {
            return false;
        };
        queue.pop_back();
        let lid = *lid;
        self.count -= 1;
        self.drop_of(lid);
        true
    }

    fn drop_of(&mut self, lid: Lid) {
        let is_apart = self.dropped.contains_key(&lid) || self.dropped.len() < COUNTED_MAX;
        let lid = if is_apart { lid } else { Lid(0) };
        *self.dropped.entry(lid).or_default() += 1;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use weft_fabric::Sl;
    use weft_wire::id::PKey;

    fn packet(lid: u32, number: u8) -> Packet {
        Packet {
            slid: Lid(lid),
            dlid: Lid(1),
            sl: Sl(0),
            pkey: PKey(0x7FFF),
            dest_qp: 1,
            src_qp: 1,
            mad: vec![number],
        }
    }

    fn numbers(taken: &[Packet]) -> Vec<(u32, u8)> {
        let number = |packet: &Packet| (packet.slid.0, packet.mad[0]);
        taken.iter().map(number).collect()
    }

    #[test]
    fn each_requester_has_his_turn_and_his_own_stay_in_order() {
        let mut shares = Shares::default();
        for number in 0..4 {
            shares.push(packet(7, number));
        }
        shares.push(packet(3, 10));
        shares.push(packet(5, 20));
        shares.push(packet(3, 11));
        let first = numbers(&shares.take(4));
        assert_eq!(first, [(7, 0), (3, 10), (5, 20), (7, 1)]);
        assert_eq!(numbers(&shares.take(64)), [(3, 11), (7, 2), (7, 3)]);
        assert!(shares.is_empty() && !shares.has_dropped());
    }

    #[test]
    fn one_who_floods_loses_his_own() {
        let mut shares = Shares::default();
        for _ in 0..EACH_MAX + 9 {
            shares.push(packet(7, 0));
        }
        shares.push(packet(3, 1));
        assert_eq!(numbers(&shares.take(2)), [(7, 0), (3, 1)]);
        assert_eq!(shares.dropped(), BTreeMap::from([(Lid(7), 9)]));
        assert!(!shares.has_dropped());
    }

    #[test]
    fn many_who_flood_make_room_for_one_who_does_not() {
        let mut shares = Shares::default();
        let flooders = 100..100 + 2 * (ALL_MAX / EACH_MAX) as u32;
        for _ in 0..EACH_MAX {
            for lid in flooders.clone() {
                shares.push(packet(lid, 0));
            }
        }
        assert_eq!(shares.count, ALL_MAX);
        shares.push(packet(3, 1));
        assert_eq!(shares.count, ALL_MAX);
        let turns = shares.take(flooders.len() + 1);
        assert!(numbers(&turns).contains(&(3, 1)));
        assert!(!shares.dropped().contains_key(&Lid(3)));
        // The flooders are treated alike.
        let lengths: Vec<usize> = shares.waiting.values().map(VecDeque::len).collect();
        let (least, most) = (lengths.iter().min(), lengths.iter().max());
        assert!(most.unwrap() - least.unwrap() <= 2, "{lengths:?}");
    }

    #[test]
    fn more_requesters_than_room_are_bounded_and_counted_together() {
        let mut shares = Shares::default();
        let beyond = 3_000;
        for lid in 1..=(ALL_MAX + beyond) as u32 {
            shares.push(packet(lid, 0));
        }
        assert_eq!(shares.count, ALL_MAX);
        let dropped = shares.dropped();
        assert_eq!(dropped.values().sum::<u64>(), beyond as u64);
        assert!(dropped.len() <= COUNTED_MAX + 1);
        assert!(dropped[&Lid(0)] > 0);
    }
}
