//! Nodes and cables in the order of the columns.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use weft_fabric::natural::Natural;
use weft_fabric::topology::Node;
use weft_fabric::tree::tiers;
use weft_fabric::{Guid, NodeId, PortNum, PortRef, Topology};
use weft_health::Page;

use crate::gone;
use crate::missing::{At, Missing};

/// In place of the other end of a cable, where there is none.
pub const NO_PEER: u32 = u32::MAX;
/// Tier of a switch without a way to hosts.
pub(crate) const NO_TIER: u8 = u8::MAX;

/// Nodes at most that are gone and that no page names: of a page that cannot list all that is missing.
const GONE_MAX: usize = 32_768;

/// A node in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) guid: Guid,
    pub(crate) lid: u32,
    pub(crate) tier: u8,
    pub(crate) pod: u16,
    /// Number of ports that can have a cable; the first has the number 1.
    pub(crate) ports: u8,
    /// Place of its port 1 among all ports.
    pub(crate) first: u32,
    pub(crate) name: String,
}

/// Nodes and cables, in order: switches from the highest tier down, then hosts, each by pod and by the port of the switch
/// below which they are. What the page of health misses, what is gone with that, and what has been lost since, has its place
/// too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    pub(crate) places: Vec<Place>,
    by_guid: BTreeMap<Guid, u32>,
    /// The other end of each port's cable, [`NO_PEER`] where none is known.
    pub(crate) peers: Vec<u32>,
}

impl Layout {
    /// The layout of a fabric and of what is missing from it. What is lost since `before` stays, unless `page` is about
    /// this fabric and does not miss it: then it was forgotten. Of nodes that the page does not name, [`GONE_MAX`] stay.
    pub fn of(topology: &Topology, before: &Self, page: &Page, is_current: bool) -> Self {
        let missing = Missing::of(page);
        let order = Order::of(topology);
        let mut places: Vec<Place> = topology
            .nodes()
            .map(|(id, node)| order.place(id, node))
            .collect();
        places.extend(gone::places(&missing, before, &order));
        if !is_current {
            places.extend(before.unnamed(topology, &missing, GONE_MAX).cloned());
        }
        let mut layout = Self::default();
        let ends = ends(topology, &missing, before);
        layout.put(places, &ends);
        for (a, b) in topology.links().chain(topology.loops()) {
            layout.plug(layout.at(topology, a), layout.at(topology, b));
        }
        for (a, b) in &missing.cables {
            layout.plug(layout.port(a.0, a.1), layout.port(b.0, b.1));
        }
        for (a, b) in before.cables() {
            let is_there = |at: At| topology.find(at.0).is_some();
            if !is_current || !is_there(a) || !is_there(b) {
                layout.plug(layout.port(a.0, a.1), layout.port(b.0, b.1));
            }
        }
        layout
    }

    /// Puts nodes in order: hosts by the ports where their cables end.
    fn put(&mut self, places: Vec<Place>, ends: &BTreeMap<Guid, At>) {
        let (mut switches, mut hosts): (Vec<Place>, Vec<Place>) =
            places.into_iter().partition(|place| place.tier != 0);
        switches.sort_by_cached_key(|place| {
            (
                Reverse(place.tier),
                place.pod,
                Natural(place.name.clone()),
                place.guid,
            )
        });
        let of_switch: BTreeMap<Guid, usize> = (0..)
            .zip(&switches)
            .map(|(at, place)| (place.guid, at))
            .collect();
        hosts.sort_by_cached_key(|place| {
            let end = ends.get(&place.guid);
            let at = end.and_then(|(guid, port)| Some((*of_switch.get(guid)?, *port)));
            (at.is_none(), at, Natural(place.name.clone()), place.guid)
        });
        let mut first = 0;
        for mut place in switches.into_iter().chain(hosts) {
            place.first = first;
            first += u32::from(place.ports);
            self.by_guid.insert(place.guid, self.places.len() as u32);
            self.places.push(place);
        }
        self.peers = vec![NO_PEER; first as usize];
    }

    /// Whether it is still the layout: the fabric has nothing that is not in it, and it shows what is missing and, where
    /// `page` is about this fabric, nothing else that is gone.
    pub(crate) fn holds(&self, topology: &Topology, page: &Page, is_current: bool) -> bool {
        self.holds_all(topology) && self.shows(topology, page, is_current)
    }

    /// The same of a fabric of which it is known that all is in the layout.
    pub(crate) fn shows(&self, topology: &Topology, page: &Page, is_current: bool) -> bool {
        let missing = Missing::of(page);
        let taken = |(node, port): At| {
            let at = self.port(node, port);
            at.is_none_or(|at| self.peers[at as usize] != NO_PEER)
        };
        missing.nodes.keys().all(|guid| self.find(*guid).is_some())
            && missing.cables.iter().all(|(a, b)| taken(*a) || taken(*b))
            && (!is_current || self.has_no_more(topology, &missing))
    }

