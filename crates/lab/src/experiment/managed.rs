//! A fabric whose manager runs during traffic: faults, and the manager's writes.

use std::collections::VecDeque;
use std::time::Duration;

use weft_dataplane::packets::{MICRO, MILLI, NANO, Picos, Shards, Simulation, Totals, Traffic};
use weft_dataplane::{Network, PortIndex};
use weft_emulator::io::Control;
use weft_fabric::Tick;

use super::perform::{ExperimentError, Measurement, measurement};
use super::stage::Staged;
use weft_testkit::world::{World, WorldError};

/// Interval at which registers are read: the manager's writes affect packets after at most this delay.
const STRIDE: Picos = 10 * MICRO;

/// A simulation of packets, whole or in shards.
pub(super) trait Packets {
    /// The time.
    fn now(&self) -> Picos;
    /// Writes the counts to the registers.
    fn settle(&mut self, network: &mut Network);
    /// Reads the registers again.
    fn configure(&mut self, network: &Network);
    /// Time in which a port has sent.
    fn link_time(&self, at: PortIndex) -> Picos;
    /// Packets since the beginning.
    fn totals(&self) -> Totals;
    /// Packets on their way.
    fn in_flight(&self) -> u64;
}

impl Packets for Simulation {
    fn now(&self) -> Picos {
        Self::now(self)
    }

    fn settle(&mut self, network: &mut Network) {
        Self::settle(self, network);
    }

    fn configure(&mut self, network: &Network) {
        Self::configure(self, network);
    }

    fn link_time(&self, at: PortIndex) -> Picos {
        Self::link_time(self, at)
    }

    fn totals(&self) -> Totals {
        Self::totals(self)
    }

    fn in_flight(&self) -> u64 {
        Self::in_flight(self) as u64
    }
}

impl<T: Traffic + Send> Packets for Shards<T> {
    fn now(&self) -> Picos {
        Self::now(self)
    }

    fn settle(&mut self, network: &mut Network) {
        Self::settle(self, network);
    }

    fn configure(&mut self, network: &Network) {
        Self::configure(self, network);
    }

    fn link_time(&self, at: PortIndex) -> Picos {
        Self::link_time(self, at)
    }

    fn totals(&self) -> Totals {
        Self::totals(self)
    }

    fn in_flight(&self) -> u64 {
        Self::in_flight(self) as u64
    }
}

/// A fabric with its manager, on the clock of the traffic.
#[derive(Debug)]
pub(super) struct Managed {
    world: World,
    /// The manager's time when the traffic's clock stood at 0.
    begin: Tick,
    /// When the case's own traffic begins.
    start: Picos,
    /// Until when it was kept up.
    kept: Picos,
    faults: VecDeque<(Picos, Vec<Control>)>,
    /// Something happens to the fabric, so that the manager has to be heeded.
    is_moved: bool,
    /// The emulator's count of changes when registers were last read.
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
            start,
            kept: start,
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

    /// The devices, to count their traffic.
    pub(super) fn network_mut(&mut self) -> &mut Network {
        self.world.emulator.network_mut()
    }

    /// When it is to be [kept up](Self::keep_up) next; [`Picos::MAX`] for never.
    pub(super) fn next(&self) -> Picos {
        if !self.is_moved {
            return Picos::MAX;
        }
        let world = self.world.deadline().map(|tick| self.picos(tick));
        let world = world.map_or(Picos::MAX, |at| at.max(self.kept.saturating_add(STRIDE)));
        let fault = self.faults.front().map_or(Picos::MAX, |(at, _)| *at);
        world.min(fault)
    }

    /// Processes all events up to `now`; packets follow the written registers, and are counted
    /// before that: a node that is powered off loses its counts.
    ///
    /// # Errors
    /// [`WorldError`].
    pub(super) fn keep_up(
        &mut self,
        packets: &mut impl Packets,
        now: Picos,
    ) -> Result<(), WorldError> {
        if !self.is_moved {
            return Ok(());
        }
        self.kept = now;
        if self.faults.front().is_some_and(|(at, _)| *at <= now) {
            packets.settle(self.network_mut());
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
        if std::mem::replace(&mut self.changes, changes) != changes {
            self.last_change = now;
            packets.configure(self.network());
        }
        Ok(())
    }

    /// Whether all has happened by `now`, when the traffic has ended.
    ///
    /// # Errors
    /// [`ExperimentError::Fault`] for what has not: the case would say something else than it seems to.
    pub(super) fn check_faults(&self, now: Picos) -> Result<(), ExperimentError> {
        let Some((at, _)) = self.faults.front() else {
            return Ok(());
        };
        let [end, late] =
            [now, *at].map(|time| (time - self.start.min(time)) as f64 / MILLI as f64);
        let what = format!("the traffic ends after {end} ms, before the event at {late} ms");
        Err(ExperimentError::Fault { what })
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

    fn picos(&self, tick: Tick) -> Picos {
        let nanos = tick.0.saturating_sub(self.begin.0);
        nanos.saturating_mul(NANO)
    }
}
