//! `nodes`: every HFI, switch and subnet manager.

use std::fmt;

use serde::Serialize;
use weft_fabric::{NodeId, Snapshot};

use crate::RULE;
use crate::focus::{Count, Detail, Head, Options};
use crate::node::NodeEntry;
use crate::sms::SmList;

/// Every node and its connected ports.
#[derive(Debug, Clone, Serialize)]
pub struct NodesReport {
    #[serde(flatten)]
    head: Head,
    /// The HFIs in order of GUID.
    pub fis: NodeList,
    /// The switches in order of GUID.
    pub switches: NodeList,
    /// The subnet managers.
    pub sms: SmList,
    #[serde(skip)]
    detail: Detail,
}

/// Nodes of one type.
#[derive(Debug, Clone, Serialize)]
pub struct NodeList {
    #[serde(flatten)]
    count: Count,
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
            f.write_str(&node.text(detail, 0, Detail::USUAL))?;
        }
        self.count.write_matching(f, things)?;
        if brief { Ok(()) } else { writeln!(f) }
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
