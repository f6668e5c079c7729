//! Hosts that feel something: those whose packets cross a link.

use std::cell::Cell;

use weft_fabric::{Guid, NodeId, Snapshot, Topology};

use crate::memory::LinkEnd;

/// Names that are told.
const NAMES_MAX: usize = 4;
/// Links for which all hosts are looked at; of further ones, those at the switches themselves.
const LOOKS_MAX: u32 = 200;

pub(super) struct Felt<'a> {
    snapshot: &'a Snapshot,
    looks: Cell<u32>,
}

impl<'a> Felt<'a> {
    pub(super) fn new(snapshot: &'a Snapshot) -> Self {
        Self {
            snapshot,
            looks: Cell::new(0),
        }
    }

    /// Hosts to which packets cross a link: of its two directions, the one to fewer hosts. Where no routes lead over
    /// it, the hosts at its switches.
    pub(super) fn over(&self, topology: &Topology, a: LinkEnd, b: LinkEnd) -> (u32, Vec<String>) {
        let is_host = |end: LinkEnd| {
            let node = topology.find(end.0).and_then(|id| topology.node(id));
            node.filter(|node| !node.is_switch())
        };
        if let Some(host) = is_host(a).or_else(|| is_host(b)) {
            return (1, vec![host.name()]);
        }
        if self.looks.get() < LOOKS_MAX {
            self.looks.set(self.looks.get() + 1);
            let ways = [a, b].map(|end| self.routed(topology, end));
            let fewer = ways.iter().filter(|hosts| !hosts.is_empty());
            if let Some(fewer) = fewer.min_by_key(|hosts| hosts.len()) {
                return told(topology, fewer);
            }
        }
        let mut hosts = hosts_at(topology, a.0);
        hosts.extend(hosts_at(topology, b.0));
        told(topology, &hosts)
    }

    /// Hosts whose routes leave a switch by a port.
    fn routed(&self, topology: &Topology, (guid, port): LinkEnd) -> Vec<NodeId> {
        let switch = topology.find(guid).and_then(|id| topology.switch_index(id));
        let Some(switch) = switch else {
            return Vec::new();
        };
        let row = self.snapshot.linear.row(switch);
        let leads = |lid: u32| row.get(lid as usize) == Some(&port.0);
        let hosts = topology.hfis().filter(|(_, node)| {
            let mut lids = node.end_ports().map(|(_, end)| &end.info);
            lids.any(|info| {
                let all = info.lid.0..info.lid.0.saturating_add(info.lmc.lids());
                info.lid.0 != 0 && all.into_iter().any(leads)
            })
        });
        hosts.map(|(id, _)| id).collect()
    }
}

/// Hosts with a link to a switch.
pub(super) fn hosts_at(topology: &Topology, switch: Guid) -> Vec<NodeId> {
    let node = topology.find(switch).and_then(|id| topology.node(id));
    let ports = node.into_iter().flat_map(|node| node.external_ports());
    let peers = ports.filter_map(|(_, port)| port.peer);
    let hosts = peers.filter(|peer| topology.switch_index(peer.node).is_none());
    hosts.map(|peer| peer.node).collect()
}

fn told(topology: &Topology, hosts: &[NodeId]) -> (u32, Vec<String>) {
    let first = hosts.iter().take(NAMES_MAX);
    let names = first.filter_map(|id| Some(topology.node(*id)?.name()));
    (hosts.len() as u32, names.collect())
}

/// The number of hosts, and the first of their names.
pub(super) fn first(mut names: Vec<String>) -> (u32, Vec<String>) {
    let count = names.len() as u32;
    names.truncate(NAMES_MAX);
    (count, names)
}
