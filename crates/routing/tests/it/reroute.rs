//! Rerouting after a change equals routing from scratch, and so does its certificate.
#![allow(clippy::unwrap_used)]

use crate::common::{fabric, irregular, no_groups, settings};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use weft_fabric::enums::{LinkWidth, PortState};
use weft_fabric::{Lid, NodeId, Port, PortNum, PortRef, SwitchIndex, Topology};
use weft_routing::{
    AdaptiveSettings, EngineKind, EngineUsed, Old, Routed, Settings, Tables, certify_transition,
    reroute, route,
};
use weft_wire::sm::PortInfo;

/// The fabric without some of its cables, counted modulo their number.
fn without(whole: &Topology, cables: &[usize]) -> Topology {
    let links: Vec<(PortRef, PortRef)> = whole.links().collect();
    let mut topology = whole.clone();
    for cable in cables {
        topology.disconnect(links[cable % links.len()].0);
    }
    topology
}

fn alike(again: &Routed, anew: &Routed) -> Result<(), TestCaseError> {
    prop_assert_eq!(again.engine(), anew.engine());
    prop_assert_eq!(again.notes(), anew.notes());
    prop_assert_eq!(again.linear(), anew.linear());
    prop_assert_eq!(again.groups(), anew.groups());
    prop_assert_eq!(again.certificate(), anew.certificate());
    Ok(())
}

/// Goes through several states of a fabric, each given by the cables that it lacks.
fn check(
    whole: &Topology,
    settings: &Settings,
    states: &[Vec<usize>],
) -> Result<(), TestCaseError> {
    let mut held = route(whole, settings).unwrap();
    for cables in states {
        let topology = without(whole, cables);
        let anew = route(&topology, settings).unwrap();
        let again = reroute(&held, &topology, settings).unwrap();
        alike(&again, &anew)?;
        let groups = no_groups();
        let tables = |linear| Tables {
            linear,
            groups: &groups,
        };
        let old = tables(&**held.linear());
        let known = again.transition(Old::of(old));
        let judged = certify_transition(&topology, old, tables(anew.linear())).unwrap();
        prop_assert_eq!(known.plan.phases, judged.plan.phases);
        prop_assert_eq!(known.plan.drained, judged.plan.drained);
        prop_assert_eq!(known.middle, judged.middle);
        held = again;
    }
    Ok(())
}

fn states() -> impl Strategy<Value = Vec<Vec<usize>>> {
    let state = prop::collection::vec(any::<usize>(), 0..4);
    prop::collection::vec(state, 1..5)
}

fn engine() -> impl Strategy<Value = EngineKind> {
    prop_oneof![
        4 => Just(EngineKind::Dmodc),
        2 => Just(EngineKind::Automatic),
        1 => Just(EngineKind::FatTree),
        1 => Just(EngineKind::ShortestPath),
    ]
}

const TREES: [(&str, u8); 5] = [
    ("fattree:32,radix=8", 2),
    ("fattree:54,radix=6", 3),
    ("pgft:2;4,4;1,2;1,2;radix=8", 2),
    ("pgft:3;2,3,4;1,2,3;1,1,2;radix=12", 3),
    ("pgft:3;4,3,3;1,3,2;1,2,1;radix=12", 3),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn trees(
        which in 0..TREES.len(),
        lmc in 0u8..3,
        engine in engine(),
        adaptive in any::<bool>(),
        states in states(),
    ) {
        let (spec, tiers) = TREES[which];
        let settings = Settings {
            adaptive: adaptive.then(AdaptiveSettings::default),
            ..settings(engine, tiers)
        };
        check(&fabric(spec, lmc), &settings, &states)?;
    }

    #[test]
    fn irregular_fabrics(
        links in prop::collection::vec((0usize..9, 0usize..9), 8..20),
        hosts in prop::collection::vec(0usize..9, 2..9),
        engine in engine(),
        states in states(),
    ) {
        let whole = irregular(9, &links, &hosts);
        check(&whole, &settings(engine, 3), &states)?;
    }
}

#[test]
fn a_link_that_comes_back_brings_the_old_tables_back() {
    let whole = fabric("fattree:128,radix=8", 0);
    let settings = settings(EngineKind::Dmodc, 3);
    let before = route(&whole, &settings).unwrap();
    let cables = whole.links().count();
    for cable in (128..cables).step_by(11) {
        let lost = reroute(&before, &without(&whole, &[cable]), &settings).unwrap();
        assert_eq!(lost.engine(), EngineUsed::Dmodc);
        assert_ne!(lost.linear(), before.linear(), "cable {cable}");
        let back = reroute(&lost, &whole, &settings).unwrap();
        assert_eq!(back.linear(), before.linear(), "cable {cable}");
        assert_eq!(back.certificate(), before.certificate());
    }
}

