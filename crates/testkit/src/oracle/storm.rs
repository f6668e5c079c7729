//! I10: how many requests a manager sends, as they come in at the emulator's door.

use super::{Breach, Invariant};
use crate::door::Door;

/// Requests that a sweep may send, relative to that sweep in a fabric without faults.
const SLACK: f64 = 1.3;

/// Standard deviations by which the number of retries may exceed its mean.
const DEVIATIONS: f64 = 4.0;

/// Requests without faults: in the first sweep, and in one that finds nothing new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clean {
    /// Requests of the first sweep.
    pub first: u64,
    /// Requests of the next one.
    pub again: u64,
}

impl Clean {
    /// Requests of the sweep that sent most, over those of the first sweep without faults.
    pub fn loudest(&self, door: &Door) -> f64 {
        let most = door.sweeps().iter().max().copied().unwrap_or(0);
        most as f64 / self.first.max(1) as f64
    }

    fn with_slack(requests: u64) -> u64 {
        (requests as f64 * SLACK).ceil() as u64
    }
}

/// Limit of a manager's requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// Requests without faults.
    pub clean: Clean,
    /// Requests without faults if each has only one attribute: nodes that have refused a part of an
    /// aggregate are queried in this way from then on.
    pub singly: Clean,
    /// Fraction of all datagrams that is lost, in each direction: 0 to 1.
    pub loss: f64,
    /// Requests without an answer at a time.
    pub open_max: usize,
}

impl Budget {
    /// Requests in one sweep: each that is lost, or whose answer is, goes again, up to three times in
    /// all.
    fn sweep(&self) -> u64 {
        if self.loss == 0.0 {
            return Clean::with_slack(self.clean.first);
        }
        let lost = 1.0 - (1.0 - self.loss) * (1.0 - self.loss);
        let most = Clean::with_slack(self.clean.first).max(self.singly.first) as f64;
        let retries = most * (lost + lost * lost);
        // In a small fabric chance adds to that.
        let deviation = (most * (lost + 3.0 * lost * lost)).sqrt();
        (most + retries + DEVIATIONS * deviation).ceil() as u64
    }

    /// Requests in a sweep that finds nothing new.
    fn again(&self) -> u64 {
        let usual = Clean::with_slack(self.clean.again);
        match self.loss == 0.0 {
            true => usual,
            false => usual.max(self.singly.again),
        }
    }
}

/// I10: no sweep sends more than its budget, and never are more requests without an answer.
pub fn check(door: &Door, budget: &Budget) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let open = door.open_max();
    if open > budget.open_max {
        let what = format!("{open} requests outstanding, {} allowed", budget.open_max);
        breaches.push(Breach::new(Invariant::NoStorm, what));
    }
    let allowed = budget.sweep();
    let loud = door.sweeps().iter().filter(|sent| **sent > allowed);
    breaches.extend(loud.map(|sent| {
        let what = format!("a sweep sent {sent} requests, {allowed} allowed");
        Breach::new(Invariant::NoStorm, what)
    }));
    breaches
}

/// I10: a sweep that finds nothing new sends as much as without faults.
pub fn check_again(sent: Option<u64>, budget: &Budget) -> Option<Breach> {
    let allowed = budget.again();
    let sent = sent.filter(|sent| *sent > allowed)?;
    let what = format!("a sweep of an unchanged fabric sent {sent} requests, {allowed} allowed");
    Some(Breach::new(Invariant::NoStorm, what))
}
