//! Time as the cores see it: a number that only the shells connect to a clock.

use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weft_state::State;

/// Nanoseconds since a moment that the caller of a core chooses; never goes back.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, State,
)]
#[serde(transparent)]
pub struct Tick(pub u64);

impl Tick {
    /// The time since `earlier`, zero when that is in the future.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Tick {
    type Output = Self;
    fn add(self, later: Duration) -> Self {
        let nanos = u64::try_from(later.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }
}

impl Sub<Duration> for Tick {
    type Output = Self;
    fn sub(self, earlier: Duration) -> Self {
        let nanos = u64::try_from(earlier.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_sub(nanos))
    }
}
