//! How points and selections are told to people, and in reports.

use std::fmt;

use weft_fabric::topology::node_type;
use weft_fabric::{CableKind, CableText, Guid, NodeId, PortRef, Snapshot};

use super::{CableMatch, Comparison, NodeMatch, Note, Point, PortMatch, Selection, StateMatch};
use crate::focus::Options;
use crate::names::{node_line, port_guid};
use crate::xml::{XmlWriter, port_id};

impl Selection {
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
            Self::Cable(cable) => cable.fmt(f),
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

impl fmt::Display for CableMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => write!(
                f,
                "on a cable of the kind {}",
                match kind {
                    CableKind::Optical => "optical",
                    CableKind::PassiveCopper => "passive copper",
                    CableKind::ActiveCopper => "active copper",
                    CableKind::Unknown => "unknown",
                }
            ),
            Self::Length(pattern) => write!(f, "on a cable whose length matches '{pattern}m'"),
            Self::Text(field, pattern) => {
                let field = match field {
                    CableText::Vendor => "vendor's name",
                    CableText::PartNumber => "part number",
                    CableText::Revision => "revision",
                    CableText::SerialNumber => "serial number",
                };
                write!(f, "on a cable whose {field} matches '{pattern}'")
            }
        }
    }
}
