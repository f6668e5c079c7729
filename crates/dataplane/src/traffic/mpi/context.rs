//! The receive queue of a process's context of its HFI.
//!
//! The HFI writes packets into a context's queue; a processor takes them out. Where the queue is full the
//! HFI drops packets for a user's context (PSM2), but waits for room in a kernel's (verbs, IP over
//! the fabric: `hfi1`, `HFI1_CAP_NODROP_RHQ_FULL` and `HFI1_CAP_NODROP_EGR_FULL`, which only kernel contexts
//! have by default): meanwhile it takes no packet at all from its port's buffer, and the link stops.

use std::collections::VecDeque;

use super::nic::Mpi;
use super::stack::Stack;
use super::word;
use crate::packets::{Delivery, Picos, Simulation};

/// A context's queue.
#[derive(Debug, Clone, Default)]
pub(super) struct ReceiveQueue {
    /// When the processor has dealt with each packet, and its bytes.
    waiting: VecDeque<(Picos, u32)>,
    bytes: u64,
}

impl ReceiveQueue {
    /// A packet that will have been dealt with at `done`.
    pub(super) fn enter(&mut self, done: Picos, bytes: u32) {
        self.waiting.push_back((done, bytes));
        self.bytes += u64::from(bytes);
    }

    /// Forgets packets that have been dealt with; returns whether there is no room for another one.
    pub(super) fn is_full(&mut self, now: Picos, stack: &Stack) -> bool {
        while let Some((_, bytes)) = self.waiting.front().filter(|(done, _)| *done <= now) {
            self.bytes -= u64::from(*bytes);
            self.waiting.pop_front();
        }
        self.waiting.len() as u64 >= stack.queue.packets
            || self.bytes + u64::from(stack.payload) > stack.queue.bytes
    }

    /// When the next packet will have been dealt with.
    fn next(&self) -> Option<Picos> {
        self.waiting.front().map(|(done, _)| *done)
    }
}

impl Mpi {
    /// Whether the queue of the receiving context, a user's, has no room for a packet, which is lost then.
    pub(super) fn overflows(&mut self, simulation: &mut Simulation, delivery: &Delivery) -> bool {
        let (what, rest) = word::split(delivery.tag);
        let transfer = self.transfers.get(rest as u32);
        let placed = what == word::DATA && transfer.is_asked_for();
        let rank = &mut self.ranks[transfer.to as usize];
        let stack = &rank.stack;
        if placed || stack.is_kernel() || !rank.queue.is_full(simulation.now(), stack) {
            return false;
        }
        self.tally.overflowed += 1;
        self.lose(simulation, delivery.tag, delivery.born);
        true
    }

    /// A packet of a message comes into a kernel's context: its processor copies the data out of the
    /// queue, then the program's copies it as often as it does. Returns when the program has it.
    pub(super) fn receive_by_kernel(
        &mut self,
        simulation: &mut Simulation,
        to: u32,
        bytes: u32,
    ) -> Picos {
        let now = simulation.now();
        let rank = &mut self.ranks[to as usize];
        let stack = rank.stack;
        let work = stack.receive + stack.copy_time(u64::from(bytes), 1);
        let done = rank.receive(now, work);
        rank.queue.enter(done, bytes);
        let full = rank.queue.is_full(now, &stack);
        let copies = stack.copy_time(u64::from(bytes), stack.copies.1);
        let program = rank.processor.work_from(done, copies);
        if full {
            self.fill_queue(simulation, to);
        }
        program
    }

    /// A kernel's context is full: its HFI takes nothing until there is room.
    fn fill_queue(&mut self, simulation: &mut Simulation, rank: u32) {
        let host = self.host(rank);
        if self.nics[host as usize].full_contexts.insert(rank) {
            if let Some(host) = self.hosts.get(host) {
                simulation.stop_receiving(host.port);
            }
            self.await_room(simulation, rank);
        }
    }

    fn await_room(&mut self, simulation: &mut Simulation, rank: u32) {
        if let Some(at) = self.ranks[rank as usize].queue.next() {
            simulation.set_timer(at, word::of(word::DRAIN, u64::from(rank)));
        }
    }

    /// A processor has taken a packet out of a full queue.
    pub(super) fn drain(&mut self, simulation: &mut Simulation, number: u32) {
        let now = simulation.now();
        let rank = &mut self.ranks[number as usize];
        let stack = rank.stack;
        if rank.queue.is_full(now, &stack) {
            return self.await_room(simulation, number);
        }
        let host = rank.host;
        let full = &mut self.nics[host as usize].full_contexts;
        full.remove(&number);
        if full.is_empty()
            && let Some(host) = self.hosts.get(host)
        {
            simulation.resume_receiving(host.port);
        }
    }

    /// A kernel begins to make the packets of a message, or of an answer to a read, one after the other, after those of
    /// earlier ones.
    pub(super) fn make(&mut self, simulation: &mut Simulation, id: u32) {
        let from = self.transfers.get(id).from;
        let making = &mut self.ranks[from as usize].making;
        making.push_back(id);
        if making.len() == 1 {
            self.make_next(simulation, from);
        }
    }

    fn make_next(&mut self, simulation: &mut Simulation, rank: u32) {
        let at = simulation.now() + self.ranks[rank as usize].stack.send;
        simulation.set_timer(at, word::of(word::MAKE, u64::from(rank)));
    }

    /// A packet is made, and goes to the engines.
    pub(super) fn made(&mut self, simulation: &mut Simulation, rank: u32) {
        let making = &mut self.ranks[rank as usize].making;
        let Some(id) = making.front().copied() else {
            return;
        };
        let transfer = self.transfers.get_mut(id);
        // Nothing goes to the engines before it is made.
        debug_assert!(!transfer.over, "over before its last packet was made");
        transfer.granted = (transfer.granted + 1).min(transfer.packets);
        if transfer.granted == transfer.packets {
            making.pop_front();
        }
        let has_more = !making.is_empty();
        self.list(simulation, id);
        if has_more {
            self.make_next(simulation, rank);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_full_by_packets_or_by_bytes_until_one_is_dealt_with() {
        let mut stack = Stack::PSM2;
        stack.queue.packets = 2;
        let mut queue = ReceiveQueue::default();
        queue.enter(100, 8);
        assert!(!queue.is_full(0, &stack));
        queue.enter(200, 8);
        assert!(queue.is_full(99, &stack));
        assert_eq!(queue.next(), Some(100));
        assert!(!queue.is_full(100, &stack));
        stack.queue.packets = 9;
        stack.queue.bytes = 2 * u64::from(stack.payload);
        queue.enter(300, stack.payload);
        assert!(!queue.is_full(200, &stack));
        queue.enter(300, 1);
        assert!(queue.is_full(200, &stack) && !queue.is_full(300, &stack));
    }
}
