//! I8 and I9: after the last fault a fabric comes to rest in time, and then nothing is written any more.

use std::time::Duration;

use super::{Breach, Invariant};
use crate::world::Wait;

/// I8: `sets` were carried out where nothing had changed.
pub fn check_unwritten(sets: u64, when: &str) -> Option<Breach> {
    let what = || format!("{sets} Sets {when}");
    (sets > 0).then(|| Breach::new(Invariant::NoNeedlessSet, what()))
}

/// I9: something that had to end within its bound did.
pub fn check_in_time(wait: Wait, within: Duration, what: &str) -> Option<Breach> {
    let late = || format!("{what} has not ended after {} s", within.as_secs());
    (wait == Wait::TimedOut).then(|| Breach::new(Invariant::Converged, late()))
}

/// I9: everything `held` at some moment within the bound; if not, `broken` are the rules that were broken
/// last.
pub fn check_converged(held: bool, broken: Vec<Breach>, when: &str) -> Vec<Breach> {
    if held {
        return Vec::new();
    }
    let what = format!("{} rules broken {when}", broken.len());
    let late = Breach::new(Invariant::Converged, what);
    std::iter::once(late).chain(broken).collect()
}
