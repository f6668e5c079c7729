//! How many calls each caller may make: a bucket for each identity, filled steadily, with room for a burst.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::rules::Limits;

/// Identities that have a bucket of their own; further ones share one.
const IDENTITIES_MAX: usize = 4_096;
/// The burst that a full bucket allows, in seconds of its rate.
const BURST: f64 = 5.0;
/// Shortest time between two lines of the log about one caller.
const PAUSE: Duration = Duration::from_secs(60);
/// The name of the bucket that those without one of their own share: no identity is empty.
const SHARED: &str = "";

/// Buckets of all callers.
#[derive(Debug, Default)]
pub(super) struct Rates(Mutex<HashMap<String, Buckets>>);

/// A caller is refused.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TooOften {
    /// His limit, calls in a second.
    pub(super) limit: u32,
    /// Whether it is that of changes.
    pub(super) changes: bool,
    /// When he may try again.
    pub(super) wait: Duration,
    /// Whether this is to be told in the log: the first refusal, and one of each minute after it.
    pub(super) tell: bool,
}

#[derive(Debug)]
struct Buckets {
    calls: Bucket,
    changes: Bucket,
    /// When a refusal was told last.
    told: Option<Instant>,
}

#[derive(Debug)]
struct Bucket {
    left: f64,
    filled: Instant,
}

impl Rates {
    /// One more call of an identity.
    pub(super) fn take(
        &self,
        identity: &str,
        changes: bool,
        limits: Limits,
        now: Instant,
    ) -> Result<(), TooOften> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= IDENTITIES_MAX && !all.contains_key(identity) {
            // A full bucket says no more than none.
            all.retain(|_, buckets| !buckets.is_full(limits, now));
        }
        let known = all.contains_key(identity);
        let identity = match known || all.len() < IDENTITIES_MAX {
            true => identity,
            false => SHARED,
        };
        let buckets = all
            .entry(identity.to_owned())
            .or_insert_with(|| Buckets::new(limits, now));
        buckets.take(changes, limits, now)
    }
}

impl Buckets {
    fn new(limits: Limits, now: Instant) -> Self {
        Self {
            calls: Bucket::new(limits.calls, now),
            changes: Bucket::new(limits.changes, now),
            told: None,
        }
    }

    fn is_full(&self, limits: Limits, now: Instant) -> bool {
        let full = |bucket: &Bucket, rate| bucket.level(rate, now) >= burst(rate);
        full(&self.calls, limits.calls) && full(&self.changes, limits.changes)
    }

    fn take(&mut self, changes: bool, limits: Limits, now: Instant) -> Result<(), TooOften> {
        let wait = self.calls.lacks(limits.calls, now);
        let wait_changes = match changes {
            true => self.changes.lacks(limits.changes, now),
            false => Duration::ZERO,
        };
        if wait.is_zero() && wait_changes.is_zero() {
            self.calls.take(limits.calls, now);
            if changes {
                self.changes.take(limits.changes, now);
            }
            return Ok(());
        }
        let of_changes = wait_changes > wait;
        let silent = |told| now.saturating_duration_since(told) < PAUSE;
        let tell = !self.told.is_some_and(silent);
        if tell {
            self.told = Some(now);
        }
        Err(TooOften {
            limit: if of_changes {
                limits.changes
            } else {
                limits.calls
            },
            changes: of_changes,
            wait: wait.max(wait_changes),
            tell,
        })
    }
}

fn burst(rate: u32) -> f64 {
    (f64::from(rate) * BURST).max(1.0)
}

impl Bucket {
    fn new(rate: u32, now: Instant) -> Self {
        Self {
            left: burst(rate),
            filled: now,
        }
    }

    fn level(&self, rate: u32, now: Instant) -> f64 {
        let passed = now.saturating_duration_since(self.filled).as_secs_f64();
        (self.left + passed * f64::from(rate)).min(burst(rate))
    }

    /// Time until it has enough for a call.
    fn lacks(&self, rate: u32, now: Instant) -> Duration {
        let short = 1.0 - self.level(rate, now);
        Duration::from_secs_f64((short / f64::from(rate)).max(0.0))
    }

    fn take(&mut self, rate: u32, now: Instant) {
        self.left = self.level(rate, now) - 1.0;
        self.filled = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        calls: 10,
        changes: 2,
    };

    #[test]
    fn a_burst_is_let_in_then_as_many_as_the_rate_and_others_are_not_touched() {
        let rates = Rates::default();
        let now = Instant::now();
        for _ in 0..50 {
            assert_eq!(rates.take("user:a", false, LIMITS, now), Ok(()));
        }
        let refused = rates
            .take("user:a", false, LIMITS, now)
            .expect_err("too often");
        assert!(refused.tell && !refused.changes, "{refused:?}");
        assert_eq!(refused.limit, 10);
        assert_eq!(refused.wait, Duration::from_millis(100));
        let again = rates
            .take("user:a", false, LIMITS, now)
            .expect_err("too often");
        assert!(!again.tell);
        assert_eq!(rates.take("user:b", false, LIMITS, now), Ok(()));
        let later = now + refused.wait;
        assert_eq!(rates.take("user:a", false, LIMITS, later), Ok(()));
        assert!(rates.take("user:a", false, LIMITS, later).is_err());
    }

    #[test]
    fn changes_have_a_limit_of_their_own() {
        let rates = Rates::default();
        let now = Instant::now();
        for _ in 0..10 {
            assert_eq!(rates.take("user:a", true, LIMITS, now), Ok(()));
        }
        let refused = rates
            .take("user:a", true, LIMITS, now)
            .expect_err("too often");
        assert!(refused.changes, "{refused:?}");
        assert_eq!(refused.wait, Duration::from_millis(500));
        assert_eq!(
            rates.take("user:a", false, LIMITS, now),
            Ok(()),
            "he may read"
        );
    }

    #[test]
    fn the_table_is_bounded_and_idle_identities_make_room() {
        let rates = Rates::default();
        let now = Instant::now();
        let name = |n: usize| format!("uri:spiffe://a/{n}");
        for n in 0..IDENTITIES_MAX {
            assert_eq!(rates.take(&name(n), false, LIMITS, now), Ok(()));
        }
        for n in 0..50 {
            let more = name(IDENTITIES_MAX + n);
            assert_eq!(
                rates.take(&more, false, LIMITS, now),
                Ok(()),
                "the shared one"
            );
        }
        assert!(rates.take("user:late", false, LIMITS, now).is_err());
        let len = |rates: &Rates| rates.0.lock().expect("alone").len();
        assert_eq!(len(&rates), IDENTITIES_MAX + 1);
        let later = now + Duration::from_secs(60);
        assert_eq!(rates.take("user:late", false, LIMITS, later), Ok(()));
        assert_eq!(len(&rates), 1, "those that are full again are forgotten");
    }
}
