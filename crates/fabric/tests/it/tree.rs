//! Whether a fabric is a clean tree: generated trees are, and each planted fault is named, and no other.
#![allow(clippy::unwrap_used)]

use weft_fabric::tree::{Odd, Tier, Tree};
use weft_fabric::{NodeId, PortRef, Topology};

use crate::common::generate;

fn odd(topology: &Topology) -> Vec<String> {
    Tree::of(topology)
        .odd
        .iter()
        .map(ToString::to_string)
        .collect()
}

/// A link between switches, that of a host, or any, by its place among them.
fn link(topology: &Topology, of_host: bool, place: usize) -> (PortRef, PortRef) {
    let is_switch = |node: NodeId| topology.switch_index(node).is_some();
    let links = topology.links();
    let mut links = links.filter(|(a, b)| (is_switch(a.node) && is_switch(b.node)) != of_host);
    links.nth(place).unwrap()
}

#[test]
fn generated_trees_are_clean() {
    for (spec, tiers) in [
        ("one-switch:4", 1),
        ("pgft:2;4,2;1,2;1,1", 2),
        ("pgft:2;4,2;1,2;1,3", 2),
        ("fattree:1152", 2),
        ("fattree:1152,tiers=3", 3),
    ] {
        let tree = Tree::of(&generate(spec));
        assert_eq!(tree.odd, [], "{spec}");
        assert!(tree.is_clean());
        assert_eq!(tree.tiers.len(), tiers, "{spec}");
    }
    let tree = Tree::of(&generate("pgft:2;4,2;1,2;1,3"));
    let edges = Tier {
        switches: 2,
        down: 4,
        up: 6,
        each: 3,
    };
    let cores = Tier {
        switches: 2,
        down: 6,
        up: 0,
        each: 0,
    };
    assert_eq!((tree.hosts, tree.tiers), (8, vec![edges, cores]));
}

#[test]
fn what_is_missing_is_named() {
    let mut topology = generate("fattree:1152");
    let (edge, core) = link(&topology, false, 7);
    let [edge_name, core_name] = [edge, core].map(|at| topology.node(at.node).unwrap().name());
    topology.disconnect(edge);
    let found = odd(&topology);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains(&format!("links between {edge_name} (")),
        "{found:?}"
    );
    assert!(
        found[0].contains(&format!(" and {core_name} (")),
        "{found:?}"
    );

    let mut topology = generate("fattree:1152,tiers=3");
    let (lower, upper) = link(&topology, false, 7);
    topology.disconnect(lower);
    let found = Tree::of(&topology).odd;
    let (up, down) = (
        found
            .iter()
            .any(|odd| matches!(odd, Odd::Up { found, usual, .. } if found + 1 == *usual)),
        found
            .iter()
            .any(|odd| matches!(odd, Odd::Down { found, usual, .. } if found + 1 == *usual)),
    );
    assert!(up && down && found.len() <= 3, "{found:?} {upper:?}");

    let mut topology = generate("fattree:1152");
    let (host, _) = link(&topology, true, 40);
    topology.disconnect(host);
    let found = odd(&topology);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains(" hosts, most have "), "{found:?}");
    assert_eq!(Tree::of(&topology).hosts, 1151);
}

#[test]
fn what_is_no_tree_is_called_so() {
    let found = Tree::of(&generate("torus:4x4,hosts=2")).odd;
    assert!(
        matches!(
            found[..],
            [Odd::NoTree {
                sideways: 32,
                links: 32
            }]
        ),
        "{found:?}"
    );
    let empty = Tree::of(&Topology::default());
    assert_eq!((empty.hosts, empty.tiers.len(), empty.odd.len()), (0, 0, 0));
}
