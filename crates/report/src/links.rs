//! `links`: every cable that carries a link.

use std::fmt;

use serde::Serialize;
use weft_fabric::enums::NodeType;
use weft_fabric::topology::node_type;
use weft_fabric::{Guid, PortRef, Snapshot, links_upward};

use crate::RULE;
use crate::focus::{Count, Detail, Head, Options};
use crate::names::{as_text, rate};

/// Every link.
#[derive(Debug, Clone, Serialize)]
pub struct LinksReport {
    #[serde(flatten)]
    head: Head,
    #[serde(flatten)]
    count: Count,
    /// Those that the focus leaves, in order of their first end's GUID and port.
    pub links: Vec<LinkEntry>,
    #[serde(skip)]
    detail: Detail,
}

/// A link.
#[derive(Debug, Clone, Serialize)]
pub struct LinkEntry {
    /// Current rate of its first end.
    pub rate: String,
    /// The end nearer to the HFIs, the smaller GUID and port where both are as near.
    pub from: LinkEnd,
    /// The other end.
    pub to: LinkEnd,
}

/// One end of a link.
#[derive(Debug, Clone, Serialize)]
pub struct LinkEnd {
    /// NodeGUID.
    #[serde(serialize_with = "as_text")]
    pub guid: Guid,
    /// Its port.
    pub port: u8,
    /// `FI` or `SW`.
    #[serde(rename = "type", serialize_with = "as_text")]
    pub node_type: NodeType,
    /// Name of the node.
    pub name: String,
}

/// Makes the report.
pub fn links(snapshot: &Snapshot, options: &Options) -> LinksReport {
    let all = links_upward(&snapshot.topology);
    let total = all.len();
    let matching = all
        .into_iter()
        .filter(|(from, to)| options.port(*from) || options.port(*to));
    let links: Vec<LinkEntry> = matching
        .filter_map(|(from, to)| LinkEntry::new(snapshot, from, to))
        .collect();
    LinksReport {
        head: Head::new("Link Summary", options),
        count: Count::new(total, links.len(), options),
        links,
        detail: options.detail,
    }
}

impl LinkEntry {
    fn new(snapshot: &Snapshot, from: PortRef, to: PortRef) -> Option<Self> {
        Some(Self {
            rate: rate(&snapshot.topology.port(from)?.info),
            from: LinkEnd::new(snapshot, from)?,
            to: LinkEnd::new(snapshot, to)?,
        })
    }
}

impl LinkEnd {
    pub(crate) fn new(snapshot: &Snapshot, at: PortRef) -> Option<Self> {
        let node = snapshot.topology.node(at.node)?;
        Some(Self {
            guid: node.guid(),
            port: at.port.0,
            node_type: node_type(node),
            name: node.name().to_string(),
        })
    }
}

impl fmt::Display for LinkEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {:>3} {}   {}",
            self.guid, self.port, self.node_type, self.name
        )
    }
}

impl fmt::Display for LinksReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.head)?;
        let listed = self.detail > Detail::COUNTS;
        let colon = if listed { ":" } else { "" };
        writeln!(f, "{} Links in Fabric{colon}", self.count.total)?;
        if listed {
            writeln!(f, "Rate NodeGUID          Port Type Name")?;
        }
        for link in self.links.iter().filter(|_| listed) {
            writeln!(f, "{:>4} {}", link.rate, link.from)?;
            writeln!(f, "<->  {}", link.to)?;
        }
        self.count.write_matching(f, "Links")?;
        writeln!(f, "{RULE}")
    }
}
