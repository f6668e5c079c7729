//! Properties of adaptive groups, with an oracle that follows every port of every group by itself:
//! contents of each engine's groups, and selection on a switch with small tables.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{
    Waits, degrade, dor, fabric, has_cycle, home, hops, in_half, index, irregular, lids, settings,
};
use proptest::prelude::*;
use weft_fabric::{Lid, NodeId, PortMask, PortNum, PortRef, SwitchIndex, Topology};
use weft_routing::{AdaptiveSettings, EngineKind, EngineUsed, Note, Routed, Settings, route};

fn adaptive(settings: Settings) -> Settings {
    Settings {
        adaptive: Some(AdaptiveSettings::default()),
        ..settings
    }
}

/// The ports that a switch may send a LID to: its group, or its linear entry.
fn ports(topology: &Topology, routed: &Routed, at: NodeId, lid: Lid) -> PortMask {
    let at = index(topology, at);
    let own = || PortMask::from_iter(routed.linear().egress(at, lid));
    routed.groups().group(at, lid).copied().unwrap_or_else(own)
}

/// The switch at the other end of a port, if there is one.
fn next(topology: &Topology, at: NodeId, port: PortNum) -> Option<NodeId> {
    let to = topology.peer(PortRef { node: at, port })?.node;
    topology.switch_index(to).map(|_| to)
}

/// Follows every port of every group from all switches with HFIs: the linear entry must be one of
/// them, no step may lead away where paths are to be `minimal`, and no links of a lane may wait
/// for each other in a circle. Gives the number of choices.
fn judge(topology: &Topology, routed: &Routed, minimal: bool) -> Result<usize, String> {
    let hops = hops(topology);
    let mut waits = vec![Waits::new(); usize::from(routed.lanes().count())];
    let ends = lids(topology);
    let hosts = || ends.iter().filter(|(_, end)| end.port.0 != 0);
    let senders: BTreeSet<NodeId> = hosts()
        .filter_map(|(_, end)| home(topology, *end))
        .collect();
    let mut choices = 0;
    for (lid, end) in hosts() {
        let Some(home) = home(topology, *end) else {
            continue;
        };
        let waits = &mut waits[usize::from(routed.lanes().of(*lid))];
        // Switches with the link over which packets come, none from HFIs.
        let senders = senders.iter().filter(|at| **at != home);
        let mut seen: BTreeSet<_> = senders.map(|at| (*at, None)).collect();
        let mut queue: Vec<_> = seen.iter().copied().collect();
        while let Some((at, before)) = queue.pop() {
            let own = ports(topology, routed, at, *lid);
            let entry = routed.linear().egress(index(topology, at), *lid);
            if !own.is_empty() && entry.is_none_or(|entry| !own.contains(entry)) {
                return Err(format!("{at:?} to {lid}: {entry:?} is not in its group"));
            }
            if before.is_none() {
                choices += own.len() as usize - usize::from(!own.is_empty());
            }
            for port in own.iter() {
                let to = next(topology, at, port).ok_or("leads nowhere")?;
                if minimal && hops[&(to, home)] >= hops[&(at, home)] {
                    return Err(format!("{at:?} to {lid}: port {port} leads away"));
                }
                let lanes = routed.lanes();
                let link = in_half(topology, lanes, before, (at, port));
                let after = ports(topology, routed, to, *lid);
                let after = after.iter().filter(|_| to != home);
                let after = after.map(|port| in_half(topology, lanes, Some(link), (to, port)));
                waits.entry(link).or_default().extend(after);
                let came = (to, lanes.datelines().map(|_| link));
                if to != home && seen.insert(came) {
                    queue.push(came);
                }
            }
        }
    }
    match waits.iter().position(has_cycle) {
        Some(lane) => Err(format!("links of lane {lane} wait in a circle")),
        None => Ok(choices),
    }
}

/// Whether each group has all links to the neighbour that the linear entry leads to.
fn has_parallel_links(topology: &Topology, routed: &Routed) -> bool {
    let hosts = lids(topology)
        .into_iter()
        .filter(|(_, end)| end.port.0 != 0);
    let mut pairs = hosts.flat_map(|(lid, _)| topology.switches().iter().map(move |at| (lid, *at)));
    pairs.all(|(lid, at)| {
        let entry = routed.linear().egress(index(topology, at), lid);
        let Some(to) = entry.and_then(|entry| next(topology, at, entry)) else {
            return true;
        };
        let own = ports(topology, routed, at, lid);
        let all = topology.node(at).unwrap().external_ports();
        let mut alike = all.filter(|(port, _)| next(topology, at, *port) == Some(to));
        alike.all(|(port, _)| own.contains(port))
    })
}

