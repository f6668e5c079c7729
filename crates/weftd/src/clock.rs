//! The time of the cores.

use std::time::Instant;

use weft_fabric::Tick;

use crate::event_hub::unix_time_ns;

/// Since 1970 at its start, as what cores store has times, and steady from there on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
    began: Tick,
}

impl Clock {
    /// One that starts now.
    pub(crate) fn start() -> Self {
        Self {
            start: Instant::now(),
            began: Tick(unix_time_ns()),
        }
    }

    /// Its start.
    pub(crate) fn began(&self) -> Tick {
        self.began
    }

    /// The time.
    pub(crate) fn now(&self) -> Tick {
        self.began + self.start.elapsed()
    }

    /// The same for a core that counts from the start.
    pub(crate) fn since_start(&self) -> Tick {
        Tick(0) + self.start.elapsed()
    }
}
