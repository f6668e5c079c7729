//! Links that take their time to come up: Polling, Training, LinkUp. They may fail on the way, stay in a state, or be up
//! at one end before the other.
//!
//! States are those of `PortStates.PortPhysicalState`: `hfi1` tells Training of all that its firmware does between
//! finding a neighbour and the link's exchange of capabilities (`chip.c`, `chip_to_opa_pstate`). Without a
//! [`LinkTraining`] a link comes up at once.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weft_fabric::enums::{LinkDownReason, OfflineDisabledReason, PhysState, PortState};

use crate::counters::Counter;
use crate::network::{NONE, Network, PortIndex};

/// Attempts to which [`LinkTraining::failing`] refers.
pub const ATTEMPTS: u32 = 1_000_000;

/// How links come up; by default at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinkTraining {
    /// Time in Polling, nanoseconds.
    pub polling_ns: u64,
    /// Time in Training, nanoseconds.
    pub training_ns: u64,
    /// Up to so much longer in each of the two, drawn evenly; nanoseconds.
    pub jitter_ns: u64,
    /// The other end is up so much later than the one that was named; the HFI than the switch where none was.
    /// Nanoseconds.
    pub lag_ns: u64,
    /// How many of [`ATTEMPTS`] fail in Training: the link polls again.
    pub failing: u32,
    /// What the link does not leave.
    pub stuck: Option<Stuck>,
}

/// A state that a link does not leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stuck {
    /// The end that was named does not look for a neighbour: the other one polls.
    Offline,
    /// Both ends poll and do not find each other.
    Polling,
    /// They find each other and come no further.
    Training,
}

/// A state of a link on its way up, and how long it lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrainingStep {
    /// The end of the link that [`Network::end_training_step`] takes.
    pub at: PortIndex,
    /// Tells it from earlier ones of the same link.
    pub number: u64,
    /// Nanoseconds.
    pub wait_ns: u64,
    /// Up to so much longer, nanoseconds.
    pub jitter_ns: u64,
    /// How many of [`ATTEMPTS`] end in failure.
    pub failing: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Polling,
    Training,
    /// One end is up.
    OneUp,
}

/// A link on its way up.
#[derive(Debug, Clone, Copy)]
struct Training {
    /// The end that is up first, and the other.
    ends: [PortIndex; 2],
    stage: Stage,
    number: u64,
}

/// How links come up, and those on their way.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trainings {
    of_all: LinkTraining,
    /// By the end that was named.
    of_ports: BTreeMap<PortIndex, LinkTraining>,
    /// By the lower end.
    running: BTreeMap<PortIndex, Training>,
    /// Not yet taken.
    steps: Vec<TrainingStep>,
    last_number: u64,
}

impl Network {
    /// Sets how the link of a port, or all links, come up from now on. One on its way begins again; one that is up
    /// stays.
    pub fn set_link_training(&mut self, at: Option<PortIndex>, how: LinkTraining) {
        let Some(at) = at else {
            self.trainings.of_all = how;
            self.trainings.of_ports.clear();
            let running: Vec<PortIndex> = self.trainings.running.keys().copied().collect();
            return running.into_iter().for_each(|end| self.begin_again(end));
        };
        if let Some(peer) = self.peer(at) {
            self.trainings.of_ports.remove(&peer);
        }
        self.trainings.of_ports.insert(at, how);
        if self.training_of(at).is_some() {
            self.begin_again(at);
        }
    }

    fn begin_again(&mut self, at: PortIndex) {
        self.end_training(at);
        let reason = self.port(at).info().link_down_reason;
        self.set_down(at, reason);
        self.train(at);
    }

    /// The end that was named, if one was, and how the link comes up.
    fn link_training(&self, at: PortIndex, peer: PortIndex) -> (Option<PortIndex>, LinkTraining) {
        let ends = [at.min(peer), at.max(peer)];
        let named = ends
            .into_iter()
            .find_map(|end| Some((end, *self.trainings.of_ports.get(&end)?)));
        match named {
            Some((end, how)) => (Some(end), how),
            None => (None, self.trainings.of_all),
        }
    }