#[test]
fn every_engine_lets_switches_choose() {
    let lanes = |lanes| Settings {
        lanes,
        ..settings(EngineKind::Layered, 1)
    };
    let cube = || settings(EngineKind::Hypercube, 1);
    // Fabric, settings, engine, all parallel links are in, fewest choices.
    let cases = [
        ("hypercube:4", cube(), EngineUsed::Hypercube, true, 1),
        (
            "mesh:2x2x2,links=3",
            cube(),
            EngineUsed::Hypercube,
            true,
            113,
        ),
        (
            "mesh:4x3,links=2",
            dor(&[4, 3], 2, false, 1),
            EngineUsed::Dor,
            true,
            132,
        ),
        (
            "torus:6x5,links=2",
            dor(&[6, 5], 2, true, 4),
            EngineUsed::Dor,
            false,
            1,
        ),
        (
            "torus:6x5",
            dor(&[6, 5], 1, true, 4),
            EngineUsed::Dor,
            true,
            1,
        ),
        (
            "torus:5x5,links=2",
            lanes(8),
            EngineUsed::Layered,
            false,
            600,
        ),
        ("torus:4x4", lanes(6), EngineUsed::Layered, true, 100),
        (
            "fattree:16,radix=4",
            lanes(2),
            EngineUsed::Layered,
            true,
            100,
        ),
        (
            "pgft:2;6,4;1,3;1,2;radix=12",
            lanes(2),
            EngineUsed::Layered,
            true,
            100,
        ),
    ];
    for (spec, settings, engine, parallel, fewest) in cases {
        for lmc in [0, 1] {
            let topology = fabric(spec, lmc);
            let routed = route(&topology, &adaptive(settings.clone())).unwrap();
            assert_eq!(
                (routed.engine(), routed.notes()),
                (engine, &[][..]),
                "{spec}"
            );
            let choices = judge(&topology, &routed, true).unwrap();
            assert!(choices >= fewest, "{spec}: {choices} choices");
            assert!(
                !parallel || has_parallel_links(&topology, &routed),
                "{spec}"
            );
        }
    }
}

/// Rings in three dimensions, whole and damaged, in two lanes and in more: where both ways around a ring of four are
/// equally long, a group has both as long as nothing waits in a circle.
#[test]
fn switches_choose_on_a_torus_of_three_dimensions() {
    for (seed, per_mille) in [(0, 0), (1, 50), (2, 50), (3, 50)] {
        let mut topology = fabric("torus:4x4x4", 0);
        degrade(&mut topology, seed, per_mille);
        for lanes in [2, 8] {
            let what = format!("seed {seed}, {per_mille} per mille gone, {lanes} lanes");
            let routed = route(&topology, &adaptive(dor(&[4, 4, 4], 1, true, lanes))).unwrap();
            let choices = judge(&topology, &routed, false).expect(&what);
            assert!(choices >= 1_000, "{what}: {choices} choices");
            // With two lanes only as long as no destination needs detours.
            let is_dor = routed.engine() == EngineUsed::Dor;
            assert!(is_dor || (lanes == 2 && per_mille > 0), "{what}");
        }
    }
}

/// Settings under which each engine of lanes or of its own order routes with groups.
fn cases() -> Vec<(&'static str, Settings)> {
    let layered = Settings {
        lanes: 3,
        ..settings(EngineKind::Layered, 1)
    };
    vec![
        ("torus:4x3,links=2", dor(&[4, 3], 2, true, 8)),
        ("mesh:4x4,links=2", dor(&[4, 4], 2, false, 2)),
        ("mesh:2x2x2x2,links=2", settings(EngineKind::Hypercube, 1)),
        ("torus:4x4", layered),
    ]
}

/// Choices that remain, compared with a switch that has room for all.
struct Kept {
    groups: usize,
    worth: u64,
    /// Value of the first sets, in order of the switches that they lead to.
    first_come: u64,
}

fn kept(
    all: &Routed,
    few: &Routed,
    (at, room): (SwitchIndex, usize),
    order: &[Lid],
) -> Result<Kept, String> {
    let choice = |group: Option<&PortMask>| group.map_or(0, |ports| u64::from(ports.len()) - 1);
    let mut kept = Kept {
        groups: few.groups().switches[at.0 as usize].groups.len(),
        worth: 0,
        first_come: 0,
    };
    let mut first: BTreeSet<PortMask> = BTreeSet::new();
    for lid in order {
        let (wide, own) = (all.groups().group(at, *lid), few.groups().group(at, *lid));
        kept.worth += choice(own);
        if let Some(own) = own {
            let entry = few.linear().egress(at, *lid).unwrap();
            let wide = wide.ok_or("a group out of nothing")?;
            if *own & *wide != *own || own.len() < 2 {
                return Err(format!(
                    "{at:?} {lid}: {own:?} is no choice out of {wide:?} {entry}"
                ));
            }
        }
        if let Some(wide) = wide {
            if first.len() < room {
                first.insert(*wide);
            }
            kept.first_come += if first.contains(wide) {
                choice(Some(wide))
            } else {
                0
            };
        }
    }
    Ok(kept)
}

