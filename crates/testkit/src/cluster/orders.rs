//! What people order a manager to do.

use weft_manager::io::{Command, CommandError, Input, Reply};
use weft_manager::sm::Settings;
use weft_manager::sm::reroute::{Arrangement, Basis, Change, Condition, RerouteError};

use super::{Cluster, Life};

impl Cluster {
    /// Sends a manager that runs a command; [`Self::reply`] has the answer later.
    pub fn command(&mut self, member: usize, command: Command) -> u64 {
        self.commands += 1;
        let id = self.commands;
        let now = self.members[member].clock(self.now);
        if let Life::Running(process) = &mut self.members[member].life {
            let input = Input::Command { id, command };
            process.manager.handle(now, input);
        }
        id
    }

    /// The answer to a command, once.
    pub fn reply(&mut self, id: u64) -> Option<Result<Reply, CommandError>> {
        self.replies.remove(&id)
    }

    /// The settings that a manager runs with, or starts with.
    pub fn settings(&self, member: usize) -> &Settings {
        &self.members[member].settings
    }

    /// Puts other settings in force at a manager, which it also has at its next start; one that is stopped reads them when it
    /// goes on.
    pub fn reconfigure(&mut self, member: usize, settings: Settings) {
        let now = self.members[member].clock(self.now);
        let entry = &mut self.members[member];
        entry.settings = settings.clone();
        match &mut entry.life {
            Life::Running(process) => process.manager.reconfigure(now, settings),
            Life::Frozen(_) => entry.reads_settings = true,
            Life::Dead => {}
        }
    }

    /// Inputs of a plan of a change of a manager's routes; none of one that does not run.
    pub fn basis(&self, member: usize, change: Change) -> Option<Result<Basis, RerouteError>> {
        match &self.members[member].life {
            Life::Running(process) => Some(process.manager.basis(change)),
            _ => None,
        }
    }

    /// Puts an arrangement in force at a manager; none of one that does not run.
    pub fn adopt(
        &mut self,
        member: usize,
        condition: &Condition,
        wanted: Arrangement,
    ) -> Option<Result<(), RerouteError>> {
        let now = self.members[member].clock(self.now);
        match &mut self.members[member].life {
            Life::Running(process) => {
                let adopted = process.manager.adopt(now, condition, wanted);
                Some(adopted.map(drop))
            }
            _ => None,
        }
    }
}
