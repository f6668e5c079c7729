//! The way back to a moment: settings of routes, drains and switched-off ports of then, in the fabric of now.
//!
//! What comes back is what people decide. Nodes and links are those of now, except links of ports that are switched off
//! or on by it.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weft_fabric::{
    Guid, LinearTables, NodeId, PortNum, PortRef, Snapshot, SwitchIndex, Topology, TopologyBuilder,
    UNREACHABLE,
};
use weft_routing::MulticastSettings;

use super::Manager;
use super::commands::Commands;
use super::drains::{Drain, Drains};
use super::port_change::End;
use super::settings::{RoutingSettings, Settings};
use crate::io::{PortAction, PortNote};

/// What people have decided about routes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoutingState {
    /// Settings of routes.
    pub routing: RoutingSettings,
    /// Settings of multicast trees.
    pub multicast: MulticastSettings,
    /// Drained parts.
    pub drains: Drains,
    /// Ports that are switched off by order, by GUID and port.
    pub disabled: Vec<SwitchedOff>,
}

/// A port that is switched off by order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchedOff {
    /// The end of its cable at which that was done.
    pub port: (Guid, PortNum),
    /// Why, and by whom; empty where that is not known.
    pub note: PortNote,
}

/// A moment to go back to.
#[derive(Debug, Clone)]
pub struct Then {
    /// What was decided.
    pub state: RoutingState,
    /// The fabric.
    pub fabric: Arc<Snapshot>,
}

/// What a way back changes besides routes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Back {
    /// What is drained by it.
    pub drained: Vec<Drain>,
    /// What is in use again.
    pub undrained: Vec<Drain>,
    /// Ports that are switched off or on, with the note of then or of now.
    pub ports: Vec<PortBack>,
    /// Ports that were switched off and are not in the fabric any more.
    pub ports_gone: Vec<(Guid, PortNum)>,
}

impl Back {
    /// Ports that are switched on.
    pub(super) fn enabled(&self) -> Vec<PortBack> {
        let ports = self.ports.iter();
        let on = ports.filter(|one| one.action == PortAction::Enable);
        on.cloned().collect()
    }
}

/// A port that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortBack {
    /// The port.
    pub port: (Guid, PortNum),
    /// [`PortAction::Disable`] or [`PortAction::Enable`].
    pub action: PortAction,
    /// Why it was switched off then, or is now.
    pub note: PortNote,
}

impl Manager {
    /// What is decided now.
    pub fn routing_state(&self) -> RoutingState {
        RoutingState {
            routing: self.settings.routing.clone(),
            multicast: self.settings.multicast,
            drains: self.planning.drains.clone(),
            disabled: self.commands.switched_off().collect(),
        }
    }

    /// Whether that is this.
    pub fn has_routing_state(&self, state: &RoutingState) -> bool {
        let Settings {
            routing, multicast, ..
        } = &self.settings;
        state.routing == *routing
            && state.multicast == *multicast
            && state.drains == self.planning.drains
            && self
                .commands
                .switched_off()
                .eq(state.disabled.iter().cloned())
    }

    /// What a way back to `then` changes.
    pub(super) fn back(&self, then: &Then) -> Back {
        let (drains, before) = (&then.state.drains, &self.planning.drains);
        let ports = self.commands.ports_back(&then.state.disabled);
        let is_here = |end: End| {
            let topology = &*self.planning.plan.routes.fabric.topology;
            let node = topology.find(end.0);
            node.and_then(|node| topology.node(node)?.port(end.1))
                .is_some()
        };
        // A port that is switched off is known also where its node is not in the fabric for that.
        let (ports, gone): (Vec<PortBack>, Vec<PortBack>) = ports
            .into_iter()
            .partition(|one| one.action == PortAction::Enable || is_here(one.port));
        Back {
            drained: drains.difference(before).copied().collect(),
            undrained: before.difference(drains).copied().collect(),
            ports,
            ports_gone: gone.into_iter().map(|one| one.port).collect(),
        }
    }
}

impl Commands {
    fn switched_off(&self) -> impl Iterator<Item = SwitchedOff> + '_ {
        let ends: BTreeSet<End> = self.disabled.values().copied().collect();
        ends.into_iter().map(|port| SwitchedOff {
            port,
            note: self.note_of(port),
        })
    }

    fn note_of(&self, port: End) -> PortNote {
        let noted = self.notes.get(&port);
        noted.map(|noted| noted.note.clone()).unwrap_or_default()
    }

    /// The ports to switch so that these are off. Either end of a cable stands for both.
    fn ports_back(&self, then: &[SwitchedOff]) -> Vec<PortBack> {
        let off = then
            .iter()
            .filter(|one| !self.disabled.contains_key(&one.port))
            .map(|one| PortBack {
                port: one.port,
                action: PortAction::Disable,
                note: one.note.clone(),
            });
        let wanted: BTreeSet<End> = then.iter().map(|one| one.port).collect();
        let kept = self
            .disabled
            .iter()
            .filter(|(named, _)| wanted.contains(named));
        let kept: BTreeSet<End> = kept.map(|(_, at)| *at).collect();
        let ends: BTreeSet<End> = self.disabled.values().copied().collect();
        let on = ends.difference(&kept).map(|port| PortBack {
            port: *port,
            action: PortAction::Enable,
            note: self.note_of(*port),
        });
        off.chain(on).collect()
    }
}

