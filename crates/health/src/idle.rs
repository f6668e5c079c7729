//! Links between switches that are up and carry no data: drained, or kept from use.

use std::collections::BTreeSet;

use weft_fabric::text::count;
use weft_fabric::{NodeId, PortRef, Topology};
use weft_manager::sm::drains::{Drain, Drains};

use crate::memory::{LinkKey, link_key};
use crate::moment::LastSweep;

/// What carries no data although it is up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Idle {
    /// Links that are drained, those of drained switches among them.
    drained: BTreeSet<LinkKey>,
    /// Links that the last sweep did not use for other reasons.
    unused: BTreeSet<LinkKey>,
    drained_switches: usize,
    /// Links that are drained themselves.
    drained_links: usize,
}

impl Idle {
    /// Finds it in a fabric.
    pub fn of(topology: &Topology, drains: &Drains, sweep: Option<&LastSweep>) -> Self {
        let mut idle = Self::default();
        for drain in drains {
            match *drain {
                Drain::Switch(guid) => {
                    let Some(node) = topology.find(guid) else {
                        continue;
                    };
                    idle.drained_switches += 1;
                    idle.drained.extend(trunks_of(topology, node));
                }
                Drain::Link(guid, port) => {
                    let node = topology.find(guid);
                    let key = node.and_then(|node| trunk(topology, PortRef { node, port }));
                    idle.drained_links += usize::from(key.is_some());
                    idle.drained.extend(key);
                }
            }
        }
        let unused = sweep.into_iter().flat_map(|sweep| &sweep.unused);
        let keys = unused.filter_map(|link| {
            let node = topology.find(link.a.node)?;
            let port = link.a.port;
            trunk(topology, PortRef { node, port })
        });
        idle.unused.extend(keys);
        idle
    }

    /// Whether a link carries no data.
    pub(crate) fn has(&self, link: &LinkKey) -> bool {
        self.drained.contains(link) || self.unused.contains(link)
    }

    /// Whether it carries none because somebody wants it so.
    pub(crate) fn is_drained(&self, link: &LinkKey) -> bool {
        self.drained.contains(link)
    }

    /// Whether anything is drained.
    pub(crate) fn has_drains(&self) -> bool {
        !self.drained.is_empty()
    }

    /// The same with nothing drained, as routes are where drains would cut something off.
    pub(crate) fn undrained(&self) -> Self {
        Self {
            unused: self.unused.clone(),
            ..Self::default()
        }
    }

    /// In words, to be added to a figure; empty where everything carries data.
    pub(crate) fn words(&self) -> String {
        let drained = |number: usize, noun| match number {
            0 => None,
            _ => Some(format!("{} drained", count(number, noun))),
        };
        let unused = match self.unused.len() {
            0 => None,
            links => Some(format!("{} without data", count(links, "link"))),
        };
        let all = [
            drained(self.drained_switches, "switch"),
            drained(self.drained_links, "link"),
            unused,
        ];
        let all: Vec<String> = all.into_iter().flatten().collect();
        match all.is_empty() {
            true => String::new(),
            false => format!(", with {}", all.join(" and ")),
        }
    }
}

/// A link between two switches by one of its ends.
fn trunk(topology: &Topology, end: PortRef) -> Option<LinkKey> {
    let far = topology.peer(end)?;
    let between = [end, far].map(|end| topology.switch_index(end.node).is_some());
    link_key(topology, end, far).filter(|_| between == [true; 2])
}

fn trunks_of(topology: &Topology, node: NodeId) -> impl Iterator<Item = LinkKey> + '_ {
    let ports = topology.node(node).into_iter();
    let ports = ports.flat_map(|node| node.external_ports());
    ports.filter_map(move |(port, _)| trunk(topology, PortRef { node, port }))
}
