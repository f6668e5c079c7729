//! The tables, and where their files lie.

use std::path::{Path, PathBuf};

/// How far apart the rows of a port are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resolution {
    /// A row of each reading.
    Image,
    /// The last row of each minute.
    Minute,
    /// The last row of each ten minutes.
    TenMinutes,
    /// The last row of each hour.
    Hour,
}

impl Resolution {
    /// All, from the finest.
    pub const ALL: [Self; 4] = [Self::Image, Self::Minute, Self::TenMinutes, Self::Hour];

    /// Milliseconds of a row; 0 for each reading.
    pub fn period_ms(self) -> i64 {
        [0, 60_000, 600_000, 3_600_000][self as usize]
    }

    /// Name of its directory, and for people.
    pub fn name(self) -> &'static str {
        ["image", "1m", "10m", "1h"][self as usize]
    }

    /// The coarsest that has a row for each step.
    pub(crate) fn of_step(step_ms: i64) -> Self {
        let fits = |one: &Self| one.period_ms() <= step_ms;
        Self::ALL.into_iter().rfind(fits).unwrap_or(Self::Image)
    }

    /// The next coarser one, and how many segments of this one make one of that: an hour, twelve hours, a week.
    pub(crate) fn coarser(self) -> Option<(Self, usize)> {
        match self {
            Self::Image => Some((Self::Minute, 6)),
            Self::Minute => Some((Self::TenMinutes, 12)),
            Self::TenMinutes => Some((Self::Hour, 14)),
            Self::Hour => None,
        }
    }
}

/// A table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// Running totals of ports.
    Counters(Resolution),
    /// Events.
    Events,
}

impl Table {
    /// All.
    pub const ALL: [Self; 5] = [
        Self::Counters(Resolution::Image),
        Self::Counters(Resolution::Minute),
        Self::Counters(Resolution::TenMinutes),
        Self::Counters(Resolution::Hour),
        Self::Events,
    ];

    /// `counters` or `events`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counters(_) => "counters",
            Self::Events => "events",
        }
    }

    /// Its resolution, empty for events.
    pub fn resolution(self) -> &'static str {
        match self {
            Self::Counters(resolution) => resolution.name(),
            Self::Events => "",
        }
    }

    pub(crate) fn dir(self, root: &Path) -> PathBuf {
        match self {
            Self::Counters(resolution) => root.join("counters").join(resolution.name()),
            Self::Events => root.join("events"),
        }
    }
}
