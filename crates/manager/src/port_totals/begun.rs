//! What ports had counted when somebody last wanted their counters to begin at zero. Totals go on.

use weft_wire::pm::Counter;

use crate::pm::Counters;

/// Totals of a port at that moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Begun {
    /// 0 of counters that nobody wanted to begin at zero.
    pub(super) counters: Counters,
    /// The last such moment, seconds since 1970.
    pub(super) unix_s: u64,
}

/// What a port has counted since somebody had its counters set to zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SinceClear {
    /// The counts; of counters that were never set to zero on request, the totals.
    pub counters: Counters,
    /// When some were last set to zero on request, seconds since 1970.
    pub unix_s: u64,
}

impl Default for Begun {
    fn default() -> Self {
        Self {
            counters: [0; Counter::COUNT],
            unix_s: 0,
        }
    }
}

impl Begun {
    /// The counters in `select` begin anew at these totals.
    pub(super) fn set(&mut self, totals: &Counters, select: u32, unix_s: u64) {
        for counter in Counter::ALL {
            if select & counter.select_bit() != 0 {
                self.counters[counter as usize] = totals[counter as usize];
            }
        }
        self.unix_s = unix_s;
    }

    /// What has been counted since, of totals.
    pub(super) fn since(&self, totals: &Counters) -> SinceClear {
        let mut counters = *totals;
        for (total, begun) in counters.iter_mut().zip(self.counters) {
            *total = total.saturating_sub(begun);
        }
        SinceClear {
            counters,
            unix_s: self.unix_s,
        }
    }
}
