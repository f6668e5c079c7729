//! Time in congestion: while at least the threshold's part of a lane's buffer waits for it (see
//! [`congestion`](super::congestion)), and for a port while one of its lanes is so. Only switches that
//! mark packets have a threshold.

use super::Picos;
use super::simulation::Simulation;

/// Accumulated time of a condition.
#[derive(Debug, Clone, Copy)]
struct Span {
    /// Since when it holds; [`Picos::MAX`] while it does not.
    since: Picos,
    /// Time before its current period.
    before: Picos,
}

impl Span {
    const NEVER: Self = Self {
        since: Picos::MAX,
        before: 0,
    };

    fn set(&mut self, holds: bool, now: Picos) {
        self.before = self.total(now);
        self.since = if holds { now } else { Picos::MAX };
    }

    fn total(&self, now: Picos) -> Picos {
        self.before + now.saturating_sub(self.since)
    }
}

/// Empty where no switch has marked packets.
#[derive(Debug, Clone, Default)]
pub(super) struct Crowds {
    lanes: Vec<Span>,
    /// Congested lanes of each port, one bit each.
    congested: Vec<u32>,
    ports: Vec<Span>,
}

impl Crowds {
    pub(super) fn make_room(&mut self, lanes: usize, ports: usize) {
        self.lanes.resize(lanes, Span::NEVER);
        self.congested.resize(ports, 0);
        self.ports.resize(ports, Span::NEVER);
    }

    pub(super) fn of_lane(&self, at: usize, now: Picos) -> Picos {
        self.lanes.get(at).map_or(0, |span| span.total(now))
    }

    pub(super) fn of_port(&self, index: usize, now: Picos) -> Picos {
        self.ports.get(index).map_or(0, |span| span.total(now))
    }
}

impl Simulation {
    /// The amount that waits for a lane has changed.
    #[inline]
    pub(super) fn heed_crowd(&mut self, at: usize) {
        if !self.congestion.crowds.lanes.is_empty() {
            self.note_crowd(at);
        }
    }

    fn note_crowd(&mut self, at: usize) {
        let (index, bit) = (at / self.width, 1 << (at % self.width));
        let congested = self.is_congested(at);
        let crowds = &mut self.congestion.crowds;
        let before = crowds.congested[index];
        if congested == (before & bit != 0) {
            return;
        }
        crowds.lanes[at].set(congested, self.now);
        crowds.congested[index] = before ^ bit;
        if before == 0 || before == bit {
            crowds.ports[index].set(congested, self.now);
        }
    }
}
