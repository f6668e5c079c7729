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
use crate::xml::{Xml, XmlWriter};

/// Every system with its nodes.
#[derive(Debug, Clone, Serialize)]
pub struct CompsReport {
    #[serde(flatten)]
    pub(crate) head: Head,
    #[serde(flatten)]
    pub(crate) count: Count,
    /// Those that the focus leaves, in order of GUID.
    pub systems: Vec<System>,
    /// The subnet managers.
    pub sms: SmList,
    #[serde(skip)]
    pub(crate) detail: Detail,
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
    /// What names it: its SystemImageGUID, or the GUID of its only node.
    #[serde(skip)]
    pub(crate) id: Guid,
}

/// Makes the report.
pub fn comps(snapshot: &Snapshot, options: &Options) -> CompsReport {
    let mut systems: BTreeMap<Guid, Vec<NodeId>> = BTreeMap::new();
    for (id, node) in snapshot.topology.nodes() {
        let key = match node.info.system_image_guid {
            Guid(0) => node.guid(),
            guid => guid,
        };
        systems.entry(key).or_default().push(id);
    }
    let total = systems.len();
    let matching = systems
        .into_iter()
        .filter(|(_, nodes)| nodes.iter().any(|id| options.node(*id)));
    let systems: Vec<System> = matching
        .map(|(id, nodes)| System::new(snapshot, id, &nodes, options))
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
    fn new(snapshot: &Snapshot, id: Guid, nodes: &[NodeId], options: &Options) -> Self {
        let wanted = nodes.iter().filter(|id| options.node(**id));
        let mut list: Vec<NodeEntry> = wanted
            .filter_map(|id| Some((*id, snapshot.topology.node(*id)?)))
            .map(|(id, node)| NodeEntry::new(snapshot, id, node, options))
            .collect();
        list.sort_by_key(|node| node.guid);
        let first = nodes.first().and_then(|id| snapshot.topology.node(*id));
        Self {
            guid: first.map_or(id, |node| node.info.system_image_guid),
            id,
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
            f.write_str(&node.text(detail.within().within(), 4))?;
        }
        Ok(())
    }
}

impl System {
    fn write_xml(&self, to: &mut XmlWriter, detail: Detail) {
        to.within_as("System", format_args!("id=\"{}\"", self.id), |to| {
            to.value("SystemImageGUID", self.guid);
            to.value("ConnectedNodes", self.connected_nodes);
            for node in self.nodes.iter().filter(|_| detail.lists()) {
                node.write_xml(to, detail.within());
            }
        });
    }
}

impl Xml for CompsReport {
    fn xml(&self, to: &mut XmlWriter) {
        to.within("ComponentSummary", |to| {
            self.head.write_xml(to);
            to.within("Systems", |to| {
                to.value("ConnectedSystems", self.count.total);
                for system in self.systems.iter().filter(|_| self.detail.lists()) {
                    system.write_xml(to, self.detail.within());
                }
                self.count.write_xml(to, "MatchingSystems");
            });
            self.sms.write_xml(to, self.detail);
        });
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
