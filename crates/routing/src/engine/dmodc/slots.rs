//! The slot of each uplink among all in this part of the tree.
//!
//! On a whole tree a switch and its siblings have the same parents. Destinations are assigned to
//! the parents of all siblings together, so that a switch that has lost one of them sends
//! nearly everything where its siblings send it.

use petgraph::unionfind::UnionFind;
use weft_state::State;

use crate::engine::levels::NO_LEVEL;
use crate::network::Network;

/// Places of parents.
#[derive(Debug, PartialEq, Eq, State)]
pub(super) struct Slots {
    level: Vec<u8>,
    /// By switch, the parents that it and its siblings have together.
    parents: Vec<u32>,
    /// By switch, its place among the parents of its children.
    place: Vec<u32>,
}

impl Slots {
    /// Finds them; parents come in the order of their systems and GUIDs.
    pub(super) fn new(network: &Network, level: &[u8]) -> Self {
        let mut slots = Self {
            level: level.to_vec(),
            parents: vec![0; network.len()],
            place: vec![0; network.len()],
        };
        // Switches that are parents of the same ones.
        let mut families = UnionFind::<u32>::new(network.len());
        let all = 0..network.len() as u32;
        for child in all.clone() {
            let mut parents = slots.parents(network, child);
            if let Some(first) = parents.next() {
                parents.for_each(|parent| {
                    families.union(first, parent);
                });
            }
        }
        let mut order: Vec<u32> = all.clone().collect();
        order.sort_by_key(|parent| {
            let parent = &network.switches[*parent as usize];
            (parent.system, parent.guid)
        });
        let mut members = vec![0; network.len()];
        for parent in order {
            let count = &mut members[families.find_mut(parent) as usize];
            slots.place[parent as usize] = *count;
            *count += 1;
        }
        for child in all {
            let first = slots.parents(network, child).next();
            let count = first.map(|parent| members[families.find_mut(parent) as usize]);
            slots.parents[child as usize] = count.unwrap_or(0);
        }
        slots
    }

    /// The switches above one, once for each link.
    fn parents(&self, network: &Network, child: u32) -> impl Iterator<Item = u32> {
        let links = network.egress(child as usize).iter().map(|link| link.to);
        links.filter(move |to| self.slot(child as usize, *to).is_some())
    }

    /// Number of parents of a switch and its siblings together.
    pub(super) fn count(&self, switch: usize) -> usize {
        self.parents[switch] as usize
    }

    /// The place of a neighbour of a switch among its parents, if it is one.
    pub(super) fn slot(&self, switch: usize, to: u32) -> Option<u32> {
        let (own, above) = (self.level[switch], self.level[to as usize]);
        (own < above && above != NO_LEVEL).then(|| self.place[to as usize])
    }

    /// Whether a switch's uplinks have their previous slots.
    pub(super) fn are_as_before(&self, before: &Self, network: &Network, switch: usize) -> bool {
        let mut links = network.egress(switch).iter().map(|link| link.to);
        self.parents[switch] == before.parents[switch]
            && links.all(|to| self.slot(switch, to) == before.slot(switch, to))
    }
}
