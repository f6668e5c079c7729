//! Ports that are not in the fabric now, remembered for their return.

use weft_fabric::Vl;
use weft_wire::pm::Counter;

use crate::pm::{Counters, LaneCounters, Raw};

/// The last reading of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Absent {
    pub(super) counters: Counters,
    pub(super) vls: Vec<Vl>,
    pub(super) lanes: Vec<LaneCounters>,
    /// Counters that the manager set to zero after that, as a `CounterSelectMask_t`.
    pub(super) cleared: u32,
    /// When the port was read first, seconds since 1970.
    pub(super) since_unix_s: u64,
    /// When it left, seconds since 1970.
    pub(super) left_unix_s: u64,
}

impl Default for Absent {
    fn default() -> Self {
        Self {
            counters: [0; Counter::COUNT],
            vls: Vec::new(),
            lanes: Vec::new(),
            cleared: 0,
            since_unix_s: 0,
            left_unix_s: 0,
        }
    }
}

impl Absent {
    pub(super) fn new(raw: &Raw<'_>, since_unix_s: u64, left_unix_s: u64) -> Self {
        Self {
            counters: *raw.counters,
            vls: raw.vls.to_vec(),
            lanes: raw.lanes.to_vec(),
            cleared: raw.cleared,
            since_unix_s,
            left_unix_s,
        }
    }

    pub(super) fn raw(&self) -> Raw<'_> {
        Raw {
            counters: &self.counters,
            vls: &self.vls,
            lanes: &self.lanes,
            cleared: self.cleared,
        }
    }
}
