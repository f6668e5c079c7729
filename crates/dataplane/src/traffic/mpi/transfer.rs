//! Messages in flight.

use std::ops::Range;

use super::stack::Method;
use crate::packets::Picos;

/// A message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transfer {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) bytes: u64,
    /// The program's word.
    pub(super) tag: u32,
    /// When the program handed it over.
    pub(super) begun: Picos,
    /// Its number among its sender's messages and requests.
    pub(super) serial: u32,
    pub(super) method: Method,
    /// The receiver reads it: its sender's kernel answers by itself.
    pub(super) read: bool,
    /// Bytes of each packet but the last.
    pub(super) payload: u32,
    pub(super) packets: u32,
    /// Packets that the processor has written into the send buffer.
    pub(super) written: u32,
    /// Packets handed to the link (of windows: how many), and packets that may be.
    pub(super) sent: u32,
    pub(super) granted: u32,
    /// Packets to be handed to the link again, before others.
    pub(super) again: u32,
    /// Packets of all kinds in flight.
    pub(super) flying: u32,
    pub(super) received: u32,
    /// Packets that the receiver has requested.
    pub(super) asked: u32,
    /// Requests of the receiver handed to the link, and those that have come.
    pub(super) requests: u32,
    pub(super) heard: u32,
    /// Its announcement was handed to the link, and has come.
    pub(super) announced: bool,
    pub(super) known: bool,
    /// The LID, after the destination's first, that packets take, but for those of windows.
    pub(super) path: u32,
    /// It waits in its host's list of transfers.
    pub(super) listed: bool,
    /// Whether the program was notified that it is sent.
    pub(super) told: bool,
    /// The receiver has all of it.
    pub(super) over: bool,
}

impl Transfer {
    /// Whether the receiver must request the data.
    pub(super) fn is_asked_for(&self) -> bool {
        self.read || self.method == Method::Rendezvous
    }

    /// Whether the engines have more to send of it than the windows that they were given.
    pub(super) fn has_more(&self) -> bool {
        self.again > 0 || self.method != Method::Rendezvous && self.sent < self.granted
    }

    /// Bytes of data in some of its packets.
    pub(super) fn bytes_of(&self, packets: Range<u32>) -> u64 {
        let before = |number: u32| (u64::from(number) * u64::from(self.payload)).min(self.bytes);
        before(packets.end) - before(packets.start)
    }

    /// Whether the processor writes its packets.
    pub(super) fn is_written(&self) -> bool {
        !self.read && !matches!(self.method, Method::Dma | Method::Rendezvous)
    }
}

/// All of them; places are used again.
#[derive(Debug, Clone, Default)]
pub(super) struct Transfers {
    all: Vec<Transfer>,
    free: Vec<u32>,
}

impl Transfers {
    pub(super) fn add(&mut self, transfer: Transfer) -> u32 {
        if let Some(id) = self.free.pop() {
            self.all[id as usize] = transfer;
            return id;
        }
        self.all.push(transfer);
        self.all.len() as u32 - 1
    }

    /// Its receiver has all of it; its slot is free once no packet of it is in flight.
    pub(super) fn end(&mut self, id: u32) -> Transfer {
        self.all[id as usize].over = true;
        self.free_if_over(id);
        self.all[id as usize]
    }

    /// A packet of it has come or was lost; returns whether the message was over.
    #[inline]
    pub(super) fn land(&mut self, id: u32) -> bool {
        let transfer = &mut self.all[id as usize];
        transfer.flying -= 1;
        let over = transfer.over;
        if over {
            self.free_if_over(id);
        }
        over
    }

    fn free_if_over(&mut self, id: u32) {
        let transfer = &self.all[id as usize];
        if transfer.over && transfer.flying == 0 && !transfer.listed {
            self.free.push(id);
        }
    }

    /// Whether what an engine was to send of a message is of no use any more; the engine forgets it.
    pub(super) fn drop_over(&mut self, id: u32) -> bool {
        let transfer = &mut self.all[id as usize];
        let over = transfer.over;
        if over {
            transfer.listed = false;
            self.free_if_over(id);
        }
        over
    }

    /// Those between two ranks that are not over, in the order in which they were begun.
    pub(super) fn between(&self, from: u32, to: u32) -> Vec<u32> {
        let all = self.all.iter().enumerate();
        let known = all.filter(|(_, one)| !one.over && (one.from, one.to) == (from, to));
        let mut ids: Vec<u32> = known.map(|(id, _)| id as u32).collect();
        self.sort(&mut ids);
        ids
    }

    /// Puts transfers of one rank in the order in which they were begun.
    pub(super) fn sort(&self, ids: &mut [u32]) {
        let serial = |id: u32| self.get(id).serial;
        let later = |one: u32, other: u32| {
            let ahead = one.wrapping_sub(other) as i32;
            if ahead > 0 { one } else { other }
        };
        if let Some(newest) = ids.iter().map(|id| serial(*id)).reduce(later) {
            ids.sort_by_key(|id| std::cmp::Reverse(newest.wrapping_sub(serial(*id))));
        }
    }

    pub(super) fn get(&self, id: u32) -> &Transfer {
        &self.all[id as usize]
    }

    pub(super) fn get_mut(&mut self, id: u32) -> &mut Transfer {
        &mut self.all[id as usize]
    }
}
