//! How often times occurred, in buckets whose width is a share of their times.

use crate::packets::Picos;

/// Each doubling of time has two to this power of buckets: a time and the middle of its bucket differ by at most
/// [`ERROR_MAX`] of the time.
const BITS: u32 = 7;
/// Buckets of a doubling.
const BUCKETS: usize = 1 << BITS;
/// Largest relative error of [`Histogram::percentile`]: 0.4 %.
pub const ERROR_MAX: f64 = 0.5 / BUCKETS as f64;

/// Counts of times. It takes at most 60 kB, whatever it counts: 7,424 buckets are enough for every time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    /// By bucket; as many as the longest time needs.
    counts: Vec<u64>,
    count: u64,
    longest: Picos,
}

/// Times from the first to the last of a bucket, and how many of them occurred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// The shortest time that falls into it.
    pub first: Picos,
    /// The longest.
    pub last: Picos,
    /// Times that fell into it, at least one.
    pub count: u64,
}

impl Bucket {
    fn middle(&self) -> Picos {
        self.first + (self.last - self.first) / 2
    }
}

/// Bucket of a time: those below 2 × [`BUCKETS`] have their own.
fn place(time: Picos) -> usize {
    let bits = Picos::BITS - time.leading_zeros();
    let shift = bits.saturating_sub(BITS + 1);
    BUCKETS * shift as usize + (time >> shift) as usize
}

/// First and last time of a bucket.
fn times(place: usize) -> (Picos, Picos) {
    let shift = (place / BUCKETS).saturating_sub(1);
    let first = ((place - BUCKETS * shift) as Picos) << shift;
    (first, first + ((1 << shift) - 1))
}

impl Histogram {
    /// Counts a time.
    #[inline]
    pub fn add(&mut self, time: Picos) {
        let place = place(time);
        if place >= self.counts.len() {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += 1;
        self.count += 1;
        self.longest = self.longest.max(time);
    }

    /// Counts what another one has counted, too.
    pub fn merge(&mut self, other: &Self) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.count += other.count;
        self.longest = self.longest.max(other.longest);
    }

    /// Number of times.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest time, exactly.
    pub fn longest(&self) -> Picos {
        self.longest
    }

    /// The time within which so many percent of all are, at most [`ERROR_MAX`] off, and exact for 100; `None` where there
    /// is none.
    pub fn percentile(&self, percent: f64) -> Option<Picos> {
        // 99.9 % of 1,000 are 999, also where the product is a little above that.
        let share = percent / 100.0 * self.count as f64 * (1.0 - 1e-12);
        let rank = share.ceil().max(1.0) as u64;
        if rank >= self.count {
            return (self.count > 0).then_some(self.longest);
        }
        let mut seen = 0;
        let mut buckets = self.buckets();
        let bucket = buckets.find(|bucket| {
            seen += bucket.count;
            seen >= rank
        });
        bucket.map(|bucket| bucket.middle().min(self.longest))
    }

    /// The buckets into which something fell, the shortest times first.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        let counts = self.counts.iter().copied().enumerate();
        counts
            .filter(|(_, count)| *count > 0)
            .map(|(place, count)| {
                let (first, last) = times(place);
                Bucket { first, last, count }
            })
    }

    /// From its buckets, by any time of each, and its longest time; `None` where these do not agree.
    pub fn of(buckets: impl IntoIterator<Item = (Picos, u64)>, longest: Picos) -> Option<Self> {
        let mut histogram = Self::default();
        for (time, count) in buckets {
            let place = place(time);
            if place >= histogram.counts.len() {
                histogram.counts.resize(place + 1, 0);
            }
            histogram.counts[place] = histogram.counts[place].checked_add(count)?;
            histogram.count = histogram.count.checked_add(count)?;
        }
        let last = histogram.buckets().last().map_or(0, |bucket| bucket.first);
        histogram.longest = longest;
        (place(last) == place(longest)).then_some(histogram)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Short ones as often as long ones.
    fn time() -> impl Strategy<Value = Picos> {
        (0..64_u32, any::<u64>()).prop_map(|(shift, bits)| bits >> shift)
    }

    fn counted(times: &[Picos]) -> Histogram {
        let mut histogram = Histogram::default();
        times.iter().for_each(|time| histogram.add(*time));
        histogram
    }

    #[test]
    fn buckets_follow_each_other_without_gaps() {
        let last = place(Picos::MAX);
        assert_eq!((last, times(last).1), (7_423, Picos::MAX));
        let mut next = 0;
        for bucket in 0..last {
            let (first, end) = times(bucket);
            assert_eq!((first, place(first), place(end)), (next, bucket, bucket));
            next = end + 1;
        }
    }

    /// The closed form: of 1 to n, the p-th percentile is p × n / 100.
    #[test]
    fn percentiles_of_evenly_spread_times_are_their_share() {
        let n = 1_000_000;
        let histogram = counted(&(1..=n).collect::<Vec<_>>());
        for percent in [0.0001, 1.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.9999] {
            let wanted = percent * n as f64 / 100.0;
            let found = histogram.percentile(percent).unwrap() as f64;
            assert!(
                (found / wanted - 1.0).abs() <= ERROR_MAX,
                "{percent}: {found}"
            );
        }
        assert_eq!(histogram.percentile(100.0), Some(n));
        assert_eq!(Histogram::default().percentile(50.0), None);
    }

    #[test]
    fn the_one_of_a_thousand_that_is_late_is_not_within_the_others() {
        for thousands in 1..100 {
            let times = [vec![10; 999 * thousands], vec![1_000_000; thousands]].concat();
            let histogram = counted(&times);
            assert_eq!(histogram.percentile(99.9), Some(10), "{thousands}");
            assert_eq!(histogram.percentile(99.91), Some(1_000_000));
        }
    }

    proptest! {
        /// Sorted times are the judge.
        #[test]
        fn percentiles_are_those_of_the_sorted_times(
            mut times in prop::collection::vec(time(), 1..400),
            percent in 0.0..100.0_f64,
        ) {
            let histogram = counted(&times);
            times.sort_unstable();
            let rank = (percent / 100.0 * times.len() as f64).ceil().max(1.0) as usize;
            let wanted = times[rank - 1] as f64;
            let found = histogram.percentile(percent).unwrap() as f64;
            prop_assert!((found - wanted).abs() <= ERROR_MAX * wanted, "{} for {}", found, wanted);
        }

        #[test]
        fn parts_together_are_the_whole(
            some in prop::collection::vec(time(), 0..100),
            others in prop::collection::vec(time(), 0..100),
        ) {
            let mut together = counted(&some);
            together.merge(&counted(&others));
            prop_assert_eq!(&together, &counted(&[some, others].concat()));
            let buckets = together.buckets().map(|bucket| (bucket.last, bucket.count));
            let again = Histogram::of(buckets, together.longest());
            prop_assert_eq!(again, Some(together));
        }
    }

    #[test]
    fn what_does_not_agree_is_no_histogram() {
        assert_eq!(Histogram::of([(5, 1)], 9), None);
        assert_eq!(Histogram::of([(5, u64::MAX), (5, 1)], 5), None);
        assert_eq!(Histogram::of([], 0), Some(Histogram::default()));
    }
}
