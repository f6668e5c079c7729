//! What was there before and is gone, all of it: findings tell a cause once, and count what follows from it.

use std::collections::BTreeSet;

use weft_fabric::{Guid, PortRef};

use crate::memory::{LinkEnd, LinkKey};
use crate::moment::Moment;

/// A node that was there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoneNode {
    /// Its GUID.
    pub guid: Guid,
    /// Its name, escaped.
    pub name: String,
    /// Whether it is a switch.
    pub is_switch: bool,
}

/// What is remembered and not there. A host in whose place another one is, and a cable of which an end is elsewhere now,
/// are not among it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gone {
    /// Nodes, by GUID; at most [`crate::NODES_MAX`].
    pub nodes: Vec<GoneNode>,
    /// Cables, by their ends; at most [`crate::LINKS_MAX`].
    pub cables: Vec<LinkKey>,
}

impl Gone {
    /// What is gone at a moment.
    pub(crate) fn of(moment: &Moment<'_>) -> Self {
        let topology = &*moment.snapshot.topology;
        let is_free = |(guid, port): LinkEnd| {
            let node = topology.find(guid);
            node.and_then(|node| topology.peer(PortRef { node, port }))
                .is_none()
        };
        let cables = moment.memory.gone_links().map(|(key, _)| key);
        let cables: Vec<LinkKey> = cables.filter(|(a, b)| is_free(*a) && is_free(*b)).collect();
        let at_cables: BTreeSet<Guid> = cables.iter().flat_map(|(a, b)| [a.0, b.0]).collect();
        let nodes = moment.memory.gone_nodes().map(|(guid, known)| GoneNode {
            guid,
            name: known.name.clone(),
            is_switch: known.is_switch,
        });
        let has_place = |node: &GoneNode| node.is_switch || at_cables.contains(&node.guid);
        Self {
            nodes: nodes.filter(has_place).collect(),
            cables,
        }
    }
}
