//! Pause of sweeps by an operator.
//!
//! While it lasts no sweep begins; one that is running goes to its end. Traps, polls of other managers and
//! changes of ports are served. It ends by itself, with a sweep, or when this manager is no longer master: another
//! one that takes over knows nothing of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use weft_fabric::Tick;

use super::Manager;
use crate::io::{CommandError, Event, Input, SweepReason};

/// Longest pause.
pub const PAUSE_MAX: Duration = Duration::from_secs(24 * 3600);

/// A pause of sweeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// When it began.
    pub since: Tick,
    /// When it ends by itself.
    pub until: Tick,
}

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
            self.sweep_after_pause(now);
            self.handle(now, Input::Tick);
        }
        was_paused
    }

    /// When the pause ends by itself.
    pub(super) fn pause_end(&self) -> Option<Tick> {
        self.sweep.pause.map(|pause| pause.until)
    }

    /// Ends a pause whose time is over.
    pub(super) fn end_stale_pause(&mut self, now: Tick) {
        if self.pause_end().is_some_and(|until| until <= now) {
            self.end_pause("its time is over");
            self.sweep_after_pause(now);
        }
    }

    /// Ends the pause without a sweep; returns whether there was one.
    pub(super) fn end_pause(&mut self, why: &'static str) -> bool {
        let was_paused = self.sweep.pause.take().is_some();
        if was_paused {
            let why = why.to_owned();
            self.out.event(Event::SweepsResumed { why });
        }
        was_paused
    }

    fn sweep_after_pause(&mut self, now: Tick) {
        self.sweep
            .request(now, SweepReason::Forced, &self.settings.sweeps);
    }
}
