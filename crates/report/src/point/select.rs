//! Resolution of a [`Point`] in a snapshot.

use std::fmt;

use thiserror::Error;
use weft_fabric::enums::{PortState, SmState};
use weft_fabric::{Guid, Lid, NodeId, PortRef, Snapshot};

use super::{Glob, NodeMatch, Point, PortMatch, StateMatch};
use crate::names::{node_line, port_guid, rate_half_gigabits};
use crate::route;

/// Nodes or ports of one snapshot, in order of GUID and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// Ports, each once.
    Ports(Vec<PortRef>),
    /// Nodes, each once.
    Nodes(Vec<NodeId>),
    /// All nodes of one chassis or card.
    System {
        /// SystemImageGUID.
        guid: Guid,
        /// Its nodes.
        nodes: Vec<NodeId>,
    },
}

/// The point matches nothing in the fabric.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no {what} in the fabric")]
pub struct NotFound {
    /// The point.
    pub what: String,
}

fn nothing<T>(what: String) -> Result<T, NotFound> {
    Err(NotFound { what })
}

impl Point {
    /// Resolves the point.
    ///
    /// # Errors
    /// [`NotFound`] if it matches nothing.
    pub fn select(&self, snapshot: &Snapshot) -> Result<Selection, NotFound> {
        match self {
            Self::Nodes(NodeMatch::System(guid)) => {
                let nodes = NodeMatch::System(*guid).select(snapshot)?;
                Ok(Selection::System { guid: *guid, nodes })
            }
            Self::Nodes(nodes) => Ok(Selection::Nodes(nodes.select(snapshot)?)),
            _ => Ok(Selection::Ports(self.ports(snapshot)?)),
        }
    }

    fn ports(&self, snapshot: &Snapshot) -> Result<Vec<PortRef>, NotFound> {
        let topology = &snapshot.topology;
        let ports = match self {
            Self::Gid { prefix, guid } => ports_where(snapshot, |at| {
                let port = topology.port(at);
                port_guid(topology, at) == Some(*guid)
                    && port.is_some_and(|port| port.info.subnet_prefix == *prefix)
            }),
            Self::PortGuid(guid) => {
                ports_where(snapshot, |at| port_guid(topology, at) == Some(*guid))
            }
            Self::Lid(lid) => owner(snapshot, *lid).into_iter().collect(),
            Self::Sm => masters(snapshot),
            Self::Ports(match_) => ports_where(snapshot, |at| match_.covers(snapshot, at)),
            Self::NodePort(nodes, port) => {
                let nodes = nodes.select(snapshot)?.into_iter();
                let ports = nodes.map(|node| PortRef { node, port: *port });
                ports.filter(|at| topology.port(*at).is_some()).collect()
            }
            Self::Pairs(pairs) => ports_where(snapshot, |at| in_pairs(snapshot, at, pairs)),
            Self::Route(from, to) => {
                route::ports_between(snapshot, &from.select(snapshot)?, &to.select(snapshot)?)
            }
            Self::Nodes(_) => Vec::new(),
        };
        if ports.is_empty() {
            return nothing(format!("port that is {self}"));
        }
        Ok(ports)
    }
}

/// Every port, switches' ports 0 included, that `covers` accepts, in order of node GUID and port.
fn ports_where(snapshot: &Snapshot, covers: impl Fn(PortRef) -> bool) -> Vec<PortRef> {
    let topology = &snapshot.topology;
    let all = by_guid(snapshot, topology.nodes().map(|(id, _)| id).collect());
    let ports = all.into_iter().flat_map(|node| {
        let ports = topology
            .node(node)
            .into_iter()
            .flat_map(|data| data.ports());
        ports.map(move |(port, _)| PortRef { node, port })
    });
    ports.filter(|at| covers(*at)).collect()
}

fn by_guid(snapshot: &Snapshot, mut nodes: Vec<NodeId>) -> Vec<NodeId> {
    nodes.sort_by_key(|id| snapshot.topology.node(*id).map(|node| node.guid()));
    nodes
}

/// The port that answers to a LID.
pub(crate) fn owner(snapshot: &Snapshot, lid: Lid) -> Option<PortRef> {
    let mut ends = snapshot.topology.end_ports();
    let found = ends.find(|(_, base, lmc)| {
        base.is_unicast() && (base.0..base.0.saturating_add(lmc.lids())).contains(&lid.0)
    });
    found.map(|(at, _, _)| at)
}

