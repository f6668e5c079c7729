//! Resolution of a [`Point`] in a snapshot.

use std::fmt;

use thiserror::Error;
use weft_fabric::enums::{PortState, SmState};
use weft_fabric::topology::node_type;
use weft_fabric::{CountsByPort, Guid, Lid, NodeId, PortRef, Snapshot};

use super::{Comparison, Glob, Need, NodeMatch, Note, Point, PortMatch, StateMatch};
use crate::expectations::Expectations;
use crate::focus::Options;
use crate::names::{node_line, port_guid, rate_half_gigabits};
use crate::route;
use crate::xml::{XmlWriter, port_id};

/// Names in a hint at most.
const NEAR: usize = 3;

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

/// What is known besides the fabric.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    /// What a topology file says of it.
    pub expected: Option<&'a Expectations>,
    /// What its ports have counted.
    pub counts: Option<&'a CountsByPort>,
}

/// Why a point names no part of a fabric.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotFound {
    /// Nothing in the fabric matches.
    #[error("no {what} in the fabric")]
    Nothing {
        /// The point.
        what: String,
    },
    /// The point is about a topology file, and there is none.
    #[error("the point needs a topology file")]
    NoTopologyFile,
    /// The point is about counters of ports, and there are none.
    #[error("the point needs counters of ports")]
    NoCounters,
}

fn nothing<T>(what: String) -> Result<T, NotFound> {
    Err(NotFound::Nothing { what })
}

impl Point {
    /// Resolves the point in a fabric of which nothing else is known.
    ///
    /// # Errors
    /// [`NotFound`] if it matches nothing, or needs what is not known.
    pub fn select(&self, snapshot: &Snapshot) -> Result<Selection, NotFound> {
        self.select_with(snapshot, Known::default())
    }

    /// Resolves the point.
    ///
    /// # Errors
    /// [`NotFound`] if it matches nothing, or needs what is not known.
    pub fn select_with(
        &self,
        snapshot: &Snapshot,
        known: Known<'_>,
    ) -> Result<Selection, NotFound> {
        for need in self.needs() {
            match need {
                Need::TopologyFile if known.expected.is_none() => {
                    return Err(NotFound::NoTopologyFile);
                }
                Need::Counters if known.counts.is_none() => return Err(NotFound::NoCounters),
                _ => {}
            }
        }
        match self {
            Self::Nodes(NodeMatch::System(guid)) => {
                let nodes = NodeMatch::System(*guid).select(snapshot, known)?;
                Ok(Selection::System { guid: *guid, nodes })
            }
            Self::Nodes(nodes) => Ok(Selection::Nodes(nodes.select(snapshot, known)?)),
            _ => Ok(Selection::Ports(self.ports(snapshot, known)?)),
        }
    }

    fn ports(&self, snapshot: &Snapshot, known: Known<'_>) -> Result<Vec<PortRef>, NotFound> {
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
            Self::Noted(note, pattern) => {
                let texts = known.expected.map(|expected| (expected, snapshot));
                ports_where(snapshot, |at| {
                    let text =
                        texts.and_then(|(expected, snapshot)| note.of(expected, snapshot, at));
                    text.is_some_and(|text| pattern.matches(&text))
                })
            }
            Self::Ports(match_) => ports_where(snapshot, |at| match_.covers(snapshot, known, at)),
            Self::NodePort(nodes, port) => {
                let nodes = nodes.select(snapshot, known)?.into_iter();
                let ports = nodes.map(|node| PortRef { node, port: *port });
                ports.filter(|at| topology.port(*at).is_some()).collect()
            }
            Self::Pairs(pairs) => ports_where(snapshot, |at| in_pairs(snapshot, at, pairs)),
            Self::Route(from, to) => {
                let [from, to] = [from, to].map(|end| end.select_with(snapshot, known));
                route::ports_between(snapshot, &from?, &to?)
            }
            Self::Nodes(_) => Vec::new(),
        };
        if ports.is_empty() {
            return nothing(format!("port that is {self}"));
        }
        Ok(ports)
    }
}

