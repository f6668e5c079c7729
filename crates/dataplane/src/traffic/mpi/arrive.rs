//! Packets that arrive, and packets that were dropped.

use super::nic::Mpi;
use super::recovery;
use super::stack::Stack;
use super::transfer::Transfers;
use super::word;
use crate::constants::SDMA_CALL;
use crate::packets::{Delivery, Simulation};

impl Mpi {
    /// A packet has arrived.
    pub(super) fn take(&mut self, simulation: &mut Simulation, delivery: &Delivery) {
        let (what, rest) = word::split(delivery.tag);
        if let Some(way) = self.gaps.shows(|| Self::way(&self.transfers, what, rest)) {
            let (_, receiver) = recovery::ranks(way);
            self.serve(simulation, receiver, 0, word::COMPLAIN, way);
        }
        let id = rest as u32;
        match what {
            word::DATA => self.take_data(simulation, id),
            word::MISSING => {
                let (sender, _) = recovery::ranks(rest);
                self.serve(simulation, sender, 0, what, rest);
            }
            word::ASK if self.transfers.get(id).read => {
                let transfer = self.transfers.get_mut(id);
                transfer.granted = transfer.packets;
                let from = transfer.from;
                self.list(simulation, self.host(from), id);
            }
            word::ASK => {
                let from = self.transfers.get(id).from;
                let work = SDMA_CALL;
                self.serve(simulation, from, work, what, rest);
            }
            _ => {
                let to = self.transfers.get(id).to;
                let work = self.ranks[to as usize].stack.receive;
                self.serve(simulation, to, work, what, rest);
            }
        }
    }

    pub(super) fn take_data(&mut self, simulation: &mut Simulation, id: u32) {
        let window = self.window_of(id);
        let transfer = self.transfers.get_mut(id);
        transfer.received += 1;
        let now = *transfer;
        let rank = &mut self.ranks[now.to as usize];
        let ends = now.received == now.packets;
        let work = if now.is_asked_for() {
            // The card puts it where it belongs, the processor is told at the end.
            if ends { rank.stack.receive } else { 0 }
        } else {
            // What travels in the header is not copied from a buffer.
            let place = now.received - 1;
            let bytes = rank.stack.packet_bytes(now.bytes, now.payload, place);
            let bytes = u64::from(bytes.saturating_sub(rank.stack.headers));
            rank.stack.receive + Stack::copy_time(bytes, rank.stack.copies.1)
        };
        if ends {
            self.serve(simulation, now.to, work, word::FINISH, u64::from(id));
        } else if work > 0 {
            rank.serve(simulation.now(), work);
        } else if !now.read && now.received.is_multiple_of(window) {
            self.ask(simulation, id);
        }
    }

    /// From which rank to which one a packet goes.
    pub(super) fn way(transfers: &Transfers, what: u64, rest: u64) -> u64 {
        let transfer = |id: u64| transfers.get(id as u32);
        match what {
            word::MISSING => {
                let (sender, receiver) = recovery::ranks(rest);
                recovery::key(receiver, sender)
            }
            word::ASK => recovery::key(transfer(rest).to, transfer(rest).from),
            _ => recovery::key(transfer(rest).from, transfer(rest).to),
        }
    }

    /// A packet was dropped. When the word of what is missing is lost, the time-out remains.
    pub(super) fn lose(&mut self, simulation: &mut Simulation, tag: u64) {
        self.lost += 1;
        let (what, rest) = word::split(tag);
        if what == word::MISSING {
            return;
        }
        let way = Self::way(&self.transfers, what, rest);
        if self.gaps.lose(way, (what, rest as u32), simulation.now()) {
            let (sender, _) = recovery::ranks(way);
            let at = simulation.now() + self.ranks[sender as usize].stack.resend;
            simulation.set_timer(at, word::of(word::RESEND, way));
        }
    }

    /// A time-out has ended; one of a gap that is closed means nothing.
    pub(super) fn time_out(&mut self, simulation: &mut Simulation, way: u64) {
        let (sender, _) = recovery::ranks(way);
        let resend = self.ranks[sender as usize].stack.resend;
        let since = self.gaps.since(way);
        if since.is_some_and(|since| since + resend <= simulation.now()) {
            self.send_again(simulation, way);
        }
    }

    pub(super) fn send_again(&mut self, simulation: &mut Simulation, way: u64) {
        let (sender, _) = recovery::ranks(way);
        let host = self.host(sender);
        for (what, id) in self.gaps.take(way) {
            if what == word::DATA {
                self.transfers.get_mut(id).again += 1;
                self.list(simulation, host, id);
            } else {
                self.control(simulation, host, what, u64::from(id));
            }
        }
    }
}
