//! Any fabric over least-cost paths, as far as the lanes go.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::common::{degrade, fabric, judge_lanes, settings};
use proptest::prelude::*;
use weft_fabric::{Lid, NodeId, PortRef, Topology};
use weft_routing::quality::{Effort, assess};
use weft_routing::{
    EngineKind, EngineUsed, Finding, Lanes, Note, Routed, Settings, Tables, certify,
    certify_transition, route,
};

fn routed(topology: &Topology, lanes: u8) -> Routed {
    let settings = Settings {
        lanes,
        ..settings(EngineKind::Layered, 1)
    };
    let routed = route(topology, &settings).unwrap();
    assert_eq!(routed.engine(), EngineUsed::Layered, "{:?}", routed.notes());
    routed
}

fn tables(routed: &Routed) -> Tables<'_> {
    Tables {
        linear: routed.linear(),
        groups: routed.groups(),
    }
}

#[test]
fn tori_are_routed_over_the_fewest_hops_where_lanes_suffice() {
    for (spec, lanes, lmcs) in [
        ("torus:5", 3, 0..3),
        ("torus:4x4", 6, 0..3),
        ("torus:5x5", 6, 0..2),
        ("torus:4x4x4", 8, 0..1),
        ("hypercube:4", 5, 0..2),
        ("mesh:4x4", 5, 0..2),
    ] {
        for lmc in lmcs {
            let topology = fabric(spec, lmc);
            let routed = routed(&topology, lanes);
            let what = format!("{spec}, LMC {lmc}: {:?}", routed.notes());
            assert_eq!(routed.notes(), [], "{what}");
            assert!(routed.certificate().lanes() <= lanes, "{what}");
            judge_lanes(&topology, routed.linear(), routed.lanes(), true).expect(&what);
        }
    }
}

#[test]
fn too_few_lanes_make_detours_and_say_so() {
    let topology = fabric("torus:5x5", 0);
    for lanes in [1, 2] {
        let routed = routed(&topology, lanes);
        let [Note::Detours { lids, of: 25, .. }] = routed.notes() else {
            panic!("{:?}", routed.notes());
        };
        assert!(*lids > 0);
        assert_eq!(*lids, longer(&topology, &routed));
        judge_lanes(&topology, routed.linear(), routed.lanes(), false).unwrap();
    }
}

/// LIDs of hosts to which some host has a longer route than there is.
fn longer(topology: &Topology, routed: &Routed) -> u64 {
    let hops = crate::common::hops(topology);
    let lids = crate::common::lids(topology).into_iter();
    let hosts: Vec<(Lid, PortRef)> = lids.filter(|(_, end)| end.port.0 != 0).collect();
    let home = |end: PortRef| crate::common::home(topology, end);
    let senders: BTreeSet<NodeId> = hosts.iter().filter_map(|(_, end)| home(*end)).collect();
    let is_longer = |(lid, end): &&(Lid, PortRef)| {
        senders.iter().any(|from| {
            let least = home(*end).and_then(|home| hops.get(&(*from, home)));
            let route =
                || crate::common::walk(topology, routed.linear(), *from, *lid, *end).unwrap();
            least.is_some_and(|least| route().len() - 1 > *least)
        })
    };
    hosts.iter().filter(is_longer).count() as u64
}

/// LIDs that are said to have longer routes.
fn told(routed: &Routed) -> u64 {
    let lids = |note: &Note| match note {
        Note::Detours { lids, .. } => Some(*lids),
        _ => None,
    };
    routed.notes().iter().find_map(lids).unwrap_or(0)
}

#[test]
fn one_lane_does_for_trees() {
    for (spec, seed) in [
        ("fattree:16,radix=4", 1),
        ("fattree:72,radix=12", 2),
        ("pgft:2;4,4;1,2;1,2;radix=8", 3),
        ("pgft:3;2,3,2;1,2,3;1,1,2;radix=12", 4),
    ] {
        for (lmc, per_mille) in [(0, 0), (2, 0), (0, 30), (1, 30)] {
            let mut topology = fabric(spec, lmc);
            degrade(&mut topology, seed, per_mille);
            let (one, many) = (routed(&topology, 1), routed(&topology, 8));
            let what = format!("{spec}, LMC {lmc}, {per_mille}: {:?}", one.notes());
            assert!(one.notes().is_empty() || per_mille > 0, "{what}");
            assert_eq!(told(&one), longer(&topology, &one), "{what}");
            judge_lanes(&topology, one.linear(), one.lanes(), false).expect(&what);
            if one.notes().is_empty() && many.lanes().count() == 1 {
                let quality = [&one, &many].map(|routed| bandwidth(&topology, routed));
                assert!(
                    (quality[0] - quality[1]).abs() < 0.02,
                    "{what}: {quality:?}"
                );
            }
        }
    }
}

