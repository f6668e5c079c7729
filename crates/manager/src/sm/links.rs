//! Which links both ends agree on, and the order of nodes that does not depend on the order of
//! answers.

use std::collections::VecDeque;
use std::sync::Arc;

use weft_fabric::{Guid, NodeId, PortMask, PortNum, PortRef};
use weft_wire::sm::PortInfo;

use super::Manager;
use super::devices::{Device, Observed};
use super::discover::is_up;

/// What one end of a link finds at the other.
enum End {
    /// The other end names this one back.
    Good(PortRef),
    /// The other end is not known or has no link: it may have changed during the sweep.
    Missing,
    /// The other end says something else.
    Contradicted,
}

impl Manager {
    /// Ends discovery: keeps the links on which both ends agree, leaves out what cannot be reached
    /// over them, and numbers the nodes by a search from the manager's own in order of ports.
    pub(super) fn settle_links(&mut self) {
        let links = self.agreed_links();
        let order = self.reachable(&links);
        self.renumber(&order, &links);
    }

    /// For each node, its links by port, in order. Ports whose links have no other end are read again
    /// in the next sweep: they may have told a wrong one.
    fn agreed_links(&mut self) -> Vec<Vec<(PortNum, PortRef)>> {
        let mut links = Vec::with_capacity(self.devices.len());
        let mut faults = Vec::new();
        let mut missing = Vec::new();
        for (node, device) in (0_u32..).zip(self.devices.iter()) {
            let mut good = Vec::new();
            for (port, info) in self.cabled_ports(device) {
                match self.other_end(device, port, info) {
                    End::Good(peer) => good.push((port, peer)),
                    End::Missing => missing.push((node, port)),
                    End::Contradicted => faults.push((node, port, info.neighbor_node_guid)),
                }
            }
            links.push(good);
        }
        for (node, port, neighbour) in faults {
            self.devices[node].observed.read_ports.remove(port);
            let guid = self.devices[node].identity.guid;
            self.out.fault(
                Some(guid),
                format!("port {port} names node {neighbour} as its neighbour, which says otherwise; the link is not used"),
            );
            self.sweep.unfinished(format!(
                "port {port} of node {guid} and its neighbour contradict each other"
            ));
        }
        if !missing.is_empty() {
            let count = missing.len();
            self.sweep.unfinished(format!(
                "{count} ports have links whose other ends are not known"
            ));
        }
        for (node, port) in missing {
            self.devices[node].observed.read_ports.remove(port);
        }
        links
    }

    /// The ports of a node that was found, with links that are up.
    fn cabled_ports<'a>(
        &self,
        device: &'a Device,
    ) -> impl Iterator<Item = (PortNum, &'a PortInfo)> + use<'a> {
        let found = device.health.seen == self.sweep.number;
        let node = device.observed.node.as_deref().filter(|_| found);
        let guid = device.identity.guid;
        let ports = node.into_iter().flat_map(|node| node.external_ports());
        ports
            .map(|(port, end)| (port, &end.info))
            .filter(move |(_, info)| is_up(info) && info.neighbor_node_guid != guid)
    }

    fn other_end(&self, device: &Device, port: PortNum, info: &PortInfo) -> End {
        let peer = self.node_with(info.neighbor_node_guid, device, port);
        let Some(index) = peer.filter(|peer| self.devices[*peer].health.seen == self.sweep.number)
        else {
            return End::Missing;
        };
        let other = &self.devices[index];
        let back = other
            .observed
            .port(info.neighbor_port_num)
            .filter(|back| is_up(back));
        let Some(back) = back.filter(|_| info.neighbor_port_num != PortNum(0)) else {
            return End::Missing;
        };
        let named =
            back.neighbor_node_guid == device.identity.guid && back.neighbor_port_num == port;
        let typed = (info.neighbor_node_type == 1) == other.is_switch();
        match named && typed {
            true => End::Good(PortRef {
                node: NodeId(index),
                port: info.neighbor_port_num,
            }),
            false => End::Contradicted,
        }
    }

    /// The node with a GUID, which most often is the one that the port's link led to before.
    fn node_with(&self, guid: Guid, device: &Device, port: PortNum) -> Option<u32> {
        let before = device.observed.node.as_ref()?.port(port)?.peer;
        let before = before.map(|peer| peer.node.0);
        let same = before.filter(|node| self.devices[*node].identity.guid == guid);
        same.or_else(|| self.devices.find(guid))
    }

    /// The nodes that agreed links lead to, in the order of a search from the manager's own.
    fn reachable(&self, links: &[Vec<(PortNum, PortRef)>]) -> Vec<u32> {
        let mut found = vec![false; self.devices.len()];
        let mut order = Vec::with_capacity(self.devices.len());
        let mut queue = VecDeque::from([0_u32]);
        found[0] = true;
        while let Some(node) = queue.pop_front() {
            order.push(node);
            for (_, peer) in &links[node as usize] {
                let peer = peer.node.0;
                // Nobody forwards through an HFI but the manager's own node.
                if !std::mem::replace(&mut found[peer as usize], true) {
                    queue.push_back(peer);
                }
            }
        }
        order
    }

    fn renumber(&mut self, order: &[u32], links: &[Vec<(PortNum, PortRef)>]) {
        let mut number = vec![None; self.devices.len()];
        for (new, old) in order.iter().enumerate() {
            number[*old as usize] = Some(NodeId(new as u32));
        }
        self.devices.reorder(order);
        for (device, from) in self.devices.iter_mut().zip(order) {
            let peers = links[*from as usize].iter().filter_map(|(port, peer)| {
                let node = number[peer.node.0 as usize]?;
                Some((*port, PortRef { node, ..*peer }))
            });
            let peers: Vec<(PortNum, PortRef)> = peers.collect();
            set_peers(&mut device.observed, &peers);
        }
    }
}

/// Puts the links, in order of ports, into a node, which is copied only where they differ.
fn set_peers(observed: &mut Observed, peers: &[(PortNum, PortRef)]) {
    observed.good_ports = peers.iter().map(|(port, _)| *port).collect::<PortMask>();
    let Some(node) = observed.node.as_mut() else {
        return;
    };
    let held = node.ports();
    let held = held.filter_map(|(port, end)| Some((port, end.peer?)));
    if held.eq(peers.iter().copied()) {
        return;
    }
    let ports: Vec<PortNum> = node.ports().map(|(port, _)| port).collect();
    let node = Arc::make_mut(node);
    for port in ports {
        let peer = peers.binary_search_by_key(&port, |(port, _)| *port);
        if let Some(end) = node.port_mut(port) {
            end.peer = peer.ok().map(|at| peers[at].1);
        }
    }
}
