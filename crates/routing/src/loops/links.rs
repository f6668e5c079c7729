//! The links between switches that loops may use.

use std::collections::BTreeMap;

use weft_fabric::{NodeId, PortNum, PortRef, Topology};

use crate::network::End;

/// A link in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link {
    /// The sending port.
    pub(super) port: PortRef,
    /// The switch at the other end, and the port there.
    pub(super) to: usize,
    pub(super) far_port: PortNum,
    /// Number of the cable: the same in both directions.
    pub(super) cable: usize,
}

/// Links one after the other.
pub(super) type Walk = Vec<Link>;

/// The links of all switches that are connected with one of them.
#[derive(Debug)]
pub(super) struct Links {
    nodes: Vec<NodeId>,
    /// By switch, in order of ports.
    by_port: Vec<Vec<Link>>,
    /// By switch and switch at the other end, in order of ports.
    by_peer: BTreeMap<(usize, usize), Vec<Link>>,
    cables: usize,
}

impl Links {
    pub(super) fn read(topology: &Topology, from: NodeId) -> Self {
        let nodes = topology.switches().to_vec();
        let mut links = Self {
            by_port: vec![Vec::new(); nodes.len()],
            by_peer: BTreeMap::new(),
            cables: 0,
            nodes,
        };
        let mut cables: BTreeMap<PortRef, usize> = BTreeMap::new();
        for (at, node) in links.nodes.iter().enumerate() {
            for port in ports(topology, *node) {
                let Some((to, far)) = far_end(topology, port) else {
                    continue;
                };
                let count = cables.len();
                let cable = *cables.entry(port.min(far)).or_insert(count);
                links.by_port[at].push(Link {
                    port,
                    to,
                    far_port: far.port,
                    cable,
                });
            }
        }
        links.cables = cables.len();
        let start = topology.switch_index(from);
        links.keep_connected(start.map(|start| start.0 as usize));
        for (at, of) in links.by_port.iter().enumerate() {
            for link in of {
                let pair = links.by_peer.entry((at, link.to)).or_default();
                pair.push(*link);
            }
        }
        links
    }

    /// Drops the links of switches that are not connected with `start`.
    fn keep_connected(&mut self, start: Option<usize>) {
        let mut is_reached = vec![false; self.by_port.len()];
        let mut stack: Vec<usize> = start.into_iter().collect();
        while let Some(at) = stack.pop() {
            if !std::mem::replace(&mut is_reached[at], true) {
                stack.extend(self.by_port[at].iter().map(|link| link.to));
            }
        }
        for (of, is_reached) in self.by_port.iter_mut().zip(is_reached) {
            if !is_reached {
                of.clear();
            }
        }
    }

    /// Number of switches.
    pub(super) fn len(&self) -> usize {
        self.by_port.len()
    }

    /// Number of cables, those of unconnected switches included.
    pub(super) fn cables(&self) -> usize {
        self.cables
    }

    /// The links that leave a switch.
    pub(super) fn of(&self, switch: usize) -> &[Link] {
        &self.by_port[switch]
    }

    /// The links from a switch to another one.
    pub(super) fn between(&self, from: usize, to: usize) -> &[Link] {
        let links = self.by_peer.get(&(from, to));
        links.map_or(&[], |links| links)
    }

    /// The sending ports of a walk.
    pub(super) fn ports(&self, walk: &Walk) -> Vec<PortRef> {
        walk.iter().map(|link| link.port).collect()
    }
}

fn ports(topology: &Topology, node: NodeId) -> impl Iterator<Item = PortRef> {
    let ports = topology
        .node(node)
        .map_or(0, |it| it.external_ports().len());
    (1..=ports as u8).map(move |port| PortRef {
        node,
        port: PortNum(port),
    })
}

/// The port at the other end of a link that is up and leads to another switch, and that switch.
fn far_end(topology: &Topology, port: PortRef) -> Option<(usize, PortRef)> {
    let far = topology.port(port).and_then(End::read)?.peer;
    topology.port(far).and_then(End::read)?;
    let to = topology.switch_index(far.node)?;
    (far.node != port.node).then_some((to.0 as usize, far))
}
