//! How many links have to be lost until switches with hosts are cut off from each other.
//!
//! Computed exactly: the least number of links between switches whose loss leaves two switches with hosts without a
//! path. The least cut between any two of them also separates some one of them from a given first one, so one flow
//! for each switch with hosts is enough; and those that have been looked at are taken for one, because no smaller cut
//! than the least so far lies between them. In a tree of switches each such flow then ends after two hops.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use weft_fabric::{Guid, Topology};

use crate::idle::Idle;
use crate::memory::{LinkEnd, LinkKey, Memory, link_key};

/// Weakest switches that are named.
const NAMED_MAX: usize = 4;

/// The redundancy of a fabric.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Redundancy {
    /// Switches with hosts.
    pub switches: u32,
    /// Links until two of them are cut off from each other; none with fewer than two of them.
    pub least: Option<u32>,
    /// Switches that so few losses can cut off, by GUID, at most four of them.
    pub weakest: Vec<Guid>,
    /// Number of such switches.
    pub weak: u32,
}

/// Computes the redundancy of what carries data in a fabric, and of the fabric with all links that are gone and remembered or
/// carry none.
pub fn redundancy(topology: &Topology, memory: &Memory, idle: &Idle) -> [Redundancy; 2] {
    let now: Vec<LinkKey> = topology
        .links()
        .filter_map(|(a, b)| link_key(topology, a, b))
        .collect();
    let is_there = |guid: Guid| {
        let node = topology.find(guid).and_then(|id| topology.node(id));
        node.map(weft_fabric::Node::is_switch)
    };
    let is_switch = |guid: Guid| {
        is_there(guid).or_else(|| memory.node(guid).map(|known| known.is_switch)) == Some(true)
    };
    let carrying = now.iter().copied().filter(|link| !idle.has(link));
    let is_complete = carrying.clone().count() == now.len();
    let present = Graph::new(carrying, is_switch).redundancy();
    let used: BTreeSet<LinkEnd> = now.iter().flat_map(|(a, b)| [*a, *b]).collect();
    // A port with another cable was used before as well, only not for this one too.
    let gone = memory.gone_links().map(|(key, _)| key);
    let mut gone = gone
        .filter(|(a, b)| !used.contains(a) && !used.contains(b))
        .peekable();
    let before = match gone.peek() {
        None if is_complete => present.clone(),
        _ => Graph::new(now.into_iter().chain(gone), is_switch).redundancy(),
    };
    [present, before]
}

/// An arc, with as many links as are left in its direction.
#[derive(Debug, Clone, Copy)]
struct Arc {
    to: u32,
    left: u32,
}

/// Switches and links between them; arc `n ^ 1` is the other direction of arc `n`.
#[derive(Debug, Default)]
struct Graph {
    guids: Vec<Guid>,
    has_hosts: Vec<bool>,
    arcs: Vec<Arc>,
    /// Arcs that leave each switch.
    leaving: Vec<Vec<u32>>,
}

impl Graph {
    fn new(links: impl Iterator<Item = LinkKey>, is_switch: impl Fn(Guid) -> bool) -> Self {
        let mut graph = Self::default();
        let mut numbers: BTreeMap<Guid, Option<u32>> = BTreeMap::new();
        let mut trunks: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for ((a, _), (b, _)) in links {
            let [a, b] = [a, b].map(|guid| {
                *numbers
                    .entry(guid)
                    .or_insert_with(|| is_switch(guid).then(|| graph.add(guid)))
            });
            match (a, b) {
                (Some(a), Some(b)) if a != b => {
                    *trunks.entry((a.min(b), a.max(b))).or_default() += 1
                }
                (Some(switch), None) | (None, Some(switch)) => {
                    graph.has_hosts[switch as usize] = true;
                }
                _ => {}
            }
        }
        for ((a, b), left) in trunks {
            for (from, to) in [(a, b), (b, a)] {
                graph.leaving[from as usize].push(graph.arcs.len() as u32);
                graph.arcs.push(Arc { to, left });
            }
        }
        graph
    }

    fn add(&mut self, guid: Guid) -> u32 {
        self.guids.push(guid);
        self.has_hosts.push(false);
        self.leaving.push(Vec::new());
        self.guids.len() as u32 - 1
    }

    /// Links of a switch to others.
    fn links_of(&self, switch: u32) -> u32 {
        let arcs = self.leaving[switch as usize].iter();
        arcs.map(|arc| self.arcs[*arc as usize].left).sum()
    }

    fn redundancy(mut self) -> Redundancy {
        let hosts: Vec<u32> = (0..self.guids.len() as u32)
            .filter(|switch| self.has_hosts[*switch as usize])
            .collect();
        let mut found = Redundancy {
            switches: hosts.len() as u32,
            ..Redundancy::default()
        };
        let mut search = Search::new(self.guids.len());
        // The one with most links is hardly the weak one of a cut.
        let Some(first) = hosts.iter().max_by_key(|switch| self.links_of(**switch)) else {
            return found;
        };
        search.is_goal[*first as usize] = true;
        for switch in hosts.iter().filter(|switch| *switch != first) {
            let cut = search.links_from(&mut self.arcs, &self.leaving, *switch);
            search.is_goal[*switch as usize] = true;
            if found.least.is_none_or(|least| cut < least) {
                found.least = Some(cut);
                found.weakest.clear();
                found.weak = 0;
            }
            if found.least == Some(cut) {
                found.weak += 1;
                if found.weakest.len() < NAMED_MAX {
                    found.weakest.push(self.guids[*switch as usize]);
                }
            }
        }
        found.weakest.sort();
        found
    }
}

