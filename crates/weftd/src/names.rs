//! Names of nodes, also of those that are gone.

use std::collections::{BTreeMap, VecDeque};

use weft_fabric::{Guid, Lid, Topology};

/// Nodes that are gone and still have their names; the longest gone is forgotten.
const GONE_MAX: usize = 65_536;

/// Names of nodes that are gone.
#[derive(Debug, Default)]
pub(crate) struct Gone {
    names: BTreeMap<Guid, String>,
    order: VecDeque<Guid>,
}

impl Gone {
    /// A node is gone.
    pub(crate) fn note(&mut self, node: Guid, name: String) {
        if self.names.insert(node, name).is_some() {
            return;
        }
        self.order.push_back(node);
        if self.order.len() > GONE_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.names.remove(&oldest);
        }
    }
}

/// Names of the nodes of a fabric, and of those that were in it.
pub(crate) struct Names<'a> {
    pub(crate) topology: &'a Topology,
    pub(crate) gone: &'a Gone,
}

impl Names<'_> {
    /// A node's name; empty where it was never seen.
    pub(crate) fn of(&self, node: Guid) -> String {
        let found = self.topology.find(node);
        let found = found.and_then(|id| self.topology.node(id));
        match found {
            Some(node) => node.name(),
            None => self.gone.names.get(&node).cloned().unwrap_or_default(),
        }
    }

    /// The node with a LID; 0 and empty where there is none.
    pub(crate) fn of_lid(&self, lid: Lid) -> (Guid, String) {
        let mut ports = self.topology.end_ports();
        let found = ports.find(|(_, base, lmc)| {
            base.0 != 0 && (base.0..base.0.saturating_add(lmc.lids())).contains(&lid.0)
        });
        let node = found.and_then(|(at, ..)| self.topology.node(at.node));
        node.map_or((Guid(0), String::new()), |node| (node.guid(), node.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_gone_are_forgotten() {
        let mut gone = Gone::default();
        for node in 0..=GONE_MAX as u64 {
            gone.note(Guid(node), format!("node{node}"));
            gone.note(Guid(node), format!("node{node}"));
        }
        let topology = Topology::default();
        let names = Names {
            topology: &topology,
            gone: &gone,
        };
        assert_eq!(names.of(Guid(0)), "");
        assert_eq!(names.of(Guid(1)), "node1");
        assert_eq!(names.of(Guid(GONE_MAX as u64)), format!("node{GONE_MAX}"));
    }
}
