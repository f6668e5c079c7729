//! `comps`: every system (a chassis or a card) with its nodes.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use weft_fabric::{Guid, NodeId, Snapshot};

use crate::RULE;
use crate::focus::{Count, Detail, Head, Options};
use crate::names::as_text;
use crate::node::NodeEntry;
use crate::sms::SmList;

/// Every system with its nodes.
#[derive(Debug, Clone, Serialize)]
pub struct CompsReport {
    #[serde(flatten)]
    head: Head,
    #[serde(flatten)]
    count: Count,
    /// Those that the focus leaves, in order of GUID.
    pub systems: Vec<System>,
    /// The subnet managers.
    pub sms: SmList,
    #[serde(skip)]
    detail: Detail,
}

/// The nodes of one chassis or card.
#[derive(Debug, Clone, Serialize)]
pub struct System {
    /// SystemImageGUID.
    #[serde(serialize_with = "as_text")]
    pub guid: Guid,
    /// Nodes in it.
    pub connected_nodes: usize,
    /// Those that the focus leaves, in order of GUID.
    pub nodes: Vec<NodeEntry>,
}

/// Makes the report.
pub fn comps(snapshot: &Snapshot, options: &Options) -> CompsReport {
    let mut systems: BTreeMap<Guid, Vec<NodeId>> = BTreeMap::new();
    for (id, node) in snapshot.topology.nodes() {
        systems
            .entry(node.info.system_image_guid)
            .or_default()
            .push(id);
    }
    let total = systems.len();
    let matching = systems
        .into_iter()
        .filter(|(_, nodes)| nodes.iter().any(|id| options.node(*id)));
    let systems: Vec<System> = matching
        .map(|(guid, nodes)| System::new(snapshot, guid, &nodes, options))
        .collect();
    CompsReport {
        head: Head::new("Component Summary", options),
        count: Count::new(total, systems.len(), options),
        systems,
        sms: SmList::new(snapshot, options),
        detail: options.detail,
    }
}

impl System {
    fn new(snapshot: &Snapshot, guid: Guid, nodes: &[NodeId], options: &Options) -> Self {
        let wanted = nodes.iter().filter(|id| options.node(**id));
        let mut list: Vec<NodeEntry> = wanted
            .filter_map(|id| Some((*id, snapshot.topology.node(*id)?)))
            .map(|(id, node)| NodeEntry::new(snapshot, id, node, options))
            .collect();
        list.sort_by_key(|node| node.guid);
        Self {
            guid,
            connected_nodes: nodes.len(),
            nodes: list,
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, detail: Detail) -> fmt::Result {
        writeln!(f, "    SystemImageGUID: {}", self.guid)?;
        let listed = detail >= Detail::USUAL;
        let colon = if listed { ":" } else { "" };
        writeln!(f, "    {} Connected Nodes{colon}", self.connected_nodes)?;
        for node in self.nodes.iter().filter(|_| listed) {
            f.write_str(&node.text(detail, 4, Detail::FULL))?;
        }
        Ok(())
    }
}

impl fmt::Display for CompsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.head)?;
        let brief = self.detail == Detail::COUNTS;
        let colon = if brief { "" } else { ":" };
        writeln!(f, "{} Connected Systems{colon}", self.count.total)?;
        for system in self.systems.iter().filter(|_| !brief) {
            system.write(f, self.detail)?;
        }
        self.count.write_matching(f, "Systems")?;
        if !brief {
            writeln!(f)?;
        }
        self.sms.write(f, self.detail)?;
        writeln!(f, "{RULE}")
    }
}