    /// Whether nothing is shown that is neither there nor missing.
    fn has_no_more(&self, topology: &Topology, missing: &Missing) -> bool {
        let mut nodes = self.places.iter().map(|place| place.guid);
        let is_known =
            |guid: Guid| topology.find(guid).is_some() || missing.nodes.contains_key(&guid);
        let links = topology.links().chain(topology.loops()).count();
        let shown = self.peers.iter().filter(|peer| **peer != NO_PEER).count() / 2;
        if shown == links && self.places.len() == topology.len() {
            return true;
        }
        let named: BTreeSet<At> = missing.cables.iter().flat_map(|(a, b)| [*a, *b]).collect();
        let is_linked = |at: At| {
            let node = topology.find(at.0);
            node.is_none_or(|node| {
                topology.peer(PortRef { node, port: at.1 }).is_some() || named.contains(&at)
            })
        };
        nodes.all(is_known)
            && self.cables().all(|(a, b)| {
                let is_there = |at: At| topology.find(at.0).is_some();
                !is_there(a) || !is_there(b) || is_linked(a) || is_linked(b)
            })
    }

    fn holds_all(&self, topology: &Topology) -> bool {
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

    /// Every cable once.
    fn cables(&self) -> impl Iterator<Item = (At, At)> + '_ {
        let ports = self
            .places
            .iter()
            .flat_map(|place| (1..=place.ports).map(move |port| (place.guid, PortNum(port))));
        let ports: Vec<At> = ports.collect();
        (0..self.peers.len()).filter_map(move |at| {
            let peer = self.peers[at] as usize;
            (at < peer)
                .then(|| Some((ports[at], *ports.get(peer)?)))
                .flatten()
        })
    }

    /// The first nodes that are gone and that no page names.
    fn unnamed(
        &self,
        topology: &Topology,
        missing: &Missing,
        most: usize,
    ) -> impl Iterator<Item = &Place> {
        let is_unnamed = |place: &&Place| {
            topology.find(place.guid).is_none() && !missing.nodes.contains_key(&place.guid)
        };
        self.places.iter().filter(is_unnamed).take(most)
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

    /// A cable, where both ends have a place and no other cable.
    fn plug(&mut self, a: Option<u32>, b: Option<u32>) {
        if let (Some(a), Some(b)) = (a, b)
            && a != b
            && self.peers[a as usize] == NO_PEER
            && self.peers[b as usize] == NO_PEER
        {
            self.peers[a as usize] = b;
            self.peers[b as usize] = a;
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

/// Where the cable of each host ends, those of before and the missing ones too.
fn ends(topology: &Topology, missing: &Missing, before: &Layout) -> BTreeMap<Guid, At> {
    let mut ends = BTreeMap::new();
    for (a, b) in before.cables() {
        ends.insert(a.0, b);
        ends.insert(b.0, a);
    }
    let gone = missing.nodes.iter();
    ends.extend(gone.filter_map(|(guid, node)| Some((*guid, node.at?))));
    for (_, host) in topology.hfis() {
        let peer = host.external_ports().find_map(|(_, port)| port.peer);
        let far = peer.and_then(|peer| Some((topology.node(peer.node)?.guid(), peer.port)));
        ends.extend(far.map(|far| (host.guid(), far)));
    }
    ends
}

/// Tiers and pods of the nodes of a fabric.
pub(crate) struct Order<'a> {
    pub(crate) topology: &'a Topology,
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

    fn place(&self, id: NodeId, node: &Node) -> Place {
        let end = node.end_ports().next();
        Place {
            guid: node.guid(),
            lid: end.map_or(0, |(_, port)| port.info.lid.0),
            tier: u8::try_from(self.tiers[id.0 as usize]).unwrap_or(NO_TIER),
            pod: self.pods[id.0 as usize],
            ports: u8::try_from(node.external_ports().len()).unwrap_or(u8::MAX),
            first: 0,
            name: node.name(),
        }
    }

    /// Tier of a node that is there.
    pub(crate) fn tier(&self, guid: Guid) -> Option<u8> {
        let id = self.topology.find(guid)?;
        u8::try_from(self.tiers[id.0 as usize]).ok()
    }

    /// Pod of a node that is there.
    pub(crate) fn pod(&self, guid: Guid) -> Option<u16> {
        let id = self.topology.find(guid)?;
        Some(self.pods[id.0 as usize])
    }

    /// The highest tier.
    pub(crate) fn highest(&self) -> u8 {
        let switches = self.topology.switches().iter();
        let known = switches.filter_map(|id| u8::try_from(self.tiers[id.0 as usize]).ok());
        known.max().unwrap_or(0)
    }
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
    fn of_nodes_that_are_gone_and_not_named_only_so_many_stay() {
        let spec: weft_fabric::FabricSpec = "one-switch:5".parse().expect("a fabric");
        let all = spec.generate().expect("a fabric");
        let before = Layout::of(&all, &Layout::default(), &Page::default(), true);
        let (none, missing) = (Topology::default(), Missing::default());
        assert_eq!(before.unnamed(&none, &missing, 100).count(), 6);
        assert_eq!(before.unnamed(&none, &missing, 4).count(), 4);
        assert_eq!(before.unnamed(&all, &missing, 4).count(), 0);
        let kept = Layout::of(&none, &before, &Page::default(), false);
        assert_eq!(kept.places.len(), 6);
    }
}
