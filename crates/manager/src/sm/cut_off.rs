//! What a fabric loses when links between switches are taken down by order.
//!
//! The manager reaches every node over links that carry data. A node that it reaches only over one of the links
//! in question is cut off, except a drained switch without hosts: that is what it was drained for. Links of
//! hosts are not counted: to take one down is to switch off that host's port.

use std::collections::BTreeSet;

use weft_fabric::{NodeId, PortRef, Topology};

use super::Manager;
use super::drains::Drain;
use super::port_change::End;
use super::unused_links::refusal;
use crate::io::{CommandError, LinkChange, PortAction};
use weft_wire::enums::LinkWidth;

/// Names of nodes that are told.
const NAMES_MAX: usize = 4;

/// What is cut off, and by which links.
#[derive(Debug, Default)]
pub(super) struct CutOff {
    nodes: BTreeSet<NodeId>,
    /// Ends of the links over which they are reached.
    links: BTreeSet<PortRef>,
}

/// The nodes that the manager reaches over links other than these.
fn reached(topology: &Topology, without: &BTreeSet<PortRef>) -> Vec<bool> {
    let mut found = vec![false; topology.len()];
    let mut open = vec![NodeId(0)];
    while let Some(id) = open.pop() {
        let Some(is_found) = found.get_mut(id.0 as usize) else {
            continue;
        };
        if std::mem::replace(is_found, true) {
            continue;
        }
        let node = topology.node(id).into_iter();
        for (port, held) in node.flat_map(|node| node.external_ports()) {
            let end = PortRef { node: id, port };
            if let Some(peer) = held.peer.filter(|_| !without.contains(&end)) {
                open.push(peer.node);
            }
        }
    }
    found
}

impl CutOff {
    /// Adds what of a topology is cut off when the links of `gone` are taken down, those of `off` being down already.
    fn add(&mut self, topology: &Topology, off: &BTreeSet<PortRef>, gone: &BTreeSet<PortRef>) {
        let both = off.union(gone).copied().collect();
        let (before, after) = (reached(topology, off), reached(topology, &both));
        let is_lost = |node: NodeId| before[node.0 as usize] && !after[node.0 as usize];
        let nodes = topology.nodes().map(|(node, _)| node);
        self.nodes.extend(nodes.filter(|node| is_lost(*node)));
        let leads = |end: &&PortRef| {
            let far = topology.peer(**end);
            far.is_some_and(|far| after[end.node.0 as usize] != after[far.node.0 as usize])
        };
        self.links.extend(gone.iter().filter(leads));
    }
}

impl Manager {
    /// Refuses those changes of a list that would cut off a part of the fabric, alone or together.
    pub(super) fn refuse_cuts(
        &self,
        ends: &[End],
        action: PortAction,
        results: &mut [Result<(), CommandError>],
    ) {
        let taken: Vec<(usize, PortRef)> = ends
            .iter()
            .enumerate()
            .filter(|(place, _)| results[*place].is_ok())
            .filter_map(|(place, end)| Some((place, self.link_taken(*end, action)?)))
            .collect();
        if taken.is_empty() {
            return;
        }
        let cut = self.cut_off(taken.iter().map(|(_, end)| *end));
        if cut.nodes.is_empty() {
            return;
        }
        let names = self.names(&cut.nodes);
        for (place, end) in &taken {
            if cut.links.contains(end) {
                let (node, port) = ends[*place];
                results[*place] = Err(CommandError::CutsOff {
                    node,
                    port,
                    is_list: taken.len() > 1,
                    count: cut.nodes.len(),
                    names: names.clone(),
                });
            }
        }
    }

    /// The end of a link between switches that this change takes out of use until another change.
    fn link_taken(&self, end: End, action: PortAction) -> Option<PortRef> {
        let topology = &self.planning.plan.topology;
        let at = self.devices.port_ref(end)?;
        let far = topology.peer(at)?;
        let is_switch = |end: PortRef| topology.switch_index(end.node).is_some();
        let is_taken = match action {
            PortAction::Disable => true,
            PortAction::Link(change) => self.would_be_refused(at, far, change),
            PortAction::Enable | PortAction::Bounce | PortAction::Led(_) => false,
        };
        (is_switch(at) && is_switch(far) && is_taken).then_some(at)
    }

    /// Whether the link policy refuses a link as it trains after a change, or it does not train at all.
    fn would_be_refused(&self, at: PortRef, far: PortRef, change: LinkChange) -> bool {
        let topology = &self.planning.plan.topology;
        let Some((near, far)) = topology.port(at).zip(topology.port(far)) else {
            return false;
        };
        let (mut near, far) = (near.info, &far.info);
        let widths = change.width.map_or(near.link_width_enabled.0, |new| new.0);
        let speeds = change.speed.map_or(near.link_speed_enabled.0, |new| new.0);
        let widths = widths & far.link_width_enabled.0;
        let speeds = speeds & far.link_speed_enabled.0;
        if widths == 0 || speeds == 0 {
            return true;
        }
        let highest = |bits: u16| 1_u16 << bits.ilog2();
        near.link_width_active = LinkWidth(highest(widths));
        near.link_width_downgrade_tx_active = near.link_width_active;
        near.link_speed_active.0 = highest(speeds);
        refusal(self.settings.link_policy(true), &near, far).is_some()
    }

    fn cut_off(&self, gone: impl Iterator<Item = PortRef>) -> CutOff {
        let topology = &*self.planning.plan.topology;
        let with_far = |end: PortRef| [Some(end), topology.peer(end)].into_iter().flatten();
        let gone: BTreeSet<PortRef> = gone.flat_map(with_far).collect();
        let off = self.commands.disabled.keys();
        let off = off.filter_map(|end| self.devices.port_ref(*end));
        let off: BTreeSet<PortRef> = off.flat_map(with_far).collect();
        let mut cut = CutOff::default();
        cut.add(topology, &off, &gone);
        let unused = self.unused_with(&self.devices.barred());
        cut.add(&unused.removed_from(topology), &off, &gone);
        cut.nodes.retain(|node| !self.is_drained(*node));
        cut
    }

    fn is_drained(&self, node: NodeId) -> bool {
        let guid = self.devices[node].identity.guid;
        self.planning.drains.contains(&Drain::Switch(guid))
    }

    /// The first of some nodes by name, switches before hosts.
    fn names(&self, nodes: &BTreeSet<NodeId>) -> String {
        let (switches, hosts): (Vec<NodeId>, Vec<NodeId>) = nodes
            .iter()
            .partition(|node| self.devices[**node].is_switch());
        let name = |node: NodeId| {
            let device = &self.devices[node];
            let name = device
                .observed
                .node
                .as_ref()
                .map(|node| node.name().to_string());
            name.filter(|name| !name.is_empty())
                .unwrap_or_else(|| device.identity.guid.to_string())
        };
        let all = switches.into_iter().chain(hosts);
        let mut names: Vec<String> = all.take(NAMES_MAX).map(name).collect();
        if nodes.len() > NAMES_MAX {
            names.push("…".to_owned());
        }
        names.join(", ")
    }
}