impl Note {
    /// What a topology file says of a port.
    fn of(self, expected: &Expectations, snapshot: &Snapshot, at: PortRef) -> Option<String> {
        let link = expected.link(at);
        match self {
            Self::CableLabel => link?.cable.label.clone(),
            Self::CableLength => link?.cable.length.clone(),
            Self::CableDetails => link?.cable.details.clone(),
            Self::LinkDetails => link?.details.clone(),
            Self::PortDetails => expected.end(at)?.details.clone(),
            Self::SmDetails => {
                let sm = snapshot.sms.iter().position(|sm| sm.port == at)?;
                let entry = expected.sm_entry(sm)?;
                expected.file.sms.get(entry)?.details.clone()
            }
        }
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
    fn select(&self, snapshot: &Snapshot, known: Known<'_>) -> Result<Vec<NodeId>, NotFound> {
        let topology = &snapshot.topology;
        let nodes: Vec<NodeId> = match self {
            Self::Lid(lid) => owner(snapshot, *lid)
                .map(|at| at.node)
                .into_iter()
                .collect(),
            Self::Guid(guid) => topology.find(*guid).into_iter().collect(),
            _ => {
                let nodes = topology.nodes().filter(|(id, node)| match self {
                    Self::System(guid) => node.info.system_image_guid == *guid,
                    Self::Name(name) => node.name() == *name,
                    Self::Pattern(pattern) => pattern.matches(&node.name()),
                    Self::Patterns(all) => all.iter().any(|one| one.matches(&node.name())),
                    Self::Type { switch } => node.is_switch() == *switch,
                    Self::Details(pattern) => {
                        let entry = known.expected.and_then(|expected| expected.node(*id));
                        let details = entry.and_then(|entry| entry.details.as_ref());
                        details.is_some_and(|details| pattern.matches(details))
                    }
                    Self::Lid(_) | Self::Guid(_) => false,
                });
                nodes.map(|(id, _)| id).collect()
            }
        };
        let nodes = match (self, nodes.is_empty()) {
            (Self::Name(name), true) => hfis_of(snapshot, name),
            _ => nodes,
        };
        if nodes.is_empty() {
            return nothing(match self {
                Self::Name(name) => format!("{self}{}", near(snapshot, name)),
                _ => self.to_string(),
            });
        }
        Ok(by_guid(snapshot, nodes))
    }
}

/// The HFIs of a host, which is called by what stands before the HFI in their names: `node1 hfi1_0`.
fn hfis_of(snapshot: &Snapshot, host: &str) -> Vec<NodeId> {
    let is_of = |name: &str| {
        name.split_once(' ')
            .is_some_and(|(first, rest)| first == host && rest.starts_with("hfi"))
    };
    let hfis = snapshot.topology.hfis();
    hfis.filter(|(_, node)| is_of(&node.name()))
        .map(|(id, _)| id)
        .collect()
}

/// Names that begin like a name that there is not, as a hint: at least half of it.
fn near(snapshot: &Snapshot, name: &str) -> String {
    let same = |other: &str| {
        name.chars()
            .zip(other.chars())
            .take_while(|(a, b)| a == b)
            .count()
    };
    let all = snapshot.topology.nodes().map(|(_, node)| node.name());
    let mut names: Vec<(usize, String)> = all.map(|other| (same(&other), other)).collect();
    names.retain(|(same, _)| *same > 1 && *same * 2 >= name.chars().count());
    names.sort_by(|a, b| {
        b.0.cmp(&a.0)
            .then_with(|| a.1.len().cmp(&b.1.len()))
            .then_with(|| a.1.cmp(&b.1))
    });
    let names: Vec<String> = names
        .into_iter()
        .take(NEAR)
        .map(|(_, other)| format!("'{other}'"))
        .collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(" (there are {})", names.join(", ")),
    }
}

