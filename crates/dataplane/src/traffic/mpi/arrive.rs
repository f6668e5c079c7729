//! Packets that arrive.

use super::nic::Mpi;
use super::stack::Method;
use super::word;
use crate::packets::{Delivery, Simulation};

impl Mpi {
    /// A packet has arrived.
    pub(super) fn take(&mut self, simulation: &mut Simulation, delivery: &Delivery) {
        let (what, rest) = word::split(delivery.tag);
        if what <= word::ANNOUNCE && self.overflows(simulation, delivery) {
            return;
        }
        if word::has_place(what) && !self.takes(simulation, what, rest) {
            return;
        }
        self.tally.taken += 1;
        let id = rest as u32;
        match what {
            word::DATA => self.take_data(simulation, id),
            word::ASK => self.take_request(simulation, id),
            word::ANNOUNCE => {
                let transfer = self.transfers.get_mut(id);
                transfer.known = true;
                let to = transfer.to;
                let work = self.ranks[to as usize].stack.receive;
                let done = self.serve(simulation, to, work, what, u64::from(id));
                self.ranks[to as usize].queue.enter(done, 0);
            }
            _ => self.hear(simulation, what, rest),
        }
    }

    /// A kernel is read from, or a rank is asked for a window.
    fn take_request(&mut self, simulation: &mut Simulation, id: u32) {
        let transfer = self.transfers.get_mut(id);
        transfer.heard += 1;
        let transfer = *transfer;
        let from = transfer.from;
        let stack = self.ranks[from as usize].stack;
        let work = match transfer.read {
            true => stack.receive,
            false => {
                let end = transfer.heard.saturating_mul(self.window_of(id));
                let begin = end - self.window_of(id);
                let window = begin.min(transfer.packets)..end.min(transfer.packets);
                stack.call + stack.registering(transfer.bytes_of(window))
            }
        };
        self.receive(simulation, from, work, word::ASK, u64::from(id));
    }

    pub(super) fn take_data(&mut self, simulation: &mut Simulation, id: u32) {
        let transfer = self.transfers.get_mut(id);
        transfer.received += 1;
        let now = *transfer;
        if self.is_tcp(now.from) {
            self.acknowledge(simulation, now.from, now.to);
        }
        let ends = now.received == now.packets;
        let stack = self.ranks[now.to as usize].stack;
        if stack.is_kernel() {
            let bytes = stack.data_bytes(&now);
            let at = self.receive_by_kernel(simulation, now.to, bytes);
            if ends {
                simulation.set_timer(at, word::of(word::FINISH, u64::from(id)));
            }
            return;
        }
        if now.method == Method::Rendezvous {
            // The card places the data, the processor is notified at the end of a window.
            let fills = now.received.is_multiple_of(self.window_of(id));
            let (what, id) = match (ends, fills) {
                (true, _) => (word::FINISH, id),
                (false, true) => (word::WINDOW, now.to),
                (false, false) => return,
            };
            self.serve(simulation, now.to, stack.receive, what, u64::from(id));
            return;
        }
        let bytes = stack.data_bytes(&now);
        let work = stack.receive + stack.copy_time(u64::from(bytes), stack.copies.1);
        let rank = &mut self.ranks[now.to as usize];
        let done = rank.serve(simulation.now(), work);
        rank.queue.enter(done, bytes);
        if ends {
            simulation.set_timer(done, word::of(word::FINISH, u64::from(id)));
        }
    }
}
