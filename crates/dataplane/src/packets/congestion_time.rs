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
pub(super) struct CongestionTimes {
    lanes: Vec<Span>,
    /// Congested lanes of each port, one bit each.
    congested: Vec<u32>,
    ports: Vec<Span>,
}

impl CongestionTimes {
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
    pub(super) fn update_congestion_time(&mut self, at: usize) {
        if !self.congestion.times.lanes.is_empty() {
            self.note_congestion(at);
        }
    }

    fn note_congestion(&mut self, at: usize) {
        let (index, bit) = (at / self.width, 1 << (at % self.width));
        let congested = self.is_congested(at);
        let times = &mut self.congestion.times;
        let before = times.congested[index];
        if congested == (before & bit != 0) {
            return;
        }
        times.lanes[at].set(congested, self.now);
        times.congested[index] = before ^ bit;
        if before == 0 || before == bit {
            times.ports[index].set(congested, self.now);
        }
    }
}
