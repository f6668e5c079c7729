//! HFIs that take no packets: what comes stays in the port's buffer, credits do not go back, and the
//! link stops once the buffer is full (back-pressure).

use std::collections::VecDeque;

use super::event::{code, kind};
use super::simulation::Simulation;
use crate::network::PortIndex;

/// Mark of an HFI's LID while packets for it wait in its port's buffer. No LID has this bit.
pub(super) const HELD: u32 = 1 << 31;

/// Packets in the buffer of an HFI's port that takes, or took, none.
#[derive(Debug, Clone, Default)]
pub(super) struct Hold {
    /// In order of arrival.
    waiting: VecDeque<u32>,
    /// The HFI still takes none.
    stopped: bool,
}

impl Simulation {
    /// From now on packets that come to an HFI stay in its port's buffer, until [`Self::resume_receiving`].
    pub fn stop_receiving(&mut self, at: PortIndex) {
        self.held.entry(at.0).or_default().stopped = true;
        self.lids[at.0 as usize].0 |= HELD;
    }

    /// An HFI takes packets again, first those that wait, one after the other.
    pub fn resume_receiving(&mut self, at: PortIndex) {
        if let Some(hold) = self.held.get_mut(&at.0)
            && std::mem::replace(&mut hold.stopped, false)
        {
            self.calendar.push(self.now, code(kind::TAKE, at.0, 0));
        }
    }

    /// An HFI takes the packet that has waited longest, unless it was stopped again.
    pub(super) fn take_waiting(&mut self, at: u32) {
        let Some(hold) = self.held.get_mut(&at).filter(|hold| !hold.stopped) else {
            return;
        };
        match hold.waiting.pop_front() {
            Some(id) => {
                self.hand_over(id, at);
                self.calendar.push(self.now, code(kind::TAKE, at, 0));
            }
            None => {
                self.held.remove(&at);
                self.lids[at as usize].0 &= !HELD;
            }
        }
    }

    /// What becomes of a packet whose DLID is not that of the HFI's port as it stands there: one of a group
    /// is taken, one waits while the HFI takes none, others are dropped.
    pub(super) fn receive_other(&mut self, id: u32, at: u32, of_group: bool) {
        let (lid, lmc) = self.lids[at as usize];
        let packet = self.store.get(id);
        let (own, lane) = (lid & !HELD, packet.lane);
        if own == 0 || !of_group && packet.dlid >> lmc != own >> lmc {
            self.errors[at as usize].receive += 1;
            self.drop_packet(id, at, lane);
            return;
        }
        match self.held.get_mut(&at) {
            Some(hold) => hold.waiting.push_back(id),
            None => self.hand_over(id, at),
        }
    }
}
