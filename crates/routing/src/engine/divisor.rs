//! Division by a number that stays the same, by multiplication.

/// A divisor, prepared for fast division.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Divisor {
    by: u32,
    /// 2^64 / by, rounded up; 0 for 1.
    inverse: u64,
}

impl Divisor {
    /// By a number; 0 counts as 1.
    pub(super) fn new(by: u32) -> Self {
        let by = by.max(1);
        Self {
            by,
            inverse: (u64::MAX / u64::from(by)).wrapping_add(1),
        }
    }

    /// The divisor.
    pub(super) fn by(self) -> u32 {
        self.by
    }

    /// n / by, rounded down.
    pub(super) fn quotient(self, n: u32) -> u32 {
        match self.by {
            1 => n,
            _ => ((u128::from(self.inverse) * u128::from(n)) >> 64) as u32,
        }
    }

    /// n modulo by.
    pub(super) fn rest(self, n: u32) -> u32 {
        let part = self.inverse.wrapping_mul(u64::from(n));
        ((u128::from(part) * u128::from(self.by)) >> 64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_divides_as_division_does() {
        let edges = [
            0,
            1,
            2,
            3,
            23,
            24,
            25,
            47,
            48,
            254,
            4096,
            65_535,
            1 << 31,
            u32::MAX,
        ];
        for by in edges.into_iter().filter(|by| *by != 0) {
            let divisor = Divisor::new(by);
            let numbers = edges
                .into_iter()
                .chain((0..5_000).map(|n: u32| n * 858_993));
            for n in numbers {
                assert_eq!(divisor.quotient(n), n / by, "{n} / {by}");
                assert_eq!(divisor.rest(n), n % by, "{n} % {by}");
            }
        }
    }
}
