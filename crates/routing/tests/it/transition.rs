//! From old tables to new ones: every intermediate mixture is safe, whatever the order of writes.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use crate::common::{fabric, home, index, lids, no_groups, routed, settings, walk};
use proptest::prelude::*;
use weft_fabric::tables::LFT_BLOCK;
use weft_fabric::{LinearTables, NodeId, PortRef, SwitchIndex, Topology, UNREACHABLE};
use weft_routing::{
    AdaptiveSettings, EngineKind, Old, Routed, Settings, Tables, Transition, WritePlan,
    certify_transition, certify_transition_over, changed_blocks,
};

fn plan(topology: &Topology, old: &LinearTables, new: &LinearTables) -> WritePlan {
    let groups = no_groups();
    let tables = |linear| Tables {
        linear,
        groups: &groups,
    };
    certify_transition(topology, tables(old), tables(new))
        .unwrap()
        .plan
}

fn rows(tables: &LinearTables) -> Vec<Vec<u8>> {
    let rows = (0..tables.len() as u32).map(|at| tables.row(SwitchIndex(at)).to_vec());
    rows.collect()
}

fn tables(rows: &[Vec<u8>]) -> LinearTables {
    LinearTables::new(rows.iter().map(|row| Arc::from(&row[..])).collect())
}

/// Writes the plan block by block in the order that `shuffle` gives inside each phase, calls
/// `check` after each, and returns the end.
fn play(
    old: &LinearTables,
    plan: &WritePlan,
    shuffle: u64,
    mut check: impl FnMut(&LinearTables),
) -> LinearTables {
    let mut state = rows(old);
    for phase in &plan.phases {
        let mut order: Vec<usize> = (0..phase.len()).collect();
        order.sort_by_key(|index| {
            (*index as u64 + 1)
                .wrapping_mul(shuffle | 1)
                .rotate_left(17)
        });
        for write in order.into_iter().map(|index| &phase[index]) {
            let row = &mut state[write.switch.0 as usize];
            let start = write.block as usize * LFT_BLOCK;
            row.resize(row.len().max(start + LFT_BLOCK), UNREACHABLE);
            row[start..start + LFT_BLOCK].copy_from_slice(&write.entries);
            check(&tables(&state));
        }
    }
    tables(&state)
}

/// No route between live switches loops; being dropped for a while is allowed.
fn no_loops(topology: &Topology, state: &LinearTables) {
    for (lid, owner) in lids(topology) {
        if home(topology, owner).is_none() {
            continue;
        }
        for &from in topology.switches() {
            let end = walk(topology, state, from, lid, owner);
            assert_ne!(end.err().as_deref(), Some("loop"), "{from:?} to {lid}");
        }
    }
}

#[test]
fn equal_tables_need_nothing() {
    let topology = fabric("fattree:16,radix=8", 0);
    let routed = routed(&topology, &settings(EngineKind::FatTree, 2));
    let plan = plan(&topology, routed.linear(), routed.linear());
    assert_eq!(plan, WritePlan::default());
}

#[test]
fn a_tree_changes_engine_without_draining() {
    let topology = fabric("fattree:16,radix=4", 0);
    let old = routed(&topology, &settings(EngineKind::ShortestPath, 3));
    let new = routed(&topology, &settings(EngineKind::FatTree, 3));
    let plan = plan(&topology, old.linear(), new.linear());
    assert_eq!((plan.drained, plan.phases.len()), (0, 1));
    assert_eq!(plan.phases[0], changed_blocks(old.linear(), new.linear()));
    let end = play(old.linear(), &plan, 3, |state| no_loops(&topology, state));
    assert_eq!(end, **new.linear());
}

#[test]
fn a_ring_that_turns_round_is_drained_first() {
    let ring = fabric("torus:4", 0);
    let old = crate::common::clockwise(&ring);
    let target = routed(&ring, &settings(EngineKind::ShortestPath, 1));
    let plan = plan(&ring, &old, target.linear());
    assert!(plan.drained > 0);
    assert_eq!(plan.phases.len(), 2);
    for shuffle in 1..20 {
        let end = play(&old, &plan, shuffle * 0x9E37_79B9, |state| {
            no_loops(&ring, state)
        });
        assert_eq!(end, **target.linear());
    }
}

