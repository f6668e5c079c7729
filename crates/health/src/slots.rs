//! Counts of the last while: a ring of slots of equal length, so that old counts leave by themselves.

/// Counts in `SLOTS` slots of `SECONDS` each; times are seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slots<const SLOTS: usize, const SECONDS: u64> {
    counts: [u32; SLOTS],
    /// Number of the newest slot since 1970.
    newest: u64,
}

impl<const SLOTS: usize, const SECONDS: u64> Default for Slots<SLOTS, SECONDS> {
    fn default() -> Self {
        Self {
            counts: [0; SLOTS],
            newest: 0,
        }
    }
}

impl<const SLOTS: usize, const SECONDS: u64> Slots<SLOTS, SECONDS> {
    /// Lets time pass. A clock that goes back counts in the newest slot.
    pub(crate) fn advance(&mut self, now: u64) {
        let number = now / SECONDS;
        let passed = number.saturating_sub(self.newest);
        let steps = usize::try_from(passed).unwrap_or(SLOTS).min(SLOTS);
        for step in 1..=steps as u64 {
            self.counts[((self.newest + passed - steps as u64 + step) % SLOTS as u64) as usize] = 0;
        }
        self.newest = self.newest.max(number);
    }

    /// Counts something now.
    pub(crate) fn add(&mut self, now: u64, count: u64) {
        self.advance(now);
        let slot = &mut self.counts[(self.newest % SLOTS as u64) as usize];
        *slot = slot.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// All counts that are still there.
    pub(crate) fn sum(&self) -> u64 {
        self.counts.iter().map(|count| u64::from(*count)).sum()
    }

    /// Those of the newest `slots` slots.
    pub(crate) fn last(&self, slots: usize) -> u64 {
        let number = |back: u64| self.newest.wrapping_sub(back) % SLOTS as u64;
        let slots = 0..slots.min(SLOTS) as u64;
        slots
            .map(|back| u64::from(self.counts[number(back) as usize]))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_leave_after_their_time() {
        let mut slots = Slots::<3, 10>::default();
        slots.add(1_000, 1);
        slots.add(1_011, 2);
        slots.add(1_029, 4);
        assert_eq!((slots.sum(), slots.last(1), slots.last(2)), (7, 4, 6));
        slots.advance(1_030);
        assert_eq!((slots.sum(), slots.last(1)), (6, 0));
        slots.add(900, 8);
        assert_eq!(slots.last(1), 8, "a clock that goes back");
        slots.advance(u64::MAX);
        assert_eq!(slots.sum(), 0);
    }
}
