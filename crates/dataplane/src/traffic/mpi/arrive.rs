//! Packets that arrive.

use super::nic::Mpi;
use super::stack::Stack;
use super::word;
use crate::constants::SDMA_CALL;
use crate::packets::{Delivery, Simulation};

impl Mpi {
    /// A packet has arrived.
    pub(super) fn take(&mut self, simulation: &mut Simulation, delivery: &Delivery) {
        let (what, rest) = word::split(delivery.tag);
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
                self.serve(simulation, to, work, what, u64::from(id));
            }
            _ => self.hear(simulation, what, rest),
        }
    }

    /// A card that is read from sends at once; a rank is asked for a window.
    fn take_request(&mut self, simulation: &mut Simulation, id: u32) {
        let transfer = self.transfers.get_mut(id);
        transfer.heard += 1;
        let from = transfer.from;
        if transfer.read {
            transfer.granted = transfer.packets;
            self.list(simulation, id);
        } else {
            self.serve(simulation, from, SDMA_CALL, word::ASK, u64::from(id));
        }
    }

    pub(super) fn take_data(&mut self, simulation: &mut Simulation, id: u32) {
        let window = self.window_of(id);
        let transfer = self.transfers.get_mut(id);
        transfer.received += 1;
        let now = *transfer;
        if self.is_tcp(now.from) {
            self.acknowledge(simulation, now.from, now.to);
        }
        let rank = &mut self.ranks[now.to as usize];
        let ends = now.received == now.packets;
        let is_window = now.is_asked_for() && !now.read;
        let fills = is_window && now.received.is_multiple_of(window);
        let work = if now.is_asked_for() {
            // The card places the data, the processor is notified at the end of a window.
            if ends || fills { rank.stack.receive } else { 0 }
        } else {
            // What travels in the header is not copied from a buffer.
            let place = now.received - 1;
            let bytes = rank.stack.packet_bytes(now.bytes, now.payload, place);
            let bytes = u64::from(bytes.saturating_sub(rank.stack.headers));
            rank.stack.receive + Stack::copy_time(bytes, rank.stack.copies.1)
        };
        if ends {
            self.serve(simulation, now.to, work, word::FINISH, u64::from(id));
        } else if fills {
            self.serve(simulation, now.to, work, word::WINDOW, u64::from(now.to));
        } else if work > 0 {
            rank.serve(simulation.now(), work);
        }
    }
}