/// `good` with `density` of 8 entries replaced by any ports.
fn scrambled(good: &LinearTables, seed: u64, density: u64) -> Vec<Vec<u8>> {
    let mut scrambled = rows(good);
    let mut state = seed | 1;
    for entry in scrambled.iter_mut().flatten() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        if (state >> 33) % 8 < density {
            *entry = (state >> 40) as u8 % 6;
        }
    }
    scrambled
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Old tables may hold anything: after power-up or another manager.
    #[test]
    fn any_old_tables_lead_to_the_new_ones(seed in any::<u64>(), density in 1u64..8) {
        let topology = fabric("fattree:8,radix=4,tiers=2", 0);
        let new = routed(&topology, &settings(EngineKind::FatTree, 2));
        let old = tables(&scrambled(new.linear(), seed, density));
        let plan = plan(&topology, &old, new.linear());
        let end = play(&old, &plan, seed, |_| ());
        prop_assert_eq!(&rows(&end)[..], &rows(new.linear())[..]);
        // Once drained, nothing loops any more.
        let last = WritePlan { phases: plan.phases.iter().rev().take(1).cloned().collect(), ..plan.clone() };
        if plan.phases.len() == 2 {
            let first = WritePlan { phases: vec![plan.phases[0].clone()], ..plan };
            let middle = play(&old, &first, seed, |_| ());
            play(&middle, &last, seed, |state| no_loops(&topology, state));
        }
    }
}

/// On a ring, each of two lines that omit different links is free of credit cycles, but a mixture of switches
/// with the tables of one and of the other makes all links wait.
#[test]
fn lines_that_close_a_ring_together_are_drained_first() {
    let ring = fabric("torus:6", 0);
    let line = |left_out: usize| {
        let mut line = ring.clone();
        let (a, b) = (
            ring.switches()[left_out],
            ring.switches()[(left_out + 1) % 6],
        );
        let port = crate::common::port_to(&ring, a, b);
        assert!(line.disconnect(weft_fabric::PortRef { node: a, port }));
        (**routed(&line, &settings(EngineKind::ShortestPath, 1)).linear()).clone()
    };
    let (old, new) = (line(0), line(3));
    let plan = plan(&ring, &old, &new);
    assert!(plan.drained > 0);
    // The remaining old tables are free of cycles with all of the new ones: each entry by
    // itself, in every order of writes.
    let mut middle = rows(&old);
    for write in &plan.phases[0] {
        let start = write.block as usize * LFT_BLOCK;
        middle[write.switch.0 as usize][start..start + LFT_BLOCK].copy_from_slice(&write.entries);
    }
    let mut waits = std::collections::BTreeMap::new();
    for (lid, end) in lids(&ring).into_iter().filter(|(_, end)| end.port.0 != 0) {
        crate::common::mixed_waits(&ring, [&tables(&middle), &new], lid, end, &mut waits);
    }
    assert!(!crate::common::has_cycle(&waits));
    let mut undrained = std::collections::BTreeMap::new();
    for (lid, end) in lids(&ring).into_iter().filter(|(_, end)| end.port.0 != 0) {
        crate::common::mixed_waits(&ring, [&old, &new], lid, end, &mut undrained);
    }
    assert!(crate::common::has_cycle(&undrained));
}

/// Groups of a tree close no cycle with any routes up and down. Those of two lines that leave out
/// another trunk of a ring do: their packets must be gone before new tables come, and before new
/// groups do.
#[test]
fn packets_of_old_groups_must_go_first_where_they_may_close_a_ring() {
    let adaptive = |engine| Settings {
        adaptive: Some(AdaptiveSettings::default()),
        ..settings(engine, 2)
    };
    let change = |topology: &Topology, old: &Routed, new: &Routed| {
        let of = |routed: &Routed| (Arc::clone(routed.linear()), Arc::clone(routed.groups()));
        let ((old_linear, old_groups), (new_linear, new_groups)) = (of(old), of(new));
        assert_ne!(old_groups, new_groups);
        let tables = |linear, groups| Tables { linear, groups };
        let old = tables(&old_linear, &old_groups);
        let way = certify_transition(topology, old, tables(&new_linear, &new_groups)).unwrap();
        assert!(way.plan.pause_adaptive);
        (way.plan.drained > 0, way.plan.settle_adaptive)
    };
    // Without the cables between two switches.
    let cut = |topology: &Topology, a: NodeId, b: NodeId| {
        let between =
            |(from, to): &(PortRef, PortRef)| [(a, b), (b, a)].contains(&(from.node, to.node));
        let ends: Vec<(PortRef, PortRef)> = topology.links().filter(between).collect();
        let mut cut = topology.clone();
        assert!(!ends.is_empty());
        assert!(ends.iter().all(|(end, _)| cut.disconnect(*end)));
        cut
    };
    let tree = fabric("fattree:16,radix=4", 0);
    let with = routed(
        &tree,
        &Settings {
            fat_tree: settings(EngineKind::Dmodc, 3).fat_tree,
            ..adaptive(EngineKind::Dmodc)
        },
    );
    let without = routed(&tree, &settings(EngineKind::Dmodc, 3));
    assert_eq!(change(&tree, &with, &without), (false, false));
    assert_eq!(change(&tree, &without, &with), (false, false));
    let ring = fabric("torus:6,links=2", 0);
    let line = |left_out: usize| {
        let [a, b] = [left_out, (left_out + 1) % 6].map(|at| ring.switches()[at]);
        routed(&cut(&ring, a, b), &adaptive(EngineKind::Layered))
    };
    assert_eq!(change(&ring, &line(0), &line(3)), (true, true));
}

