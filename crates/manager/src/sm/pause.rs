//! Pause of sweeps by an operator, and its end.
//!
//! While it lasts no sweep begins; one that is running goes to its end. Traps, polls of other managers and
//! changes of ports are served. It ends by itself, with a sweep, or when this manager is no longer master: another
//! one that takes over knows nothing of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use weft_fabric::Tick;
use weft_state::State;

use super::Manager;
use crate::io::{Event, SweepReason};

/// Longest pause.
pub const PAUSE_MAX: Duration = Duration::from_secs(24 * 3600);

/// A pause of sweeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct Pause {
    /// When it began.
    pub since: Tick,
    /// When it ends by itself.
    pub until: Tick,
}

impl Manager {
    /// When the pause ends by itself.
    pub(super) fn pause_end(&self) -> Option<Tick> {
        self.sweep.pause.map(|pause| pause.until)
    }

    /// Ends a pause whose time is over.
    pub(super) fn end_stale_pause(&mut self, now: Tick) {
        if self.pause_end().is_some_and(|until| until <= now) {
            self.end_pause("its time is over");
            self.sweep
                .request(now, SweepReason::Forced, &self.settings.sweeps);
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
}
