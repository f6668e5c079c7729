//! The switches and the links between them, with their capacities.

use weft_fabric::{Guid, NodeId, PortNum, PortRef, SwitchIndex, Topology};

use super::MulticastGroup;
use crate::network::{End, gcd};

/// Mb/s of one lane at 12.5 Gb/s, the unit of a link's rate.
const RATE_UNIT_MBPS: u32 = 12_500;

/// A link from one switch to another, seen from one end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    pub(super) port: PortNum,
    pub(super) far_port: PortNum,
    pub(super) to: u32,
    pub(super) cost: u16,
    mtu_bytes: u32,
    rate_mbps: u32,
}

/// Groups that need the same of links and switches, as far as these differ.
///
/// Each value is a place among the distinct values that there are, so that all groups fall into one
/// class where all links and switches are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Class {
    mtu: usize,
    rate: usize,
    cap: usize,
}

/// All switches.
#[derive(Debug)]
pub(super) struct Graph {
    guids: Vec<Guid>,
    nodes: Vec<NodeId>,
    caps: Vec<u32>,
    start: Vec<u32>,
    links: Vec<Link>,
    /// Distinct values in order.
    mtus: Vec<u32>,
    rates: Vec<u32>,
    distinct_caps: Vec<u32>,
    /// By node: each of its end ports with a switch, that switch, and its port.
    attached: Vec<Vec<(PortNum, u32, PortNum)>>,
}

impl Graph {
    pub(super) fn new(topology: &Topology) -> Self {
        let mut graph = Self {
            guids: Vec::new(),
            nodes: topology.switches().to_vec(),
            caps: Vec::new(),
            start: vec![0],
            links: Vec::new(),
            mtus: Vec::new(),
            rates: Vec::new(),
            distinct_caps: Vec::new(),
            attached: vec![Vec::new(); topology.len()],
        };
        for index in 0..graph.nodes.len() {
            graph.add(topology, index);
        }
        graph.simplify_costs();
        let links = graph.links.iter();
        graph.mtus = distinct(links.clone().map(|link| link.mtu_bytes));
        graph.rates = distinct(links.map(|link| link.rate_mbps));
        graph.distinct_caps = distinct(graph.caps.iter().copied());
        graph
    }

    /// Puts costs in the largest unit that all are multiples of: a search goes level by level.
    fn simplify_costs(&mut self) {
        let costs = self.links.iter().map(|link| link.cost);
        let unit = costs.fold(0, gcd).max(1);
        self.links.iter_mut().for_each(|link| link.cost /= unit);
    }

    fn add(&mut self, topology: &Topology, index: usize) {
        let id = self.nodes[index];
        let Some(node) = topology.node(id) else {
            return;
        };
        self.guids.push(node.guid());
        self.caps
            .push(node.switch.map_or(0, |switch| switch.multicast_fdb_cap));
        self.attached[id.0 as usize].push((PortNum(0), index as u32, PortNum(0)));
        for (port, end) in node.external_ports() {
            let far = end.peer.and_then(|peer| topology.port(peer));
            let ends = far.and_then(|far| Some((far, End::read(end)?, End::read(far)?)));
            let Some((far, near, other)) = ends else {
                continue;
            };
            let (peer, link) = (near.peer, near.worse(other));
            match topology.switch_index(peer.node) {
                Some(SwitchIndex(to)) if peer.node != id => self.links.push(Link {
                    port,
                    far_port: peer.port,
                    to,
                    cost: link.cost(),
                    mtu_bytes: end.info.mtu_cap.min(far.info.mtu_cap).bytes(),
                    rate_mbps: u32::from(link.rate()) * RATE_UNIT_MBPS,
                }),
                Some(_) => {}
                None => self.attached[peer.node.0 as usize].push((peer.port, index as u32, port)),
            }
        }
        self.start.push(self.links.len() as u32);
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn guid(&self, switch: usize) -> Guid {
        self.guids[switch]
    }

    pub(super) fn node(&self, switch: usize) -> NodeId {
        self.nodes[switch]
    }

    pub(super) fn find(&self, guid: Guid) -> Option<usize> {
        self.guids.iter().position(|other| *other == guid)
    }

    /// Rows of a switch's table.
    pub(super) fn cap(&self, switch: usize) -> u32 {
        self.caps[switch]
    }

    /// A switch's links by port.
    pub(super) fn links(&self, switch: usize) -> &[Link] {
        &self.links[self.start[switch] as usize..self.start[switch + 1] as usize]
    }

    /// Highest cost of a link.
    pub(super) fn cost_max(&self) -> u16 {
        self.links.iter().map(|link| link.cost).max().unwrap_or(1)
    }

    /// The switch that an end port is on, and that switch's port to it; 0 for itself.
    pub(super) fn switch_of(&self, end: PortRef) -> Option<(usize, PortNum)> {
        let ports = self.attached.get(end.node.0 as usize)?;
        let found = ports.iter().find(|(port, ..)| *port == end.port);
        found.map(|(_, switch, port)| (*switch as usize, *port))
    }

    pub(super) fn class_of(&self, group: &MulticastGroup) -> Class {
        let place = |values: &[u32], least: u32| values.partition_point(|value| *value < least);
        let row = group.row().unwrap_or(u32::MAX);
        Class {
            mtu: place(&self.mtus, group.mtu.bytes()),
            rate: place(&self.rates, group.rate_mbps),
            cap: place(&self.distinct_caps, row.saturating_add(1)),
        }
    }

    /// Whether a switch has rows for the class.
    pub(super) fn holds(&self, switch: usize, class: Class) -> bool {
        let least = self.distinct_caps.get(class.cap);
        least.is_some_and(|least| self.caps[switch] >= *least)
    }

    /// Whether a link of a switch can be in the tree of the class.
    pub(super) fn carries(&self, from: usize, link: &Link, class: Class) -> bool {
        let enough = |values: &[u32], place: usize, value: u32| {
            values.get(place).is_some_and(|least| value >= *least)
        };
        enough(&self.mtus, class.mtu, link.mtu_bytes)
            && enough(&self.rates, class.rate, link.rate_mbps)
            && self.holds(from, class)
            && self.holds(link.to as usize, class)
    }
}

fn distinct(values: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut values: Vec<u32> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}
