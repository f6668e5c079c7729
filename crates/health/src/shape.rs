//! What follows from nodes and links alone: computed once a change, not for each page.

use weft_fabric::Topology;
use weft_fabric::tree::Tree;

use crate::idle::Idle;
use crate::memory::Memory;
use crate::redundancy::{Redundancy, redundancy};

/// The shape of a fabric.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shape {
    /// Links that carry no data.
    pub(crate) idle: Idle,
    /// Redundancy of what carries data.
    pub now: Redundancy,
    /// The same, were nothing drained.
    pub(crate) undrained: Redundancy,
    /// Redundancy with all that was there before.
    pub before: Redundancy,
    /// Tiers of a clean fat tree; none where it is no clean one.
    pub clean_tiers: Option<u32>,
    /// Names that several switches, or several HFIs, have: whether they are switches, and the name.
    pub(crate) same_names: Vec<(bool, String)>,
}

impl Shape {
    /// Computes it. Drains that would cut switches with hosts off have no effect on routes, and none here.
    pub fn of(topology: &Topology, memory: &Memory, mut idle: Idle) -> Self {
        let without_drains = idle.undrained();
        let [undrained, before] = redundancy(topology, memory, &without_drains);
        let mut now = match idle.has_drains() {
            true => redundancy(topology, memory, &idle)[0].clone(),
            false => undrained.clone(),
        };
        if now.least == Some(0) && undrained.least != Some(0) {
            (now, idle) = (undrained.clone(), without_drains);
        }
        let tree = Tree::of(topology);
        Self {
            idle,
            now,
            undrained,
            before,
            clean_tiers: tree.is_clean().then_some(tree.tiers.len() as u32),
            same_names: same_names(topology),
        }
    }
}

fn same_names(topology: &Topology) -> Vec<(bool, String)> {
    let nodes = topology.nodes();
    let mut names: Vec<(bool, &[u8])> = nodes
        .map(|(_, node)| (node.is_switch(), node.description.bytes()))
        .collect();
    names.sort_unstable();
    let mut same: Vec<(bool, &[u8])> = names
        .windows(2)
        .filter(|pair| pair[0] == pair[1])
        .map(|pair| pair[0])
        .collect();
    same.dedup();
    let escaped = |(is_switch, name)| (is_switch, weft_fabric::export::escape_name(name));
    same.into_iter().map(escaped).collect()
}
