//! `lidusage`: how many switches forward each LID.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use weft_fabric::enums::NodeType;
use weft_fabric::{Guid, Lid, Snapshot, UNREACHABLE};

use crate::RULE;
use crate::brief::NODES;
use crate::focus::{Detail, Head, Options};
use crate::names::as_text;
use crate::xml::{Xml, XmlWriter};

/// How many switches forward each LID.
#[derive(Debug, Clone, Serialize)]
pub struct LidUsageReport {
    #[serde(flatten)]
    head: Head,
    /// Switches in the fabric.
    pub total: usize,
    /// Those that the focus leaves, in order of GUID.
    pub switches: Vec<NamedSwitch>,
    /// Number of those of them that forward a LID, by LID.
    pub lids: BTreeMap<u32, usize>,
    #[serde(skip)]
    detail: Detail,
}

/// A switch.
#[derive(Debug, Clone, Serialize)]
pub struct NamedSwitch {
    /// NodeGUID.
    #[serde(serialize_with = "as_text")]
    pub guid: Guid,
    /// Its name.
    pub name: String,
    /// What the topology file says of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    node_details: Option<String>,
}

/// Makes the report.
pub fn lidusage(snapshot: &Snapshot, options: &Options) -> LidUsageReport {
    let topology = &snapshot.topology;
    let mut switches = Vec::new();
    let mut lids = BTreeMap::new();
    for id in topology.switches().iter().filter(|id| options.node(**id)) {
        let (Some(node), Some(index)) = (topology.node(*id), topology.switch_index(*id)) else {
            continue;
        };
        switches.push(NamedSwitch {
            guid: node.guid(),
            name: node.name(),
            node_details: options.node_details(*id),
        });
        for (lid, egress) in (0u32..).zip(snapshot.linear.row(index)) {
            if *egress != UNREACHABLE {
                *lids.entry(lid).or_default() += 1;
            }
        }
    }
    switches.sort_by_key(|switch| switch.guid);
    LidUsageReport {
        head: Head::new("LID Usage", options),
        total: topology.switches().len(),
        switches,
        lids,
        detail: options.detail,
    }
}

impl Xml for NamedSwitch {
    fn xml(&self, to: &mut XmlWriter) {
        to.node((self.guid, NodeType::SWITCH, &self.name), |to| {
            to.text_if("NodeDetails", self.node_details.as_deref());
        });
    }
}

impl Xml for LidUsageReport {
    fn xml(&self, to: &mut XmlWriter) {
        to.within("LIDUsage", |to| {
            self.head.write_xml(to);
            to.value("ConnectedSwitchCount", self.total);
            if self.detail.lists() {
                self.switches.iter().for_each(|switch| switch.xml(to));
            }
            if self.detail.lists() && !self.lids.is_empty() {
                to.within("LIDs", |to| {
                    for (lid, switches) in &self.lids {
                        let lid = Lid(*lid);
                        to.line(format_args!("<Value LID=\"{lid}\">{switches}</Value>"));
                    }
                });
            }
            to.value("ReportedSwitchCount", self.switches.len());
        });
    }
}

impl fmt::Display for LidUsageReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.head)?;
        let listed = self.detail.lists();
        let colon = if listed { ":" } else { "" };
        writeln!(f, "{} Connected Switch(es) in Fabric{colon}", self.total)?;
        if listed && !self.switches.is_empty() {
            writeln!(f, "{NODES}")?;
            writeln!(f, "      LID Count")?;
        }
        for switch in self.switches.iter().filter(|_| listed) {
            writeln!(f, "{} SW {}", switch.guid, switch.name)?;
            if let Some(details) = &switch.node_details {
                writeln!(f, "    NodeDetails: {details}")?;
            }
        }
        for (lid, switches) in self.lids.iter().filter(|_| listed) {
            writeln!(f, "    {} {switches}", Lid(*lid))?;
        }
        writeln!(f, "{} Reported Switch(es)", self.switches.len())?;
        writeln!(f, "{RULE}")
    }
}