#[test]
fn switches_whose_entries_stay_share_their_rows() {
    let whole = fabric("fattree:128,radix=8", 0);
    let settings = settings(EngineKind::Dmodc, 3);
    let before = route(&whole, &settings).unwrap();
    // A cable between the two upper tiers: the switches of other planes keep all they have.
    let is_upper = |end: &PortRef| {
        let ports = whole.node(end.node).unwrap().external_ports();
        let mut far = ports.filter_map(|(_, port)| port.peer);
        whole.switch_index(end.node).is_some()
            && far.all(|far| whole.switch_index(far.node).is_some())
    };
    let cable = whole.links().find(|(a, b)| is_upper(a) && is_upper(b));
    let mut topology = whole.clone();
    topology.disconnect(cable.unwrap().0);
    let after = reroute(&before, &topology, &settings).unwrap();
    let shared = (0..whole.switches().len() as u32)
        .map(SwitchIndex)
        .filter(|switch| {
            let rows = [&before, &after].map(|routed| routed.linear().row_shared(*switch).unwrap());
            std::sync::Arc::ptr_eq(rows[0], rows[1])
        });
    let shared = shared.count();
    assert!(shared * 2 > whole.switches().len(), "{shared}");
    assert!(shared < whole.switches().len());
}

fn addresses(routed: &Routed) -> Vec<*const u8> {
    let linear = routed.linear();
    let switches = (0..linear.len() as u32).map(SwitchIndex);
    let rows = switches.map(|switch| linear.row(switch).as_ptr());
    rows.collect()
}

#[test]
fn replaced_rows_are_written_again_where_nobody_reads_them() {
    let whole = fabric("fattree:128,radix=8", 0);
    let settings = settings(EngineKind::Dmodc, 3);
    let lost = without(&whole, &[130]);
    for is_read in [false, true] {
        let first = route(&whole, &settings).unwrap();
        let before = addresses(&first);
        let second = reroute(&first, &lost, &settings).unwrap();
        let first = is_read.then_some(first);
        let third = reroute(&second, &whole, &settings).unwrap();
        let rows = before.iter().zip(addresses(&second));
        let rows = rows.zip(addresses(&third));
        let replaced = rows.filter(|((first, second), _)| *first != second);
        let (again, anew): (Vec<_>, Vec<_>) =
            replaced.partition(|((first, _), third)| *first == third);
        if is_read {
            assert!(again.is_empty());
        } else {
            // The two switches at the cable get rows from nothing.
            assert!(again.len() > anew.len() && anew.len() <= 2, "{again:?}");
        }
        let tables = first.unwrap_or_else(|| route(&whole, &settings).unwrap());
        assert_eq!(tables.linear(), third.linear(), "{is_read}");
    }
}

/// Possible changes at a switch while no other node changes.
fn changes_at(whole: &Topology, switch: NodeId) -> Vec<(&'static str, Topology)> {
    let ports: Vec<_> = whole.node(switch).unwrap().external_ports().collect();
    let to = |is_switch: bool| {
        let leads = |port: &&(PortNum, &Port)| {
            let far = port
                .1
                .peer
                .map(|far| whole.switch_index(far.node).is_some());
            far == Some(is_switch)
        };
        ports.iter().find(leads).unwrap().0
    };
    let (host, link) = (to(false), to(true));
    let with = |port: PortNum, change: &dyn Fn(&mut PortInfo)| {
        let mut topology = whole.clone();
        let node = topology.node_mut(switch).unwrap();
        change(&mut node.port_mut(port).unwrap().info);
        topology
    };
    vec![
        ("its LID", with(PortNum(0), &|info| info.lid = Lid(900))),
        ("no LID", with(PortNum(0), &|info| info.lid = Lid(0))),
        (
            "host down",
            with(host, &|info| info.port_state = PortState::DOWN),
        ),
        (
            "link down",
            with(link, &|info| info.port_state = PortState::DOWN),
        ),
        (
            "link narrower",
            with(link, &|info| info.link_width_active = LinkWidth::X1),
        ),
        ("nothing", with(link, &|_| {})),
    ]
}

#[test]
fn what_changes_at_one_switch_alone_is_seen() {
    let whole = fabric("pgft:3;2,3,4;1,2,3;1,1,2;radix=12", 0);
    let settings = settings(EngineKind::Dmodc, 3);
    let before = route(&whole, &settings).unwrap();
    let leaves = whole.switches().iter().step_by(5).take(2);
    for (what, topology) in leaves.flat_map(|switch| changes_at(&whole, *switch)) {
        let anew = route(&topology, &settings).unwrap();
        let again = reroute(&before, &topology, &settings).unwrap();
        assert_eq!(again.linear(), anew.linear(), "{what}");
        assert_eq!(again.certificate(), anew.certificate(), "{what}");
        let back = reroute(&again, &whole, &settings).unwrap();
        assert_eq!(back.linear(), before.linear(), "{what}, and back");
        assert_eq!(back.certificate(), before.certificate(), "{what}, and back");
    }
}

#[test]
fn other_lids_are_routed_anew() {
    let whole = fabric("fattree:32,radix=8", 0);
    let settings = settings(EngineKind::Dmodc, 2);
    let before = route(&whole, &settings).unwrap();
    let mut moved = whole.clone();
    let (hfi, _) = whole.hfis().next().unwrap();
    let port = moved.node_mut(hfi).unwrap().port_mut(PortNum(1)).unwrap();
    port.info.lid = weft_fabric::Lid(100);
    let again = reroute(&before, &moved, &settings).unwrap();
    let anew = route(&moved, &settings).unwrap();
    assert_eq!(again.linear(), anew.linear());
    assert_eq!(again.certificate(), anew.certificate());
}
