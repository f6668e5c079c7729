//! Fabrics come up whole, and stay as they are.
#![allow(clippy::unwrap_used)]

mod common;

use common::{World, settings, with_lmc};

const FABRICS: [&str; 5] = [
    "one-switch:6",
    "back-to-back",
    "fattree:16,radix=8",
    "fattree:32,radix=8,tiers=3",
    "torus:3x3",
];

#[test]
fn fabrics_come_up_and_every_pair_can_talk() {
    for spec in FABRICS {
        for lmc in [0, 2] {
            let mut world = World::new(spec, with_lmc(lmc));
            let report = world.sweep();
            println!("{spec} lmc {lmc}: {report:?}");
            assert_eq!(report.unfinished, Vec::<String>::new(), "{spec}");
            assert_eq!(world.faults(), Vec::<String>::new(), "{spec}");
            world.assert_all_active();
            world.assert_tables_published();
            assert!(world.walk_all() > 0, "{spec}");
        }
    }
}

#[test]
fn a_fabric_that_has_not_changed_is_not_written_to() {
    for spec in FABRICS {
        let mut world = World::new(spec, settings());
        world.sweep();
        world.run_for(5.0);
        let generation = world.manager.snapshot().generation;
        let before = world.emulator.stats().sets_total();
        let report = world.forced_sweep();
        assert_eq!(report.sets, 0, "{spec}: {report:?}");
        assert_eq!(world.emulator.stats().sets_total(), before, "{spec}");
        assert_eq!(world.manager.snapshot().generation, generation, "{spec}");
    }
}
