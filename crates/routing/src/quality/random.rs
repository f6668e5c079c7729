//! Random numbers from a seed: SplitMix64 (Steele, Lea, Flood 2014).

/// A sequence that its seed determines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Random(u64);

impl Random {
    /// The sequence of one pattern among many of one seed.
    pub(super) fn new(seed: u64, pattern: u32) -> Self {
        let mut mix = Self(seed);
        let base = mix.next();
        Self(base ^ u64::from(pattern).wrapping_mul(0xA24B_AED4_963E_E407))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// A number below `limit`, 0 when that is 0.
    fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
    }

    /// Puts items in random order.
    pub(super) fn shuffle(&mut self, items: &mut [u32]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
