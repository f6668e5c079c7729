//! Counts of the last while, without a reading for each of them.

use std::time::Duration;

use weft_fabric::Tick;

/// Parts of a window.
const SLOTS: usize = 24;

/// Counts in slots of a window's length by [`SLOTS`]: the newest slot is not over yet, so that what is summed up
/// never covers more than the window.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Window {
    counts: [u32; SLOTS],
    /// Number of the newest slot since the beginning of time.
    newest: u64,
}

/// Nanoseconds of a slot.
fn slot_ns(window: Duration) -> u64 {
    let ns = window.as_nanos() / SLOTS as u128;
    u64::try_from(ns).unwrap_or(u64::MAX).max(1)
}

impl Window {
    /// Adds what was counted evenly from one moment to another, which is no earlier than any before.
    pub(super) fn add(&mut self, (from, to): (Tick, Tick), count: u64, window: Duration) {
        let slot = slot_ns(window);
        self.advance(to, window);
        if count == 0 {
            return;
        }
        if from >= to || from.0 / slot >= self.newest {
            self.put(self.newest, count);
            return;
        }
        let length = to.0 - from.0;
        let oldest = self.newest.saturating_sub(SLOTS as u64 - 1);
        let until = |at: u64| {
            let part = at.clamp(from.0, to.0) - from.0;
            (u128::from(count) * u128::from(part) / u128::from(length)) as u64
        };
        for number in oldest.max(from.0 / slot)..=self.newest {
            let begin = number.saturating_mul(slot);
            let part = until(begin.saturating_add(slot)) - until(begin);
            self.put(number, part);
        }
    }

    fn put(&mut self, number: u64, count: u64) {
        let slot = &mut self.counts[number as usize % SLOTS];
        *slot = slot.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// Forgets what is older than the window.
    pub(super) fn advance(&mut self, now: Tick, window: Duration) {
        let newest = (now.0 / slot_ns(window)).max(self.newest);
        for number in (self.newest + 1..=newest).rev().take(SLOTS) {
            self.counts[number as usize % SLOTS] = 0;
        }
        self.newest = newest;
    }

    /// All that was counted in the window.
    pub(super) fn sum(&self) -> u64 {
        self.counts.iter().map(|count| u64::from(*count)).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WINDOW: Duration = Duration::from_secs(720);

    fn at(seconds: u64) -> Tick {
        Tick(seconds * 1_000_000_000)
    }

    #[test]
    fn counts_are_forgotten_when_the_window_has_passed() {
        let mut window = Window::default();
        window.add((at(1000), at(1010)), 7, WINDOW);
        window.advance(at(1010 + 650), WINDOW);
        assert_eq!(window.sum(), 7);
        window.advance(at(1010 + 720), WINDOW);
        assert_eq!(window.sum(), 0);
        window.add((at(2000), at(2000)), u64::MAX, WINDOW);
        window.add((at(2000), at(2000)), 1, WINDOW);
        assert_eq!(window.sum(), u64::from(u32::MAX));
    }

    #[test]
    fn a_long_reading_counts_only_for_what_of_it_is_in_the_window() {
        let mut window = Window::default();
        window.add((at(0), at(7200)), 7200, WINDOW);
        assert!((690..=720).contains(&window.sum()), "{}", window.sum());
    }

    proptest! {
        /// Held against all readings, each with its time.
        #[test]
        fn a_sum_covers_no_more_than_the_window_and_not_much_less(
            start in 0_u64..100_000,
            steps in proptest::collection::vec((1_u64..90, 0_u64..1000), 1..300),
        ) {
            let mut window = Window::default();
            let (mut now, mut readings) = (start, Vec::new());
            for (seconds, count) in steps {
                let from = now;
                now += seconds;
                window.add((at(from), at(now)), count, WINDOW);
                readings.push((from, now, count));
                let within = |least: u64| -> f64 {
                    let since = now.saturating_sub(least) as f64;
                    let part = |(from, to, count): &(u64, u64, u64)| {
                        let inside = (*to as f64 - since.max(*from as f64)).max(0.0);
                        *count as f64 * inside / (to - from) as f64
                    };
                    readings.iter().map(part).sum()
                };
                let sum = window.sum() as f64;
                prop_assert!(sum <= within(720) + 1.0, "{sum} > {}", within(720));
                // Each reading may lose a fraction of a count in each slot that it ends in.
                prop_assert!(sum + 24.0 >= within(690), "{sum} < {}", within(690));
            }
        }
    }
}
