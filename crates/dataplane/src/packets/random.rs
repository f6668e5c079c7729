//! Random numbers from a seed, the same on every machine.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Small, fast, and good enough to draw destinations.
#[derive(Debug, Clone)]
pub struct Random(SplitMix64);

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64::seed_from_u64(seed))
    }

    /// The sequence of one of many that draw by the same seed, each by itself.
    pub fn of(seed: u64, number: u64) -> Self {
        let mixed = Self::new(seed).bits() ^ number;
        Self::new(Self::new(mixed).bits())
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `end`, 0 when `end` is 0.
    #[inline]
    pub fn below(&mut self, end: u32) -> u32 {
        ((u128::from(self.bits()) * u128::from(end)) >> 64) as u32
    }

    /// A number in 0 < x ≤ 1.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// A span from an exponential distribution, rounded to whole units.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> u64 {
        (-self.unit().ln() * mean) as u64
    }

    /// Shuffles in place.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end as u32 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spread_evenly() {
        let mut random = Random::new(7);
        let mut counts = [0_u32; 10];
        for _ in 0..100_000 {
            counts[random.below(10) as usize] += 1;
        }
        for count in counts {
            assert!(count.abs_diff(10_000) < 500, "{counts:?}");
        }
        let mean = (0..100_000).map(|_| random.exponential(1e6)).sum::<u64>() / 100_000;
        assert!(mean.abs_diff(1_000_000) < 20_000, "{mean}");
    }
}
