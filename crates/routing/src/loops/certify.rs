//! Judges loops by their tables alone: it follows entries over cables and shares no code with what made them.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;
use weft_fabric::enums::PortState;
use weft_fabric::{Lid, LinearTables, NodeId, PortNum, PortRef, SwitchIndex, Topology};
use weft_state::State;

use super::LoopPath;

/// What is wrong with loops or their entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LoopFault {
    /// A port answers to the LID of a loop.
    #[error("LID {lid} of a loop is that of port {} of node {}", port.port, port.node.0)]
    LidInUse {
        /// The LID.
        lid: Lid,
        /// The port.
        port: PortRef,
    },
    /// Two loops have one LID.
    #[error("LID {0} is that of two loops")]
    LidTwice(Lid),
    /// The entry of another LID has changed.
    #[error("the entry of LID {lid} in node {} is another one, and it is no loop's", node.0)]
    OtherEntry {
        /// The LID.
        lid: Lid,
        /// The switch.
        node: NodeId,
    },
    /// A packet does not get to its loop, or does not circle in it.
    #[error("a packet to LID {lid} leaves its loop at node {}", node.0)]
    NotCircling {
        /// The LID.
        lid: Lid,
        /// The switch.
        node: NodeId,
    },
    /// A switch that is neither in the loop nor on the way to it has an entry.
    #[error("node {} has an entry for LID {lid}, which does not lead through it", node.0)]
    Astray {
        /// The LID.
        lid: Lid,
        /// The switch.
        node: NodeId,
    },
}

/// How often links are in loops.
#[derive(Debug, Clone, Default, PartialEq, Eq, State)]
pub struct LoopCoverage {
    /// Packets' circles over each link between switches, by its sending port: each link is there twice.
    pub circles: BTreeMap<PortRef, u32>,
}

impl LoopCoverage {
    /// Number of links between switches.
    pub fn links(&self) -> usize {
        self.circles.len() / 2
    }

    /// Sending ports of links that no packet crosses in this direction.
    pub fn uncovered(&self) -> impl Iterator<Item = PortRef> {
        let none = self.circles.iter().filter(|(_, circles)| **circles == 0);
        none.map(|(port, _)| *port)
    }
}

/// Judges loops and tables with their entries; `before` are the tables without, and `from` the switch at which
/// packets start.
///
/// # Errors
/// [`LoopFault`], the first one.
pub fn certify_loops(
    topology: &Topology,
    (before, with): (&LinearTables, &LinearTables),
    paths: &[LoopPath],
    from: NodeId,
) -> Result<LoopCoverage, LoopFault> {
    let lids = judge_lids(topology, paths)?;
    judge_others(topology, (before, with), &lids)?;
    let mut coverage = LoopCoverage {
        circles: links(topology).map(|port| (port, 0)).collect(),
    };
    for path in paths {
        let back = path.hops.iter().rev();
        let back = back.filter_map(|port| topology.peer(*port));
        let ways = [(Some(path.lid), path.hops.clone())];
        for (lid, ports) in ways.into_iter().chain([(path.reverse, back.collect())]) {
            if let Some(lid) = lid {
                judge_circle(topology, with, (lid, &ports), from)?;
                for port in ports {
                    *coverage.circles.entry(port).or_default() += 1;
                }
            }
        }
    }
    Ok(coverage)
}

fn judge_lids(topology: &Topology, paths: &[LoopPath]) -> Result<BTreeSet<u32>, LoopFault> {
    let mut lids = BTreeSet::new();
    for lid in paths.iter().flat_map(LoopPath::lids) {
        if !lids.insert(lid.0) {
            return Err(LoopFault::LidTwice(lid));
        }
    }
    for (port, base, lmc) in topology.end_ports().filter(|(_, base, _)| base.0 != 0) {
        let mut own = lids.range(base.0..base.0 + lmc.lids());
        if let Some(lid) = own.next() {
            let lid = Lid(*lid);
            return Err(LoopFault::LidInUse { lid, port });
        }
    }
    Ok(lids)
}

/// Entries of all other LIDs are as before.
fn judge_others(
    topology: &Topology,
    (before, with): (&LinearTables, &LinearTables),
    lids: &BTreeSet<u32>,
) -> Result<(), LoopFault> {
    for (node, index) in topology.switches().iter().zip(0..) {
        let switch = SwitchIndex(index);
        let top = before.row(switch).len().max(with.row(switch).len()) as u32;
        let is_other = |lid: &u32| {
            let entries = [before, with].map(|tables| tables.egress(switch, Lid(*lid)));
            !lids.contains(lid) && entries[0] != entries[1]
        };
        if let Some(lid) = (0..top).find(is_other) {
            let (lid, node) = (Lid(lid), *node);
            return Err(LoopFault::OtherEntry { lid, node });
        }
    }
    Ok(())
}

/// A packet from `from` comes to its loop and takes its ports, again and again; no other switch knows its LID.
fn judge_circle(
    topology: &Topology,
    tables: &LinearTables,
    (lid, ports): (Lid, &[PortRef]),
    from: NodeId,
) -> Result<(), LoopFault> {
    let mut passed: BTreeMap<NodeId, PortRef> = BTreeMap::new();
    let mut node = from;
    let circle_from = loop {
        if passed.contains_key(&node) {
            break node;
        }
        let (port, next) = step(topology, tables, node, lid)?;
        passed.insert(node, port);
        node = next;
    };
    let mut circle = BTreeSet::new();
    let mut node = circle_from;
    while circle.insert(passed[&node]) {
        node = step(topology, tables, node, lid)?.1;
    }
    if circle != ports.iter().copied().collect() || circle.len() != ports.len() {
        return Err(LoopFault::NotCircling { lid, node });
    }
    for (node, index) in topology.switches().iter().zip(0..) {
        let knows = tables.egress(SwitchIndex(index), lid).is_some();
        if knows && !passed.contains_key(node) {
            let node = *node;
            return Err(LoopFault::Astray { lid, node });
        }
    }
    Ok(())
}

/// The port by which a packet leaves a switch, and the switch that it comes to.
fn step(
    topology: &Topology,
    tables: &LinearTables,
    node: NodeId,
    lid: Lid,
) -> Result<(PortRef, NodeId), LoopFault> {
    let leaves = LoopFault::NotCircling { lid, node };
    let switch = topology.switch_index(node).ok_or(leaves)?;
    let port = tables.egress(switch, lid).ok_or(leaves)?;
    let port = PortRef { node, port };
    let next = link_to(topology, port).ok_or(leaves)?;
    Ok((port, next))
}

/// The switch at the other end of a link that is up.
fn link_to(topology: &Topology, port: PortRef) -> Option<NodeId> {
    let near = topology.port(port)?;
    let far = topology.port(near.peer?)?;
    let is_up = [near, far].map(|end| end.info.port_state != PortState::DOWN);
    let node = near.peer?.node;
    let is_link = is_up == [true; 2] && port.port != PortNum(0) && node != port.node;
    topology.switch_index(node).filter(|_| is_link)?;
    Some(node)
}

/// The sending ports of links between switches.
fn links(topology: &Topology) -> impl Iterator<Item = PortRef> {
    let ends = topology.links().flat_map(|(a, b)| [a, b]);
    ends.filter(|port| {
        let from = topology.switch_index(port.node);
        from.is_some() && link_to(topology, *port).is_some()
    })
}
