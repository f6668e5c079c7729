//! Datagrams that wait for a program.
//!
//! A port with more to receive than its host takes is a full output of its switch: credits run out, inputs take
//! turns, and who sends less than his turn is not held up by who sends more. Management datagrams have no
//! credits here. Instead, once half of the room is taken, a sender that has a quarter of it waiting loses the
//! rest. Directed-route datagrams all have the permissive SLID and are no flood of one sender; they are lost
//! only when there is no room at all, as on an hfi1 without a free receive request (`hfi1_ud_rcv`).

use std::collections::{HashMap, VecDeque};

use weft_transport::FromFabric;
use weft_wire::id::Lid;
use weft_wire::packet::Packet;

use super::Patience;

/// Datagrams and other news for a program, in order.
pub(super) struct Outbox {
    patience: Patience,
    waiting: VecDeque<FromFabric>,
    /// Datagrams and other news in it.
    len: usize,
    /// Datagrams in it by SLID, while half of the room is taken.
    by_sender: Option<HashMap<Lid, usize>>,
    /// Datagrams lost since it last had room for all.
    lost: u64,
}

impl Outbox {
    pub(super) fn new(patience: Patience) -> Self {
        Self {
            patience,
            waiting: VecDeque::new(),
            len: 0,
            by_sender: None,
            lost: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether even what is never lost has grown beyond all room.
    pub(super) fn overflows(&self) -> bool {
        self.len > 2 * self.patience.backlog
    }

    /// Puts a datagram last; returns whether it is the first that is lost for want of room.
    pub(super) fn push(&mut self, packet: Packet) -> bool {
        if !self.has_room(packet.slid) {
            self.lost += 1;
            return self.lost == 1;
        }
        self.len += 1;
        let batch_len = self.patience.batch_len;
        match self.waiting.back_mut() {
            Some(FromFabric::Packets(batch)) if batch.len() < batch_len => batch.push(packet),
            _ => self.waiting.push_back(FromFabric::Packets(vec![packet])),
        }
        false
    }

    /// Counts a datagram of this sender, if there is room for it.
    fn has_room(&mut self, slid: Lid) -> bool {
        let Patience { backlog, .. } = self.patience;
        if self.len < backlog / 2 {
            return true;
        }
        if self.len >= backlog {
            return false;
        }
        let waiting = &self.waiting;
        let by_sender = self.by_sender.get_or_insert_with(|| count(waiting));
        let own = by_sender.entry(slid).or_default();
        if slid != Lid::PERMISSIVE && *own >= backlog / 4 {
            return false;
        }
        *own += 1;
        true
    }

    /// Puts news last that are not lost: each is asked for by the program itself, or replaces the state of its port.
    pub(super) fn tell(&mut self, news: FromFabric) {
        self.len += 1;
        self.waiting.push_back(news);
    }

    pub(super) fn pop(&mut self) -> Option<FromFabric> {
        let first = self.waiting.pop_front()?;
        let FromFabric::Packets(batch) = &first else {
            self.len -= 1;
            return Some(first);
        };
        self.len -= batch.len();
        if self.len < self.patience.backlog / 2 {
            self.by_sender = None;
        }
        for packet in batch {
            if let Some(own) = self
                .by_sender
                .as_mut()
                .and_then(|all| all.get_mut(&packet.slid))
            {
                *own -= 1;
            }
        }
        Some(first)
    }

    /// Datagrams lost since the last call, if there is room for all again.
    pub(super) fn take_lost(&mut self) -> Option<u64> {
        (self.lost > 0 && self.len < self.patience.backlog / 4)
            .then(|| std::mem::take(&mut self.lost))
    }
}

fn count(waiting: &VecDeque<FromFabric>) -> HashMap<Lid, usize> {
    let mut by_sender = HashMap::new();
    for message in waiting {
        if let FromFabric::Packets(batch) = message {
            batch
                .iter()
                .for_each(|packet| *by_sender.entry(packet.slid).or_default() += 1);
        }
    }
    by_sender
}

#[cfg(test)]
mod tests {
    use weft_wire::id::{PKey, Sl};

    use super::*;

    const PATIENCE: Patience = Patience {
        batches: 1,
        batch_len: 4,
        backlog: 80,
    };

    fn packet(slid: Lid) -> Packet {
        Packet {
            slid,
            dlid: Lid(1),
            sl: Sl(0),
            pkey: PKey::MGMT_LIMITED,
            dest_qp: 1,
            src_qp: 1,
            mad: Vec::new(),
        }
    }

    fn send(outbox: &mut Outbox, slid: Lid, count: usize) {
        for _ in 0..count {
            outbox.push(packet(slid));
        }
    }

    /// Datagrams of a sender that come out.
    fn of(outbox: &mut Outbox, slid: Lid) -> usize {
        let mut own = 0;
        while let Some(message) = outbox.pop() {
            if let FromFabric::Packets(batch) = message {
                own += batch.iter().filter(|packet| packet.slid == slid).count();
            }
        }
        assert!(outbox.is_empty());
        own
    }

    #[test]
    fn who_floods_leaves_room_for_others() {
        let (loud, quiet) = (Lid(2), Lid(3));
        let mut outbox = Outbox::new(PATIENCE);
        let first: Vec<bool> = (0..200).map(|_| outbox.push(packet(loud))).collect();
        assert_eq!(first.iter().filter(|first| **first).count(), 1, "told once");
        assert_eq!(outbox.take_lost(), None, "there is no room yet");
        for _ in 0..20 {
            assert!(!outbox.push(packet(quiet)));
        }
        assert_eq!(of(&mut outbox, quiet), 20);
        assert_eq!(outbox.take_lost(), Some(160));
        assert_eq!(outbox.take_lost(), None);
        // It has forgotten who was loud.
        assert!(!outbox.push(packet(loud)));
        assert_eq!(of(&mut outbox, loud), 1);
    }

    #[test]
    fn a_senders_part_is_free_again_when_its_datagrams_are_taken() {
        let (loud, others) = (Lid(2), Lid::PERMISSIVE);
        let mut outbox = Outbox::new(PATIENCE);
        send(&mut outbox, loud, 20);
        send(&mut outbox, others, 40);
        assert!(outbox.push(packet(loud)), "it has its part");
        assert!(outbox.pop().is_some(), "four of the loud one's");
        send(&mut outbox, loud, 6);
        assert_eq!(of(&mut outbox, loud), 20);
        assert_eq!(outbox.take_lost(), Some(3));
    }

    #[test]
    fn who_asks_for_news_and_reads_none_overflows() {
        let mut outbox = Outbox::new(PATIENCE);
        let news = |token| FromFabric::Registered {
            token,
            accepted: true,
        };
        (0..160).for_each(|token| outbox.tell(news(token)));
        assert!(!outbox.overflows());
        outbox.tell(news(160));
        assert!(outbox.overflows());
    }

    #[test]
    fn directed_routes_have_all_the_room_and_no_more() {
        let mut outbox = Outbox::new(PATIENCE);
        send(&mut outbox, Lid::PERMISSIVE, 200);
        assert!(!outbox.overflows());
        assert_eq!(of(&mut outbox, Lid::PERMISSIVE), 80);
        assert_eq!(outbox.take_lost(), Some(120));
    }
}
