//! Cuts a fabric into shards.
//!
//! Switches with HFIs are assigned in order, with equal numbers of HFIs per shard, so that neighbours in the
//! fabric's description stay together. Every other switch joins the shard with most of its cables, as long
//! as that shard has no more than its part of their ports; if cables do not decide, as for the top
//! of a tree of two tiers, they are assigned in rotation. HFIs are with their switch.

use std::sync::Arc;

use crate::device::Device;
use crate::network::Network;

/// Maximum number of shards.
const SHARDS_MAX: usize = 64;

/// The shard of each port, and how many shards there are: at most one for each switch.
pub(super) fn cut(network: &Network, count: usize) -> (Arc<[u8]>, usize) {
    let nodes = network.devices().filter(|(_, device)| device.is_switch());
    let switches = nodes.count();
    let devices = network.devices().len();
    let most = if switches == 0 { devices } else { switches };
    let count = count.clamp(1, SHARDS_MAX.min(most.max(1)));
    let mut cut = Cut {
        network,
        count,
        shards: vec![None; devices],
    };
    cut.deal_edges();
    cut.spread();
    let shards = cut.of_ports();
    (shards, count)
}

struct Cut<'a> {
    network: &'a Network,
    count: usize,
    /// By node.
    shards: Vec<Option<usize>>,
}

impl Cut<'_> {
    fn neighbours(&self, device: &Device) -> impl Iterator<Item = usize> {
        let peers = device.ports().filter_map(|(_, at)| self.network.peer(at));
        peers.map(|peer| self.network.node_of(peer).0 as usize)
    }

    fn is_switch(&self, node: usize) -> bool {
        let device = self.network.devices.get(node);
        device.is_some_and(Device::is_switch)
    }

    /// HFIs of a switch.
    fn hosts(&self, device: &Device) -> usize {
        let hosts = self.neighbours(device);
        hosts.filter(|node| !self.is_switch(*node)).count()
    }

    fn deal_edges(&mut self) {
        let switches = self.network.devices().filter(|(_, it)| it.is_switch());
        let edges: Vec<(usize, usize)> = switches
            .map(|(id, device)| (id.0 as usize, self.hosts(device)))
            .filter(|(_, hosts)| *hosts > 0)
            .collect();
        let all: usize = edges.iter().map(|(_, hosts)| hosts).sum();
        let mut before = 0;
        for (node, hosts) in edges {
            // The middle one of its hosts determines its shard.
            let shard = (2 * before + hosts) * self.count / (2 * all.max(1));
            self.shards[node] = Some(shard.min(self.count - 1));
            before += hosts;
        }
    }

    /// The other switches, from the edge inwards.
    fn spread(&mut self) {
        let left = |cut: &Self| -> Vec<usize> {
            let nodes = 0..cut.shards.len();
            nodes
                .filter(|node| cut.is_switch(*node) && cut.shards[*node].is_none())
                .collect()
        };
        let mut rest = left(self);
        let ports = |cut: &Self, node: usize| cut.neighbours(&cut.network.devices[node]).count();
        let all: usize = rest.iter().map(|node| ports(self, *node)).sum();
        let most = all.div_ceil(self.count);
        let mut loads = vec![0; self.count];
        while !rest.is_empty() {
            let known = self.shards.clone();
            let near = |node: &usize| {
                let mut others = self.neighbours(&self.network.devices[*node]);
                others.any(|other| known[other].is_some())
            };
            let mut ready: Vec<usize> = rest.iter().copied().filter(near).collect();
            if ready.is_empty() {
                ready = rest;
            }
            for node in ready {
                let ports = ports(self, node);
                let shard = self.best(node, ports, &known, &loads, most);
                loads[shard] += ports;
                self.shards[node] = Some(shard);
            }
            rest = left(self);
        }
    }

    /// The shard with most cables, then the smallest.
    fn best(
        &self,
        node: usize,
        ports: usize,
        known: &[Option<usize>],
        loads: &[usize],
        most: usize,
    ) -> usize {
        let mut cables = vec![0_usize; self.count];
        for other in self.neighbours(&self.network.devices[node]) {
            if let Some(shard) = known[other] {
                cables[shard] += 1;
            }
        }
        let room = |shard: &usize| loads[*shard] + ports <= most;
        let shards = (0..self.count).filter(room);
        let best = shards.min_by_key(|shard| (usize::MAX - cables[*shard], loads[*shard]));
        let least = || (0..self.count).min_by_key(|shard| loads[*shard]);
        best.or_else(least).unwrap_or(0)
    }

    fn of_ports(&self) -> Arc<[u8]> {
        let of = |at: usize| {
            let node = self.network.links[at].node as usize;
            let beside = || {
                let mut switches = self.neighbours(&self.network.devices[node]);
                switches.find_map(|other| self.shards[other])
            };
            let shard = self.shards[node].or_else(beside);
            shard.unwrap_or(node % self.count) as u8
        };
        (0..self.network.links.len()).map(of).collect()
    }
}