impl PortMatch {
    fn covers(&self, snapshot: &Snapshot, known: Known<'_>, at: PortRef) -> bool {
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
            Self::Quality(comparison, quality) => {
                let counts = known.counts.and_then(|counts| counts.get(&at));
                counts.is_some_and(|counts| comparison.holds(counts.quality, *quality))
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

impl Comparison {
    fn holds(self, actual: u8, named: u8) -> bool {
        match self {
            Self::Equal => actual == named,
            Self::AtMost => actual <= named,
            Self::AtLeast => actual >= named,
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

    /// Writes the elements that describe the selection, as the vendor's tools do.
    pub(crate) fn write_xml(&self, snapshot: &Snapshot, options: &Options, to: &mut XmlWriter) {
        match self {
            Self::Ports(ports) if ports.len() == 1 => {
                ports
                    .iter()
                    .for_each(|at| write_port(snapshot, options, *at, to));
            }
            Self::Ports(ports) => to.within("Ports", |to| {
                to.value("Count", ports.len());
                ports
                    .iter()
                    .for_each(|at| write_port(snapshot, options, *at, to));
            }),
            Self::Nodes(nodes) if nodes.len() == 1 => {
                nodes
                    .iter()
                    .for_each(|id| write_node(snapshot, options, *id, to));
            }
            Self::Nodes(nodes) => to.within("Nodes", |to| {
                to.value("Count", nodes.len());
                nodes
                    .iter()
                    .for_each(|id| write_node(snapshot, options, *id, to));
            }),
            Self::System { guid, nodes } => {
                to.within_as("System", format_args!("id=\"{guid}\""), |to| {
                    to.value("SystemImageGUID", guid);
                    nodes
                        .iter()
                        .for_each(|id| write_node(snapshot, options, *id, to));
                });
            }
        }
    }

    /// The lines that describe the selection, as the vendor's tools print them: the first without
    /// indent, each further level four columns deeper.
    pub(crate) fn lines(&self, snapshot: &Snapshot, options: &Options) -> Vec<String> {
        let node = |lead: &str, id: &NodeId| node_lines(snapshot, options, *id, lead, 4);
        match self {
            Self::Ports(ports) if ports.len() == 1 => ports
                .iter()
                .flat_map(|at| port_lines(snapshot, options, *at, "Port: ", 4))
                .collect(),
            Self::Ports(ports) => {
                let rest = ports
                    .iter()
                    .flat_map(|at| port_lines(snapshot, options, *at, "    ", 8));
                std::iter::once(format!("{} Ports:", ports.len()))
                    .chain(rest)
                    .collect()
            }
            Self::Nodes(nodes) if nodes.len() == 1 => {
                nodes.iter().flat_map(|id| node("Node: ", id)).collect()
            }
            Self::Nodes(nodes) => {
                let rest = nodes
                    .iter()
                    .flat_map(|id| node_lines(snapshot, options, *id, "    ", 8));
                std::iter::once(format!("{} Nodes:", nodes.len()))
                    .chain(rest)
                    .collect()
            }
            Self::System { guid, nodes } => {
                let rest = nodes
                    .iter()
                    .flat_map(|id| node_lines(snapshot, options, *id, "    Node: ", 8));
                std::iter::once(format!("System: {guid}"))
                    .chain(rest)
                    .collect()
            }
        }
    }
}

/// The line of a node, and `indent` columns deep what the topology file says of it.
fn node_lines(
    snapshot: &Snapshot,
    options: &Options,
    id: NodeId,
    lead: &str,
    indent: usize,
) -> Vec<String> {
    let details = options.node_details(id);
    let details = details.map(|details| format!("{:indent$}NodeDetails: {details}", ""));
    let line = format!("{lead}{}", node_line(snapshot, id));
    std::iter::once(line).chain(details).collect()
}

/// A node as the XML of a focus or of the ends of routes has it.
fn write_node(snapshot: &Snapshot, options: &Options, id: NodeId, to: &mut XmlWriter) {
    let Some(node) = snapshot.topology.node(id) else {
        return;
    };
    let attributes = format_args!("id=\"{}\"", node.guid());
    to.within_as("Node", attributes, |to| {
        to.value("NodeGUID", node.guid());
        to.node_type(node_type(node));
        to.text("NodeDesc", &node.name());
        to.text_if("NodeDetails", options.node_details(id).as_deref());
    });
}

fn write_port(snapshot: &Snapshot, options: &Options, at: PortRef, to: &mut XmlWriter) {
    let guid = snapshot.topology.node(at.node).map(|node| node.guid());
    let attributes = port_id(guid.unwrap_or(Guid(0)), at.port.0);
    to.within_as("Port", format_args!("{attributes}"), |to| {
        to.value("PortNum", at.port);
        if let Some(guid) = port_guid(&snapshot.topology, at) {
            to.value("PortGUID", guid);
        }
        write_node(snapshot, options, at.node, to);
    });
}

fn port_lines(
    snapshot: &Snapshot,
    options: &Options,
    at: PortRef,
    lead: &str,
    indent: usize,
) -> Vec<String> {
    let guid = port_guid(&snapshot.topology, at);
    let guid = guid.map_or(String::new(), |guid| format!(" {guid}"));
    let in_node = format!("{:indent$}in Node: ", "");
    let node = node_lines(snapshot, options, at.node, &in_node, indent + 4);
    let line = format!("{lead}{:>3}{guid}", at.port.0);
    std::iter::once(line).chain(node).collect()
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
            Self::Details(pattern) => write!(f, "node whose details match '{pattern}'"),
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
            Self::Noted(note, pattern) => write!(f, "one whose {note} match '{pattern}'"),
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
            Self::Quality(comparison, quality) => {
                let than = match comparison {
                    Comparison::Equal => "",
                    Comparison::AtMost => " or less",
                    Comparison::AtLeast => " or more",
                };
                write!(f, "of link quality {quality}{than}")
            }
            Self::LinkDownReason(None) => f.write_str("with a link down reason"),
            Self::LinkDownReason(Some(reason)) => write!(f, "with link down reason {reason}"),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CableLabel => "cable's labels",
            Self::CableLength => "cable's lengths",
            Self::CableDetails => "cable's details",
            Self::LinkDetails => "link's details",
            Self::PortDetails => "details",
            Self::SmDetails => "subnet manager's details",
        })
    }
}
