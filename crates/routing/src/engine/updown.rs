//! Least-cost paths that go up first and then down, counted from one root: deadlock-free on any
//! fabric. What other engines fall back to.

use std::cmp::Reverse;

use super::shortestpath::{Destinations, balanced};
use super::{Engine, Plan};
use crate::network::Network;
use crate::paths::Paths;
use crate::routed::EngineUsed;

/// The engine.
pub(crate) struct UpDown {
    /// Prefer the spines of the own chassis.
    pub(crate) spine_first: bool,
}

impl Engine for UpDown {
    fn name(&self) -> EngineUsed {
        EngineUsed::UpDown
    }

    fn plan(&self, network: &Network) -> Result<Plan, String> {
        let destinations = Destinations::new(network);
        let paths = Paths::up_down(network, destinations.column.clone(), rank(network));
        Ok(balanced(network, &destinations, paths, self.spine_first))
    }
}

/// Grows towards the roots, one root for each part of the fabric: the switch with the most links
/// to others, of these the one with the lowest GUID. Dead ends do not count: they may be drained switches, and
/// all routes would change when one is pulled.
pub(super) fn rank(network: &Network) -> Vec<u32> {
    let mut by_links: Vec<usize> = (0..network.len()).collect();
    let links = |switch: usize| {
        let links = network.egress(switch).iter();
        let goes_on = links.filter(|link| !is_dead_end(network, link.to as usize));
        goes_on.count()
    };
    by_links.sort_by_cached_key(|switch| (Reverse(links(*switch)), network.switch(*switch).1));
    let mut rank = vec![u32::MAX; network.len()];
    let mut next = network.len() as u32;
    for root in by_links {
        if rank[root] != u32::MAX {
            continue;
        }
        next -= 1;
        rank[root] = next;
        let mut queue = std::collections::VecDeque::from([root]);
        while let Some(from) = queue.pop_front() {
            for link in network.egress(from) {
                let slot = &mut rank[link.to as usize];
                if *slot == u32::MAX {
                    next -= 1;
                    *slot = next;
                    queue.push_back(link.to as usize);
                }
            }
        }
    }
    rank
}

/// Whether a switch has a single link and no HFI.
fn is_dead_end(network: &Network, switch: usize) -> bool {
    network.egress(switch).len() == 1 && network.senders(switch) == 0
}