    /// Begins to bring a link up, whose ends both may be; returns whether that takes time.
    pub(crate) fn begin_training(&mut self, at: PortIndex, peer: PortIndex) -> bool {
        let (named, how) = self.link_training(at, peer);
        if how == LinkTraining::default() {
            return false;
        }
        if self.training_of(at).is_some() {
            return true;
        }
        let is_hfi = |end: PortIndex| self.links[end.0 as usize].switch == NONE;
        let first = named.unwrap_or(match (is_hfi(at), is_hfi(peer)) {
            (true, false) => peer,
            (false, true) => at,
            _ => at.min(peer),
        });
        let last = if first == at { peer } else { at };
        self.trainings.last_number += 1;
        let training = Training {
            ends: [first, last],
            stage: Stage::Polling,
            number: self.trainings.last_number,
        };
        if how.stuck == Some(Stuck::Offline) {
            let reason = OfflineDisabledReason::TRANSIENT;
            self.set_phys([first, first], PhysState::OFFLINE, reason);
        }
        self.trainings.running.insert(at.min(peer), training);
        self.await_step(training, how);
        true
    }

    /// Lets the state that a link on its way up is in last its time; for ever where it is stuck in it.
    fn await_step(&mut self, training: Training, how: LinkTraining) {
        let (stuck, wait_ns, jitter_ns, failing) = match training.stage {
            Stage::Polling => (
                matches!(how.stuck, Some(Stuck::Offline | Stuck::Polling)),
                how.polling_ns,
                how.jitter_ns,
                0,
            ),
            Stage::Training => (
                how.stuck == Some(Stuck::Training),
                how.training_ns,
                how.jitter_ns,
                how.failing,
            ),
            Stage::OneUp => (false, how.lag_ns, 0, 0),
        };
        if !stuck {
            self.trainings.steps.push(TrainingStep {
                at: training.ends[0],
                number: training.number,
                wait_ns,
                jitter_ns,
                failing,
            });
        }
    }

    /// States of links on their way up that have begun since the last call; each ends with
    /// [`Self::end_training_step`] when its time is over.
    pub fn take_training_steps(&mut self) -> Vec<TrainingStep> {
        std::mem::take(&mut self.trainings.steps)
    }

    /// The time of a state is over: the link goes on to the next one, or fails and polls again. One that has gone down
    /// or begun again since stays as it is.
    pub fn end_training_step(&mut self, at: PortIndex, number: u64, fails: bool) {
        let Some(mut training) = self.training_of(at).filter(|now| now.number == number) else {
            return;
        };
        let [first, last] = training.ends;
        let (_, how) = self.link_training(first, last);
        training.stage = match training.stage {
            Stage::Polling => Stage::Training,
            Stage::Training if fails => Stage::Polling,
            Stage::Training if how.lag_ns > 0 => Stage::OneUp,
            Stage::Training | Stage::OneUp => {
                self.trainings.running.remove(&first.min(last));
                return self.bring_up(&training.ends);
            }
        };
        self.trainings.running.insert(first.min(last), training);
        match training.stage {
            Stage::Polling => self.set_phys(training.ends, PhysState::POLLING, NO_REASON),
            Stage::Training => self.set_phys(training.ends, PhysState::TRAINING, NO_REASON),
            Stage::OneUp => self.bring_up(&[first]),
        }
        self.await_step(training, how);
    }

    fn set_phys(&mut self, ends: [PortIndex; 2], phys: PhysState, why: OfflineDisabledReason) {
        for end in ends {
            let info = &mut self.ports[end.0 as usize].info;
            (info.phys_state, info.offline_disabled_reason) = (phys, why);
        }
    }

    fn training_of(&self, at: PortIndex) -> Option<Training> {
        let key = self.peer(at).map_or(at, |peer| at.min(peer));
        self.trainings.running.get(&key).copied()
    }

    /// The link of a port is no longer on its way up, which takes it down at the other end, too.
    pub(crate) fn end_training(&mut self, at: PortIndex) {
        let Some(training) = self.training_of(at) else {
            return;
        };
        let [first, last] = training.ends;
        self.trainings.running.remove(&first.min(last));
        let other = if first == at { last } else { first };
        if self.state(other) == PortState::DOWN {
            let reason = self.port(other).info().link_down_reason;
            return self.set_down(other, reason);
        }
        self.set_down(other, LinkDownReason::NEIGHBOR_UNKNOWN);
        self.count(other, Counter::LinkDowned, 1);
        self.note_change(other);
    }
}

const NO_REASON: OfflineDisabledReason = OfflineDisabledReason::NONE;
