//! Places of a fabric that faults are made at.

use std::collections::BTreeMap;

use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use weft_fabric::{Guid, Node, NodeId, PortNum, PortRef, Topology};

use crate::campaign::programs::Port;

/// A cable between switches, by its end at one of them, and the other one.
pub(super) type Link = (Port, Guid);

/// The nodes and cables of a fabric that may break: not the hosts of the managers, nor their cables.
#[derive(Debug, Clone)]
pub(super) struct Places {
    /// Hosts without a manager, by the ports of their cables.
    pub(super) hosts: Vec<Port>,
    /// All switches.
    pub(super) switches: Vec<Guid>,
    /// Switches that have hosts.
    pub(super) leaves: Vec<Guid>,
    /// Cables between switches.
    pub(super) isls: Vec<Port>,
    /// The same by the switches at their ends, each with those to others.
    links: BTreeMap<Guid, Vec<Link>>,
    /// Ports of switches with a cable that may break.
    pub(super) switch_ends: Vec<Port>,
    /// Ports of switches without a cable.
    pub(super) free: Vec<Port>,
    /// Two such ports of one switch.
    pub(super) free_pairs: Vec<(Guid, PortNum, PortNum)>,
}

impl Places {
    pub(super) fn of(topology: &Topology, managers: &[Port]) -> Self {
        let guid = |id: NodeId| topology.node(id).map_or(Guid(0), Node::guid);
        let is_switch = |end: &PortRef| topology.switch_index(end.node).is_some();
        let named = |end: PortRef| (guid(end.node), end.port);
        let mut places = Self {
            hosts: Vec::new(),
            switches: topology.switches().iter().map(|id| guid(*id)).collect(),
            leaves: Vec::new(),
            isls: Vec::new(),
            links: BTreeMap::new(),
            switch_ends: Vec::new(),
            free: Vec::new(),
            free_pairs: Vec::new(),
        };
        for (a, b) in topology.links() {
            match (is_switch(&a), is_switch(&b)) {
                (true, true) => places.isl(named(a), named(b)),
                (false, true) => places.host(named(a), named(b), managers),
                (true, false) => places.host(named(b), named(a), managers),
                (false, false) => {}
            }
        }
        for id in topology.switches() {
            let ports = topology
                .node(*id)
                .into_iter()
                .flat_map(Node::external_ports);
            let free = ports.filter(|(_, port)| port.peer.is_none());
            let free: Vec<PortNum> = free.map(|(number, _)| number).collect();
            let node = guid(*id);
            places.free.extend(free.iter().map(|port| (node, *port)));
            if let [a, b, ..] = free[..] {
                places.free_pairs.push((node, a, b));
            }
        }
        places.leaves.sort_unstable();
        places.leaves.dedup();
        places.hosts.sort_unstable();
        places.hosts.dedup();
        places
    }

    fn isl(&mut self, a: Port, b: Port) {
        self.isls.push(a);
        self.switch_ends.extend([a, b]);
        if a.0 != b.0 {
            for (end, far) in [(a, b.0), (b, a.0)] {
                self.links.entry(end.0).or_default().push((end, far));
            }
        }
    }

    fn host(&mut self, host: Port, leaf: Port, managers: &[Port]) {
        self.leaves.push(leaf.0);
        if managers.iter().all(|manager| manager.0 != host.0) {
            self.hosts.push(host);
            self.switch_ends.push(leaf);
        }
    }

    /// A cable; of a host where there are no others.
    pub(super) fn cable(&self, rng: &mut impl Rng) -> Port {
        let of_host = self.isls.is_empty() || rng.random_bool(0.3);
        match of_host {
            true => *any(rng, &self.hosts),
            false => *any(rng, &self.isls),
        }
    }

    /// The cables between a switch and others.
    pub(super) fn links_of(&self, switch: Guid) -> &[Link] {
        self.links.get(&switch).map_or(&[], Vec::as_slice)
    }

    /// Some hosts: one of ten, or all.
    pub(super) fn wave(&self, rng: &mut impl Rng) -> Vec<Port> {
        let mut hosts = self.hosts.clone();
        if rng.random_bool(0.5) {
            hosts.shuffle(rng);
            hosts.truncate(hosts.len().div_ceil(10));
        }
        hosts
    }
}

/// One of some; there is at least one.
pub(super) fn any<'a, T>(rng: &mut impl Rng, of: &'a [T]) -> &'a T {
    &of[rng.random_range(0..of.len())]
}
