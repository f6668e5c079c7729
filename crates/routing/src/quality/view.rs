//! The topology and its tables as flat arrays, and how a route is followed.

use std::collections::VecDeque;

use weft_fabric::enums::PortState;
use weft_fabric::{Lid, LinearTables, NodeId, PortRef, SwitchIndex, Topology};

use super::PARTS;

/// Longest route, in links between switches; longer ones count as not arriving. The wire's hop
/// counter has 6 bits.
const HOPS_MAX: usize = 64;

/// No switch at this port.
const NONE: u32 = u32::MAX;

/// A port with LIDs that sends and receives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Host {
    /// The port itself.
    pub(super) at: PortRef,
    /// The switch that it is on.
    pub(super) leaf: u32,
    /// The switch's port to it.
    pub(super) port: u8,
    /// First LID.
    pub(super) lid: u32,
    /// Number of LIDs.
    pub(super) lids: u32,
}

impl Host {
    /// Parts of a flow that each of its LIDs takes.
    pub(super) fn share(&self) -> u32 {
        PARTS / self.lids
    }
}

/// The topology, read.
#[derive(Debug)]
pub(super) struct View<'a> {
    /// Hosts in topological order.
    pub(super) hosts: Vec<Host>,
    /// Start of each switch's ports in `next`, which is numbered by link.
    first: Vec<u32>,
    /// The switch behind each port, `NONE` for anything else.
    next: Vec<u32>,
    rows: Vec<&'a [u8]>,
}

impl<'a> View<'a> {
    /// Reads.
    pub(super) fn new(topology: &Topology, linear: &'a LinearTables) -> Self {
        let count = topology.switches().len();
        let mut view = Self {
            hosts: Vec::new(),
            first: Vec::with_capacity(count + 1),
            next: Vec::new(),
            rows: (0..count as u32)
                .map(|switch| linear.row(SwitchIndex(switch)))
                .collect(),
        };
        view.read_links(topology);
        view.hosts = hosts(topology);
        view.order_hosts();
        view
    }

    fn read_links(&mut self, topology: &Topology) {
        for &node in topology.switches() {
            self.first.push(self.next.len() as u32);
            for at in ports(topology, node) {
                let far = working_peer(topology, at);
                let far = far.filter(|far| far.node != node);
                let to = far.and_then(|far| topology.switch_index(far.node));
                self.next.push(to.map_or(NONE, |to| to.0));
            }
        }
        self.first.push(self.next.len() as u32);
    }

    /// The sending port of each link, in their order; `topology` is the one that was read.
    pub(super) fn senders(&self, topology: &Topology) -> impl Iterator<Item = PortRef> {
        let switches = topology.switches().iter();
        switches.flat_map(|node| ports(topology, *node))
    }

    /// Puts hosts of one switch together, and switches with hosts by distance: the first one left
    /// with all that are as near to it as its nearest, until none is left.
    fn order_hosts(&mut self) {
        let mut leaves: Vec<u32> = self.hosts.iter().map(|host| host.leaf).collect();
        leaves.sort_unstable();
        leaves.dedup();
        let mut place = vec![NONE; self.switches()];
        let mut placed = 0;
        for &leaf in &leaves {
            if place[leaf as usize] != NONE {
                continue;
            }
            let hops = self.hops_from(leaf);
            let left = || leaves.iter().filter(|at| place[**at as usize] == NONE);
            let nearest = left()
                .filter(|at| **at != leaf)
                .map(|at| hops[*at as usize])
                .min();
            let near: Vec<u32> = left()
                .filter(|at| **at == leaf || Some(hops[**at as usize]) == nearest)
                .copied()
                .collect();
            for at in near {
                place[at as usize] = placed;
                placed += 1;
            }
        }
        self.hosts
            .sort_by_key(|host| (place[host.leaf as usize], host.port));
    }

    fn hops_from(&self, start: u32) -> Vec<u32> {
        let mut hops = vec![NONE; self.switches()];
        hops[start as usize] = 0;
        let mut queue = VecDeque::from([start]);
        while let Some(at) = queue.pop_front() {
            for &to in &self.next[self.links_of(at)] {
                if to != NONE && hops[to as usize] == NONE {
                    hops[to as usize] = hops[at as usize] + 1;
                    queue.push_back(to);
                }
            }
        }
        hops
    }

    /// Number of switches.
    pub(super) fn switches(&self) -> usize {
        self.first.len() - 1
    }

    /// Length of an array that is indexed by link. A link is numbered by its sending port; ports
    /// that lead to no switch have numbers, too.
    pub(super) fn links(&self) -> usize {
        self.next.len()
    }

    /// Whether this is a link from a switch to another one.
    pub(super) fn is_link(&self, link: usize) -> bool {
        self.next[link] != NONE
    }

    fn links_of(&self, switch: u32) -> std::ops::Range<usize> {
        self.first[switch as usize] as usize..self.first[switch as usize + 1] as usize
    }

    /// Working links from a switch to others.
    pub(super) fn degree(&self, switch: u32) -> usize {
        let links = &self.next[self.links_of(switch)];
        links.iter().filter(|to| **to != NONE).count()
    }

    /// Adds the links of the route from a switch to a LID of a host; returns whether it arrives. Where
    /// it does not, none is added.
    pub(super) fn follow(&self, from: u32, lid: u32, to: &Host, links: &mut Vec<u32>) -> bool {
        let start = links.len();
        let mut at = from;
        loop {
            let entry = self.rows[at as usize].get(lid as usize).copied();
            if at == to.leaf && entry == Some(to.port) {
                return true;
            }
            let link = entry.map(|port| self.first[at as usize] as usize + usize::from(port));
            let link = link.filter(|link| self.links_of(at).contains(link) && self.is_link(*link));
            let Some(link) = link.filter(|_| links.len() - start < HOPS_MAX) else {
                links.truncate(start);
                return false;
            };
            links.push(link as u32);
            at = self.next[link];
        }
    }
}

/// All ports of a switch, in order.
fn ports(topology: &Topology, node: NodeId) -> impl Iterator<Item = PortRef> {
    let ports = topology.node(node).into_iter();
    let ports = ports.flat_map(|node| node.ports());
    ports.map(move |(port, _)| PortRef { node, port })
}

fn hosts(topology: &Topology) -> Vec<Host> {
    let ends = topology.end_ports();
    let hosts = ends.filter_map(|(at, lid, lmc)| {
        if lid == Lid(0) || topology.switch_index(at.node).is_some() {
            return None;
        }
        let far = working_peer(topology, at)?;
        Some(Host {
            at,
            leaf: topology.switch_index(far.node)?.0,
            port: far.port.0,
            lid: lid.0,
            lids: lmc.lids(),
        })
    });
    hosts.collect()
}

/// The other end of a cable that is up at both ends.
fn working_peer(topology: &Topology, at: PortRef) -> Option<PortRef> {
    let near = topology.port(at)?;
    let far = near.peer?;
    let ends = [near, topology.port(far)?];
    let up = |end: &&weft_fabric::Port| end.info.port_state != PortState::DOWN;
    ends.iter().all(up).then_some(far)
}
