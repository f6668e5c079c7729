//! `linear`: the linear forwarding table of every switch.

use std::fmt;

use serde::Serialize;
use weft_fabric::enums::NodeType;
use weft_fabric::{Guid, Lid, NodeId, PortNum, PortRef, Snapshot, UNREACHABLE};

use crate::RULE;
use crate::focus::{Detail, Head, Options};
use crate::links::LinkEnd;
use crate::names::as_text;
use crate::xml::{Xml, XmlWriter};

/// The linear forwarding tables.
#[derive(Debug, Clone, Serialize)]
pub struct LinearReport {
    #[serde(flatten)]
    head: Head,
    /// Switches in the fabric.
    pub total: usize,
    /// Those that the focus leaves, in order of GUID.
    pub switches: Vec<SwitchTable>,
    #[serde(skip)]
    has_file: bool,
    #[serde(skip)]
    detail: Detail,
}

/// One switch's table.
#[derive(Debug, Clone, Serialize)]
pub struct SwitchTable {
    /// NodeGUID.
    #[serde(serialize_with = "as_text")]
    pub guid: Guid,
    /// Its name.
    pub name: String,
    /// LIDs that it forwards, in order.
    pub entries: Vec<LinearEntry>,
    /// What the topology file says of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    node_details: Option<String>,
    /// By port: what the topology file says of it, and the other end of the cable.
    #[serde(skip)]
    neighbors: Vec<(Option<String>, Option<LinkEnd>)>,
}

/// The next hop of a LID at a switch.
#[derive(Debug, Clone, Serialize)]
pub struct LinearEntry {
    /// The LID.
    pub lid: u32,
    /// The port that packets to it leave by; 0 is the switch itself.
    pub egress: u8,
}

/// Makes the report.
pub fn linear(snapshot: &Snapshot, options: &Options) -> LinearReport {
    let topology = &snapshot.topology;
    let wanted = topology.switches().iter().filter(|id| options.node(**id));
    let mut switches: Vec<SwitchTable> = wanted
        .filter_map(|id| SwitchTable::new(snapshot, options, *id))
        .collect();
    switches.sort_by_key(|switch| switch.guid);
    LinearReport {
        head: Head::new("Linear FDB Tables", options),
        total: topology.switches().len(),
        switches,
        has_file: options.expected.is_some(),
        detail: options.detail,
    }
}

impl SwitchTable {
    fn new(snapshot: &Snapshot, options: &Options, id: NodeId) -> Option<Self> {
        let topology = &snapshot.topology;
        let node = topology.node(id)?;
        let row = snapshot.linear.row(topology.switch_index(id)?);
        let forwarded = row
            .iter()
            .enumerate()
            .skip(1)
            .filter(|(_, egress)| **egress != UNREACHABLE);
        let entries = forwarded.map(|(lid, egress)| LinearEntry {
            lid: lid as u32,
            egress: *egress,
        });
        let neighbor = |port| {
            let at = PortRef {
                node: id,
                port: PortNum(port),
            };
            let peer = topology.peer(at);
            let peer = peer.and_then(|peer| LinkEnd::new(snapshot, options, peer));
            (options.port_details(at), peer)
        };
        Some(Self {
            guid: node.guid(),
            name: node.name(),
            node_details: options.node_details(id),
            entries: entries.collect(),
            neighbors: (0..=node.info.num_ports).map(neighbor).collect(),
        })
    }
}

impl SwitchTable {
    fn write_entry(&self, entry: &LinearEntry, to: &mut XmlWriter) {
        let LinearEntry { lid, egress } = *entry;
        to.within_as("Value", format_args!("LID=\"{}\"", Lid(lid)), |to| {
            to.value("EgressPort", egress);
            let Some((details, peer)) = self.neighbors.get(usize::from(egress)) else {
                return;
            };
            to.text_if("PortDetails", details.as_deref());
            if let Some(peer) = peer {
                to.value("NeighborPort", peer.port);
                to.text("NeighborNodeDesc", &peer.name);
                to.text_if("NeighborNodeDetails", peer.node_details.as_deref());
            }
        });
    }
}

impl Xml for SwitchTable {
    fn xml(&self, to: &mut XmlWriter) {
        to.node((self.guid, NodeType::SWITCH, &self.name), |to| {
            to.text_if("NodeDetails", self.node_details.as_deref());
            if !self.entries.is_empty() {
                to.within("LinearFDB", |to| {
                    self.entries
                        .iter()
                        .for_each(|entry| self.write_entry(entry, to));
                });
            }
        });
    }
}

impl Xml for LinearReport {
    fn xml(&self, to: &mut XmlWriter) {
        to.within("LinearFDBs", |to| {
            self.head.write_xml(to);
            to.value("ConnectedSwitchCount", self.total);
            if self.detail.lists() {
                self.switches.iter().for_each(|switch| switch.xml(to));
            }
            to.value("ReportedSwitchCount", self.switches.len());
        });
    }
}

impl fmt::Display for SwitchTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} SW {}", self.guid, self.name)?;
        if let Some(details) = &self.node_details {
            writeln!(f, "    NodeDetails: {details}")?;
        }
        for LinearEntry { lid, egress } in &self.entries {
            write!(f, "    {lid:#06x} {egress:>3}")?;
            let (details, peer) = match self.neighbors.get(usize::from(*egress)) {
                Some((details, peer)) => (details.as_ref(), peer.as_ref()),
                None => (None, None),
            };
            if let Some(peer) = peer {
                write!(f, "       {:>3} {}", peer.port, peer.name)?;
            }
            if let Some(details) = peer.and_then(|peer| peer.node_details.as_ref()) {
                write!(f, "\n{:25}{details}", "")?;
            }
            if let Some(details) = details {
                write!(f, "\n{:13}{details}", "")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for LinearReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.head)?;
        let listed = self.detail > Detail::COUNTS;
        let colon = if listed { ":" } else { "" };
        writeln!(f, "{} Connected Switches in Fabric{colon}", self.total)?;
        if listed && !self.switches.is_empty() {
            writeln!(f, "NodeGUID         Type Name")?;
            writeln!(f, "          Egress      Neighbor")?;
            writeln!(f, "      LID Port       Port   Name")?;
            if self.has_file {
                writeln!(f, "             PortDetails NodeDetails")?;
            }
        }
        for switch in self.switches.iter().filter(|_| listed) {
            write!(f, "{switch}")?;
        }
        writeln!(f, "{} Reported Switch(es)", self.switches.len())?;
        writeln!(f, "{RULE}")
    }
}
