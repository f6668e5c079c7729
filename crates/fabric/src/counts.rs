//! What ports have counted, where a snapshot tells it.

use std::collections::BTreeMap;

use weft_wire::pm::Counter;

use crate::topology::PortRef;

/// What a port has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortCounts {
    /// Its counters, in order of [`Counter`].
    pub counters: [u64; Counter::COUNT],
    /// Quality of its link: 5 excellent to 1 bad, 0 down.
    pub quality: u8,
    /// Lanes that its link has lost.
    pub lanes_down: u8,
}

/// Counters of ports.
pub type CountsByPort = BTreeMap<PortRef, PortCounts>;
