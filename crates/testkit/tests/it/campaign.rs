//! The campaigns over their seeds.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use weft_fabric::{FabricSpec, Topology};
use weft_testkit::campaign::faults::{Cell, Fault, State};
use weft_testkit::campaign::{
    EVENTS_SHOWN, LINK_FAULTS_FROM_SEED, PLANNING_FROM_SEED, bring_up, election, faults,
    maintenance,
};

const SEEDS: u64 = 256;

/// `count` seeds, half of them with faults of links, a quarter with plans that take time, too, then those
/// that once broke a rule: a list with comments.
fn seeds(count: u64, once_broken: &str) -> Vec<u64> {
    let lines = once_broken.lines().filter(|line| !line.starts_with('#'));
    let listed = lines.map(|line| line.trim().parse::<u64>().unwrap());
    let from = |first, share| first..first + count / share;
    let some = from(0, 2).chain(from(LINK_FAULTS_FROM_SEED, 4));
    let some = some.chain(from(PLANNING_FROM_SEED, 4));
    some.chain(listed).collect()
}

/// Fails with the messages of all failed seeds.
fn assert_none(failed: &[String]) {
    let (count, said) = (failed.len(), failed.join("\n"));
    assert!(failed.is_empty(), "{count} seeds failed:\n{said}");
}

#[test]
fn bring_up_holds_its_rules_for_every_seed() {
    let mut failed = Vec::new();
    for seed in seeds(SEEDS, include_str!("../seeds/bring-up")) {
        let outcome = bring_up::run(seed).unwrap();
        if !outcome.breaches.is_empty() {
            failed.push(outcome.describe(EVENTS_SHOWN));
        }
    }
    assert_none(&failed);
}

/// Two runs of a seed have all datagrams and their times in common.
fn assert_replays(campaign: &str, run: impl Fn(u64) -> u64) {
    let seeds = [3, LINK_FAULTS_FROM_SEED + 3, PLANNING_FROM_SEED + 3];
    let first = seeds.map(&run);
    assert_eq!(first, seeds.map(&run), "{campaign}, seeds {seeds:?}");
    assert_ne!(
        first[0], first[1],
        "{campaign}: the digest shows a difference"
    );
}

#[test]
fn a_seed_gives_the_same_datagrams_every_time() {
    assert_replays("bring-up", |seed| bring_up::run(seed).unwrap().datagrams);
    assert_replays("election", |seed| election::run(seed).unwrap().datagrams);
    assert_replays("maintenance", |seed| {
        maintenance::run(seed).unwrap().datagrams
    });
}

const ELECTION_SEEDS: u64 = 128;

#[test]
fn one_manager_is_master_for_every_seed() {
    let mut failed = Vec::new();
    for seed in seeds(ELECTION_SEEDS, include_str!("../seeds/election")) {
        let outcome = election::run(seed).unwrap();
        if !outcome.breaches.is_empty() {
            failed.push(outcome.describe());
        }
    }
    assert_none(&failed);
}

const MAINTENANCE_SEEDS: u64 = 96;

#[test]
fn plans_and_drains_hold_their_rules_for_every_seed() {
    let mut failed = Vec::new();
    for seed in seeds(MAINTENANCE_SEEDS, include_str!("../seeds/maintenance")) {
        let outcome = maintenance::run(seed).unwrap();
        if !outcome.breaches.is_empty() {
            failed.push(outcome.describe(EVENTS_SHOWN));
        }
    }
    assert_none(&failed);
}

/// One switch, and two tiers.
const FAULTY_FABRICS: [&str; 2] = ["one-switch:6", "pgft:2;4,6;1,4;1,1"];

fn fabric(spec: &str) -> Arc<Topology> {
    let spec: FabricSpec = spec.parse().unwrap();
    Arc::new(spec.generate().unwrap())
}

fn cells(topology: &Topology) -> Vec<Cell> {
    let faults = Fault::ALL.iter();
    let cells = faults.flat_map(|fault| {
        State::ALL.map(|state| Cell {
            fault: *fault,
            state,
        })
    });
    cells.filter(|cell| cell.fits(topology)).collect()
}

#[test]
fn every_fault_in_every_state_is_survived() {
    let mut failed = Vec::new();
    for spec in FAULTY_FABRICS {
        let topology = fabric(spec);
        for cell in cells(&topology) {
            for seed in 0..FAULT_SEEDS {
                let outcome = faults::run(cell, &topology, seed).unwrap();
                if !outcome.breaches.is_empty() {
                    let said = outcome.describe(EVENTS_SHOWN);
                    failed.push(format!("{spec}, {cell}, seed {seed}:\n{said}"));
                }
            }
        }
    }
    assert_none(&failed);
}

const FAULT_SEEDS: u64 = 2;

#[test]
fn a_fault_gives_the_same_datagrams_every_time_and_paths_are_told_under_load() {
    let topology = fabric(FAULTY_FABRICS[1]);
    let run = |state, seed| {
        let fault = Fault::SwitchDies;
        faults::run(Cell { fault, state }, &topology, seed).unwrap()
    };
    let (first, again) = (run(State::Load, 3), run(State::Load, 3));
    assert_eq!(first.datagrams, again.datagrams);
    assert_ne!(first.datagrams, run(State::Load, 4).datagrams);
    let hosts = topology.hfis().count() as u64;
    assert!(first.paths > 10 * hosts, "{} paths", first.paths);
    assert!(run(State::Idle, 3).paths < hosts, "only the last look asks");
}
