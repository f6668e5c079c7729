//! Return from the elevated priority to the normal one, so that a better manager takes over again.

use weft_fabric::Tick;

use super::Manager;
use crate::io::{CommandError, Input, SweepReason};

impl Manager {
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
