//! Orders of an operator that are answered at once: pauses of sweeps, and the return from the elevated priority to
//! the normal one.

use std::time::Duration;

use weft_fabric::Tick;

use super::Manager;
use super::pause::{PAUSE_MAX, Pause};
use crate::io::{CommandError, Event, Input, SweepReason};

impl Manager {
    /// Pauses sweeps for this time, at most [`PAUSE_MAX`] from now on; a pause that lasts already gets this
    /// end.
    ///
    /// # Errors
    /// [`CommandError::NotMaster`].
    pub fn pause_sweeps(&mut self, now: Tick, time: Duration) -> Result<Pause, CommandError> {
        self.must_be_master()?;
        let since = self.sweep.pause.map_or(now, |pause| pause.since);
        let until = now + time.min(PAUSE_MAX);
        let pause = Pause { since, until };
        self.sweep.pause = Some(pause);
        self.out.event(Event::SweepsPaused(pause));
        Ok(pause)
    }

    /// Ends the pause, with a sweep; returns whether there was one.
    pub fn resume_sweeps(&mut self, now: Tick) -> bool {
        let was_paused = self.end_pause("a client asked for it");
        if was_paused {
            self.sweep
                .request(now, SweepReason::Forced, &self.settings.sweeps);
            self.handle(now, Input::Tick);
        }
        was_paused
    }

    /// Lets the normal priority count until this manager is master anew, and sweeps if that is a change: a standby
    /// that goes before takes over. Returns the priority before and after.
    ///
    /// # Errors
    /// [`CommandError::NotMaster`].
    pub fn restore_priority(&mut self, now: Tick) -> Result<(u8, u8), CommandError> {
        self.must_be_master()?;
        let settings = self.settings.election;
        let before = self.election.priority(&settings);
        if self.election.restore_priority(&settings) {
            self.sweep
                .request(now, SweepReason::Election, &self.settings.sweeps);
            self.handle(now, Input::Tick);
        }
        Ok((before, self.election.priority(&settings)))
    }
}
