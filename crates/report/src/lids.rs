//! `lids`: the port that answers to each LID.

use std::fmt;

use serde::Serialize;
use weft_fabric::enums::NodeType;
use weft_fabric::topology::node_type;
use weft_fabric::{Guid, Lid, Lmc, PortRef, Snapshot};

use crate::RULE;
use crate::focus::{Detail, Head, Options};
use crate::names::as_text;
use crate::xml::{Xml, XmlWriter};

/// Every LID that a port answers to.
#[derive(Debug, Clone, Serialize)]
pub struct LidsReport {
    #[serde(flatten)]
    head: Head,
    /// LIDs in the fabric.
    pub total: u64,
    /// LIDs in the report.
    pub reported: u64,
    /// In order of LID.
    pub ports: Vec<LidEntry>,
    #[serde(skip)]
    has_file: bool,
    #[serde(skip)]
    detail: Detail,
}

/// A port and its LIDs.
#[derive(Debug, Clone, Serialize)]
pub struct LidEntry {
    /// Its lowest LID.
    pub base_lid: u32,
    /// It answers to 2^LMC LIDs.
    pub lmc: u8,
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
    /// What the topology file says of the port.
    #[serde(skip_serializing_if = "Option::is_none")]
    port_details: Option<String>,
}

/// Makes the report.
pub fn lids(snapshot: &Snapshot, options: &Options) -> LidsReport {
    let ends = || {
        snapshot
            .topology
            .end_ports()
            .filter(|(_, lid, _)| lid.is_unicast())
    };
    let mut ports: Vec<LidEntry> = ends()
        .filter(|(at, _, _)| options.port(*at))
        .filter_map(|(at, lid, lmc)| LidEntry::new(snapshot, options, at, lid, lmc))
        .collect();
    ports.sort_by_key(|port| (port.base_lid, port.guid, port.port));
    LidsReport {
        head: Head::new("LID Summary", options),
        total: ends().map(|(_, _, lmc)| u64::from(lmc.lids())).sum(),
        reported: ports
            .iter()
            .map(|port| u64::from(Lmc(port.lmc).lids()))
            .sum(),
        ports,
        has_file: options.expected.is_some(),
        detail: options.detail,
    }
}

impl LidEntry {
    fn new(
        snapshot: &Snapshot,
        options: &Options,
        at: PortRef,
        lid: Lid,
        lmc: Lmc,
    ) -> Option<Self> {
        let node = snapshot.topology.node(at.node)?;
        Some(Self {
            base_lid: lid.0,
            lmc: lmc.0,
            guid: node.guid(),
            port: at.port.0,
            node_type: node_type(node),
            name: node.name(),
            node_details: options.node_details(at.node),
            port_details: options.port_details(at),
        })
    }

    fn range(&self) -> String {
        let base = Lid(self.base_lid);
        match self.lmc {
            0 => base.to_string(),
            _ => format!("{base}-{}", self.last()),
        }
    }

    fn last(&self) -> Lid {
        Lid(self.base_lid.saturating_add(Lmc(self.lmc).lids() - 1))
    }
}

impl Xml for LidEntry {
    fn xml(&self, to: &mut XmlWriter) {
        let base = Lid(self.base_lid);
        to.within_as("Value", format_args!("LID=\"{base}\""), |to| {
            if self.lmc > 0 {
                to.value("EndLID", self.last());
            }
            to.value("NodeGUID", self.guid);
            to.value("PortNum", self.port);
            to.text_if("PortDetails", self.port_details.as_deref());
            to.text("NodeType", &self.node_type.to_string());
            to.text("NodeDesc", &self.name);
            to.text_if("NodeDetails", self.node_details.as_deref());
        });
    }
}

impl Xml for LidsReport {
    fn xml(&self, to: &mut XmlWriter) {
        to.within("LIDSummary", |to| {
            self.head.write_xml(to);
            to.value("FabricLIDCount", self.total);
            if self.detail.lists() && !self.ports.is_empty() {
                to.within("LIDs", |to| self.ports.iter().for_each(|port| port.xml(to)));
            }
            to.value("ReportedLIDCount", self.reported);
        });
    }
}

impl fmt::Display for LidsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.head)?;
        let listed = self.detail > Detail::COUNTS;
        let colon = if listed { ":" } else { "" };
        writeln!(f, "{} LID(s) in Fabric{colon}", self.total)?;
        if listed && !self.ports.is_empty() {
            writeln!(f, "   LID(Range) NodeGUID          Port Type Name")?;
            if self.has_file {
                writeln!(f, "              NodeDetails          PortDetails")?;
            }
        }
        for port in self.ports.iter().filter(|_| listed) {
            let (range, guid, kind) = (port.range(), port.guid, port.node_type);
            writeln!(
                f,
                "{range:<13} {guid} {:>3} {kind} {}",
                port.port, port.name
            )?;
            if let Some(details) = &port.node_details {
                writeln!(f, "{:14}{details}", "")?;
            }
            if let Some(details) = &port.port_details {
                writeln!(f, "{:35}{details}", "")?;
            }
        }
        writeln!(f, "{} Reported LID(s)", self.reported)?;
        writeln!(f, "{RULE}")
    }
}
