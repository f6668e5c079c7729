//! Links that go down and come up again and again.

use weft_dataplane::PortIndex;
use weft_fabric::Tick;

use super::Emulator;
use crate::io::ControlError;
use crate::queue::Event;

/// Most times.
const TIMES_MAX: u32 = 1_000;
/// Longest time, nanoseconds: a day.
const OVER_MAX_NS: u64 = 86_400_000_000_000;

/// A link that does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flap {
    /// Tells it from an earlier one of the same port, whose event may still wait.
    number: u64,
    /// Changes that are left; the link comes up with the last one.
    left: u32,
    /// Time between two changes, nanoseconds.
    pause_ns: u64,
}

impl Emulator {
    /// Lets the link of a port go down now, and come up and go down until it has been down so often.
    pub(super) fn flap(
        &mut self,
        at: PortIndex,
        times: u32,
        over_ns: u64,
    ) -> Result<(), ControlError> {
        let range = |what, value, allowed| {
            Err(ControlError::Range {
                what,
                value,
                allowed,
            })
        };
        if !(1..=TIMES_MAX).contains(&times) {
            return range("times", f64::from(times), "1 to 1000");
        }
        if over_ns > OVER_MAX_NS {
            return range("over_ns", over_ns as f64, "up to 86400000000000, a day");
        }
        self.end_flap(at);
        let left = times * 2 - 1;
        let flap = Flap {
            number: self.changes,
            left,
            pause_ns: over_ns / u64::from(left),
        };
        self.network.cut_cable(at);
        self.await_flap(at, flap);
        Ok(())
    }

    /// Leaves the link of a port as it is now.
    pub(super) fn end_flap(&mut self, at: PortIndex) {
        self.flaps.remove(&at);
        if let Some(peer) = self.network.peer(at) {
            self.flaps.remove(&peer);
        }
    }

    /// The next change of a port's link is due.
    pub(super) fn flap_due(&mut self, at: PortIndex, number: u64) {
        let mine = |flap: &Flap| flap.number == number;
        let Some(flap) = self.flaps.get(&at).copied().filter(mine) else {
            return;
        };
        self.flaps.remove(&at);
        self.changes += 1;
        self.circles.settle(&mut self.network, self.now);
        let left = flap.left - 1;
        match left % 2 {
            0 => self.network.mend_cable(at),
            _ => self.network.cut_cable(at),
        }
        if left > 0 {
            self.await_flap(at, Flap { left, ..flap });
        }
        self.links_changed();
    }

    /// Waits for the next change. Where too much waits already, the link comes up and stays.
    fn await_flap(&mut self, at: PortIndex, flap: Flap) {
        let due = Tick(self.now.0.saturating_add(flap.pause_ns));
        let number = flap.number;
        if self.queue.push(due, Event::Flap { at, number }) {
            self.flaps.insert(at, flap);
        } else {
            self.losses.overflow += 1;
            self.network.mend_cable(at);
        }
    }
}
