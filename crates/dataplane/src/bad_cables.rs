//! Cables that damage part of the packets: the receiving port notices, and the link sends them again.

use crate::counters::Counter;
use crate::network::{Network, PortIndex};

/// Packets to which [`Network::set_cable_errors`] refers.
pub const ERRORS_PER: u32 = 1_000_000;

/// What a bad cable does to packets that arrive at one of its ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BadCable {
    /// Damaged packets of [`ERRORS_PER`].
    errors: u32,
    /// Millionths of an error that are not counted yet.
    rest: u64,
}

impl Network {
    /// Lets the cable at a port damage this many of [`ERRORS_PER`] data packets in each direction; at most all, and
    /// 0 makes it a good one. Each counts one LocalLinkIntegrityErrors at the receiving port.
    pub fn set_cable_errors(&mut self, at: PortIndex, errors: u32) {
        let ends = [Some(at), self.peer(at)];
        for end in ends.into_iter().flatten() {
            let errors = errors.min(ERRORS_PER);
            match errors {
                0 => self.bad_cables.remove(&end),
                _ => self.bad_cables.insert(end, BadCable { errors, rest: 0 }),
            };
        }
    }

    /// What is set for the cable at a port: damaged packets of [`ERRORS_PER`].
    pub fn cable_errors(&self, at: PortIndex) -> u32 {
        self.bad_cables.get(&at).map_or(0, |cable| cable.errors)
    }

    /// Counts the errors of data packets that a port has received.
    #[inline]
    pub(crate) fn count_cable_errors(&mut self, at: PortIndex, packets: u64) {
        if !self.bad_cables.is_empty() {
            self.add_cable_errors(at, packets);
        }
    }

    #[cold]
    fn add_cable_errors(&mut self, at: PortIndex, packets: u64) {
        let Some(cable) = self.bad_cables.get_mut(&at) else {
            return;
        };
        let all = u128::from(packets) * u128::from(cable.errors) + u128::from(cable.rest);
        let unit = u128::from(ERRORS_PER);
        cable.rest = (all % unit) as u64;
        let errors = (all / unit) as u64;
        if errors > 0 {
            let counters = self.counters(at);
            counters.add(Counter::LocalLinkIntegrityErrors, errors);
        }
    }
}
