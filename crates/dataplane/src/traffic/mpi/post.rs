//! What each host's HFI sends next: control, what processors have written, what engines send.

use std::collections::VecDeque;

use weft_fabric::Lid;

use super::nic::Mpi;
use super::recovery;
use super::word;
use crate::constants::{MESSAGE_TIME, PIO_BLOCK, PIO_BLOCK_TIME};
use crate::packets::{Parcel, Picos, Simulation};

/// What one host's HFI has to send.
#[derive(Debug, Clone, Default)]
pub(super) struct Nic {
    /// Control packets: their kind, and a transfer or a gap.
    control: VecDeque<(u64, u64)>,
    /// Transfers whose packets stand in the send buffer, one entry a packet.
    written: VecDeque<u32>,
    /// Transfers that the DMA engines send in turn.
    active: VecDeque<u32>,
    /// The engines have the next turn.
    engines_next: bool,
    /// The bus to the send buffer is in use until then.
    bus_free: Picos,
    /// Rank and blocks of the packet that waits at the port.
    leaving: Option<(u32, u32)>,
    /// A packet waits at the port already.
    full: bool,
}

impl Mpi {
    /// A rank's processor writes packets while the send buffer has room.
    pub(super) fn write(&mut self, simulation: &mut Simulation, number: u32) {
        while let Some(id) = self.ranks[number as usize].writing.front().copied() {
            let rank = &mut self.ranks[number as usize];
            let transfer = self.transfers.get_mut(id);
            let (stack, place) = (rank.stack, transfer.written);
            let bytes = stack.packet_bytes(transfer.bytes, transfer.payload, place);
            let blocks = bytes.div_ceil(PIO_BLOCK);
            if rank.blocks < blocks {
                return;
            }
            rank.blocks -= blocks;
            transfer.written += 1;
            if transfer.written == transfer.packets {
                rank.writing.pop_front();
                let transfer = *transfer;
                self.sent(&transfer);
            }
            let host = self.host(number);
            let bus_free = &mut self.nics[host as usize].bus_free;
            let begin = simulation.now().max(*bus_free);
            let span = Picos::from(blocks) * PIO_BLOCK_TIME;
            *bus_free = begin + span.max(MESSAGE_TIME);
            // The first block's time is in the endpoint's.
            let at = begin + span - PIO_BLOCK_TIME;
            if at <= simulation.now() {
                self.written(simulation, id);
            } else {
                simulation.set_timer(at, word::of(word::WRITTEN, u64::from(id)));
            }
        }
    }

    /// A packet of a message stands in the send buffer.
    pub(super) fn written(&mut self, simulation: &mut Simulation, id: u32) {
        let host = self.host(self.transfers.get(id).from);
        self.nics[host as usize].written.push_back(id);
        self.pump(simulation, host);
    }

    /// The packet that waited at a host's port leaves.
    pub(super) fn room(&mut self, simulation: &mut Simulation, host: u32) {
        let nic = &mut self.nics[host as usize];
        nic.full = false;
        let left = nic.leaving.take();
        if let Some((rank, blocks)) = left {
            self.ranks[rank as usize].blocks += blocks;
            self.write(simulation, rank);
        }
        self.pump(simulation, host);
    }

    /// Puts a transfer among those whose packets its host's engines send in turn.
    pub(super) fn list(&mut self, simulation: &mut Simulation, host: u32, id: u32) {
        let transfer = self.transfers.get_mut(id);
        if !transfer.listed {
            transfer.listed = true;
            self.nics[host as usize].active.push_back(id);
        }
        self.pump(simulation, host);
    }

    pub(super) fn control(&mut self, simulation: &mut Simulation, host: u32, what: u64, id: u64) {
        self.nics[host as usize].control.push_back((what, id));
        self.pump(simulation, host);
    }

    /// Hands the next packet of a host to its port: control first, then the processors' and the
    /// engines' by turns.
    pub(super) fn pump(&mut self, simulation: &mut Simulation, host: u32) {
        let nic = &mut self.nics[host as usize];
        if nic.full {
            return;
        }
        if let Some((what, id)) = nic.control.pop_front() {
            self.put_control(simulation, host, what, id);
            return;
        }
        let engines = nic.written.is_empty() || nic.engines_next && !nic.active.is_empty();
        nic.engines_next = !engines;
        if !engines {
            if let Some(id) = nic.written.pop_front() {
                self.put_written(simulation, host, id);
            }
        } else if let Some(id) = nic.active.pop_front() {
            self.put_data(simulation, host, id);
        }
    }

    pub(super) fn put_control(
        &mut self,
        simulation: &mut Simulation,
        host: u32,
        what: u64,
        id: u64,
    ) {
        let (from, to) = match what {
            word::MISSING => {
                let (sender, receiver) = recovery::ranks(id);
                (receiver, sender)
            }
            word::ASK => {
                let transfer = self.transfers.get(id as u32);
                (transfer.to, transfer.from)
            }
            _ => {
                let transfer = self.transfers.get(id as u32);
                (transfer.from, transfer.to)
            }
        };
        let bytes = self.ranks[from as usize].stack.headers;
        self.put(simulation, host, to, 0, bytes, word::of(what, id));
    }

    pub(super) fn put_written(&mut self, simulation: &mut Simulation, host: u32, id: u32) {
        let transfer = self.transfers.get_mut(id);
        let place = transfer.sent;
        transfer.sent += 1;
        let now = *transfer;
        let stack = self.ranks[now.from as usize].stack;
        let bytes = stack.packet_bytes(now.bytes, now.payload, place);
        self.nics[host as usize].leaving = Some((now.from, bytes.div_ceil(PIO_BLOCK)));
        let tag = word::of(word::DATA, u64::from(id));
        self.put(simulation, host, now.to, 1 + now.path, bytes, tag);
    }

    pub(super) fn put_data(&mut self, simulation: &mut Simulation, host: u32, id: u32) {
        let transfer = self.transfers.get_mut(id);
        // A packet that was lost is as large as all but the last.
        let place = if transfer.again > 0 {
            transfer.again -= 1;
            0
        } else {
            transfer.sent += 1;
            transfer.sent - 1
        };
        transfer.listed = transfer.again > 0 || transfer.sent < transfer.granted;
        let now = *transfer;
        if now.listed {
            self.nics[host as usize].active.push_back(id);
        } else if now.sent == now.packets && !now.read {
            self.sent(&now);
        }
        let stack = self.ranks[now.from as usize].stack;
        let bytes = stack.packet_bytes(now.bytes, now.payload, place);
        let tag = word::of(word::DATA, u64::from(id));
        self.put(simulation, host, now.to, 1 + now.path, bytes, tag);
    }

    /// A packet to another rank; path 0 is its first LID, the others take turns on the rest.
    pub(super) fn put(
        &mut self,
        simulation: &mut Simulation,
        host: u32,
        rank: u32,
        path: u32,
        bytes: u32,
        tag: u64,
    ) {
        let (Some(from), Some(to)) = (self.hosts.get(host), self.hosts.get(self.host(rank))) else {
            return;
        };
        let offset = match (path, to.lids) {
            (0, _) | (_, 0 | 1) => 0,
            (path, lids) => 1 + (path - 1) % (lids - 1),
        };
        self.nics[host as usize].full = true;
        simulation.send(Parcel {
            from: from.port,
            dlid: Lid(to.lid.0 + offset),
            sl: self.level,
            bytes,
            tag,
        });
    }
}
