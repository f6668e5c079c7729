//! The cables of a fabric as a technician changes them, and names of the places where one works.

use std::collections::BTreeMap;

use weft_fabric::{Guid, NodeId, PortNum, PortRef, Topology, TopologyBuilder};

/// Two tiers for 1,152 hosts, as `fattree:1152`, on switches with two more ports.
pub(super) const TREE: &str = "pgft:2;24,48;1,24;1,1;radix=50";

/// The places at which one wrong cable is made, away from the manager and from those of other wrong cables.
#[derive(Clone, Copy)]
pub(super) struct Site {
    /// Hosts' switches.
    pub(super) a: NodeId,
    pub(super) b: NodeId,
    /// Switches of the upper tier.
    pub(super) p: NodeId,
    pub(super) q: NodeId,
    /// Two hosts of `a`.
    pub(super) a1: NodeId,
    pub(super) a2: NodeId,
    /// A host of `b`.
    pub(super) b1: NodeId,
}

impl Site {
    /// The site of the wrong cable of a row.
    pub(super) fn of(topology: &Topology, row: usize) -> Self {
        let hosts = |switch: &NodeId| -> Vec<NodeId> {
            let ports = topology.node(*switch).unwrap().external_ports();
            let peers = ports.filter_map(|(_, port)| Some(port.peer?.node));
            peers
                .filter(|peer| topology.switch_index(*peer).is_none())
                .collect()
        };
        let all = topology.switches().iter().copied();
        let (edges, cores): (Vec<NodeId>, Vec<NodeId>) =
            all.partition(|switch| !hosts(switch).is_empty());
        // The manager is at the first one.
        let (a, b) = (edges[1 + 2 * row], edges[2 + 2 * row]);
        let core = |at: usize| cores[at % cores.len()];
        Self {
            a,
            b,
            p: core(2 * row),
            q: core(2 * row + 1),
            a1: hosts(&a)[0],
            a2: hosts(&a)[1],
            b1: hosts(&b)[0],
        }
    }

    /// What each node of the site is called, by its name.
    pub(super) fn names(&self, topology: &Topology) -> BTreeMap<String, &'static str> {
        let all = [
            (self.a, "A"),
            (self.b, "B"),
            (self.p, "P"),
            (self.q, "Q"),
            (self.a1, "a1"),
            (self.a2, "a2"),
            (self.b1, "b1"),
        ];
        let named = all.map(|(id, role)| (topology.node(id).unwrap().name(), role));
        named.into()
    }
}

/// The cables of a fabric, to be changed.
pub(super) struct Cabling<'a> {
    topology: &'a Topology,
    links: Vec<(PortRef, PortRef)>,
    /// HFIs in whose place there is another one.
    replaced: Vec<NodeId>,
}

impl<'a> Cabling<'a> {
    pub(super) fn of(topology: &'a Topology) -> Self {
        Self {
            topology,
            links: topology.links().collect(),
            replaced: Vec::new(),
        }
    }

    /// The cable between two nodes: its place, and its ends in this order.
    fn find(&self, from: NodeId, to: NodeId) -> (usize, PortRef, PortRef) {
        let links = self.links.iter().enumerate();
        let mut links = links.filter_map(|(at, (a, b))| match (a.node, b.node) {
            ends if ends == (from, to) => Some((at, *a, *b)),
            ends if ends == (to, from) => Some((at, *b, *a)),
            _ => None,
        });
        links.next().unwrap()
    }

    fn spare(&self, node: NodeId) -> PortRef {
        let is_free = |port: &PortNum| {
            let end = PortRef { node, port: *port };
            self.links.iter().all(|(a, b)| *a != end && *b != end)
        };
        let mut ports = self.topology.node(node).unwrap().external_ports();
        let port = ports.find_map(|(port, _)| Some(port).filter(is_free));
        let port = port.unwrap();
        PortRef { node, port }
    }

    /// Pulls the cable between two nodes.
    pub(super) fn pull(&mut self, from: NodeId, to: NodeId) {
        let (at, ..) = self.find(from, to);
        self.links.swap_remove(at);
    }

    /// Plugs a new cable into free ports.
    pub(super) fn add(&mut self, from: NodeId, to: NodeId) {
        let from = self.spare(from);
        let at = self.links.len();
        self.links.push((from, from));
        self.links[at].1 = self.spare(to);
    }

    /// Plugs the far end of a cable into a free port of another node, or of the same.
    pub(super) fn shift(&mut self, (from, to): (NodeId, NodeId), other: NodeId) {
        let (at, near, _) = self.find(from, to);
        self.links[at] = (near, self.spare(other));
    }

    /// Exchanges the far ends of two cables.
    pub(super) fn swap(&mut self, first: (NodeId, NodeId), second: (NodeId, NodeId)) {
        let (first, near, far) = self.find(first.0, first.1);
        let (second, other_near, other_far) = self.find(second.0, second.1);
        self.links[first] = (near, other_far);
        self.links[second] = (other_near, far);
    }

    /// Puts another HFI into the place of a host's.
    pub(super) fn replace(&mut self, host: NodeId) {
        self.replaced.push(host);
    }

    /// The fabric as it is now; a node without a cable is not found.
    pub(super) fn build(&self) -> Topology {
        let mut builder = TopologyBuilder::new();
        let mut numbers = BTreeMap::new();
        let mut linked = vec![false; self.topology.len()];
        for end in self.links.iter().flat_map(|(a, b)| [a, b]) {
            linked[end.node.0 as usize] = true;
        }
        for (id, _) in self
            .topology
            .nodes()
            .filter(|(id, _)| linked[id.0 as usize])
        {
            let mut node = (**self.topology.node_shared(id).unwrap()).clone();
            let ports: Vec<PortNum> = node.ports().map(|(port, _)| port).collect();
            for port in ports {
                node.port_mut(port).unwrap().peer = None;
            }
            if self.replaced.contains(&id) {
                let guid = Guid(node.guid().0 | 0xff_0000);
                (node.info.node_guid, node.info.port_guid) = (guid, guid);
            }
            numbers.insert(id, builder.add(node).unwrap());
        }
        for (a, b) in &self.links {
            let [a, b] = [a, b].map(|end| PortRef {
                node: numbers[&end.node],
                port: end.port,
            });
            builder.connect(a, b).unwrap();
        }
        builder.build().unwrap()
    }
}
