//! A fabric whose manager goes on while traffic does: what happens to it, and what is written then.

use std::collections::VecDeque;
use std::time::Duration;

use weft_dataplane::Network;
use weft_dataplane::packets::{MICRO, MILLI, NANO, Picos};
use weft_emulator::io::Control;
use weft_fabric::Tick;

use super::perform::Measurement;
use super::perform::measurement;
use super::stage::Staged;
use crate::world::{World, WorldError};

/// What the manager writes counts for packets so much later at most: registers are read again so often.
const STRIDE: Picos = 10 * MICRO;

/// A fabric with its manager, on the clock of the traffic.
#[derive(Debug)]
pub(super) struct Managed {
    world: World,
    /// The manager's time when the traffic's clock stood at 0.
    begin: Tick,
    faults: VecDeque<(Picos, Vec<Control>)>,
    /// Something happens to the fabric, so that the manager has to be heeded.
    is_moved: bool,
    /// What the emulator counted of changes when registers were read last.
    changes: u64,
    last_fault: Picos,
    last_change: Picos,
}

impl Managed {
    /// A fabric whose faults count from when the traffic's clock stands at `start`.
    pub(super) fn new(staged: Staged, start: Picos) -> Self {
        let later = |(at, controls): (Picos, Vec<Control>)| (start.saturating_add(at), controls);
        Self {
            begin: staged.world.now(),
            changes: staged.world.emulator.changes(),
            is_moved: !staged.faults.is_empty(),
            faults: staged.faults.into_iter().map(later).collect(),
            world: staged.world,
            last_fault: 0,
            last_change: 0,
        }
    }

    /// The devices.
    pub(super) fn network(&self) -> &Network {
        self.world.emulator.network()
    }

    /// The same, to count what they have carried.
    pub(super) fn network_mut(&mut self) -> &mut Network {
        self.world.emulator.network_mut()
    }

    /// When it is to be [kept up](Self::keep_up) next, after `now`; [`Picos::MAX`] for never.
    pub(super) fn next(&self, now: Picos) -> Picos {
        if !self.is_moved {
            return Picos::MAX;
        }
        let world = self.world.deadline().map(|tick| self.picos(tick));
        let world = world.map_or(Picos::MAX, |at| at.max(now.saturating_add(STRIDE)));
        let fault = self.faults.front().map_or(Picos::MAX, |(at, _)| *at);
        world.min(fault)
    }

    /// Lets happen what happens up to `now`; says whether registers have been written.
    ///
    /// # Errors
    /// [`WorldError`].
    pub(super) fn keep_up(&mut self, now: Picos) -> Result<bool, WorldError> {
        if !self.is_moved {
            return Ok(false);
        }
        while let Some((at, controls)) = self.faults.pop_front_if(|(at, _)| *at <= now) {
            self.world.run_until(self.tick(at))?;
            for control in controls {
                self.world.control(control)?;
            }
            self.last_fault = at;
        }
        self.world.run_until(self.tick(now))?;
        let changes = self.world.emulator.changes();
        let changed = std::mem::replace(&mut self.changes, changes) != changes;
        if changed {
            self.last_change = now;
        }
        Ok(changed)
    }

    /// Time from the last fault to the last register that was written for it, once the manager is done.
    pub(super) fn reprogrammed(&self) -> Option<Measurement> {
        let is_done = self.is_moved && self.faults.is_empty() && self.world.is_idle();
        let time = self.last_change.checked_sub(self.last_fault)?;
        let millis = time as f64 / MILLI as f64;
        (is_done && time > 0).then(|| measurement("reprogrammed", millis, "ms"))
    }

    fn tick(&self, at: Picos) -> Tick {
        self.begin + Duration::from_nanos(at / NANO)
    }

    /// Rounded up: at that time the tick has come.
    fn picos(&self, tick: Tick) -> Picos {
        let nanos = tick.0.saturating_sub(self.begin.0);
        nanos.saturating_mul(NANO)
    }
}
