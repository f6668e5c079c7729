//! `linear`: the linear forwarding table of every switch.

use std::fmt;

use serde::Serialize;
use weft_fabric::{Guid, NodeId, PortNum, PortRef, Snapshot, UNREACHABLE};

use crate::RULE;
use crate::focus::{Detail, Head, Options};
use crate::names::as_text;

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
    /// By port: the other end of the cable.
    #[serde(skip)]
    neighbors: Vec<Option<(u8, String)>>,
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
        .filter_map(|id| SwitchTable::new(snapshot, *id))
        .collect();
    switches.sort_by_key(|switch| switch.guid);
    LinearReport {
        head: Head::new("Linear FDB Tables", options),
        total: topology.switches().len(),
        switches,
        detail: options.detail,
    }
}

impl SwitchTable {
    fn new(snapshot: &Snapshot, id: NodeId) -> Option<Self> {
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
            let peer = topology.peer(PortRef {
                node: id,
                port: PortNum(port),
            })?;
            Some((peer.port.0, topology.node(peer.node)?.name().to_string()))
        };
        Some(Self {
            guid: node.guid(),
            name: node.name().to_string(),
            entries: entries.collect(),
            neighbors: (0..=node.info.num_ports).map(neighbor).collect(),
        })
    }
}

impl fmt::Display for SwitchTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} SW {}", self.guid, self.name)?;
        for LinearEntry { lid, egress } in &self.entries {
            write!(f, "    {lid:#06x} {egress:>3}")?;
            match self.neighbors.get(usize::from(*egress)) {
                Some(Some((port, name))) => writeln!(f, "       {port:>3} {name}")?,
                _ => writeln!(f)?,
            }
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
        }
        for switch in self.switches.iter().filter(|_| listed) {
            write!(f, "{switch}")?;
        }
        writeln!(f, "{} Reported Switch(es)", self.switches.len())?;
        writeln!(f, "{RULE}")
    }
}
