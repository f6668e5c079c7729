//! From trees and members to the rows of the tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_fabric::{MulticastTables, PortMask};

use super::graph::{Class, Graph};
use super::tree::Forest;
use super::{MulticastGroup, MulticastNote};

/// The members of one group by switch.
struct Members {
    /// Ports of each switch that lead to receivers.
    local: Vec<PortMask>,
    /// Receivers, and members of any kind, at each switch; then in the tree from it downwards.
    receivers: Vec<u32>,
    members: Vec<u32>,
}

impl Members {
    fn new(switches: usize) -> Self {
        Self {
            local: vec![PortMask::EMPTY; switches],
            receivers: vec![0; switches],
            members: vec![0; switches],
        }
    }

    fn fill(&mut self, graph: &Graph, group: &MulticastGroup) {
        self.local.fill(PortMask::EMPTY);
        self.receivers.fill(0);
        self.members.fill(0);
        for (switch, port) in group
            .receivers
            .iter()
            .filter_map(|end| graph.switch_of(*end))
        {
            self.local[switch].insert(port);
            self.receivers[switch] += 1;
            self.members[switch] += 1;
        }
        for (switch, _) in group.senders.iter().filter_map(|end| graph.switch_of(*end)) {
            self.members[switch] += 1;
        }
    }

    /// Adds the counts below each switch to it.
    fn sum_up(&mut self, forest: &Forest) {
        for switch in forest.order.iter().rev().map(|switch| *switch as usize) {
            if let Some(up) = forest.up[switch] {
                self.receivers[up.parent as usize] += self.receivers[switch];
                self.members[up.parent as usize] += self.members[switch];
            }
        }
    }
}

/// The rows of all groups.
pub(super) fn tables(
    graph: &Graph,
    forests: &BTreeMap<Class, Forest>,
    groups: &[MulticastGroup],
    pruning: bool,
) -> MulticastTables {
    let count = groups
        .last()
        .and_then(MulticastGroup::row)
        .map_or(0, |row| row as usize + 1);
    let mut rows = vec![vec![PortMask::EMPTY; count]; graph.len()];
    let mut members = Members::new(graph.len());
    for group in groups {
        let (Some(row), Some(forest)) = (group.row(), forests.get(&graph.class_of(group))) else {
            continue;
        };
        members.fill(graph, group);
        let masks = if pruning {
            pruned(forest, &mut members)
        } else {
            whole(forest, &members)
        };
        for (switch, mask) in masks.into_iter().enumerate() {
            rows[switch][row as usize] = mask;
        }
    }
    MulticastTables::new(rows.into_iter().map(Arc::from).collect())
}

/// All ports of the tree, and the receivers.
fn whole(forest: &Forest, members: &Members) -> Vec<PortMask> {
    let of_tree = forest.ports.iter().zip(&members.local).zip(&forest.root);
    of_tree
        .map(|((ports, local), root)| match root {
            Some(_) => *ports | *local,
            None => PortMask::EMPTY,
        })
        .collect()
}

/// Ports beyond which there are receivers, on switches that packets of members can come to.
fn pruned(forest: &Forest, members: &mut Members) -> Vec<PortMask> {
    let own: Vec<bool> = members.members.iter().map(|own| *own > 0).collect();
    members.sum_up(forest);
    let mut masks: Vec<PortMask> = vec![PortMask::EMPTY; forest.root.len()];
    // Neighbours in the tree beyond which there are members.
    let mut directions = vec![0_u32; forest.root.len()];
    for switch in forest.order.iter().map(|switch| *switch as usize) {
        masks[switch] = masks[switch] | members.local[switch];
        let (Some(up), Some(root)) = (forest.up[switch], forest.root[switch]) else {
            continue;
        };
        let (parent, root) = (up.parent as usize, root as usize);
        if members.receivers[switch] > 0 {
            masks[parent].insert(up.far_port);
        }
        if members.receivers[root] > members.receivers[switch] {
            masks[switch].insert(up.port);
        }
        directions[parent] += u32::from(members.members[switch] > 0);
        directions[switch] += u32::from(members.members[root] > members.members[switch]);
    }
    for (switch, mask) in masks.iter_mut().enumerate() {
        if !own[switch] && directions[switch] < 2 {
            *mask = PortMask::EMPTY;
        }
    }
    masks
}

/// Reports members that are apart, and tables that are too small.
pub(super) fn notes(
    graph: &Graph,
    forests: &BTreeMap<Class, Forest>,
    groups: &[MulticastGroup],
) -> Vec<MulticastNote> {
    let mut apart = groups.iter().filter_map(|group| {
        let forest = forests.get(&graph.class_of(group))?;
        let cut_off = cut_off(graph, forest, group);
        (cut_off > 0).then_some((group.mlid, cut_off))
    });
    let first = apart.next();
    let apart = first.map(|(mlid, switches)| MulticastNote::Apart {
        mlid,
        groups: 1 + apart.count(),
        switches,
    });
    let rows = groups
        .last()
        .and_then(MulticastGroup::row)
        .map_or(0, |row| row + 1);
    let mut small = (0..graph.len()).filter(|switch| graph.cap(*switch) < rows);
    let first = small.next();
    let small = first.map(|switch| MulticastNote::SmallTables {
        switch: graph.node(switch),
        switches: 1 + small.count(),
        cap: graph.cap(switch),
        rows,
    });
    apart.into_iter().chain(small).collect()
}

/// Switches with members of a group that are not in the tree with the most of them.
fn cut_off(graph: &Graph, forest: &Forest, group: &MulticastGroup) -> usize {
    let ends = group.receivers.iter().chain(&group.senders);
    let mut switches: Vec<usize> = ends
        .filter_map(|end| graph.switch_of(*end))
        .map(|(switch, _)| switch)
        .collect();
    switches.sort_unstable();
    switches.dedup();
    let mut trees: BTreeMap<u32, usize> = BTreeMap::new();
    for root in switches.iter().filter_map(|switch| forest.root[*switch]) {
        *trees.entry(root).or_default() += 1;
    }
    switches.len() - trees.into_values().max().unwrap_or(0)
}
