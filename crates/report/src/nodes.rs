//! `nodes`: every HFI, switch and subnet manager.

use std::fmt;

use serde::Serialize;
use weft_fabric::{NodeId, Snapshot};

use crate::RULE;
use crate::focus::{Count, Detail, Head, Options};
use crate::node::NodeEntry;
use crate::sms::SmList;
use crate::xml::{Xml, XmlWriter};

/// Every node and its connected ports.
#[derive(Debug, Clone, Serialize)]
pub struct NodesReport {
    #[serde(flatten)]
    pub(crate) head: Head,
    /// The HFIs in order of GUID.
    pub fis: NodeList,
    /// The switches in order of GUID.
    pub switches: NodeList,
    /// The subnet managers.
    pub sms: SmList,
    #[serde(skip)]
    pub(crate) detail: Detail,
}

/// Nodes of one type.
#[derive(Debug, Clone, Serialize)]
pub struct NodeList {
    #[serde(flatten)]
    pub(crate) count: Count,
    /// Those that the focus leaves, in order of GUID.
    pub list: Vec<NodeEntry>,
}

/// Makes the report.
pub fn nodes(snapshot: &Snapshot, options: &Options) -> NodesReport {
    NodesReport {
        head: Head::new("Node Type Summary", options),
        fis: NodeList::new(snapshot, options, false),
        switches: NodeList::new(snapshot, options, true),
        sms: SmList::new(snapshot, options),
        detail: options.detail,
    }
}

impl NodeList {
    fn new(snapshot: &Snapshot, options: &Options, switches: bool) -> Self {
        let of_type = || {
            snapshot
                .topology
                .nodes()
                .filter(|(_, node)| node.is_switch() == switches)
        };
        let mut list: Vec<NodeEntry> = of_type()
            .filter(|(id, _): &(NodeId, _)| options.node(*id))
            .map(|(id, node)| NodeEntry::new(snapshot, id, node, options))
            .collect();
        list.sort_by_key(|node| node.guid);
        let count = Count::new(of_type().count(), list.len(), options);
        Self { count, list }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, detail: Detail, things: &str) -> fmt::Result {
        let brief = detail == Detail::COUNTS;
        let colon = if brief { "" } else { ":" };
        writeln!(
            f,
            "{} Connected {things} in Fabric{colon}",
            self.count.total
        )?;
        for node in self.list.iter().filter(|_| !brief) {
            f.write_str(&node.text(detail.within(), 0))?;
        }
        self.count.write_matching(f, things)?;
        if brief { Ok(()) } else { writeln!(f) }
    }
}

impl NodeList {
    fn write_xml(&self, to: &mut XmlWriter, detail: Detail, [list, count, matching]: [&str; 3]) {
        to.within(list, |to| {
            to.value(count, self.count.total);
            to.deeper(1, |to| {
                for node in self.list.iter().filter(|_| detail.lists()) {
                    node.write_xml(to, detail.within());
                }
                self.count.write_xml(to, matching);
            });
        });
    }
}

impl Xml for NodesReport {
    fn xml(&self, to: &mut XmlWriter) {
        to.within("NodeTypeSummary", |to| {
            self.head.write_xml(to);
            let names = ["FIs", "ConnectedFICount", "MatchingFIs"];
            self.fis.write_xml(to, self.detail, names);
            let names = ["Switches", "ConnectedSwitchCount", "MatchingSwitches"];
            self.switches.write_xml(to, self.detail, names);
            self.sms.write_xml(to, self.detail);
        });
    }
}

impl fmt::Display for NodesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.head)?;
        self.fis.write(f, self.detail, "FIs")?;
        self.switches.write(f, self.detail, "Switches")?;
        self.sms.write(f, self.detail)?;
        writeln!(f, "{RULE}")
    }
}
