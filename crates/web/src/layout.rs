//! Nodes and cables in the order of the columns.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use weft_fabric::tree::tiers;
use weft_fabric::{Guid, NodeId, PortNum, PortRef, Topology};

/// In place of the other end of a cable, where there is none.
pub const NO_PEER: u32 = u32::MAX;
/// Tier of a switch without a way to hosts.
const NO_TIER: u8 = u8::MAX;

/// A node in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) guid: Guid,
    lid: u32,
    tier: u8,
    pod: u16,
    /// Number of ports that can have a cable; the first has the number 1.
    pub(crate) ports: u8,
    /// Place of its port 1 among all ports.
    pub(crate) first: u32,
    name: String,
}

/// Nodes and cables, in order: switches from the highest tier down, then hosts, each by pod and by the port of the switch
/// below which they are. What is lost keeps its place, until something is there that has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    pub(crate) places: Vec<Place>,
    by_guid: BTreeMap<Guid, u32>,
    /// The other end of each port's cable, [`NO_PEER`] where there never was one.
    pub(crate) peers: Vec<u32>,
}

impl Layout {
    /// The layout of a fabric. A cable of `before` that is lost now stays, where both its nodes are there and nothing else
    /// is plugged in.
    pub fn of(topology: &Topology, before: &Self) -> Self {
        let order = Order::of(topology);
        let mut layout = Self::default();
        let mut first = 0;
        for id in order.nodes() {
            let Some(node) = topology.node(id) else {
                continue;
            };
            let ports = u8::try_from(node.external_ports().len()).unwrap_or(u8::MAX);
            let end = node.end_ports().next();
            let place = Place {
                guid: node.guid(),
                lid: end.map_or(0, |(_, port)| port.info.lid.0),
                tier: order.tier(id),
                pod: order.pod(id),
                ports,
                first,
                name: node.name(),
            };
            layout
                .by_guid
                .insert(place.guid, layout.places.len() as u32);
            layout.places.push(place);
            first += u32::from(ports);
        }
        layout.peers = vec![NO_PEER; first as usize];
        for (a, b) in topology.links().chain(topology.loops()) {
            let ends = (layout.at(topology, a), layout.at(topology, b));
            if let (Some(a), Some(b)) = ends {
                layout.plug(a, b);
            }
        }
        layout.keep(before);
        layout
    }

    /// Whether the fabric has nothing that is not in the layout as it is.
    pub(crate) fn holds(&self, topology: &Topology) -> bool {
        let nodes = topology.nodes().all(|(_, node)| {
            let Some(place) = self.find(node.guid()) else {
                return false;
            };
            let end = node.end_ports().next();
            let lid = end.map_or(0, |(_, port)| port.info.lid.0);
            (place.lid, usize::from(place.ports)) == (lid, node.external_ports().len())
                && place.name == node.name()
        });
        nodes
            && topology.links().chain(topology.loops()).all(|(a, b)| {
                let ends = (self.at(topology, a), self.at(topology, b));
                matches!(ends, (Some(a), Some(b)) if self.peers[a as usize] == b)
            })
    }

    /// Place of a node.
    pub(crate) fn find(&self, guid: Guid) -> Option<&Place> {
        let at = self.by_guid.get(&guid)?;
        self.places.get(*at as usize)
    }

    /// Place of a port among all ports.
    pub(crate) fn port(&self, guid: Guid, port: PortNum) -> Option<u32> {
        let place = self.find(guid)?;
        let at = port.0.checked_sub(1).filter(|at| *at < place.ports)?;
        Some(place.first + u32::from(at))
    }

    fn at(&self, topology: &Topology, port: PortRef) -> Option<u32> {
        self.port(topology.node(port.node)?.guid(), port.port)
    }

    fn plug(&mut self, a: u32, b: u32) {
        self.peers[a as usize] = b;
        self.peers[b as usize] = a;
    }

    /// Keeps cables of before.
    fn keep(&mut self, before: &Self) {
        let mut ends = Vec::with_capacity(before.peers.len());
        for place in &before.places {
            for port in 1..=place.ports {
                ends.push(self.port(place.guid, PortNum(port)));
            }
        }
        for (here, there) in before.peers.iter().enumerate() {
            let end = |at: usize| ends.get(at).copied().flatten();
            let (Some(a), Some(b)) = (end(here), end(*there as usize)) else {
                continue;
            };
            if self.peers[a as usize] == NO_PEER && self.peers[b as usize] == NO_PEER {
                self.plug(a, b);
            }
        }
    }

    /// NodeGUID of each node.
    pub fn guids(&self) -> Vec<u8> {
        let guids = self.places.iter().map(|place| place.guid.0.to_le_bytes());
        guids.flatten().collect()
    }

    /// Base LID of each node, 4 bytes each.
    pub fn lids(&self) -> Vec<u8> {
        let lids = self.places.iter().map(|place| place.lid.to_le_bytes());
        lids.flatten().collect()
    }

    /// Tier of each node.
    pub fn tiers(&self) -> Vec<u8> {
        self.places.iter().map(|place| place.tier).collect()
    }

