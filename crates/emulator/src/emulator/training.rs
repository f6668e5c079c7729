//! Links that take their time to come up: when each of their states is over.

use weft_dataplane::PortIndex;
use weft_dataplane::training::{ATTEMPTS, LinkTraining, TrainingStep};
use weft_fabric::Tick;

use super::Emulator;
use crate::io::ControlError;
use crate::queue::Event;

/// Sets the draws of trainings apart from those of datagrams.
pub(super) const STREAM: u64 = 0x7472_6169_6e69_6e67;
/// Longest time, nanoseconds: an hour.
const TIME_MAX_NS: u64 = 3_600_000_000_000;
/// Shortest time of an attempt that may fail, nanoseconds: else a link would fail for ever at one moment.
const ATTEMPT_MIN_NS: u64 = 1_000_000;

impl Emulator {
    pub(super) fn set_link_training(
        &mut self,
        at: Option<PortIndex>,
        how: LinkTraining,
    ) -> Result<(), ControlError> {
        let range = |what, value: u64, allowed| ControlError::Range {
            what,
            value: value as f64,
            allowed,
        };
        let times = [how.polling_ns, how.training_ns, how.jitter_ns, how.lag_ns];
        if let Some(time) = times.into_iter().find(|time| *time > TIME_MAX_NS) {
            return Err(range("a time of training", time, "up to 3600000000000 ns"));
        }
        if how.failing > ATTEMPTS {
            return Err(range("failing", u64::from(how.failing), "0 to 1000000"));
        }
        let attempt = how.polling_ns + how.training_ns;
        if how.failing > 0 && attempt < ATTEMPT_MIN_NS {
            let allowed = "at least 1000000 where some fail";
            return Err(range("polling_ns and training_ns", attempt, allowed));
        }
        self.network.set_link_training(at, how);
        Ok(())
    }

    /// Waits for the ends of states that have begun.
    pub(super) fn await_trainings(&mut self) {
        for step in self.network.take_training_steps() {
            self.await_training(step);
        }
    }

    /// Waits for the end of a state. Where too much waits already, the link stays in it.
    fn await_training(&mut self, step: TrainingStep) {
        let fates = &mut self.training_fates;
        let wait = step.wait_ns + fates.up_to(step.jitter_ns);
        let fails = fates.happens(f64::from(step.failing) / f64::from(ATTEMPTS));
        let due = Tick(self.now.0.saturating_add(wait));
        let event = Event::Training {
            at: step.at,
            number: step.number,
            fails,
        };
        if !self.queue.push(due, event) {
            self.losses.overflow += 1;
        }
    }

    /// The time of a link's state is over.
    pub(super) fn training_due(&mut self, at: PortIndex, number: u64, fails: bool) {
        self.changes += 1;
        self.circles.settle(&mut self.network, self.now);
        self.network.end_training_step(at, number, fails);
        self.links_changed();
    }
}