/// Looks for paths from a switch to any goal.
struct Search {
    is_goal: Vec<bool>,
    /// The arc by which each switch was reached in the search with this number.
    reached: Vec<(u32, u32)>,
    number: u32,
    queue: VecDeque<u32>,
}

impl Search {
    fn new(switches: usize) -> Self {
        Self {
            is_goal: vec![false; switches],
            reached: vec![(0, 0); switches],
            number: 0,
            queue: VecDeque::new(),
        }
    }

    /// Links that have to be lost until a switch reaches no goal; the arcs are left as they were.
    fn links_from(&mut self, arcs: &mut [Arc], leaving: &[Vec<u32>], switch: u32) -> u32 {
        let (mut links, mut used) = (0, Vec::new());
        while let Some(goal) = self.path(arcs, leaving, switch) {
            let mut path = Vec::new();
            let mut at = goal;
            while at != switch {
                let arc = self.reached[at as usize].1;
                path.push(arc);
                at = arcs[(arc ^ 1) as usize].to;
            }
            let width = path.iter().map(|arc| arcs[*arc as usize].left).min();
            let width = width.unwrap_or(0);
            for arc in path {
                arcs[arc as usize].left -= width;
                arcs[(arc ^ 1) as usize].left += width;
                used.push((arc, width));
            }
            links += width;
        }
        for (arc, width) in used {
            arcs[arc as usize].left += width;
            arcs[(arc ^ 1) as usize].left -= width;
        }
        links
    }

    /// The goal that is reached first over arcs with links left.
    fn path(&mut self, arcs: &[Arc], leaving: &[Vec<u32>], from: u32) -> Option<u32> {
        self.number += 1;
        let number = self.number;
        self.queue.clear();
        self.queue.push_back(from);
        self.reached[from as usize].0 = number;
        while let Some(at) = self.queue.pop_front() {
            for arc in &leaving[at as usize] {
                let Arc { to, left } = arcs[*arc as usize];
                if left == 0 || self.reached[to as usize].0 == number {
                    continue;
                }
                self.reached[to as usize] = (number, *arc);
                if self.is_goal[to as usize] {
                    return Some(to);
                }
                self.queue.push_back(to);
            }
        }
        None
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Instant;

    use weft_fabric::{FabricSpec, NodeId, PortRef};

    use super::*;

    fn fabric(spec: &str) -> Topology {
        spec.parse::<FabricSpec>().unwrap().generate().unwrap()
    }

    fn of(topology: &Topology) -> Redundancy {
        let [now, before] = redundancy(topology, &Memory::default(), &Idle::default());
        assert_eq!(now, before);
        now
    }

    fn uplinks(topology: &Topology, switch: NodeId) -> Vec<PortRef> {
        let ports = topology.node(switch).unwrap().external_ports();
        let up = ports.filter(|(_, port)| {
            let peer = port.peer.map(|peer| topology.node(peer.node).unwrap());
            peer.is_some_and(|peer| peer.is_switch())
        });
        let up = up.map(|(port, _)| PortRef { node: switch, port });
        up.collect()
    }

    #[test]
    fn a_tree_has_as_many_as_an_edge_has_uplinks() {
        for (spec, links) in [
            ("pgft:2;4,4;1,4;1,1;radix=8", 4),
            ("pgft:2;2,2;1,2;1,1;radix=4", 2),
            ("fattree:1152", 24),
        ] {
            assert_eq!(of(&fabric(spec)).least, Some(links), "{spec}");
        }
        assert_eq!(of(&fabric("one-switch:4")).least, None);
    }

    #[test]
    fn each_lost_uplink_of_a_switch_counts_and_names_it() {
        let mut topology = fabric("pgft:2;4,4;1,4;1,1;radix=8");
        let edge = topology.switches()[1];
        let guid = topology.node(edge).unwrap().guid();
        for (lost, uplink) in (1..).zip(uplinks(&topology, edge)) {
            topology.disconnect(uplink);
            let found = of(&topology);
            assert_eq!(found.least, Some(4 - lost));
            assert_eq!((found.weakest, found.weak), (vec![guid], 1));
        }
    }

    /// Against the least cut by trying all sets of links: two switches with hosts in a ring of four.
    #[test]
    fn a_cut_may_lie_anywhere() {
        let host = |n: u64| Guid(100 + n);
        let end = |guid: Guid, port| (guid, weft_fabric::PortNum(port));
        let links = [
            (end(Guid(1), 1), end(host(1), 1)),
            (end(Guid(4), 1), end(host(4), 1)),
            (end(Guid(1), 2), end(Guid(2), 2)),
            (end(Guid(1), 3), end(Guid(2), 3)),
            (end(Guid(1), 4), end(Guid(3), 4)),
            (end(Guid(2), 5), end(Guid(4), 5)),
            (end(Guid(3), 6), end(Guid(4), 6)),
            (end(Guid(3), 7), end(Guid(4), 7)),
        ];
        let graph = Graph::new(links.into_iter(), |guid| guid.0 < 100);
        assert_eq!(graph.redundancy().least, Some(2));
    }

    #[test]
    fn a_large_fabric_takes_less_than_a_second() {
        let topology = fabric("fattree:27648");
        let start = Instant::now();
        let found = of(&topology);
        let took = start.elapsed();
        assert!(found.least >= Some(2), "{found:?}");
        eprintln!(
            "{} switches with hosts, {:?}, {took:?}",
            found.switches, found.least
        );
        assert!(took.as_secs() < 5, "{took:?}");
    }
}