fn bandwidth(topology: &Topology, routed: &Routed) -> f64 {
    let effort = Effort {
        shifts: 0,
        permutations: 100,
        bisections: 0,
        seed: 1,
    };
    let found = assess(topology, routed.linear(), &effort);
    found.permutations.bandwidth
}

/// On damaged trees it weighs whole paths, which an engine that counts at each switch does not.
#[test]
fn random_permutations_get_more_than_from_an_engine_that_looks_at_one_switch() {
    for (spec, tiers, gain) in [
        ("fattree:288,radix=24", 2, 1.05),
        ("fattree:128,radix=8", 3, 1.01),
    ] {
        let mut topology = fabric(spec, 0);
        degrade(&mut topology, 7, 50);
        let own = bandwidth(&topology, &routed(&topology, 8));
        let other = settings(EngineKind::ShortestPath, tiers);
        let other = bandwidth(&topology, &route(&topology, &other).unwrap());
        assert!(own > gain * other, "{spec}: {own}, shortestpath {other}");
    }
}

#[test]
fn a_fabric_that_shortest_paths_do_not_fit_gets_lanes_where_there_are_some() {
    let topology = fabric("torus:5x5", 0);
    let settings = Settings {
        lanes: 8,
        ..settings(EngineKind::ShortestPath, 1)
    };
    let routed = route(&topology, &settings).unwrap();
    assert_eq!(routed.engine(), EngineUsed::Layered);
    assert!(matches!(routed.notes(), [Note::Fallback { .. }]));
}

#[test]
fn the_certificate_refuses_the_same_routes_in_one_lane() {
    let topology = fabric("torus:5x5", 0);
    let routed = routed(&topology, 8);
    let good = tables(&routed);
    assert_eq!(
        certify(&topology, good).unwrap().lanes(),
        routed.lanes().count()
    );
    let merged = routed.linear().as_ref().clone();
    let merged = merged.with_lanes(Arc::default());
    let merged = Tables {
        linear: &merged,
        ..good
    };
    let findings = certify(&topology, merged).unwrap_err().findings;
    assert!(
        matches!(findings[..], [Finding::CreditCycle { .. }]),
        "{findings:?}"
    );
}

/// From routes in many lanes to routes in one and back: LIDs that change their lane are drained.
#[test]
fn a_change_of_lanes_is_certified_on_the_way() {
    let topology = fabric("torus:5x5", 0);
    let (many, one) = (routed(&topology, 8), routed(&topology, 1));
    for (old, new) in [(&many, &one), (&one, &many), (&many, &many)] {
        let way = certify_transition(&topology, tables(old), tables(new)).unwrap();
        let middle = way.middle.as_ref().unwrap_or(&**old.linear());
        let changes = old.linear() != new.linear();
        assert_eq!(way.plan.phases.is_empty(), !changes);
        // The oracle: in every lane, the remaining old routes and the new ones together.
        for lane in 0..8 {
            let mut waits = crate::common::Waits::new();
            for (lid, end) in crate::common::lids(&topology) {
                let moves = old.lanes().of(lid) != new.lanes().of(lid);
                for switch in (0..25).map(weft_fabric::SwitchIndex).filter(|_| moves) {
                    let left = middle.egress(switch, lid);
                    let entry = new.linear().egress(switch, lid);
                    assert!(left.is_none() || left == entry || end.port.0 == 0);
                }
                if end.port.0 != 0 && new.lanes().of(lid) == lane {
                    let both = [middle, &**new.linear()];
                    crate::common::mixed_waits(&topology, both, lid, end, &mut waits);
                }
            }
            assert!(!crate::common::has_cycle(&waits), "lane {lane}");
        }
    }
}

#[test]
fn lanes_beyond_the_table_are_the_first() {
    let lanes = Lanes::new(vec![0, 0, 2]);
    assert_eq!((lanes.of(Lid(2)), lanes.of(Lid(900))), (2, 0));
    assert_eq!((lanes.count(), Lanes::SINGLE.count()), (3, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_number_of_lanes_does(
        switches in 1usize..14,
        links in prop::collection::vec((0usize..14, 0usize..14), 0..50),
        hosts in prop::collection::vec(0usize..14, 1..20),
        lanes in 1u8..9,
    ) {
        let topology = crate::common::irregular(switches, &links, &hosts);
        let routed = routed(&topology, lanes);
        prop_assert_eq!(told(&routed), longer(&topology, &routed));
        let judged = judge_lanes(&topology, routed.linear(), routed.lanes(), false);
        prop_assert!(judged.is_ok(), "{judged:?}");
        prop_assert!(routed.lanes().count() <= lanes);
    }
}
