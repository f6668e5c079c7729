//! What befalls the managers of a pair.

use std::time::Duration;

use weft_emulator::io::Control;
use weft_fabric::enums::SmState;
use weft_manager::Manager;
use weft_manager::io::Command;
use weft_manager::sm::Told;

use super::files::StateFile;
use super::{Run, THIRD};
use crate::campaign::bring_up::RunError;
use crate::cluster::Cluster;
use crate::world::WorldError;

/// What standbys have been told.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HandedOn {
    master: usize,
    standbys: Vec<usize>,
    state: Option<Vec<u8>>,
}

impl Run {
    /// The manager that is master, with its number.
    pub(super) fn led(&self) -> Option<(usize, &Manager)> {
        let mut running = self.cluster.running();
        running.find(|(_, manager)| manager.role() == SmState::MASTER)
    }

    /// Its number.
    pub(super) fn master(&self) -> Option<usize> {
        self.led().map(|(member, _)| member)
    }

    /// The master, if there is one, sweeps.
    pub(super) fn sweep(&mut self) {
        if let Some(master) = self.master() {
            self.cluster.command(master, Command::Sweep);
        }
    }

    /// Stops the master, if there is one; its number.
    pub(super) fn freeze_master(&mut self) -> Option<usize> {
        let master = self.master()?;
        self.cluster.freeze(master);
        Some(master)
    }

    /// Pulls the cable of the master's host until managers are healed.
    pub(super) fn cut_master(&mut self) -> Result<(), WorldError> {
        let Some(master) = self.master() else {
            return Ok(());
        };
        let (node, port) = self.cluster.port(master);
        self.cluster.control(Control::LinkDown { node, port })?;
        self.cut.push((node, port));
        Ok(())
    }

    /// Starts a manager that does not run. Counters begin anew: the daemon keeps them, the PM does not.
    pub(super) fn start(&mut self, member: usize) -> Result<(), WorldError> {
        let begins = self.cluster.running().all(|(running, _)| running != member);
        if begins {
            self.handed_on = None;
            self.counted.remove(&member);
        }
        self.cluster.start(member)?;
        if begins {
            // It has not heard of its master yet.
            self.cluster.tell(member, Told::Behind(true));
        }
        Ok(())
    }

    /// Kills the master after so many Sets from now, or in a second.
    pub(super) fn kill_master(&mut self, sets: u64) -> Result<(), RunError> {
        let Some(master) = self.master() else {
            return Ok(());
        };
        let from = self.cluster.emulator.stats().sets_total();
        let until = self.cluster.now() + Duration::from_secs(1);
        let written = |cluster: &Cluster| cluster.emulator.stats().sets_total() - from;
        while sets > 0 && written(&self.cluster) < sets && self.cluster.now() < until {
            self.cluster
                .run_until(self.cluster.now() + Duration::from_micros(20))?;
        }
        self.cluster.kill(master)?;
        Ok(())
    }

    /// All managers go on.
    pub(super) fn heal(&mut self) -> Result<(), RunError> {
        for (node, port) in std::mem::take(&mut self.cut) {
            self.cluster.control(Control::LinkUp { node, port })?;
        }
        for member in 0..THIRD {
            self.cluster.thaw(member);
            self.start(member)?;
        }
        Ok(())
    }

    /// Standbys have their master's state, as the daemons of a pair hand it on, and lack nothing then.
    pub(super) fn hand_on(&mut self) {
        let Some(master) = self.master() else {
            return;
        };
        let standbys = self.cluster.running();
        let standbys = standbys.filter(|(_, manager)| manager.role() == SmState::STANDBY);
        let standbys: Vec<usize> = standbys.map(|(member, _)| member).collect();
        let state = self.cluster.last_state(master).map(<[u8]>::to_vec);
        let now = HandedOn {
            master,
            standbys,
            state,
        };
        if self.handed_on.as_ref() == Some(&now) {
            return;
        }
        for standby in &now.standbys {
            let state = now.state.iter().cloned().map(Told::State);
            let told = state.chain([Told::Behind(false)]);
            told.for_each(|told| self.cluster.tell(*standby, told));
        }
        self.handed_on = Some(now);
    }

    /// Images have the time of the clock on the wall, in whole seconds.
    pub(super) fn clock_was_set(&mut self, member: usize) {
        let now = self.cluster.unix_s(member).saturating_sub(1);
        if let Some(seen) = self.counted.get_mut(&member) {
            seen.unix_time = seen.unix_time.min(now);
        }
    }

    /// Puts another file in the place of a manager's state, where it has one.
    pub(super) fn put_state(&mut self, member: usize, file: &StateFile) -> Result<(), RunError> {
        let mut is_made = true;
        self.cluster.change_stored(member, |state| {
            let other = file.of(&state);
            is_made = other.is_some();
            other.unwrap_or(state)
        });
        is_made.then_some(()).ok_or(RunError::StateVersion(member))
    }
}
