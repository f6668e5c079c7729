//! Random degraded trees and random irregular fabrics, judged by the oracle.
#![allow(clippy::unwrap_used)]

use crate::common::{degrade, fabric, irregular, judge_lanes, routed, settings};
use proptest::prelude::*;
use weft_fabric::enums::LinkWidth;
use weft_fabric::{NodeId, PortRef, SwitchIndex, Topology};
use weft_routing::{EngineKind, EngineUsed, Settings};

const ENGINES: [EngineKind; 4] = [
    EngineKind::Layered,
    EngineKind::Dmodc,
    EngineKind::FatTree,
    EngineKind::ShortestPath,
];

fn check(topology: &Topology, engine: EngineKind, tiers: u8) -> Result<(), TestCaseError> {
    let settings = Settings {
        lanes: 3,
        ..settings(engine, tiers)
    };
    let routed = routed(topology, &settings);
    let minimal = matches!(
        routed.engine(),
        EngineUsed::ShortestPath | EngineUsed::FatTree
    );
    let judged = judge_lanes(topology, routed.linear(), routed.lanes(), minimal);
    prop_assert!(judged.is_ok(), "{:?}: {judged:?}", routed.engine());
    let hops = crate::common::hops(topology);
    let lids = crate::common::lids(topology);
    let homes = lids
        .iter()
        .map(|(_, end)| crate::common::home(topology, *end));
    let arrive: usize = homes
        .flatten()
        .map(|home| {
            topology
                .switches()
                .iter()
                .filter(|from| hops.contains_key(&(**from, home)))
                .count()
        })
        .sum();
    prop_assert_eq!(routed.certificate().routes(), arrive as u64);
    let all = lids.len() * topology.switches().len();
    prop_assert_eq!(routed.certificate().disconnected(), (all - arrive) as u64);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn degraded_trees(seed in any::<u64>(), per_mille in 0u64..400, which in 0usize..3, lmc in 0u8..3) {
        let (spec, tiers) = [
            ("fattree:16,radix=4", 3),
            ("pgft:2;4,4;1,2;1,2;radix=8", 2),
            ("pgft:3;2,3,2;1,2,3;1,1,2;radix=12", 3),
        ][which];
        let mut topology = fabric(spec, lmc);
        degrade(&mut topology, seed, per_mille);
        for engine in ENGINES {
            check(&topology, engine, tiers)?;
        }
    }

    #[test]
    fn irregular_fabrics(
        switches in 1usize..12,
        links in prop::collection::vec((0usize..12, 0usize..12), 0..40),
        hosts in prop::collection::vec(0usize..12, 1..16),
    ) {
        let topology = irregular(switches, &links, &hosts);
        for engine in ENGINES {
            check(&topology, engine, 3)?;
        }
    }

    #[test]
    fn a_narrow_link_is_avoided_where_a_detour_costs_less(lanes in 1u16..5) {
        // A triangle: the direct link has fewer lanes than the two on the detour.
        let mut topology = irregular(3, &[(0, 1), (1, 2), (0, 2)], &[0, 2]);
        let switches = topology.switches().to_vec();
        let direct = topology.links().find(|(a, b)| a.node == switches[0] && b.node == switches[2]);
        let (a, b) = direct.unwrap();
        for end in [a, b] {
            let port = topology.node_mut(end.node).unwrap().port_mut(end.port).unwrap();
            port.info.link_width_downgrade_tx_active = LinkWidth(1 << (lanes - 1));
        }
        let routed = routed(&topology, &settings(EngineKind::ShortestPath, 1));
        let lid = topology.hfis().nth(1).unwrap().1.ports().next().unwrap().1.info.lid;
        let entry = routed.linear().egress(topology.switch_index(switches[0]).unwrap(), lid);
        // One lane costs 48, two cost 24 as two hops of four lanes do: the direct link ties, and
        // the wider port wins.
        let is_direct = entry == Some(a.port);
        match lanes {
            1 | 2 => prop_assert!(!is_direct),
            _ => prop_assert!(is_direct),
        }
    }
}

#[test]
fn a_dead_end_that_is_pulled_changes_no_other_route() {
    let ring = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)];
    let links: Vec<(usize, usize)> = ring.into_iter().chain([(3, 5)]).collect();
    let whole = irregular(6, &links, &[0, 1, 2, 3, 4]);
    let dead_end: NodeId = whole.switches()[5];
    let (port, _) = whole
        .node(dead_end)
        .unwrap()
        .external_ports()
        .find(|(_, port)| port.peer.is_some())
        .unwrap();
    let mut rest = whole.clone();
    rest.disconnect(PortRef {
        node: dead_end,
        port,
    });
    let settings = settings(EngineKind::ShortestPath, 0);
    let (with, without) = (routed(&whole, &settings), routed(&rest, &settings));
    assert_eq!([with.engine(), without.engine()], [EngineUsed::UpDown; 2]);
    // All LIDs but that of the dead end, which is the last one.
    for switch in (0..5).map(SwitchIndex) {
        let rows = [&with, &without].map(|routed| &routed.linear().row(switch)[..11]);
        assert_eq!(rows[0], rows[1]);
    }
}
