//! Sweeps that try to write one change: a device that was slow in one sweep is asked again by the next.

use std::time::Duration;

use tokio::time::Instant;
use weft_api::v1::OperationKind;
use weft_fabric::text;
use weft_manager::SweepReport;

/// Sweeps that may try to write one change. The manager waits 1, 2 and 4 s between them, unless something else asks for one.
pub(super) const SWEEPS_MAX: u32 = 4;
/// Time that devices have at least, from the end of the first of them, however many there are.
pub(super) const SHORTEST: Duration = Duration::from_secs(15);
/// Longest time from the end of the first of them, where others are late.
pub(super) const LONGEST: Duration = Duration::from_secs(60);

/// What a sweep means for a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judgement {
    /// Devices have confirmed everything.
    Confirmed,
    /// The next sweep tries again.
    TriedAgain,
    /// It is not tried any more.
    Failed,
}

/// The sweeps that have tried to write one change.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    sweeps: u32,
    /// Most devices that one of them has left behind.
    devices: u32,
    /// End of the first that has left something undone.
    since: Option<Instant>,
    /// What the last one has left undone.
    left: String,
    is_confirmed: bool,
}

impl Attempts {
    /// Takes in a sweep. One that was asked for as such is over with its end.
    pub(super) fn judge(
        &mut self,
        report: &SweepReport,
        kind: OperationKind,
        now: Instant,
    ) -> Judgement {
        self.sweeps += 1;
        if report.unfinished.is_empty() || report.only_links {
            self.is_confirmed = true;
            return Judgement::Confirmed;
        }
        self.devices = self.devices.max(report.unfinished_devices);
        let since = *self.since.get_or_insert(now);
        self.left = format!("sweep {}: {}", report.number, report.unfinished.join("; "));
        let is_over = self.sweeps >= SWEEPS_MAX && now.saturating_duration_since(since) >= SHORTEST;
        match is_over || kind == OperationKind::Sweep {
            true => Judgement::Failed,
            false => Judgement::TriedAgain,
        }
    }

    /// Whether the next sweep is waited for in vain.
    pub(super) fn is_too_long(&self, now: Instant) -> bool {
        self.since
            .is_some_and(|since| now.saturating_duration_since(since) >= LONGEST)
    }

    /// What the last sweep has left undone.
    pub(super) fn left_undone(&self) -> &str {
        &self.left
    }

    /// What came of it, where one sweep was not enough.
    pub(super) fn note(&self) -> String {
        let slow = match self.devices {
            0 => "not everything could be done at first".to_owned(),
            some => {
                let devices = text::count_and(some, "device", ["was", "were"]);
                format!("{devices} slow and asked again")
            }
        };
        match (self.since, self.is_confirmed) {
            (None, _) => String::new(),
            (Some(_), true) => format!(
                "in force after {}; {slow}",
                text::count(self.sweeps, "sweep")
            ),
            (Some(_), false) => format!("the next sweep tries again: {}", self.left),
        }
    }
}