/// LIDs by the switch that they are on.
fn by_switch(topology: &Topology) -> Vec<Lid> {
    let mut order: BTreeMap<NodeId, Vec<Lid>> = BTreeMap::new();
    for (lid, end) in lids(topology) {
        order
            .entry(home(topology, end).unwrap_or(end.node))
            .or_default()
            .push(lid);
    }
    order.into_values().flatten().collect()
}

/// Up and then down is as short as possible for every HFI, but not for a switch without any: a choice
/// of its shortest paths leads to a neighbour that sends back.
#[test]
fn groups_go_up_and_down_where_their_routes_do() {
    let links = [(7, 5), (8, 4), (8, 6), (9, 4), (6, 5), (0, 9), (7, 9)];
    for lanes in 1..4 {
        let topology = irregular(10, &links, &[5, 6, 0, 0]);
        let settings = Settings {
            lanes,
            ..settings(EngineKind::Layered, 1)
        };
        let routed = route(&topology, &adaptive(settings)).unwrap();
        let refused = |note: &Note| matches!(note, Note::GroupsRefused { .. });
        assert!(!routed.notes().iter().any(refused), "{:?}", routed.notes());
        judge(&topology, &routed, false).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn groups_of_damaged_fabrics_close_no_cycle(seed in any::<u64>(), per_mille in 0u64..300, which in 0usize..4) {
        let (spec, settings) = cases().swap_remove(which);
        let mut topology = fabric(spec, 0);
        degrade(&mut topology, seed, per_mille);
        let routed = route(&topology, &adaptive(settings)).unwrap();
        let refused = routed.notes().iter().any(|note| matches!(note, Note::GroupsRefused { .. }));
        let own = matches!(routed.engine(), EngineUsed::Dor | EngineUsed::Hypercube | EngineUsed::Layered);
        prop_assert!(!(refused && own), "{:?}", routed.notes());
        let judged = judge(&topology, &routed, false);
        prop_assert!(judged.is_ok(), "{}: {judged:?}", routed.engine());
    }

    #[test]
    fn groups_of_irregular_fabrics_close_no_cycle(
        switches in 1usize..12,
        links in prop::collection::vec((0usize..12, 0usize..12), 0..40),
        hosts in prop::collection::vec(0usize..12, 1..16),
        lanes in 1u8..5,
    ) {
        let topology = irregular(switches, &links, &hosts);
        let settings = Settings { lanes, ..settings(EngineKind::Layered, 1) };
        let routed = route(&topology, &adaptive(settings.clone())).unwrap();
        prop_assert!(routed.notes().iter().all(|note| matches!(note, Note::Detours { .. })), "{:?}", routed.notes());
        let detours = !routed.notes().is_empty();
        let judged = judge(&topology, &routed, !detours);
        prop_assert!(judged.is_ok(), "{judged:?}");
        // Groups change no route.
        let without = route(&topology, &settings).unwrap();
        prop_assert_eq!(without.linear(), routed.linear());
    }

    #[test]
    fn few_groups_are_worth_more_than_the_first_ones(
        seed in any::<u64>(),
        per_mille in 0u64..300,
        room in 1u8..6,
        entries in 8u32..200,
        which in 0usize..3,
    ) {
        let (spec, engine, tiers) = [
            ("pgft:2;4,6;1,6;1,1;radix=12", EngineKind::Dmodc, 2),
            ("pgft:3;2,3,3;1,3,3;1,1,2;radix=12", EngineKind::FatTree, 3),
            ("pgft:2;4,4;1,3;1,2;radix=12", EngineKind::Layered, 2),
        ][which];
        let mut topology = fabric(spec, 1);
        degrade(&mut topology, seed, per_mille);
        let settings = adaptive(settings(engine, tiers));
        let mut route_in = |room: u8| {
            for node in topology.switches().to_vec() {
                let info = topology.node_mut(node).unwrap().switch.as_mut().unwrap();
                info.port_group_cap = room;
                info.port_group_fdb_cap = entries;
            }
            route(&topology, &settings).unwrap()
        };
        let (all, few) = (route_in(254), route_in(room));
        prop_assert_eq!(all.linear(), few.linear());
        let refused = |routed: &Routed| routed.groups().switches.is_empty();
        if refused(&all) {
            return Ok(());
        }
        // Subsets of admitted groups are admitted, too.
        prop_assert!(!refused(&few), "{:?}", few.notes());
        let order = by_switch(&topology);
        for at in (0..topology.switches().len() as u32).map(SwitchIndex) {
            let fdb = few.groups().switches[at.0 as usize].fdb.len();
            prop_assert!(fdb <= entries as usize, "{fdb} entries");
            let kept = kept(&all, &few, (at, usize::from(room)), &order).map_err(TestCaseError::fail)?;
            prop_assert!(kept.groups <= usize::from(room));
            prop_assert!(kept.worth >= kept.first_come, "{at:?}: {} < {}", kept.worth, kept.first_come);
        }
    }
}
