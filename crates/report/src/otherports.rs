//! `otherports`: ports without a link in this fabric.

use std::fmt;

use serde::Serialize;
use weft_fabric::enums::NodeType;
use weft_fabric::topology::node_type;
use weft_fabric::{Guid, Node, NodeId, Snapshot};

use crate::RULE;
use crate::focus::{Detail, Head, Options};
use crate::names::as_text;
use crate::node::is_connected;
use crate::xml::{Xml, XmlWriter, port_id};

/// Ports without a link.
#[derive(Debug, Clone, Serialize)]
pub struct OtherPortsReport {
    #[serde(flatten)]
    head: Head,
    /// Those of HFIs.
    pub fis: OtherPorts,
    /// Those of switches.
    pub switches: OtherPorts,
    #[serde(skip)]
    detail: Detail,
}

/// Ports without a link at nodes of one type.
#[derive(Debug, Clone, Serialize)]
pub struct OtherPorts {
    /// Nodes of this type in the fabric.
    pub total: usize,
    /// Those of them with such ports, where a focus limits the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matching: Option<usize>,
    /// External ports with a link.
    pub connected: usize,
    /// In order of GUID and port.
    pub ports: Vec<OtherPort>,
}

/// A port without a link.
#[derive(Debug, Clone, Serialize)]
pub struct OtherPort {
    /// NodeGUID.
    #[serde(serialize_with = "as_text")]
    pub guid: Guid,
    /// Its number.
    pub port: u8,
    /// `FI` or `SW`.
    #[serde(rename = "type", serialize_with = "as_text")]
    pub node_type: NodeType,
    /// Name of its node.
    pub name: String,
    /// What the topology file says of the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    node_details: Option<String>,
}

/// Makes the report.
pub fn otherports(snapshot: &Snapshot, options: &Options) -> OtherPortsReport {
    OtherPortsReport {
        head: Head::new("Other Ports Summary", options),
        fis: OtherPorts::new(snapshot, options, false),
        switches: OtherPorts::new(snapshot, options, true),
        detail: options.detail,
    }
}

impl OtherPorts {
    fn new(snapshot: &Snapshot, options: &Options, switches: bool) -> Self {
        let nodes = snapshot.topology.nodes();
        let of_type: Vec<_> = nodes
            .filter(|(_, node)| node.is_switch() == switches)
            .collect();
        let wanted = of_type.iter().filter(|(id, _)| options.node(*id));
        let mut wanted: Vec<(NodeId, &Node)> = wanted.copied().collect();
        wanted.sort_by_key(|(_, node)| node.guid());
        let mut ports = Vec::new();
        let (mut connected, mut having) = (0, 0);
        for (id, node) in wanted {
            let others = OtherPort::of(node, options.node_details(id).as_deref());
            connected += usize::from(node.info.num_ports) - others.len();
            having += usize::from(!others.is_empty());
            ports.extend(others);
        }
        Self {
            total: of_type.len(),
            matching: options.is_focused().then_some(having),
            connected,
            ports,
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, detail: Detail, names: [&str; 2]) -> fmt::Result {
        let listed = detail.lists();
        let [things, thing] = names;
        let colon = if listed { ":" } else { "" };
        writeln!(f, "{} Connected {things} in Fabric{colon}", self.total)?;
        if listed && !self.ports.is_empty() {
            writeln!(f, "    NodeGUID          Port Type Name")?;
        }
        for port in self.ports.iter().filter(|_| listed) {
            let (guid, number, kind) = (port.guid, port.port, port.node_type);
            writeln!(f, "    {guid} {number:>3} {kind} {}", port.name)?;
            if let Some(details) = &port.node_details {
                writeln!(f, "        NodeDetails: {details}")?;
            }
        }
        if let Some(matching) = self.matching {
            writeln!(f, "{matching} Matching {things} Found")?;
        }
        writeln!(f, "{} Connected {thing} Ports", self.connected)?;
        writeln!(f, "{} Other {thing} Ports", self.ports.len())?;
        if listed { writeln!(f) } else { Ok(()) }
    }

    fn write_xml(&self, to: &mut XmlWriter, detail: Detail, names: [&str; 5]) {
        let [tag, count, matching, connected, other] = names;
        to.within(tag, |to| {
            to.value(count, self.total);
            to.deeper(1, |to| {
                for port in self.ports.iter().filter(|_| detail.lists()) {
                    port.xml(to);
                }
                if let Some(number) = self.matching {
                    to.value(matching, number);
                }
                to.value(connected, self.connected);
                to.value(other, self.ports.len());
            });
        });
    }
}

impl OtherPort {
    fn of(node: &Node, details: Option<&str>) -> Vec<Self> {
        let ports = node.external_ports();
        let others = ports.filter(|(number, port)| !is_connected(*number, port));
        let other = others.map(|(number, _)| Self {
            guid: node.guid(),
            port: number.0,
            node_type: node_type(node),
            name: node.name(),
            node_details: details.map(str::to_owned),
        });
        other.collect()
    }
}

impl Xml for OtherPort {
    fn xml(&self, to: &mut XmlWriter) {
        let attributes = port_id(self.guid, self.port);
        to.within_as("OtherPort", format_args!("{attributes}"), |to| {
            to.value("NodeGUID", self.guid);
            to.value("PortNum", self.port);
            to.node_type(self.node_type);
            to.text("NodeDesc", &self.name);
            to.text_if("NodeDetails", self.node_details.as_deref());
        });
    }
}

impl Xml for OtherPortsReport {
    fn xml(&self, to: &mut XmlWriter) {
        to.within("OtherPortsSummary", |to| {
            self.head.write_xml(to);
            let names = [
                "FIs",
                "ConnectedFICount",
                "MatchingFIs",
                "ConnectedFIPorts",
                "OtherCAPorts",
            ];
            self.fis.write_xml(to, self.detail, names);
            let names = [
                "Switches",
                "ConnectedSwitchCount",
                "MatchingSwitches",
                "ConnectedSwitchPorts",
                "OtherSwitchPorts",
            ];
            self.switches.write_xml(to, self.detail, names);
        });
    }
}

impl fmt::Display for OtherPortsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.head)?;
        self.fis.write(f, self.detail, ["FIs", "FI"])?;
        self.switches
            .write(f, self.detail, ["Switches", "Switch"])?;
        writeln!(f, "{RULE}")
    }
}
