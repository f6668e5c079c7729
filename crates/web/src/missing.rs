//! What the page of health misses, and what follows from it: it is shown where it was.

use std::collections::BTreeMap;

use weft_fabric::{Guid, PortNum};
use weft_health::{End, Gone, Kind, Page};

/// A port by its node.
pub(crate) type At = (Guid, PortNum);

/// A node that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GoneNode {
    pub(crate) name: String,
    pub(crate) is_switch: bool,
    /// The highest port that is named, and where its cable led.
    pub(crate) port: Option<PortNum>,
    pub(crate) at: Option<At>,
}

/// Nodes and cables that findings name, and those that are gone with them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) nodes: BTreeMap<Guid, GoneNode>,
    /// Cables of findings of any kind: those that are there are in the fabric as well.
    pub(crate) cables: Vec<(At, At)>,
}

impl Missing {
    pub(crate) fn of(page: &Page) -> Self {
        let mut missing = Self::default();
        for finding in &page.findings {
            let (a, b) = (&finding.a, finding.b.as_ref());
            let at = |end: &End| end.port.map(|port| (end.node, port));
            let far = b.and_then(at);
            let is_switch = finding.kind == Kind::MissingSwitch;
            if is_switch || finding.kind == Kind::MissingHost {
                let node = GoneNode {
                    name: a.name.clone(),
                    is_switch,
                    port: a.port,
                    at: far,
                };
                missing.nodes.insert(a.node, node);
            }
            // A cable that was moved is not where it was.
            if let (Some(a), Some(b)) = (at(a), far)
                && !matches!(finding.kind, Kind::Moved | Kind::Unintended)
            {
                missing.cables.push((a, b));
            }
        }
        missing.add(&page.gone);
        missing
    }

    /// Adds what no finding names: hosts of a switch that is gone, and what is behind a port that is switched off.
    fn add(&mut self, gone: &Gone) {
        let mut ends: BTreeMap<Guid, (PortNum, At)> = BTreeMap::new();
        for (a, b) in gone.cables.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]) {
            let end = ends.entry(a.0).or_insert((a.1, b));
            end.0 = end.0.max(a.1);
        }
        for node in &gone.nodes {
            let (port, far) = ends.get(&node.guid).copied().unzip();
            let known = self.nodes.entry(node.guid).or_insert_with(|| GoneNode {
                name: node.name.clone(),
                is_switch: node.is_switch,
                port: None,
                at: far,
            });
            known.port = known.port.max(port);
        }
        self.cables.extend(&gone.cables);
    }
}
