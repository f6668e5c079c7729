//! Debian's ibdmchk judges our tables: files as OpenSM dumps them, of generated fabrics.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::common::damage::{activate, routed_damages};
use crate::common::judges::{Checked, ibdmchk, opareport};
use crate::common::{change, fabric, home, no_groups, owner, port_to, routed, settings, walk};
use weft_fabric::export::write_subnet_list;
use weft_fabric::{Lid, LinearTables, NodeId, PortNum, PortRef, Topology, TopologyBuilder};
use weft_routing::{EngineKind, Finding, Routed, Tables, certify};

/// The part of a fabric with most HFIs, as a fabric of its own, and its tables.
fn largest_part(topology: &Topology, routed: &Routed) -> (Topology, LinearTables) {
    let hfis_on = |part: &Vec<NodeId>| {
        let on = |at: &NodeId| home(topology, hfi_port(*at)).is_some_and(|at| part.contains(&at));
        topology.hfis().filter(|(node, _)| on(node)).count()
    };
    let parts = routed.certificate().parts();
    let part = parts.iter().max_by_key(|part| hfis_on(part)).unwrap();
    let inside = |node: &NodeId| match topology.switch_index(*node) {
        Some(_) => part.contains(node),
        None => home(topology, hfi_port(*node)).is_some_and(|at| part.contains(&at)),
    };
    let nodes: Vec<NodeId> = topology
        .nodes()
        .map(|(node, _)| node)
        .filter(inside)
        .collect();
    let mut builder = TopologyBuilder::new();
    for node in &nodes {
        let mut copy = topology.node(*node).unwrap().clone();
        for number in 0..=copy.info.num_ports {
            if let Some(port) = copy.port_mut(PortNum(number)) {
                port.peer = None;
            }
        }
        builder.add(copy).unwrap();
    }
    let place = |end: PortRef| {
        let node = nodes.iter().position(|node| *node == end.node)?;
        Some(PortRef {
            node: NodeId(node as u32),
            ..end
        })
    };
    for (a, b) in topology.links() {
        if let (Some(a), Some(b)) = (place(a), place(b)) {
            builder.connect(a, b).unwrap();
        }
    }
    let switches = nodes.iter().filter_map(|node| topology.switch_index(*node));
    let rows = switches.map(|switch| Arc::clone(routed.linear().row_shared(switch).unwrap()));
    let tables = LinearTables::new(rows.collect()).with_lanes(Arc::clone(routed.lanes()));
    (builder.build().unwrap(), tables)
}

fn hfi_port(node: NodeId) -> PortRef {
    let port = PortNum(1);
    PortRef { node, port }
}

/// Pairs of HFIs with a cable each.
fn pairs(topology: &Topology) -> u64 {
    let cabled = |node: &NodeId| home(topology, hfi_port(*node)).is_some();
    let hfis = topology.hfis().filter(|(node, _)| cabled(node)).count() as u64;
    hfis * hfis.saturating_sub(1)
}

#[test]
fn every_engine_is_judged_sound_on_every_damage() {
    let mut judged = 0;
    for (what, topology, routed) in routed_damages() {
        let Some(whole) = ibdmchk(&topology, routed.linear()) else {
            return;
        };
        let joined = is_joined(&topology);
        assert_eq!(whole.unreachable, !joined, "{what}\n{}", whole.text);
        let (checked, pairs) = match joined {
            true => (whole, pairs(&topology)),
            false => {
                let (part, tables) = largest_part(&topology, &routed);
                (ibdmchk(&part, &tables).unwrap(), pairs(&part))
            }
        };
        let Checked {
            paths,
            missing,
            loops,
            text,
            ..
        } = checked;
        // It knows no SCtoSC tables, and so no halves of lanes: for them opareport judges a running fabric.
        let loops = loops.filter(|_| routed.lanes().datelines().is_none());
        let wanted = routed.lanes().datelines().map_or(Some(false), |_| None);
        assert_eq!(
            (paths, missing, loops),
            (pairs, 0, wanted),
            "{what}\n{text}"
        );
        judged += 1;
    }
    println!("{judged} fabrics judged");
}

/// Whether cables lead from every HFI that has one to every other.
fn is_joined(topology: &Topology) -> bool {
    let homes = topology
        .hfis()
        .filter_map(|(node, _)| home(topology, hfi_port(node)));
    let homes: BTreeSet<NodeId> = homes.collect();
    let hops = crate::common::hops(topology);
    homes
        .iter()
        .all(|a| homes.iter().all(|b| hops.contains_key(&(*a, *b))))
}

/// Findings of all three judges on broken tables.
struct Broken {
    topology: Topology,
    linear: LinearTables,
    finding: fn(&Finding) -> bool,
}

fn check_broken(what: &str, broken: &Broken) {
    let Broken {
        topology,
        linear,
        finding,
    } = broken;
    let groups = no_groups();
    let tables = Tables {
        linear,
        groups: &groups,
    };
    let findings = certify(topology, tables).unwrap_err().findings;
    assert!(findings.iter().all(finding), "{what}: {findings:?}");
    let is_cycle = matches!(findings[0], Finding::CreditCycle { .. });
    if let Some(checked) = ibdmchk(topology, linear) {
        let objects = (checked.missing > 0, checked.loops == Some(true));
        assert_eq!(objects, (!is_cycle, is_cycle), "{what}\n{}", checked.text);
    }
    if let Some([routes, loops]) = opareport(topology, linear, &groups) {
        let complete = routes.contains("\n0 Incomplete Route(s)");
        let free = loops.contains("Routes are deadlock free");
        assert_eq!(complete, is_cycle, "{what}\n{routes}");
        assert!(!is_cycle || !free, "{what}\n{loops}");
    }
}

#[test]
fn all_judges_object_to_broken_tables() {
    let mut topology = fabric("fattree:16,radix=8", 0);
    activate(&mut topology);
    let good = LinearTables::clone(routed(&topology, &settings(EngineKind::FatTree, 2)).linear());
    let lid = Lid(16);
    let to = owner(&topology, lid).unwrap();
    let edge = home(&topology, owner(&topology, Lid(1)).unwrap()).unwrap();
    let core = walk(&topology, &good, edge, lid, to).unwrap()[1].0;
    let back = port_to(&topology, core, edge).0;
    let broken = |port: u8, finding| Broken {
        linear: change(&good, &topology, core, lid, port),
        topology: topology.clone(),
        finding,
    };
    check_broken(
        "loop",
        &broken(back, |found| matches!(found, Finding::Loop { .. })),
    );
    let hole = broken(0xFF, |found| matches!(found, Finding::Dropped { .. }));
    check_broken("black hole", &hole);
    let mut ring = fabric("torus:5", 0);
    activate(&mut ring);
    let ring = Broken {
        linear: crate::common::clockwise(&ring),
        topology: ring,
        finding: |found| matches!(found, Finding::CreditCycle { .. }),
    };
    check_broken("credit loop", &ring);
}

#[test]
fn lids_that_infiniband_lacks_are_refused() {
    let mut topology = fabric("one-switch:2", 0);
    let (hfi, _) = topology.hfis().next().unwrap();
    let port = topology
        .node_mut(hfi)
        .unwrap()
        .port_mut(PortNum(1))
        .unwrap();
    port.info.lid = Lid(0xC000);
    let why = write_subnet_list(&topology, Vec::new()).unwrap_err();
    assert_eq!(why.kind(), std::io::ErrorKind::InvalidInput);
    assert!(why.to_string().contains("0xc000"), "{why}");
}
