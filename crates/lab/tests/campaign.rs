//! The campaigns over their seeds.

#![allow(clippy::unwrap_used)]

use weft_lab::campaign::{bring_up, election};

const SEEDS: u64 = 256;

/// Seeds beyond those that once broke a rule: a write that arrived twice, a silent switch between
/// the two steps of a change, tables left by a sweep that was cut off.
const ONCE_BROKEN: [u64; 5] = [579, 733, 778, 1342, 1621];

#[test]
fn bring_up_holds_its_rules_for_every_seed() {
    let mut failed = Vec::new();
    for seed in (0..SEEDS).chain(ONCE_BROKEN) {
        let outcome = bring_up::run(seed).unwrap();
        if !outcome.breaches.is_empty() {
            failed.push(outcome.describe(bring_up::EVENTS_SHOWN));
        }
    }
    assert!(
        failed.is_empty(),
        "{} seeds failed:\n{}",
        failed.len(),
        failed.join("\n")
    );
}

#[test]
fn a_seed_gives_the_same_run_every_time() {
    let [first, second] = [3, 3].map(|seed| bring_up::run(seed).unwrap());
    assert_eq!(first.events, second.events);
    assert_eq!((first.sent, first.sweeps), (second.sent, second.sweeps));
}

const ELECTION_SEEDS: u64 = 128;

#[test]
fn one_manager_is_master_for_every_seed() {
    let mut failed = Vec::new();
    for seed in 0..ELECTION_SEEDS {
        let outcome = election::run(seed).unwrap();
        if !outcome.breaches.is_empty() {
            failed.push(outcome.describe());
        }
    }
    assert!(
        failed.is_empty(),
        "{} seeds failed:\n{}",
        failed.len(),
        failed.join("\n")
    );
}
