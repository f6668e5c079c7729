//! For which channels packets in each channel of a fabric can wait.

use std::collections::BTreeSet;

use crate::view::FabricView;

/// A directed link between switches: the lane, the switch and the egress port.
pub(super) type Channel = (u8, usize, u8);

/// The graph of what waits for what. Packets in a channel wait at the switch behind it, so that a channel's
/// successors are ports of one switch.
#[derive(Debug)]
pub(super) struct Waits<'a> {
    view: &'a FabricView,
    /// For each port of each node, in their order.
    of_port: Vec<Vec<Behind>>,
    /// The first of each node's ports.
    first: Vec<usize>,
}

/// What packets in a lane of a port wait for at the switch behind it, in one of its lanes.
#[derive(Debug)]
struct Behind {
    lane: u8,
    next_lane: u8,
    /// The switch's ports, as bits.
    ports: [u64; 4],
}

/// The first port of each node, where the ports of all nodes are numbered in their order, and their number.
pub(super) fn first_ports(view: &FabricView) -> (Vec<usize>, usize) {
    let mut ports = 0;
    let mut first = Vec::new();
    for node in &view.nodes {
        first.push(ports);
        ports += node.ports.len();
    }
    (first, ports)
}

impl<'a> Waits<'a> {
    pub(super) fn new(view: &'a FabricView) -> Self {
        let (first, ports) = first_ports(view);
        Self {
            view,
            of_port: std::iter::repeat_with(Vec::new).take(ports).collect(),
            first,
        }
    }

    /// Packets in a channel can wait for the next one, which leaves the switch behind it.
    pub(super) fn insert(&mut self, (lane, node, port): Channel, next: Channel) {
        let behind = &mut self.of_port[self.first[node] + usize::from(port)];
        let is_same = |behind: &&mut Behind| (behind.lane, behind.next_lane) == (lane, next.0);
        let (word, bit) = (usize::from(next.2 / 64), 1 << (next.2 % 64));
        if let Some(same) = behind.iter_mut().find(is_same) {
            same.ports[word] |= bit;
            return;
        }
        let mut ports = [0; 4];
        ports[word] = bit;
        behind.push(Behind {
            lane,
            next_lane: next.0,
            ports,
        });
    }

    /// The channels that packets in a channel can wait for.
    fn next(&self, (lane, node, port): Channel) -> impl Iterator<Item = Channel> {
        let peer = self.view.nodes[node].port(port).and_then(|port| port.peer);
        let all = &self.of_port[self.first[node] + usize::from(port)];
        let own = all.iter().filter(move |behind| behind.lane == lane);
        let ports = own.flat_map(|behind| {
            let has = |port: &u8| behind.ports[usize::from(port / 64)] >> (port % 64) & 1 == 1;
            let ports = (0..=u8::MAX).filter(has);
            ports.map(|port| (behind.next_lane, port))
        });
        peer.into_iter()
            .flat_map(move |(peer, _)| ports.clone().map(move |(lane, port)| (lane, peer, port)))
    }

    /// Channels whose packets wait for others.
    fn waiting(&self) -> impl Iterator<Item = Channel> {
        let nodes = self.view.nodes.iter().enumerate();
        let ports = nodes.flat_map(|(place, node)| {
            let ports = node.external().map(|(number, _)| number);
            ports.map(move |port| (place, port))
        });
        ports.flat_map(|(node, port)| {
            let behind = self.of_port[self.first[node] + usize::from(port)].iter();
            behind.map(move |behind| (behind.lane, node, port))
        })
    }

    /// A ring of channels, if there is one: those without a successor are taken away until none is left, or only
    /// rings and what leads to them are.
    pub(super) fn ring(&self) -> Option<Vec<Channel>> {
        let mut alive: BTreeSet<Channel> = self.waiting().collect();
        loop {
            let waits = |channel: &&Channel| self.next(**channel).any(|next| alive.contains(&next));
            let still: BTreeSet<Channel> = alive.iter().filter(waits).copied().collect();
            if still.len() == alive.len() {
                break;
            }
            alive = still;
        }
        let mut path = vec![*alive.first()?];
        loop {
            let nexts = self.next(*path.last()?);
            let next = nexts.filter(|next| alive.contains(next)).min()?;
            if let Some(start) = path.iter().position(|channel| *channel == next) {
                return Some(path.split_off(start));
            }
            path.push(next);
        }
    }
}
