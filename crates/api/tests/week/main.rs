//! Virtual days of a fabric and the pair of managers that takes care of it, with faults, drains, plans, disabled ports, restarts and
//! failovers, recorded as the daemons record them: at random moments the history of each has what it had published then, what was
//! decided then and by whom, and no counter goes back.
//!
//! | module | contents |
//! |---|---|
//! | `daemon` | what a daemon keeps beside its manager, and what its history should say |
//! | `days` | the fabric, the pair, and what befalls them |
//! | `oracle` | plain copies of what was published |
#![allow(clippy::unwrap_used)]

mod daemon;
mod days;
mod oracle;

use days::Days;

/// Milliseconds since 1970 at the start of the virtual clock.
const START: i64 = 1_795_000_000_000;
const HOUR_MS: u64 = 3_600_000;
/// Between two looks at the fabric, at most: below [`weft_history::STATE_LASTS_MS`].
const LOOK_MS: u64 = 10_000;
/// Between two readings of counters.
const READING_MS: u64 = 60_000;

/// Numbers that look random and are the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Virtual hours, with something new every so many minutes on average.
fn live(hours: u64, minutes: u64, seed: u64) {
    let dir = tempfile::tempdir().unwrap();
    let mut days = Days::new(dir.path(), seed);
    days.live(hours * HOUR_MS, minutes * 60_000);
    let done = days.done().clone();
    for what in [
        "link down",
        "node down",
        "drain",
        "engine",
        "disable",
        "failover",
    ] {
        assert!(done.get(what).is_some_and(|times| *times > 0), "{done:?}");
    }
    days.check();
    println!("{hours} h: {done:?}");
}

#[test]
fn a_day_is_remembered_as_it_was() {
    live(12, 10, 1);
}

#[test]
#[ignore = "minutes"]
fn a_week_is_remembered_as_it_was() {
    live(7 * 24, 30, 2);
}
