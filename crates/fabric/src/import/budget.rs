//! Size limits of imported fabrics.

use super::ImportError;
use crate::generate::{HOSTS_MAX, SWITCHES_MAX};

/// Most external ports of all switches together.
const SWITCH_PORTS_MAX: u64 = 50 * SWITCHES_MAX;
/// Most entries of all forwarding tables together.
const ENTRIES_MAX: u64 = 1 << 29;

/// Ports of switches that may be without a cable, in a dump that lists none.
const SPARE_PORTS: u64 = 20_000;
/// Ports of switches for each end of a cable that a dump lists: nine in ten may be without one.
const PORTS_PER_END: u64 = 10;

/// Maximum number of external ports of all switches of a dump that lists `ends` ends of cables. A dump
/// needs only a few bytes to declare many ports without a cable.
pub(super) fn switch_ports_max(ends: usize) -> u64 {
    SPARE_PORTS + PORTS_PER_END * ends as u64
}

/// Counts imported objects, because a short text can require much memory.
#[derive(Debug, Default)]
pub(super) struct Budget {
    hosts: u64,
    switches: u64,
    switch_ports: u64,
    entries: u64,
}

impl Budget {
    /// Counts a switch.
    pub(super) fn switch(&mut self, line: u64, ports: u8) -> Result<(), ImportError> {
        self.switches += 1;
        self.switch_ports += u64::from(ports);
        let fits = self.switches <= SWITCHES_MAX && self.switch_ports <= SWITCH_PORTS_MAX;
        let allowed = || format!("up to {SWITCHES_MAX} with {SWITCH_PORTS_MAX} ports");
        fits.then_some(())
            .ok_or_else(|| ImportError::new(line, "too many switches", allowed()))
    }

    /// Counts a host.
    pub(super) fn host(&mut self, line: u64) -> Result<(), ImportError> {
        self.hosts += 1;
        (self.hosts <= HOSTS_MAX)
            .then_some(())
            .ok_or_else(|| ImportError::new(line, "too many hosts", format!("up to {HOSTS_MAX}")))
    }

    /// Counts a forwarding table.
    pub(super) fn table(&mut self, line: u64, entries: usize) -> Result<(), ImportError> {
        self.entries += entries as u64;
        let allowed = || format!("up to {ENTRIES_MAX} in all tables");
        (self.entries <= ENTRIES_MAX)
            .then_some(())
            .ok_or_else(|| ImportError::new(line, "too many entries", allowed()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn each_limit_is_kept() {
        let mut budget = Budget::default();
        for _ in 0..SWITCH_PORTS_MAX / 250 {
            budget.switch(1, 250).unwrap();
        }
        assert_eq!(budget.switch(2, 1).unwrap_err().what, "too many switches");
        budget.table(1, ENTRIES_MAX as usize).unwrap();
        assert_eq!(budget.table(3, 1).unwrap_err().line, 3);
        budget.hosts = HOSTS_MAX;
        assert_eq!(budget.host(4).unwrap_err().what, "too many hosts");
    }
}
