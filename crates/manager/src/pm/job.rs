//! One agent's part of a sweep: its remaining requests.

use std::collections::VecDeque;

use weft_fabric::PortNum;
use weft_wire::pm::PortMask;

use super::ask::{Ask, data_ports_max, error_ports_max, info_ports_max};

/// Progress of an agent in a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// Not begun.
    #[default]
    Waiting,
    /// Its capabilities: read once.
    Identify,
    /// Data counters of all ports; of a host all counters.
    Read,
    /// Error counters of ports whose sum has changed.
    Errors,
    /// Counters near their end, and those that somebody wants at zero, are set to zero.
    Clear,
    /// Details of the last errors, of ports that had some.
    Info,
    /// That is forgotten, so that the next error is recorded.
    Forget,
    /// Nothing more.
    Done,
}

impl Stage {
    pub(super) fn next(self) -> Self {
        match self {
            Self::Waiting => Self::Identify,
            Self::Identify => Self::Read,
            Self::Read => Self::Errors,
            Self::Errors => Self::Clear,
            Self::Clear => Self::Info,
            Self::Info => Self::Forget,
            Self::Forget | Self::Done => Self::Done,
        }
    }
}

/// One agent's part of a sweep.
#[derive(Debug, Default)]
pub(super) struct Job {
    pub(super) stage: Stage,
    /// Remaining requests of this stage.
    pub(super) asks: VecDeque<Ask>,
    /// Requests in flight.
    pub(super) outstanding: u8,
    /// Whether it is in the queue of agents that may get more requests.
    pub(super) queued: bool,
    /// It answered the last time and has not been given up in this sweep.
    pub(super) lively: bool,
    /// Whether it did not answer: it gets no more requests.
    pub(super) failed: bool,
    /// Ports whose error counters have changed.
    pub(super) errors: PortMask,
    /// Ports that had errors.
    pub(super) info: PortMask,
    /// Ports that reported details of their errors.
    pub(super) forget: PortMask,
}

impl Job {
    /// Adds requests for data counters of `ports`, as many ports per request as fit into an answer.
    pub(super) fn ask_data(&mut self, ports: impl Iterator<Item = PortNum>, lanes: u32) {
        self.ask(ports, data_ports_max(lanes), Ask::Data);
    }

    /// Adds requests for error counters of the ports that need it.
    pub(super) fn ask_errors(&mut self, lanes: u32) {
        self.ask(self.errors.ports(), error_ports_max(lanes), Ask::Errors);
    }

    /// Adds requests for details of the last errors.
    pub(super) fn ask_info(&mut self) {
        self.ask(self.info.ports(), info_ports_max(), Ask::Info);
    }

    /// Has that forgotten.
    pub(super) fn ask_forget(&mut self) {
        self.ask(self.forget.ports(), info_ports_max(), Ask::ForgetInfo);
    }

    /// Has counters set to zero: ports with the same selection at once.
    pub(super) fn ask_clear(&mut self, selections: impl Iterator<Item = (PortNum, u32)>) {
        let mut by_selection: Vec<(u32, PortMask)> = Vec::new();
        for (port, select) in selections {
            match by_selection.iter_mut().find(|(known, _)| *known == select) {
                Some((_, ports)) => ports.insert(port),
                None => by_selection.push((select, PortMask::one(port))),
            }
        }
        let asks = by_selection.into_iter();
        self.asks
            .extend(asks.map(|(select, ports)| Ask::Clear(ports, select)));
    }

    fn ask(&mut self, ports: impl Iterator<Item = PortNum>, most: usize, ask: fn(PortMask) -> Ask) {
        let mut mask = PortMask::default();
        for port in ports {
            mask.insert(port);
            if mask.len() == most {
                self.asks.push_back(ask(std::mem::take(&mut mask)));
            }
        }
        if !mask.is_empty() {
            self.asks.push_back(ask(mask));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_asked_as_many_at_a_time_as_an_answer_holds() {
        let mut job = Job::default();
        job.ask_data((0..=48).map(PortNum), 1 | 1 << 15);
        assert_eq!(job.asks.len(), 10, "5 ports with two lanes each");
        let asked: usize = job.asks.iter().map(|ask| ask.ports().len()).sum();
        assert_eq!(asked, 49);
    }

    #[test]
    fn ports_with_one_selection_are_cleared_together() {
        let mut job = Job::default();
        let selections = [(1, 0x40), (2, 0x20), (3, 0x40)];
        job.ask_clear(
            selections
                .map(|(port, select)| (PortNum(port), select))
                .into_iter(),
        );
        let both: PortMask = [PortNum(1), PortNum(3)].into_iter().collect();
        assert_eq!(
            job.asks,
            [
                Ask::Clear(both, 0x40),
                Ask::Clear(PortMask::one(PortNum(2)), 0x20)
            ]
        );
    }
}
