//! Random numbers from a seed, the same on every machine.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A sequence that its seed determines.
#[derive(Debug, Clone)]
pub(super) struct Random(SplitMix64);

impl Random {
    /// The sequence of one pattern among many of one seed.
    pub(super) fn new(seed: u64, pattern: u32) -> Self {
        let base = SplitMix64::seed_from_u64(seed).next_u64();
        let own = base ^ u64::from(pattern).wrapping_mul(0xA24B_AED4_963E_E407);
        Self(SplitMix64::seed_from_u64(own))
    }

    /// A number below `limit`, 0 when that is 0.
    fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.0.next_u64()) * limit as u128) >> 64) as usize
    }

    /// Puts items in random order.
    pub(super) fn shuffle(&mut self, items: &mut [u32]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