fn masters(snapshot: &Snapshot) -> Vec<PortRef> {
    let masters = snapshot.sms.iter().filter(|sm| sm.state == SmState::MASTER);
    let mut ports: Vec<PortRef> = masters.map(|sm| sm.port).collect();
    ports.sort();
    ports.dedup();
    ports
}

fn in_pairs(snapshot: &Snapshot, at: PortRef, pairs: &[(Glob, Glob)]) -> bool {
    let name = |at: PortRef| snapshot.topology.node(at.node).map(|node| node.name());
    let (Some(here), Some(there)) = (name(at), snapshot.topology.peer(at).and_then(name)) else {
        return false;
    };
    pairs.iter().any(|(a, b)| {
        a.matches(&here) && b.matches(&there) || b.matches(&here) && a.matches(&there)
    })
}

impl NodeMatch {
    fn select(&self, snapshot: &Snapshot) -> Result<Vec<NodeId>, NotFound> {
        let topology = &snapshot.topology;
        let nodes: Vec<NodeId> = match self {
            Self::Lid(lid) => owner(snapshot, *lid)
                .map(|at| at.node)
                .into_iter()
                .collect(),
            Self::Guid(guid) => topology.find(*guid).into_iter().collect(),
            _ => {
                let nodes = topology.nodes().filter(|(_, node)| match self {
                    Self::System(guid) => node.info.system_image_guid == *guid,
                    Self::Name(name) => node.name() == *name,
                    Self::Pattern(pattern) => pattern.matches(&node.name()),
                    Self::Patterns(all) => all.iter().any(|one| one.matches(&node.name())),
                    Self::Type { switch } => node.is_switch() == *switch,
                    Self::Lid(_) | Self::Guid(_) => false,
                });
                nodes.map(|(id, _)| id).collect()
            }
        };
        if nodes.is_empty() {
            return nothing(self.to_string());
        }
        Ok(by_guid(snapshot, nodes))
    }
}

impl PortMatch {
    fn covers(&self, snapshot: &Snapshot, at: PortRef) -> bool {
        let Some(port) = snapshot.topology.port(at) else {
            return false;
        };
        let info = &port.info;
        match self {
            Self::Rate { half_gigabits } => {
                at.port.0 != 0 && rate_half_gigabits(info) == Some(*half_gigabits)
            }
            Self::State(state) => state.covers(info.port_state),
            Self::PhysState(state) => info.phys_state == *state,
            Self::MtuCap(mtu) => at.port.0 != 0 && info.mtu_cap == *mtu,
            Self::Led(on) => info.led_enabled == *on,
            Self::LinkCrc { mode, negated } => {
                at.port.0 != 0 && (info.port_ltp_crc_mode_active == *mode) != *negated
            }
            Self::LinkDownReason(reason) => {
                let reasons = [info.link_down_reason.0, info.neighbor_link_down_reason.0];
                reasons
                    .iter()
                    .any(|here| reason.map_or(*here != 0, |it| *here == it))
            }
        }
    }
}

impl StateMatch {
    fn covers(self, state: PortState) -> bool {
        match self {
            Self::Is(this) => state == this,
            Self::NotActive => state != PortState::ACTIVE,
            Self::InitArmed => state == PortState::INIT || state == PortState::ARMED,
        }
    }
}

impl Selection {
    /// Whether a node, or one of its ports, is selected.
    pub fn has_node(&self, node: NodeId) -> bool {
        match self {
            Self::Ports(ports) => ports.iter().any(|at| at.node == node),
            Self::Nodes(nodes) | Self::System { nodes, .. } => nodes.contains(&node),
        }
    }

    /// Whether a port, or its whole node, is selected.
    pub fn has_port(&self, at: PortRef) -> bool {
        match self {
            Self::Ports(ports) => ports.contains(&at),
            Self::Nodes(nodes) | Self::System { nodes, .. } => nodes.contains(&at.node),
        }
    }

    /// The selected ports; of selected nodes, those that have LIDs.
    pub fn end_ports(&self, snapshot: &Snapshot) -> Vec<PortRef> {
        match self {
            Self::Ports(ports) => ports.clone(),
            Self::Nodes(nodes) | Self::System { nodes, .. } => nodes
                .iter()
                .filter_map(|id| Some((*id, snapshot.topology.node(*id)?)))
                .flat_map(|(node, data)| {
                    data.end_ports()
                        .map(move |(port, _)| PortRef { node, port })
                })
                .collect(),
        }
    }