/// A link by its ends.
pub(super) type Link = (PortRef, PortRef);

/// Takes links down and lets them come up in a topology, as ports are switched off and on; those that come up are as they
/// were then. Returns what went down and what came up.
pub(super) fn switch(
    topology: &mut Topology,
    ports: &[PortBack],
    then: &Topology,
) -> (Vec<Link>, Vec<Link>) {
    let (mut down, mut up) = (Vec::new(), Vec::new());
    for one in ports {
        let (guid, port) = one.port;
        match one.action {
            PortAction::Disable => {
                let end = topology.find(guid).map(|node| PortRef { node, port });
                if let Some((near, far)) = end.and_then(|end| Some((end, topology.peer(end)?))) {
                    topology.disconnect(near);
                    down.push((near, far));
                }
            }
            _ => up.extend(link_of_then(topology, one.port, then).map(|(link, infos)| {
                let (near, far) = link;
                for ((end, peer), info) in [(near, far), (far, near)].into_iter().zip(infos) {
                    let node = topology.node_mut(end.node);
                    if let Some(port) = node.and_then(|node| node.port_mut(end.port)) {
                        (port.peer, port.info) = (Some(peer), info);
                    }
                }
                link
            })),
        }
    }
    (down, up)
}

/// The link that a port had then, by the numbers of nodes of now, with what its ends said; none where it cannot be as
/// it was.
fn link_of_then(
    topology: &Topology,
    (guid, port): End,
    then: &Topology,
) -> Option<(Link, [weft_wire::sm::PortInfo; 2])> {
    let near = PortRef {
        node: then.find(guid)?,
        port,
    };
    let far = then.peer(near)?;
    let now = |end: PortRef| {
        let node = topology.find(then.node(end.node)?.guid())?;
        let end = PortRef {
            node,
            port: end.port,
        };
        let is_free = topology.port(end)?.peer.is_none();
        is_free.then_some(end)
    };
    let infos = [then.port(near)?.info, then.port(far)?.info];
    Some(((now(near)?, now(far)?), infos))
}

/// The nodes in the order in which they were found then, which decides between routes that are equally good, and the new
/// number of each; none where the order is the same.
pub(super) fn in_order_of(topology: &Topology, then: &Topology) -> Option<(Topology, Vec<NodeId>)> {
    let known = then
        .nodes()
        .filter_map(|(_, node)| topology.find(node.guid()));
    let mut order: Vec<NodeId> = known.collect();
    let new = topology.nodes().map(|(id, node)| (id, node.guid()));
    order.extend(
        new.filter(|(_, guid)| then.find(*guid).is_none())
            .map(|(id, _)| id),
    );
    if order.is_sorted() {
        return None;
    }
    let mut numbers = vec![NodeId(0); order.len()];
    for (new, old) in (0..).map(NodeId).zip(&order) {
        *numbers.get_mut(old.0 as usize)? = new;
    }
    let mut builder = TopologyBuilder::new();
    for id in &order {
        let mut node = topology.node(*id)?.clone();
        let ports: Vec<PortNum> = node.ports().map(|(port, _)| port).collect();
        for port in ports {
            if let Some(peer) = &mut node.port_mut(port)?.peer {
                peer.node = *numbers.get(peer.node.0 as usize)?;
            }
        }
        builder.add(node).ok()?;
    }
    Some((builder.build().ok()?, numbers))
}

/// Routes of a switch to a LID that are not as they were then, of switches and LIDs that are there now as well.
pub(super) fn unlike(then: &Snapshot, topology: &Topology, new: &LinearTables) -> u64 {
    let old = &*then.topology;
    let lids = old.end_ports().filter_map(|(end, lid, lmc)| {
        let node = topology.find(old.node(end.node)?.guid())?;
        let now = topology.node(node)?.port(end.port)?;
        let same = (now.info.lid, now.info.lmc) == (lid, lmc);
        let first = lid.0 as usize;
        same.then(|| first..first + lmc.lids() as usize)
    });
    let lids: Vec<usize> = lids.flatten().collect();
    let entry = |row: &[u8], lid: usize| row.get(lid).copied().unwrap_or(UNREACHABLE);
    let switches = old.switches().iter().enumerate();
    let differing = switches.filter_map(|(index, node)| {
        let now = topology.find(old.node(*node)?.guid())?;
        let now = new.row(topology.switch_index(now)?);
        let before = then.linear.row(SwitchIndex(index as u32));
        let differs = |lid: &&usize| entry(before, **lid) != entry(now, **lid);
        Some(lids.iter().filter(differs).count() as u64)
    });
    differing.sum()
}
