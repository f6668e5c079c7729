//! Measured round trips and the timeouts that follow from them.
//!
//! Smoothing as in RFC 6298: srtt += (r − srtt) / 8, rttvar += (|r − srtt| − rttvar) / 4,
//! timeout = srtt + 4 · rttvar. Answers to retried datagrams are not
//! sampled (Karn), because it is unknown which attempt was answered.

use weft_state::State;

/// Estimate of one target's round trip, or of all targets together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, State)]
pub(crate) struct RoundTrip {
    smoothed_ns: u64,
    variation_ns: u64,
    samples: u32,
}

impl RoundTrip {
    /// Takes a measured round trip in.
    pub(crate) fn sample(&mut self, measured_ns: u64) {
        if self.samples == 0 {
            self.smoothed_ns = measured_ns;
            self.variation_ns = measured_ns / 2;
        } else {
            let error = measured_ns.abs_diff(self.smoothed_ns);
            self.variation_ns = (3 * self.variation_ns + error) / 4;
            self.smoothed_ns = (7 * self.smoothed_ns + measured_ns) / 8;
        }
        self.samples = self.samples.saturating_add(1);
    }

    /// The smoothed round trip in nanoseconds, none before the first sample.
    pub(crate) fn smoothed_ns(&self) -> Option<u64> {
        (self.samples > 0).then_some(self.smoothed_ns)
    }

    /// Timeout of an answer, in nanoseconds, `None` before the first sample.
    pub(crate) fn timeout_ns(&self) -> Option<u64> {
        (self.samples > 0).then(|| self.smoothed_ns.saturating_add(4 * self.variation_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_round_trips_bring_the_timeout_down_to_them() {
        let mut trip = RoundTrip::default();
        assert_eq!(trip.timeout_ns(), None);
        trip.sample(1_000);
        assert_eq!(trip.timeout_ns(), Some(3_000));
        (0..100).for_each(|_| trip.sample(1_000));
        assert_eq!(trip.smoothed_ns(), Some(1_000));
        assert!(trip.timeout_ns().is_some_and(|timeout| timeout < 1_050));
    }

    #[test]
    fn a_late_answer_widens_the_timeout() {
        let mut trip = RoundTrip::default();
        (0..20).for_each(|_| trip.sample(1_000));
        let before = trip.timeout_ns();
        trip.sample(50_000);
        assert!(trip.timeout_ns() > before);
    }
}
