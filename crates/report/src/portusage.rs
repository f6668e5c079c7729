//! `portusage`: how many LIDs each port of a switch leads to.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use weft_fabric::enums::NodeType;
use weft_fabric::{Guid, NodeId, Snapshot, UNREACHABLE};

use crate::RULE;
use crate::focus::{Head, Options};
use crate::names::as_text;
use crate::tables::{NO_ROUTES, known_ports, nodes_by_guid};
use crate::xml::{Xml, XmlWriter};

/// LIDs behind the ports of switches.
#[derive(Debug, Clone, Serialize)]
pub struct PortUsageReport {
    #[serde(flatten)]
    head: Head,
    /// Switches in the fabric.
    pub total: usize,
    /// Those that the focus leaves, in order of GUID.
    pub switches: Vec<SwitchUsage>,
    /// The forwarding tables are known; else nothing is listed.
    pub with_routes: bool,
    #[serde(skip)]
    lists: bool,
}

/// LIDs behind the ports of a switch.
#[derive(Debug, Clone, Serialize)]
pub struct SwitchUsage {
    /// NodeGUID.
    #[serde(serialize_with = "as_text")]
    pub guid: Guid,
    /// Its name.
    pub name: String,
    /// Ports that lead to a LID, in order.
    pub ports: Vec<PortUsage>,
}

/// LIDs behind a port.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct PortUsage {
    /// The port.
    pub port: u8,
    /// LIDs of HFIs.
    pub hfi_lids: u32,
    /// Their base LIDs.
    pub hfi_base_lids: u32,
    /// LIDs of switches.
    pub switch_lids: u32,
}

/// Whether a LID is a switch's, and whether it is its port's base.
type Owner = (bool, bool);

/// Makes the report.
pub fn portusage(snapshot: &Snapshot, options: &Options) -> PortUsageReport {
    let with_routes = !snapshot.lacking.routes;
    let owners = owners(snapshot);
    let nodes = nodes_by_guid(snapshot).into_iter();
    let nodes = nodes.filter(|id| with_routes && options.node(*id));
    PortUsageReport {
        head: Head::new("Port Usage", options),
        total: snapshot.topology.switches().len(),
        switches: nodes
            .filter_map(|id| SwitchUsage::new(snapshot, id, &owners))
            .collect(),
        with_routes,
        lists: options.detail.lists(),
    }
}

fn owners(snapshot: &Snapshot) -> BTreeMap<u32, Owner> {
    let ends = known_ports(snapshot).into_iter().filter_map(|at| {
        let is_switch = snapshot.topology.switch_index(at.node).is_some();
        let info = &snapshot.topology.port(at)?.info;
        (info.lid.0 != 0 && (!is_switch || at.port.0 == 0)).then_some((info, is_switch))
    });
    let lids = ends.flat_map(|(info, is_switch)| {
        let offsets = 0..info.lmc.lids();
        offsets.map(move |offset| (info.lid.0 + offset, (is_switch, offset == 0)))
    });
    lids.collect()
}

impl SwitchUsage {
    fn new(snapshot: &Snapshot, id: NodeId, owners: &BTreeMap<u32, Owner>) -> Option<Self> {
        let node = snapshot.topology.node(id)?;
        let row = snapshot.linear.row(snapshot.topology.switch_index(id)?);
        let mut ports: BTreeMap<u8, PortUsage> = BTreeMap::new();
        let leading = (0..)
            .zip(row)
            .filter(|(_, port)| **port != 0 && **port != UNREACHABLE);
        for (lid, port) in leading {
            let Some((is_switch, is_base)) = owners.get(&lid) else {
                continue;
            };
            let usage = ports.entry(*port).or_default();
            usage.port = *port;
            match is_switch {
                true => usage.switch_lids += 1,
                false => {
                    usage.hfi_lids += 1;
                    usage.hfi_base_lids += u32::from(*is_base);
                }
            }
        }
        (!row.is_empty()).then(|| Self {
            guid: node.guid(),
            name: node.name().to_string(),
            ports: ports.into_values().collect(),
        })
    }
}

impl PortUsageReport {
    fn listed(&self) -> impl ExactSizeIterator<Item = &SwitchUsage> {
        let count = if self.lists { self.switches.len() } else { 0 };
        self.switches[..count].iter()
    }
}

impl Xml for SwitchUsage {
    fn xml(&self, to: &mut XmlWriter) {
        to.node((self.guid, NodeType::SWITCH, &self.name), |to| {
            if !self.ports.is_empty() {
                to.within("Ports", |to| {
                    self.ports.iter().for_each(|port| port.xml(to))
                });
            }
        });
    }
}

impl Xml for PortUsage {
    fn xml(&self, to: &mut XmlWriter) {
        to.within_as("Value", format_args!("Port=\"{}\"", self.port), |to| {
            to.value("TotalLid", self.hfi_lids + self.switch_lids);
            for (tag, lids) in [
                ("CaAllLid", self.hfi_lids),
                ("CaBaseLid", self.hfi_base_lids),
                ("SwitchLid", self.switch_lids),
            ] {
                if lids > 0 {
                    to.value(tag, lids);
                }
            }
        });
    }
}

impl Xml for PortUsageReport {
    fn xml(&self, to: &mut XmlWriter) {
        to.within("PortUsage", |to| {
            match self.with_routes {
                false => to.line(format_args!("<!-- {NO_ROUTES} -->")),
                true => {
                    self.head.write_xml(to);
                    to.value("ConnectedSwitchCount", self.total);
                }
            }
            self.listed().for_each(|switch| switch.xml(to));
            to.value("ReportedSwitchCount", self.listed().len());
        });
    }
}

impl fmt::Display for PortUsageReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.with_routes {
            false => writeln!(f, "Port Usage\n{NO_ROUTES}")?,
            true => {
                let colon = if self.lists { ":" } else { "" };
                write!(f, "{}", self.head)?;
                writeln!(f, "{} Connected Switch(es) in Fabric{colon}", self.total)?;
            }
        }
        for SwitchUsage { guid, name, ports } in self.listed() {
            writeln!(
                f,
                "NodeGUID         Type Name\n    Port Total FI-All  FI-Base Switch"
            )?;
            writeln!(f, "{guid} SW {name}")?;
            for PortUsage {
                port,
                hfi_lids,
                hfi_base_lids,
                switch_lids,
            } in ports
            {
                let total = hfi_lids + switch_lids;
                writeln!(
                    f,
                    "    {port:>3}  {total:>5}  {hfi_lids:>5}    {hfi_base_lids:>5}  {switch_lids:>5}"
                )?;
            }
        }
        writeln!(f, "{} Reported Switch(es)\n{RULE}", self.listed().len())
    }
}
