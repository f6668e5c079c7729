//! Multicast: a switch sends a copy of a packet by each port of its group's row but the one that it
//! came by.
//!
//! A copy that has to wait longest, as far as the switch can see, holds the input buffer; the others
//! take none. A packet whose group has no port here is an error of forwarding.

use weft_fabric::Lid;
use weft_wire::sm::MulticastFdb;

use super::event::PACKETS_MAX;
use super::simulation::Simulation;
use crate::forward::HOPS_MAX;
use crate::switch::SwitchRegisters;

/// Ports of a group: bit n of word n / 64 is port n.
pub(super) type Row = [u64; 4];

/// Whether a LID is a group's.
#[inline]
pub(super) fn is_group(lid: u32) -> bool {
    lid >= Lid::MULTICAST_BASE.0
}

/// Rows of a switch up to the last one that has ports.
pub(super) fn rows(registers: &SwitchRegisters, top: u32) -> Vec<Row> {
    let mut rows: Vec<Row> = (0..=top / MulticastFdb::LIDS)
        .flat_map(|block| block_rows(registers, block))
        .collect();
    let used = rows.iter().rposition(|row| *row != Row::default());
    rows.truncate(used.map_or(0, |last| last + 1));
    rows
}

fn block_rows(registers: &SwitchRegisters, block: u32) -> Vec<Row> {
    let mut rows = vec![Row::default(); MulticastFdb::LIDS as usize];
    for position in 0..4_u8 {
        let Ok(bytes) = registers.multicast_block(position, block) else {
            continue;
        };
        for (row, mask) in rows.iter_mut().zip(bytes.chunks_exact(8)) {
            let word = mask
                .iter()
                .fold(0, |word, byte| word << 8 | u64::from(*byte));
            row[usize::from(position)] = word;
        }
    }
    rows
}

impl Simulation {
    /// Sends copies of a packet that has come into a switch.
    ///
    /// Tables that lead in a circle multiply packets: those that have crossed too many links are
    /// dropped, and no more copies are made where there is no number left for them.
    #[cold]
    pub(super) fn replicate(&mut self, id: u32) {
        let packet = *self.store.get(id);
        let port = &self.ports[packet.ingress as usize];
        let (base, switch) = (port.base, &self.switches[port.switch as usize]);
        let number = (packet.ingress - base) as u8;
        let row = switch
            .multicast
            .get((packet.dlid - Lid::MULTICAST_BASE.0) as usize);
        let row = row.copied().unwrap_or_default();
        let is_member = |port: &u8| row[usize::from(port / 64)] & 1 << (port % 64) != 0;
        let mut ports: Vec<u8> = (1..=switch.ports)
            .filter(|port| *port != number && is_member(port))
            .collect();
        ports.sort_by_key(|port| self.load((base + u32::from(*port)) as usize));
        let last = ports.pop().filter(|_| u32::from(packet.hops) < HOPS_MAX);
        let Some(last) = last else {
            self.errors[packet.ingress as usize].relay += 1;
            self.drop_packet(id, packet.ingress, 0);
            return;
        };
        for port in ports {
            if self.store.len() >= PACKETS_MAX {
                self.errors[packet.ingress as usize].relay += 1;
                continue;
            }
            let copy = self.store.add(packet);
            self.totals.copies += 1;
            self.cross(copy, port, false);
        }
        self.cross(id, last, true);
    }
}
