//! Events about unused links, of more links than a report lists.
#![allow(clippy::unwrap_used)]

use std::ops::Range;

use weft_fabric::{FabricSpec, Node, TopologyBuilder};

use super::*;

/// A fat tree of which some links between switches came up with two of four lanes.
fn tree(narrow: Range<usize>) -> Topology {
    let spec = "fattree:1152".parse::<FabricSpec>().unwrap();
    let mut topology = spec.generate().unwrap();
    let is_switch = |end: &PortRef| topology.switch_index(end.node).is_some();
    let links = topology.links();
    let between = links.filter(|(a, b)| is_switch(a) && is_switch(b));
    let between: Vec<_> = between.collect();
    for (index, (a, b)) in between.into_iter().enumerate() {
        for end in [a, b] {
            let port = topology.node_mut(end.node).unwrap();
            let info = &mut port.port_mut(end.port).unwrap().info;
            info.link_width_supported = LinkWidth::X4;
            info.link_width_downgrade_tx_active = LinkWidth::X4;
            info.link_width_active = match narrow.contains(&index) {
                true => LinkWidth::X2,
                false => LinkWidth::X4,
            };
        }
    }
    topology
}

fn unused(topology: &Topology) -> UnusedLinks {
    UnusedLinks::find(
        topology,
        &Settings::default(),
        &Inactive::default(),
        &Barred::new(),
        &Unintended::default(),
        &Drains::new(),
    )
}

#[test]
fn links_for_which_the_list_has_no_room_any_more_are_not_used_again() {
    let (few, many) = (tree(100..100 + LISTED_MAX), tree(0..100 + LISTED_MAX));
    let (before, now) = (unused(&few), unused(&many));
    assert_eq!(
        (before.count(), now.count()),
        (LISTED_MAX, LISTED_MAX + 100)
    );
    let is_again = |event: &Event| matches!(event, Event::LinkUsedAgain { .. });
    let more = now.changes_since(&before, &many);
    assert_eq!(more.len(), 100);
    assert!(!more.iter().any(is_again), "{more:?}");
    // The first are used again, and others take their places in the list.
    let less = before.changes_since(&now, &few);
    assert_eq!(less.len(), 100);
    assert!(less.iter().all(is_again), "{less:?}");
}

#[test]
fn other_numbers_of_nodes_are_no_change() {
    let topology = tree(0..10);
    let last = topology.len() as u32 - 1;
    let mut builder = TopologyBuilder::new();
    let reversed = topology.nodes_shared().iter().rev();
    for mut node in reversed.map(|node| Node::clone(node)) {
        let numbers: Vec<_> = node.ports().map(|(number, _)| number).collect();
        for number in numbers {
            if let Some(peer) = &mut node.port_mut(number).unwrap().peer {
                peer.node = NodeId(last - peer.node.0);
            }
        }
        builder.add(node).unwrap();
    }
    let renumbered = builder.build().unwrap();
    let now = unused(&renumbered);
    assert_eq!(now.count(), 10);
    assert_eq!(now.changes_since(&unused(&topology), &renumbered), []);
}

/// As opa-fm: besides the width of a policy it asks for the widest that both ends support.
#[test]
fn a_width_is_asked_for_besides_the_widest() {
    let of = |lanes| match lanes {
        2 => LinkWidth::X2,
        _ => LinkWidth::X4,
    };
    for (supported, active, asked, expected) in [
        (4, 2, 2, Some((2, 4))),
        (4, 4, 2, None),
        (2, 2, 2, None),
        (2, 2, 4, Some((2, 4))),
    ] {
        let end = PortInfo {
            link_width_supported: of(supported),
            link_width_active: of(active),
            link_width_downgrade_tx_active: of(active),
            ..PortInfo::default()
        };
        let policy = LinkPolicy {
            width: Least::Of(of(asked)),
            ..LinkPolicy::default()
        };
        let expected = expected.map(|(lanes, least)| UnusedReason::Width { lanes, least });
        assert_eq!(
            refusal(&policy, &end, &end),
            expected,
            "{supported}, {active}, {asked}"
        );
    }
}
