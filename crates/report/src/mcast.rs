//! `mcast`: the multicast forwarding table of every switch.

use std::fmt;

use serde::Serialize;
use weft_fabric::enums::NodeType;
use weft_fabric::{FIRST_MLID, Guid, NodeId, PortMask, Snapshot};

use crate::RULE;
use crate::focus::{Head, Options};
use crate::names::as_text;
use crate::tables::{NO_ROUTES, nodes_by_guid};
use crate::xml::{Xml, XmlWriter};

/// Words of a mask of ports, and ports in each.
const WORDS: usize = 4;
const WORD: u32 = 64;
/// Ports in a line of text.
const LINE: usize = 20;

/// The multicast forwarding tables.
#[derive(Debug, Clone, Serialize)]
pub struct MulticastReport {
    #[serde(flatten)]
    head: Head,
    /// Switches in the fabric.
    pub total: usize,
    /// Those that the focus leaves and that have a table, in order of GUID.
    pub switches: Vec<MulticastTable>,
    /// The forwarding tables are known; else nothing is listed.
    pub with_routes: bool,
    #[serde(skip)]
    lists: bool,
}

/// One switch's table.
#[derive(Debug, Clone, Serialize)]
pub struct MulticastTable {
    /// NodeGUID.
    #[serde(serialize_with = "as_text")]
    pub guid: Guid,
    /// Its name.
    pub name: String,
    /// Multicast LIDs that it forwards, in order.
    pub entries: Vec<MulticastEntry>,
}

/// The ports to which a switch sends what comes for a multicast LID.
#[derive(Debug, Clone, Serialize)]
pub struct MulticastEntry {
    /// The LID.
    pub mlid: u32,
    /// Its ports in order; 0 is the switch itself.
    pub ports: Vec<u8>,
    #[serde(skip)]
    mask: PortMask,
}

/// Makes the report.
pub fn mcast(snapshot: &Snapshot, options: &Options) -> MulticastReport {
    let topology = &snapshot.topology;
    let with_routes = !snapshot.lacking.routes;
    let nodes = nodes_by_guid(snapshot).into_iter();
    let nodes = nodes.filter(|id| with_routes && options.node(*id));
    MulticastReport {
        head: Head::new("Multicast FDB Tables", options),
        total: topology.switches().len(),
        switches: nodes
            .filter_map(|id| MulticastTable::new(snapshot, id))
            .collect(),
        with_routes,
        lists: options.detail.lists(),
    }
}

impl MulticastTable {
    fn new(snapshot: &Snapshot, id: NodeId) -> Option<Self> {
        let node = snapshot.topology.node(id)?;
        let row = snapshot.multicast.row(snapshot.topology.switch_index(id)?);
        let entries = (FIRST_MLID..).zip(row).filter(|(_, mask)| !mask.is_empty());
        let entries = entries.map(|(mlid, mask)| MulticastEntry {
            mlid,
            ports: mask.iter().map(|port| port.0).collect(),
            mask: *mask,
        });
        (!row.is_empty()).then(|| Self {
            guid: node.guid(),
            name: node.name().to_string(),
            entries: entries.collect(),
        })
    }
}

impl MulticastEntry {
    /// The words of the mask that have ports, with their numbers.
    fn words(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let words = (0..WORDS).map(|number| (number, self.mask.word(number)));
        words.filter(|(_, word)| *word != 0)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, word) in self.words() {
            write!(f, "    {:#010x}", self.mlid)?;
            let ports = (0..WORD).filter(|bit| word >> bit & 1 == 1);
            for (count, bit) in ports.enumerate() {
                write!(f, " {:02}", number as u32 * WORD + bit)?;
                if (count + 1) % LINE == 0 {
                    write!(f, "\n          ")?;
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl Xml for MulticastTable {
    fn xml(&self, to: &mut XmlWriter) {
        to.node((self.guid, NodeType::SWITCH, &self.name), |to| {
            if self.entries.is_empty() {
                return;
            }
            to.within("MulticastFDB", |to| {
                for entry in &self.entries {
                    for (number, word) in entry.words() {
                        let mlid = entry.mlid;
                        to.line(format_args!(
                            "<Value pos=\"{number}\" LID=\"{mlid:#010x}\">{word:#x}</Value>"
                        ));
                    }
                }
            });
        });
    }
}

impl Xml for MulticastReport {
    fn xml(&self, to: &mut XmlWriter) {
        to.within("MulticastFDBs", |to| {
            match self.with_routes {
                false => to.line(format_args!("<!-- {NO_ROUTES} -->")),
                true => {
                    self.head.write_xml(to);
                    to.value("ConnectedSwitchCount", self.total);
                }
            }
            for switch in self.switches.iter().filter(|_| self.lists) {
                switch.xml(to);
            }
            to.value("ReportedSwitchCount", self.switches.len());
        });
    }
}

impl fmt::Display for MulticastReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.with_routes {
            false => writeln!(f, "Multicast FDB Tables\n{NO_ROUTES}")?,
            true => {
                let colon = if self.lists { ":" } else { "" };
                write!(f, "{}", self.head)?;
                writeln!(f, "{} Connected Switches in Fabric{colon}", self.total)?;
            }
        }
        if self.lists && !self.switches.is_empty() {
            writeln!(f, "NodeGUID         Type Name\n      LID Ports")?;
        }
        for switch in self.switches.iter().filter(|_| self.lists) {
            writeln!(f, "{} SW {}", switch.guid, switch.name)?;
            switch.entries.iter().try_for_each(|entry| entry.write(f))?;
        }
        writeln!(f, "{} Reported Switch(es)\n{RULE}", self.switches.len())
    }
}