/// Whether a route runs in a circle.
fn has_loop(topology: &Topology, state: &LinearTables) -> bool {
    let mut pairs = lids(topology).into_iter().flat_map(|(lid, owner)| {
        let switches = topology.switches().iter();
        switches.map(move |from| (*from, lid, owner))
    });
    pairs.any(|(from, lid, owner)| walk(topology, state, from, lid, owner) == Err("loop".into()))
}

/// Old entries lead over a link that is down when the new tables are made. It comes up before all of them
/// are written.
#[test]
fn a_link_may_come_back_while_tables_change() {
    let whole = fabric("mesh:3x3,hosts=1", 0);
    let good = routed(&whole, &settings(EngineKind::ShortestPath, 1));
    let groups = no_groups();
    let is_switch = |end: &PortRef| whole.switch_index(end.node).is_some();
    let links = whole.links().filter(|(a, b)| is_switch(a) && is_switch(b));
    let mut looping = 0;
    for ((end, _), seed) in links.zip(1..) {
        let mut cut = whole.clone();
        assert!(cut.disconnect(end));
        let new = routed(&cut, &settings(EngineKind::ShortestPath, 1));
        let old = tables(&scrambled(good.linear(), seed, 1));
        let of = |linear| Tables {
            linear,
            groups: &groups,
        };
        let held = Old::of(of(&old));
        let way = new.transition_over(&whole, held);
        let judged = certify_transition_over(&whole, &cut, held, of(new.linear()));
        assert_eq!(way.plan, judged.unwrap().plan);
        // Loops of old entries alone are gone when entries are drained.
        let loops = |way: Transition| {
            let last = way.plan.phases.last().cloned();
            let last = WritePlan {
                phases: last.into_iter().collect(),
                ..way.plan
            };
            let mut loops = 0;
            for shuffle in 1..20_u64 {
                let start = way.middle.as_ref().unwrap_or(&old);
                play(start, &last, shuffle * 0x9E37_79B9, |state| {
                    loops += u32::from(has_loop(&whole, state));
                });
            }
            loops
        };
        assert_eq!(loops(way), 0, "{end:?}");
        looping += loops(new.transition(held));
    }
    assert!(looping > 0, "a way that leaves the link out of account");
}

/// A switch of which nothing is confirmed may hold what was sent to it.
#[test]
fn what_was_sent_may_be_there() {
    let ring = fabric("torus:4", 0);
    let sent = crate::common::clockwise(&ring);
    let new = routed(&ring, &settings(EngineKind::ShortestPath, 1));
    let groups = no_groups();
    let old = LinearTables::new(vec![Arc::from([]); sent.len()]);
    let known = Old::of(Tables {
        linear: &old,
        groups: &groups,
    });
    assert_eq!(new.transition(known).plan.drained, 0);
    let way = new.transition(Old {
        possible: Some(&sent),
        ..known
    });
    assert!(way.plan.drained > 0 && way.plan.settle_drained);
    let middle = way.middle.unwrap();
    let mut looping = 0;
    for holder in 0..sent.len() {
        let with_sent = |tables: &LinearTables| {
            let mut rows = rows(tables);
            rows[holder] = sent.row(SwitchIndex(holder as u32)).to_vec();
            self::tables(&rows)
        };
        // All others have got the new tables.
        looping += u32::from(has_loop(&ring, &with_sent(new.linear())));
        assert!(!has_loop(&ring, &with_sent(&middle)));
    }
    assert!(looping > 0);
}

#[test]
fn new_switches_get_whole_tables() {
    let topology = fabric("fattree:16,radix=8", 0);
    let new = routed(&topology, &settings(EngineKind::FatTree, 2));
    let plan = plan(&topology, &LinearTables::default(), new.linear());
    assert_eq!(plan.phases.len(), 1);
    assert_eq!(plan.phases[0].len(), topology.switches().len());
    let first = &plan.phases[0][0];
    let at = index(&topology, topology.switches()[0]);
    assert_eq!((first.switch, first.block), (at, 0));
    assert_eq!(first.entries, new.linear().block(at, 0));
}
