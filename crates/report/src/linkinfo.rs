//! `linkinfo`: the links of each node, with LIDs.

use std::fmt;

use serde::Serialize;
use weft_fabric::enums::NodeType;
use weft_fabric::topology::node_type;
use weft_fabric::{Guid, Lid, Node, NodeId, PortNum, PortRef, Snapshot};

use crate::focus::{Detail, Head, Options};
use crate::names::{as_text, rate, rate_code};
use crate::xml::{Xml, XmlWriter};

/// The links of each node.
#[derive(Debug, Clone, Serialize)]
pub struct LinkInfoReport {
    #[serde(flatten)]
    head: Head,
    /// Links in the fabric.
    pub total: usize,
    /// Switches by their port 0, then the ports of HFIs; in order of GUID.
    pub ports: Vec<PortLinks>,
    #[serde(skip)]
    detail: Detail,
}

/// A switch, or a port of an HFI, with its links.
#[derive(Debug, Clone, Serialize)]
pub struct PortLinks {
    /// NodeGUID.
    #[serde(serialize_with = "as_text")]
    pub guid: Guid,
    /// `FI` or `SW`.
    #[serde(rename = "type", serialize_with = "as_text")]
    pub node_type: NodeType,
    /// Its base LID.
    pub lid: u32,
    /// It answers to 2^LMC LIDs.
    pub lmc: u8,
    /// Name of the node.
    pub name: String,
    /// In order of the port.
    pub links: Vec<EgressLink>,
}

/// A link, from one of its ends.
#[derive(Debug, Clone, Serialize)]
pub struct EgressLink {
    /// The port here.
    pub egress: u8,
    /// Current rate.
    pub rate: String,
    /// `FI` or `SW`, of the neighbour.
    #[serde(rename = "type", serialize_with = "as_text")]
    pub node_type: NodeType,
    /// NodeGUID of the neighbour.
    #[serde(serialize_with = "as_text")]
    pub guid: Guid,
    /// The port there.
    pub port: u8,
    /// Base LID of that port, or of its switch.
    pub lid: u32,
    /// Name of the neighbour.
    pub name: String,
}

/// Makes the report.
pub fn linkinfo(snapshot: &Snapshot, options: &Options) -> LinkInfoReport {
    let mut nodes: Vec<(NodeId, &Node)> = snapshot.topology.nodes().collect();
    nodes.sort_by_key(|(_, node)| (!node.is_switch(), node.guid()));
    let mut ports = Vec::new();
    for (id, node) in nodes {
        for (port, data) in node.end_ports() {
            let at = PortRef { node: id, port };
            let seen = node.is_switch() || data.peer.is_some();
            if seen && options.port(at) {
                ports.extend(PortLinks::new(snapshot, at, node));
            }
        }
    }
    LinkInfoReport {
        head: Head::new("LinkInfo Summary", options),
        total: snapshot.topology.links().count(),
        ports,
        detail: options.detail,
    }
}

impl PortLinks {
    fn new(snapshot: &Snapshot, at: PortRef, node: &Node) -> Option<Self> {
        let info = &node.port(at.port)?.info;
        let numbers: Vec<PortNum> = match node.is_switch() {
            true => node.external_ports().map(|(port, _)| port).collect(),
            false => vec![at.port],
        };
        let links = numbers.into_iter();
        let links = links.filter_map(|port| EgressLink::new(snapshot, PortRef { port, ..at }));
        Some(Self {
            guid: node.guid(),
            node_type: node_type(node),
            lid: info.lid.0,
            lmc: info.lmc.0,
            name: node.name(),
            links: links.collect(),
        })
    }

    /// The lines; those of switches end with a space.
    fn lines(&self) -> Vec<String> {
        let end = if self.node_type == NodeType::SWITCH {
            " "
        } else {
            ""
        };
        let (guid, kind, lid, lmc) = (self.guid, self.node_type, self.lid, self.lmc);
        let first = format!("{guid} {kind}  {lid:>5}   {lmc}  {}{end}", self.name);
        let links = self.links.iter().map(|link| {
            format!(
                "{:>3}      {}      {}  {} {:>3}    {:>5}  {}{end}",
                link.egress, link.rate, link.node_type, link.guid, link.port, link.lid, link.name
            )
        });
        std::iter::once(first).chain(links).collect()
    }
}

impl EgressLink {
    fn new(snapshot: &Snapshot, at: PortRef) -> Option<Self> {
        let topology = &snapshot.topology;
        let port = topology.port(at)?;
        let peer = port.peer?;
        let neighbor = topology.node(peer.node)?;
        let end = match neighbor.is_switch() {
            true => neighbor.first_port(),
            false => peer.port,
        };
        let lid = neighbor.port(end)?.info.lid.0;
        Some(Self {
            egress: at.port.0,
            rate: rate(&port.info),
            node_type: node_type(neighbor),
            guid: neighbor.guid(),
            port: peer.port.0,
            lid,
            name: neighbor.name(),
        })
    }
}

impl LinkInfoReport {
    fn lines(&self) -> Vec<String> {
        let listed = self.detail.lists();
        let colon = if listed { ":" } else { "" };
        let mut lines = vec![format!("{} Links in Fabric{colon}", self.total)];
        if listed {
            let [node, link] = [
                "   NodeGUID       Type   LID  LMC     Name          ",
                "Egress LinkSpeed  Type      NodeGUID       Port    LID       Name       ",
            ];
            lines.extend([node.to_owned(), link.to_owned()]);
        }
        lines.extend(self.ports.iter().flat_map(PortLinks::lines));
        lines
    }
}

impl Xml for EgressLink {
    fn xml(&self, to: &mut XmlWriter) {
        to.within("Link", |to| {
            to.value("EgressPort", self.egress);
            to.coded("Rate", &self.rate, rate_code(&self.rate));
            to.value("NodeGUID", self.guid);
            to.value("PortNum", self.port);
            to.value("LID", Lid(self.lid));
            to.node_type(self.node_type);
            to.text("NodeDesc", &self.name);
        });
    }
}

impl Xml for PortLinks {
    fn xml(&self, to: &mut XmlWriter) {
        to.within_as("Node", format_args!("id=\"{}\"", self.guid), |to| {
            to.value("NodeGUID", self.guid);
            to.node_type(self.node_type);
            to.value("LID", Lid(self.lid));
            to.value("LMC", self.lmc);
            to.text("NodeDesc", &self.name);
            self.links.iter().for_each(|link| link.xml(to));
        });
    }
}

impl Xml for LinkInfoReport {
    /// opareport has no XML of this report.
    fn xml(&self, to: &mut XmlWriter) {
        to.within("LinkInfoSummary", |to| {
            self.head.write_xml(to);
            to.value("LinkCount", self.total);
            self.ports.iter().for_each(|port| port.xml(to));
        });
    }
}

impl fmt::Display for LinkInfoReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.head)?;
        self.lines()
            .iter()
            .try_for_each(|line| writeln!(f, "{line}"))
    }
}
