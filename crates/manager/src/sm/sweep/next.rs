//! Triggers and times of sweeps.

use std::time::Duration;

use weft_fabric::Tick;
use weft_state::State;

use super::reported::ReportedChanges;
use crate::io::SweepReason;
use crate::sm::near::Reports;
use crate::sm::settings::SweepSettings;

/// Longest wait from an unfinished sweep to the next where no sweeps are scheduled.
const RETRY_MAX: Duration = Duration::from_secs(300);

/// Time and reason of the next sweep.
#[derive(Debug, Clone, Default, State)]
pub(in crate::sm) struct Next {
    due: Option<(Tick, SweepReason)>,
    /// Unfinished sweeps in a row.
    unfinished_in_a_row: u32,
    /// There was a sweep already.
    ever: bool,
    /// Reported changes that it has to examine.
    pub(in crate::sm) reports: Reports,
    /// The traps that reported them.
    pub(in crate::sm) reported: ReportedChanges,
}

impl Next {
    /// When the next sweep is due; the first at once.
    pub(super) fn due(&self) -> Option<Tick> {
        let first = (!self.ever).then_some(Tick(0));
        first.or(self.due.map(|(at, _)| at))
    }

    /// Takes the sweep that is due, with its reason.
    pub(in crate::sm) fn take(&mut self) -> SweepReason {
        let due = self.due.take();
        match (std::mem::replace(&mut self.ever, true), due) {
            (true, Some((_, reason))) => reason,
            _ => SweepReason::Start,
        }
    }

    /// Makes a full sweep follow the current one at once.
    pub(super) fn again(&mut self, now: Tick) {
        self.reports.ask_for_all();
        self.want(now, SweepReason::Unfinished);
    }

    /// Makes the next sweep due at `at`, or leaves it due earlier.
    pub(super) fn want(&mut self, at: Tick, reason: SweepReason) {
        match self.due {
            Some((due, _)) if due <= at => {}
            _ => self.due = Some((at, reason)),
        }
    }

    /// A sweep has ended, finished or not.
    pub(super) fn after(
        &mut self,
        now: Tick,
        settings: &SweepSettings,
        finished: bool,
        follows_at_once: bool,
    ) {
        let longest = match settings.interval.is_zero() {
            true => RETRY_MAX,
            false => settings.interval,
        };
        if finished {
            self.unfinished_in_a_row = 0;
        } else {
            let factor = 1_u32 << self.unfinished_in_a_row.min(16);
            self.unfinished_in_a_row += u32::from(!follows_at_once);
            let wait = settings.retry.saturating_mul(factor).min(longest);
            self.want(now + wait, SweepReason::Unfinished);
        }
        if !settings.interval.is_zero() {
            self.want(now + settings.interval, SweepReason::Scheduled);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_after_unfinished_sweeps_doubles() {
        let settings = SweepSettings {
            interval: Duration::ZERO,
            retry: Duration::from_secs(1),
            ..SweepSettings::default()
        };
        let mut next = Next::default();
        assert_eq!(next.due(), Some(Tick(0)), "the first is due at once");
        assert_eq!(next.take(), SweepReason::Start);
        for seconds in [1, 2, 4, 8] {
            next.after(Tick(0), &settings, false, false);
            assert_eq!(next.due(), Some(Tick(0) + Duration::from_secs(seconds)));
            assert_eq!(next.take(), SweepReason::Unfinished);
        }
        next.after(Tick(0), &settings, true, false);
        assert_eq!(next.due(), None);
    }

    #[test]
    fn what_is_due_earlier_stays() {
        let mut next = Next::default();
        next.take();
        next.want(Tick(5), SweepReason::Trap);
        next.want(Tick(9), SweepReason::Forced);
        assert_eq!(
            (next.due(), next.take()),
            (Some(Tick(5)), SweepReason::Trap)
        );
    }
}
