//! Partitions: the P_Keys that may leave a port, enter by it, and connect hosts.
//!
//! An HFI accepts a packet whose key is in its table, and of two limited members neither accepts the
//! other's packets (`hfi1`, `hfi.h`, `ingress_pkey_matches_entry`). Its own packets are not checked there:
//! `part_enforce` is `HFI1_PART_ENFORCE_IN` alone (`hfi1`, `init.c`), and programs send with keys of its
//! table. A switch's port checks packets from an HFI, and packets to one, if
//! PortInfo's enforcement bits say so; its table has the HFI's keys with the HFI's membership (opa-fm,
//! `sm_partMgr.c`, `sm_compute_portPkeys`), so that packets must not claim more than the HFI
//! holds (`hfi1`, `verbs.c`, `egress_pkey_matches_entry`).

use weft_fabric::PKey;

use crate::counters::Counter;
use crate::network::{NONE, Network, PortIndex};
use crate::registers::PortTable;

/// Marks a full member.
const FULL: u16 = 0x8000;
/// The management partition, without the membership bit.
const MANAGEMENT: u16 = 0x7FFF;

/// Direction in which a packet crosses a port that checks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the cable into the device.
    In,
    /// From the device onto the cable.
    Out,
}

/// Whether the holder of a table entry may send with a key.
fn may_send(key: u16, entry: u16) -> bool {
    key & !FULL == entry & !FULL && (key & FULL == 0 || entry & FULL != 0)
}

/// Whether the holder of a table entry takes a packet with a key.
fn may_receive(key: u16, entry: u16) -> bool {
    key & !FULL == entry & !FULL && (key | entry) & FULL != 0
}

impl Network {
    /// The P_Key with which data goes from an HFI's port to another: the first of the sender's table that
    /// the receiver takes. The management partition is not for data. None where they share none.
    pub fn shared_key(&self, from: PortIndex, to: PortIndex) -> Option<PKey> {
        let data = |key: &u16| key & !FULL != 0 && key & !FULL != MANAGEMENT;
        let taken = |key: &u16| self.holds(to, |entry| may_receive(*key, entry));
        let mut keys = self.port(from).p_keys().filter(data);
        keys.find(taken).map(PKey)
    }

    fn holds(&self, at: PortIndex, matches: impl Fn(u16) -> bool) -> bool {
        self.port(at).p_keys().any(matches)
    }

    /// Whether a port passes a packet with a key. An HFI's port checks received packets, a switch's
    /// external port by its enforcement bits; port 0 of a switch accepts all.
    pub(crate) fn lets_through(&self, at: PortIndex, way: Direction, key: PKey) -> bool {
        let end = &self.links[at.0 as usize];
        let info = &self.ports[at.0 as usize].info;
        let (is_hfi, PKey(key)) = (end.switch == NONE, key);
        match way {
            Direction::In if is_hfi => self.holds(at, |entry| may_receive(key, entry)),
            Direction::In if info.partition_enforcement_inbound => {
                self.holds(at, |entry| may_send(key, entry))
            }
            Direction::Out if !is_hfi && info.partition_enforcement_outbound => {
                self.holds(at, |entry| may_receive(key, entry))
            }
            _ => true,
        }
    }

    /// Whether every port on a path, named by the sending ports of its links, lets a key through.
    pub(crate) fn path_lets_through(&self, path: &[u32], key: PKey) -> bool {
        path.iter().all(|link| {
            let out = PortIndex(*link);
            let into = self.peer(out);
            self.lets_through(out, Direction::Out, key)
                && into.is_some_and(|into| self.lets_through(into, Direction::In, key))
        })
    }

    /// Counts a packet that a port did not let through: as constraint error and as violation of P_Keys.
    #[cold]
    pub(crate) fn count_p_key_violation(&mut self, at: PortIndex, way: Direction) {
        let counter = match way {
            Direction::In => Counter::RcvConstraintErrors,
            Direction::Out => Counter::XmitConstraintErrors,
        };
        self.counters(at).add(counter, 1);
        let violations = &mut self.ports[at.0 as usize].info.violations_p_key;
        *violations = violations.saturating_add(1);
    }
}

impl crate::registers::PortRegisters {
    /// The P_Keys of its table that are not 0, in order.
    pub fn p_keys(&self) -> impl Iterator<Item = u16> + '_ {
        let entries = self.table(PortTable::PKeys).chunks_exact(2);
        let keys = entries.map(|key| u16::from_be_bytes([key[0], key[1]]));
        keys.take(usize::from(self.p_key_cap))
            .filter(|key| *key != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_match_as_the_driver_says() {
        // key, entry, may send, may receive
        let cases = [
            (0x8005, 0x8005, true, true),
            (0x8005, 0x0005, false, true),
            (0x0005, 0x8005, true, true),
            (0x0005, 0x0005, true, false),
            (0x8005, 0x8006, false, false),
        ];
        for (key, entry, send, receive) in cases {
            let found = (may_send(key, entry), may_receive(key, entry));
            assert_eq!(found, (send, receive), "{key:#x} {entry:#x}");
        }
    }
}