    /// Pod of each node, 2 bytes each.
    pub fn pods(&self) -> Vec<u8> {
        let pods = self.places.iter().map(|place| place.pod.to_le_bytes());
        pods.flatten().collect()
    }

    /// Number of ports of each node.
    pub fn ports(&self) -> Vec<u8> {
        self.places.iter().map(|place| place.ports).collect()
    }

    /// The other end of each port's cable, 4 bytes each.
    pub fn peers(&self) -> Vec<u8> {
        let peers = self.peers.iter().map(|peer| peer.to_le_bytes());
        peers.flatten().collect()
    }

    /// Name of each node.
    pub fn names(&self) -> Vec<String> {
        self.places.iter().map(|place| place.name.clone()).collect()
    }
}

/// In which order nodes come.
struct Order<'a> {
    topology: &'a Topology,
    tiers: Vec<u32>,
    pods: Vec<u16>,
}

impl<'a> Order<'a> {
    fn of(topology: &'a Topology) -> Self {
        let tiers = tiers(topology);
        let pods = pods(topology, &tiers);
        Self {
            topology,
            tiers,
            pods,
        }
    }

    fn tier(&self, id: NodeId) -> u8 {
        let tier = self.tiers[id.0 as usize];
        u8::try_from(tier).unwrap_or(NO_TIER)
    }

    fn pod(&self, id: NodeId) -> u16 {
        self.pods[id.0 as usize]
    }

    /// Switches, then hosts.
    fn nodes(&self) -> Vec<NodeId> {
        let mut switches: Vec<NodeId> = self.topology.switches().to_vec();
        switches.sort_by_cached_key(|id| {
            let name = self.topology.node(*id).map(|node| node.name());
            (
                Reverse(self.tier(*id)),
                self.pod(*id),
                by_number(&name.unwrap_or_default()),
                *id,
            )
        });
        let mut place = vec![u32::MAX; self.topology.len()];
        for (at, id) in (0..).zip(&switches) {
            place[id.0 as usize] = at;
        }
        let mut hosts: Vec<NodeId> = self.topology.hfis().map(|(id, _)| id).collect();
        hosts.sort_by_cached_key(|id| {
            let node = self.topology.node(*id);
            let mut ports = node.into_iter().flat_map(|node| node.external_ports());
            let peer = ports.find_map(|(_, port)| port.peer);
            let at = peer.map(|peer| (place[peer.node.0 as usize], peer.port));
            (at.is_none(), at, *id)
        });
        switches.extend(hosts);
        switches
    }
}

/// A name by which 2 comes before 10.
fn by_number(name: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let is_digit = |c: char| c.is_ascii_digit();
        let word = rest.find(is_digit).unwrap_or(rest.len());
        let (letters, after) = rest.split_at(word);
        let digits = after.find(|c| !is_digit(c)).unwrap_or(after.len());
        let (number, after) = after.split_at(digits);
        parts.push((letters.to_owned(), number.parse().unwrap_or(u64::MAX)));
        rest = after;
    }
    parts
}

/// The pod of each node: switches that are joined without the highest tier, from 1 on, and the hosts below them. All are 0
/// where each of these would be one switch alone, or all of them together.
fn pods(topology: &Topology, tiers: &[u32]) -> Vec<u16> {
    let none = vec![0; topology.len()];
    let known = topology.switches().iter();
    let known = known
        .map(|id| tiers[id.0 as usize])
        .filter(|tier| *tier != u32::MAX);
    let Some(highest) = known.max().filter(|highest| *highest > 1) else {
        return none;
    };
    let mut pods = none.clone();
    let is_below = |id: NodeId| tiers[id.0 as usize] < highest;
    let (mut pod, mut is_joined) = (0_u16, false);
    for start in topology.switches() {
        if !is_below(*start) || pods[start.0 as usize] != 0 {
            continue;
        }
        let Some(next) = pod.checked_add(1) else {
            return none;
        };
        pod = next;
        let mut open = vec![*start];
        pods[start.0 as usize] = pod;
        while let Some(id) = open.pop() {
            let ports = topology.node(id).map(|node| node.external_ports());
            let peers = ports
                .into_iter()
                .flatten()
                .filter_map(|(_, port)| port.peer);
            for peer in peers.map(|peer| peer.node) {
                if !is_below(peer) || pods[peer.0 as usize] != 0 {
                    continue;
                }
                pods[peer.0 as usize] = pod;
                if topology.switch_index(peer).is_some() {
                    is_joined = true;
                    open.push(peer);
                }
            }
        }
    }
    match is_joined && pod > 1 {
        true => pods,
        false => none,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_their_numbers() {
        let mut names = [
            "edge10",
            "edge2",
            "",
            "a",
            "edge2-1",
            "18446744073709551616",
        ];
        names.sort_by_key(|name| by_number(name));
        assert_eq!(
            names,
            [
                "",
                "18446744073709551616",
                "a",
                "edge2",
                "edge2-1",
                "edge10"
            ]
        );
    }
}
