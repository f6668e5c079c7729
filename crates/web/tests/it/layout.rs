//! Nodes and cables in order.

use std::collections::BTreeMap;

use weft_fabric::{NodeId, PortRef, Topology, TopologyBuilder};
use weft_health::{Gone, GoneNode, LinkKey, Page};
use weft_web::{Layout, NO_PEER};

use crate::{fabric, guid};

/// The layout of a fabric that misses nothing.
fn fresh(topology: &Topology) -> Layout {
    Layout::of(topology, &Layout::default(), &Page::default(), true)
}

struct Read {
    guids: Vec<u64>,
    tiers: Vec<u8>,
    pods: Vec<u16>,
    first: Vec<usize>,
    peers: Vec<u32>,
}

fn read(layout: &Layout) -> Read {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    let mut first = vec![0];
    for ports in layout.ports() {
        first.push(first[first.len() - 1] + usize::from(ports));
    }
    let pods = layout.pods();
    let pods = pods
        .chunks(2)
        .map(|two| u16::from_le_bytes([two[0], two[1]]));
    let peers = layout.peers();
    let peers = peers
        .chunks(4)
        .map(|four| u32::from_le_bytes(four.try_into().unwrap()));
    Read {
        guids: layout.guids().chunks(8).map(word).collect(),
        tiers: layout.tiers(),
        pods: pods.collect(),
        first,
        peers: peers.collect(),
    }
}

#[test]
fn every_node_and_cable_of_a_fabric_is_in_the_layout_once() {
    for spec in [
        "one-switch:3",
        "back-to-back",
        "fattree:1152",
        "pgft:3;4,4,4;1,4,4;1,1,1",
        "torus:3x3",
        "swd06",
    ] {
        let topology = fabric(spec);
        let layout = fresh(&topology);
        let read = read(&layout);
        assert_eq!(read.guids.len(), topology.len(), "{spec}");
        let mut sorted = read.guids.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), topology.len(), "{spec}");
        assert_eq!(layout.names().len(), topology.len());
        assert_eq!(read.first[topology.len()], read.peers.len());
        let ends = read.peers.iter().filter(|peer| **peer != NO_PEER).count();
        assert_eq!(ends, 2 * topology.links().count(), "{spec}");
        for (port, peer) in read.peers.iter().enumerate() {
            let back = read.peers.get(*peer as usize).copied();
            assert!(*peer == NO_PEER || back == Some(port as u32), "{spec}");
        }
        let at = |end: weft_fabric::PortRef| {
            let guid = guid(&topology, end).0;
            let node = read.guids.iter().position(|one| *one == guid).unwrap();
            read.first[node] + usize::from(end.port.0) - 1
        };
        for (a, b) in topology.links().take(50) {
            assert_eq!(read.peers[at(a)] as usize, at(b), "{spec}");
        }
    }
}

#[test]
fn switches_come_from_the_highest_tier_down_and_hosts_in_the_order_of_their_switches() {
    let topology = fabric("fattree:1152");
    let read = read(&fresh(&topology));
    let hosts = read.tiers.iter().position(|tier| *tier == 0).unwrap();
    assert!(read.tiers[hosts..].iter().all(|tier| *tier == 0));
    assert!(read.tiers[..hosts].is_sorted_by(|a, b| a >= b));
    let peers = (hosts..read.guids.len()).map(|host| read.peers[read.first[host]]);
    assert!(peers.is_sorted(), "a host stands where its cable leads");
}

#[test]
fn pods_are_what_hangs_together_without_the_highest_tier() {
    let topology = fabric("fattree:1152");
    let two = read(&fresh(&topology));
    assert!(two.pods.iter().all(|pod| *pod == 0), "two tiers have none");
    let topology = fabric("pgft:3;4,4,4;1,4,4;1,1,1");
    let three = read(&fresh(&topology));
    let highest = *three.tiers.iter().max().unwrap();
    assert_eq!(highest, 3);
    for (tier, pod) in three.tiers.iter().zip(&three.pods) {
        assert_eq!(*tier == highest, *pod == 0, "tier {tier}");
    }
    for (node, pod) in three.pods.iter().enumerate() {
        for port in three.first[node]..three.first[node + 1] {
            let Some(other) = three.peers.get(port).filter(|peer| **peer != NO_PEER) else {
                continue;
            };
            let other = three
                .first
                .partition_point(|first| first <= &(*other as usize))
                - 1;
            let (a, b) = (*pod, three.pods[other]);
            assert!(
                a == b || a == 0 || b == 0,
                "no cable leads from pod {a} to {b}"
            );
        }
    }
}

#[test]
fn an_empty_fabric_has_an_empty_layout() {
    let layout = fresh(&Topology::default());
    assert!(layout.guids().is_empty() && layout.peers().is_empty());
}

#[test]
fn a_lost_cable_keeps_its_place_until_another_is_in_its_port() {
    let mut topology = fabric("fattree:1152");
    let before = fresh(&topology);
    let links: Vec<_> = topology.links().collect();
    let between = links.iter().rfind(|(a, b)| {
        topology.switch_index(a.node).is_some() && topology.switch_index(b.node).is_some()
    });
    let (a, b) = *between.unwrap();
    assert!(topology.disconnect(a));
    let after = Layout::of(&topology, &before, &Page::default(), false);
    assert_eq!(after.peers(), before.peers());
    assert_ne!(fresh(&topology).peers(), before.peers());
    // The cable of another port is in one of its ends: it leads nowhere else now.
    let (c, _) = *links
        .iter()
        .find(|(c, _)| c.node != a.node && c.node != b.node)
        .unwrap();
    topology.disconnect(c);
    topology.plug_cable(a, c);
    let after = Layout::of(&topology, &before, &Page::default(), false);
    assert_ne!(after.peers(), before.peers());
    let peers = after.peers();
    let lost = peers
        .chunks(4)
        .filter(|four| **four == NO_PEER.to_le_bytes())
        .count();
    let was = before.peers();
    let was = was
        .chunks(4)
        .filter(|four| **four == NO_PEER.to_le_bytes())
        .count();
    assert_eq!(lost, was + 2, "the far ends of the two cables");
}

