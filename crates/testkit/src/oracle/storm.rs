//! I10: how many requests a manager sends, as they come in at the emulator's door.

use super::{Breach, Invariant};
use crate::door::Door;

/// What a sweep may send, over what the same one sends in a fabric without faults.
const SLACK: f64 = 1.3;

/// What a fabric takes without faults: requests of its first sweep, and of one that finds nothing new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clean {
    /// Of the first sweep.
    pub first: u64,
    /// Of the next one.
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

/// What a manager may send.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// What it sends without faults.
    pub clean: Clean,
    /// What it sends without faults where each request asks for one thing: so are nodes asked from then on that
    /// have refused a part of a request for several.
    pub singly: Clean,
    /// Part of all datagrams that is lost, each way: 0 to 1.
    pub loss: f64,
    /// Requests without an answer at a time.
    pub open_max: usize,
}

impl Budget {
    /// Requests in one sweep: each that is lost, or whose answer is, goes again, up to three times in all.
    fn sweep(&self) -> u64 {
        if self.loss == 0.0 {
            return Clean::with_slack(self.clean.first);
        }
        let lost = 1.0 - (1.0 - self.loss) * (1.0 - self.loss);
        let tries = 1.0 + lost + lost * lost;
        let most = Clean::with_slack(self.clean.first).max(self.singly.first);
        (most as f64 * tries).ceil() as u64
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

/// I10: a sweep that finds nothing new sends what it does without faults before it.
pub fn check_again(sent: Option<u64>, budget: &Budget) -> Option<Breach> {
    let allowed = budget.again();
    let sent = sent.filter(|sent| *sent > allowed)?;
    let what = format!("a sweep of an unchanged fabric sent {sent} requests, {allowed} allowed");
    Some(Breach::new(Invariant::NoStorm, what))
}
