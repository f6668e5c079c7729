//! Cables that damage ever more packets.

use weft_dataplane::PortIndex;
use weft_dataplane::bad_cables::ERRORS_PER;
use weft_fabric::Tick;

use super::Emulator;
use crate::io::ControlError;
use crate::queue::Event;

/// Steps from the first error to all of them: each has as many times more as the one before.
const STEPS: u32 = 16;
/// Longest time, nanoseconds: a day.
const OVER_MAX_NS: u64 = 86_400_000_000_000;

/// A cable on its way there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rise {
    /// Tells it from an earlier one of the same port, whose event may still wait.
    number: u64,
    /// Steps that are done.
    done: u32,
    /// Damaged packets of [`ERRORS_PER`] at the end.
    to: u32,
    pause_ns: u64,
}

impl Emulator {
    /// Sets the damaged packets of a cable's [`ERRORS_PER`], and ends its rise.
    pub(super) fn set_cable_errors(
        &mut self,
        at: PortIndex,
        errors: u32,
    ) -> Result<(), ControlError> {
        self.check_errors("errors", errors)?;
        self.end_rise(at);
        self.network.set_cable_errors(at, errors);
        Ok(())
    }

    /// Lets a cable damage one packet of [`ERRORS_PER`] now, and `to` of them after a time.
    pub(super) fn begin_rise(
        &mut self,
        at: PortIndex,
        to: u32,
        over_ns: u64,
    ) -> Result<(), ControlError> {
        self.check_errors("to", to)?;
        if over_ns > OVER_MAX_NS {
            return Err(ControlError::Range {
                what: "over_ns",
                value: over_ns as f64,
                allowed: "up to 86400000000000, a day",
            });
        }
        self.end_rise(at);
        let rise = Rise {
            number: self.changes,
            done: 0,
            to,
            pause_ns: over_ns / u64::from(STEPS),
        };
        self.go_on(at, rise);
        Ok(())
    }

    fn check_errors(&self, what: &'static str, errors: u32) -> Result<(), ControlError> {
        match errors > ERRORS_PER {
            true => Err(ControlError::Range {
                what,
                value: f64::from(errors),
                allowed: "0 to 1000000",
            }),
            false => Ok(()),
        }
    }

    /// Leaves the damage of the cable at a port as it is now.
    pub(super) fn end_rise(&mut self, at: PortIndex) {
        self.rises.remove(&at);
        if let Some(peer) = self.network.peer(at) {
            self.rises.remove(&peer);
        }
    }

    /// The next step is due.
    pub(super) fn rise_due(&mut self, at: PortIndex, number: u64) {
        let mine = |rise: &Rise| rise.number == number;
        let Some(rise) = self.rises.get(&at).copied().filter(mine) else {
            return;
        };
        self.rises.remove(&at);
        self.changes += 1;
        let done = rise.done + 1;
        self.go_on(at, Rise { done, ..rise });
    }

    /// Makes a step, and waits for the next one. Where too much waits already, the cable stays as it is.
    fn go_on(&mut self, at: PortIndex, rise: Rise) {
        let share = f64::from(rise.done) / f64::from(STEPS);
        let errors = f64::from(rise.to).powf(share).round() as u32;
        self.network.set_cable_errors(at, errors.min(rise.to));
        if rise.done == STEPS {
            return;
        }
        let number = rise.number;
        let due = Tick(self.now.0.saturating_add(rise.pause_ns));
        match self.queue.push(due, Event::Rise { at, number }) {
            true => drop(self.rises.insert(at, rise)),
            false => self.losses.overflow += 1,
        }
    }
}