/// A fabric without some of its nodes, and the page that misses them.
fn without(whole: &Topology, lost: &[NodeId]) -> (Topology, Page) {
    let mut fabric = TopologyBuilder::new();
    let mut ids = BTreeMap::new();
    for (id, node) in whole.nodes().filter(|(id, _)| !lost.contains(id)) {
        let mut node = node.clone();
        let ports: Vec<_> = node.ports().map(|(port, _)| port).collect();
        for port in ports {
            node.port_mut(port).unwrap().peer = None;
        }
        ids.insert(id, fabric.add(node).unwrap());
    }
    let mut cables: Vec<LinkKey> = Vec::new();
    for (a, b) in whole.links() {
        let at = |end: PortRef| {
            let node = *ids.get(&end.node)?;
            Some(PortRef { node, ..end })
        };
        match (at(a), at(b)) {
            (Some(a), Some(b)) => fabric.connect(a, b).unwrap(),
            _ => cables.push(((guid(whole, a), a.port), (guid(whole, b), b.port))),
        }
    }
    let nodes = lost.iter().map(|id| {
        let node = whole.node(*id).unwrap();
        GoneNode {
            guid: node.guid(),
            name: node.name(),
            is_switch: node.is_switch(),
        }
    });
    let gone = Gone {
        nodes: nodes.collect(),
        cables,
    };
    let page = Page {
        gone,
        ..Page::default()
    };
    (fabric.build().unwrap(), page)
}

#[test]
fn hosts_of_a_switch_that_is_gone_stay_where_they_were() {
    for spec in ["fattree:1152", "pgft:3;4,4,4;1,4,4;1,1,1"] {
        let whole = fabric(spec);
        let (_, first) = whole.hfis().next().unwrap();
        let edge = first.external_ports().find_map(|(_, port)| port.peer);
        let edge = edge.unwrap().node;
        let below = whole.node(edge).unwrap().external_ports();
        let below = below.filter_map(|(_, port)| Some(port.peer?.node));
        let below = below.filter(|id| whole.switch_index(*id).is_none());
        let lost: Vec<NodeId> = below.chain([edge]).collect();
        assert!(lost.len() > 4, "{spec}");
        let (fabric, page) = without(&whole, &lost);
        let before = fresh(&whole);
        let then = read(&before);
        // Whether somebody saw them there before, or not since the daemon has started.
        for before in [&before, &Layout::default()] {
            let layout = Layout::of(&fabric, before, &page, true);
            let now = read(&layout);
            let place = |read: &Read, id: NodeId| {
                let guid = whole.node(id).unwrap().guid().0;
                read.guids.iter().position(|one| *one == guid).unwrap()
            };
            assert_eq!(now.guids.len(), whole.len(), "{spec}");
            let ends = |read: &Read| read.peers.iter().filter(|peer| **peer != NO_PEER).count();
            assert_eq!(ends(&now), ends(&then), "{spec}: all cables");
            let switch = place(&now, edge);
            assert_eq!(now.tiers[switch], 1, "{spec}");
            // As many ports as were seen, or as cables tell.
            let ports = whole.node(edge).unwrap().external_ports();
            let known = match before.names().is_empty() {
                true => ports.filter(|(_, port)| port.peer.is_some()).count(),
                false => ports.len(),
            };
            assert_eq!(now.first[switch + 1] - now.first[switch], known, "{spec}");
            for (id, _) in whole.hfis() {
                assert_eq!(now.tiers[place(&now, id)], 0, "{spec}");
            }
            for id in &lost {
                assert_eq!(now.pods[place(&now, *id)], now.pods[switch], "{spec}");
            }
            // Hosts stand in the order of the ports at their switches, those that are gone too.
            let hosts = now.tiers.iter().position(|tier| *tier == 0).unwrap();
            let peers = (hosts..now.guids.len()).map(|host| now.peers[now.first[host]]);
            assert!(peers.is_sorted(), "{spec}");
        }
        // Once it is forgotten, it has no place.
        let layout = Layout::of(&fabric, &before, &Page::default(), true);
        assert_eq!(layout.names().len(), whole.len() - lost.len(), "{spec}");
    }
}

#[test]
fn a_switch_above_others_that_is_gone_is_above_them() {
    let whole = fabric("pgft:3;4,4,4;1,4,4;1,1,1");
    let then = read(&fresh(&whole));
    for tier in [2, 3] {
        let at = then.tiers.iter().position(|own| *own == tier).unwrap();
        let id = whole.find(weft_fabric::Guid(then.guids[at])).unwrap();
        let (fabric, page) = without(&whole, &[id]);
        let now = read(&Layout::of(&fabric, &Layout::default(), &page, true));
        let at = now.guids.iter().position(|guid| *guid == then.guids[at]);
        assert_eq!(now.tiers[at.unwrap()], tier);
    }
}
