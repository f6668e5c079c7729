//! Faults of datagrams in transit.

use rand::SeedableRng;
use rand::TryRng;
use rand_chacha::ChaCha8Rng;

use crate::io::{ControlError, Faults};

/// Longest delay, nanoseconds: an hour.
const DELAY_MAX_NS: u64 = 3_600_000_000_000;

/// Draws the fate of each datagram from a seed.
#[derive(Debug)]
pub(crate) struct Fates {
    random: ChaCha8Rng,
    faults: Faults,
}

/// The extra delay of each copy of a datagram that arrives, nanoseconds.
pub(crate) type Fate = [Option<u64>; 2];

impl Fates {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            random: ChaCha8Rng::seed_from_u64(seed),
            faults: Faults::default(),
        }
    }

    /// Sets the faults from now on.
    ///
    /// # Errors
    /// [`ControlError::Range`] for a probability outside 0 to 1 and for delays that are too long or
    /// in the wrong order.
    pub(crate) fn set(&mut self, faults: Faults) -> Result<(), ControlError> {
        let probabilities = [
            ("loss", faults.loss),
            ("duplicate", faults.duplicate),
            ("reorder", faults.reorder),
        ];
        for (what, value) in probabilities {
            if !(0.0..=1.0).contains(&value) {
                return Err(range(what, value, "0 to 1"));
            }
        }
        let (min, max) = (faults.delay_min_ns, faults.delay_max_ns);
        if max > DELAY_MAX_NS {
            return Err(range("delay_max_ns", max as f64, "up to 3600000000000"));
        }
        if min > max {
            return Err(range("delay_min_ns", min as f64, "up to delay_max_ns"));
        }
        self.faults = faults;
        Ok(())
    }

    /// The fate of the next datagram.
    pub(crate) fn draw(&mut self) -> Fate {
        let faults = self.faults;
        if faults == Faults::default() {
            return [Some(0), None];
        }
        let first = !self.happens(faults.loss);
        let second = self.happens(faults.duplicate);
        let mut copy = |arrives: bool| arrives.then(|| self.delay());
        [copy(first), copy(first && second)]
    }

    fn delay(&mut self) -> u64 {
        let faults = self.faults;
        let usual = faults.delay_min_ns + self.up_to(faults.delay_max_ns - faults.delay_min_ns);
        if self.happens(faults.reorder) {
            usual + self.up_to(faults.delay_max_ns)
        } else {
            usual
        }
    }

    /// Whether something of a probability happens.
    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        // 53 random bits make an even number in 0 to 1.
        probability > 0.0 && (self.next() >> 11) as f64 / ((1u64 << 53) as f64) < probability
    }

    /// An even number in 0 to `most`.
    pub(crate) fn up_to(&mut self, most: u64) -> u64 {
        if most == 0 {
            return 0;
        }
        // Most is below 2^42: the bias of the remainder is below 2^-22.
        self.next() % (most + 1)
    }

    fn next(&mut self) -> u64 {
        let Ok(value) = self.random.try_next_u64();
        value
    }
}

fn range(what: &'static str, value: f64, allowed: &'static str) -> ControlError {
    ControlError::Range {
        what,
        value,
        allowed,
    }
}
