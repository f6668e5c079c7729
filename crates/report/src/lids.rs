//! `lids`: the port that answers to each LID.

use std::fmt;

use serde::Serialize;
use weft_fabric::enums::NodeType;
use weft_fabric::topology::node_type;
use weft_fabric::{Guid, Lid, Lmc, PortRef, Snapshot};

use crate::RULE;
use crate::focus::{Detail, Head, Options};
use crate::names::as_text;

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
        .filter_map(|(at, lid, lmc)| LidEntry::new(snapshot, at, lid, lmc))
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
        detail: options.detail,
    }
}

impl LidEntry {
    fn new(snapshot: &Snapshot, at: PortRef, lid: Lid, lmc: Lmc) -> Option<Self> {
        let node = snapshot.topology.node(at.node)?;
        Some(Self {
            base_lid: lid.0,
            lmc: lmc.0,
            guid: node.guid(),
            port: at.port.0,
            node_type: node_type(node),
            name: node.name().to_string(),
        })
    }

    fn range(&self) -> String {
        let base = Lid(self.base_lid);
        match Lmc(self.lmc).lids() {
            1 => base.to_string(),
            lids => format!("{base}-{}", Lid(self.base_lid.saturating_add(lids - 1))),
        }
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
        }
        for port in self.ports.iter().filter(|_| listed) {
            let (range, guid, kind) = (port.range(), port.guid, port.node_type);
            writeln!(
                f,
                "{range:<13} {guid} {:>3} {kind} {}",
                port.port, port.name
            )?;
        }
        writeln!(f, "{} Reported LID(s)", self.reported)?;
        writeln!(f, "{RULE}")
    }
}