    /// The lines that describe the selection, as the vendor's tools print them: the first without
    /// indent, each further level four columns deeper.
    pub fn lines(&self, snapshot: &Snapshot) -> Vec<String> {
        match self {
            Self::Ports(ports) if ports.len() == 1 => ports
                .iter()
                .flat_map(|at| port_lines(snapshot, *at, "Port: ", 4))
                .collect(),
            Self::Ports(ports) => {
                let rest = ports
                    .iter()
                    .flat_map(|at| port_lines(snapshot, *at, "    ", 8));
                std::iter::once(format!("{} Ports:", ports.len()))
                    .chain(rest)
                    .collect()
            }
            Self::Nodes(nodes) if nodes.len() == 1 => nodes
                .iter()
                .map(|id| format!("Node: {}", node_line(snapshot, *id)))
                .collect(),
            Self::Nodes(nodes) => {
                let rest = nodes
                    .iter()
                    .map(|id| format!("    {}", node_line(snapshot, *id)));
                std::iter::once(format!("{} Nodes:", nodes.len()))
                    .chain(rest)
                    .collect()
            }
            Self::System { guid, nodes } => {
                let rest = nodes
                    .iter()
                    .map(|id| format!("    Node: {}", node_line(snapshot, *id)));
                std::iter::once(format!("System: {guid}"))
                    .chain(rest)
                    .collect()
            }
        }
    }
}

fn port_lines(snapshot: &Snapshot, at: PortRef, lead: &str, indent: usize) -> [String; 2] {
    let guid = port_guid(&snapshot.topology, at);
    let guid = guid.map_or(String::new(), |guid| format!(" {guid}"));
    [
        format!("{lead}{:>3}{guid}", at.port.0),
        format!("{:indent$}in Node: {}", "", node_line(snapshot, at.node)),
    ]
}

impl fmt::Display for NodeMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lid(lid) => write!(f, "LID {lid}"),
            Self::Guid(guid) => write!(f, "node GUID {guid}"),
            Self::System(guid) => write!(f, "system image GUID {guid}"),
            Self::Name(name) => write!(f, "node named '{name}'"),
            Self::Pattern(pattern) => write!(f, "node whose name matches '{pattern}'"),
            Self::Patterns(patterns) => {
                write!(
                    f,
                    "node whose name matches one of {} patterns",
                    patterns.len()
                )
            }
            Self::Type { switch: true } => f.write_str("switch"),
            Self::Type { switch: false } => f.write_str("HFI"),
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gid { prefix, guid } => write!(f, "GID {prefix:#018x}:{guid}"),
            Self::Lid(lid) => write!(f, "LID {lid}"),
            Self::PortGuid(guid) => write!(f, "port GUID {guid}"),
            Self::Nodes(nodes) => nodes.fmt(f),
            Self::NodePort(nodes, port) => write!(f, "port {port} of a {nodes}"),
            Self::Ports(ports) => ports.fmt(f),
            Self::Sm => f.write_str("the master subnet manager's"),
            Self::Route(from, to) => write!(f, "on a route from {from} to {to}"),
            Self::Pairs(pairs) => write!(f, "on a link of one of {} node pairs", pairs.len()),
        }
    }
}

impl fmt::Display for PortMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate { half_gigabits } => {
                write!(f, "at a rate of {}g", f64::from(*half_gigabits) / 2.0)
            }
            Self::State(StateMatch::Is(state)) => write!(f, "in state {state}"),
            Self::State(StateMatch::NotActive) => f.write_str("not Active"),
            Self::State(StateMatch::InitArmed) => f.write_str("Init or Armed"),
            Self::PhysState(state) => write!(f, "in physical state {state}"),
            Self::MtuCap(mtu) => write!(f, "of MTU {mtu}"),
            Self::Led(on) => write!(f, "with its beacon {}", if *on { "on" } else { "off" }),
            Self::LinkCrc { mode, negated } => {
                write!(
                    f,
                    "{}with link CRC mode {mode}",
                    if *negated { "not " } else { "" }
                )
            }
            Self::LinkDownReason(None) => f.write_str("with a link down reason"),
            Self::LinkDownReason(Some(reason)) => write!(f, "with link down reason {reason}"),
        }
    }
}
