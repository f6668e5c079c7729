//! Links on which both ends agree, and an order of nodes that does not depend on the order of
//! answers.

use std::collections::VecDeque;
use std::sync::Arc;

use weft_fabric::{Guid, NodeId, PortMask, PortNum, PortRef, text};
use weft_wire::sm::PortInfo;

use super::Manager;
use super::admission::Needs;
use super::devices::is_up;
use super::devices::{Device, Devices, Observed};

/// The other end of a link, as found from one end.
enum End {
    /// The other end names this one back.
    Good(PortRef),
    /// The other end is not known or has no link: it may have changed during the sweep.
    Missing,
    /// The other end says something else.
    Contradicted,
}

/// Faults of links found in discovery.
#[derive(Debug, Default)]
pub(super) struct Faults {
    /// Nodes whose ports name a neighbour that says otherwise: the node, its port, and whom it names.
    pub contradicted: Vec<(Guid, PortNum, Guid)>,
    /// Ports that have links whose other ends are not known.
    pub missing: usize,
}

/// The links of each node by port, in order.
type Links = Vec<Vec<(PortNum, PortRef)>>;

impl Manager {
    /// Ends discovery: keeps the links on which both ends agree, and reports faults of others.
    pub(super) fn settle_links(&mut self) {
        let number = self.sweep.number;
        let needs = Needs::of(&self.settings);
        let (faults, order) = self.devices.settle_links(number, &needs);
        self.requests.transactions.renumber(&order);
        let sweeps_max = self.settings.sweeps.silent_sweeps_max;
        self.devices.remember_strangers(number, sweeps_max);
        self.settle_replacements();
        for (guid, port, neighbour) in faults.contradicted {
            self.out.fault(
                Some(guid),
                format!("port {port} names node {neighbour} as its neighbour, which disagrees; the link is not used"),
            );
            self.sweep.unfinished_link(format!(
                "port {port} of node {guid} and its neighbour contradict each other"
            ));
        }
        if faults.missing > 0 {
            let ports = text::count(faults.missing, "port");
            self.sweep
                .unfinished_link(format!("the other ends of links at {ports} are not known"));
        }
    }
}

impl Devices {
    /// Keeps the links on which both ends agree, leaves out nodes that were not found in `sweep` or
    /// cannot be reached over them, and numbers the nodes by a search from the manager's own in order of
    /// ports. Also returns their former numbers.
    fn settle_links(&mut self, sweep: u64, needs: &Needs<'_>) -> (Faults, Vec<u32>) {
        let mut faults = Faults::default();
        let links = self.agreed_links(sweep, needs, &mut faults);
        let order = self.reachable(&links);
        self.renumber(&order, &links);
        (faults, order)
    }

    /// The links of each node. Ports whose links have no other end are read again in the next sweep: they
    /// may have reported a wrong one.
    fn agreed_links(&mut self, sweep: u64, needs: &Needs<'_>, faults: &mut Faults) -> Links {
        let mut refusals = std::mem::take(&mut self.refusals);
        let mut links = Vec::with_capacity(self.len());
        let mut again = Vec::new();
        for (node, device) in (0_u32..).zip(self.iter()) {
            let mut good = Vec::new();
            for (port, info) in cabled_ports(device, sweep) {
                let at = PortRef {
                    node: NodeId(node),
                    port,
                };
                match self.other_end(device, port, info, sweep) {
                    End::Good(peer) if self.admits(&mut refusals, needs, (at, peer)) => {
                        good.push((port, peer));
                        continue;
                    }
                    End::Good(_) => {}
                    End::Missing if refusals.refuses((device.identity.guid, port)) => {}
                    End::Missing => faults.missing += 1,
                    End::Contradicted => {
                        let guid = device.identity.guid;
                        let named = info.neighbor_node_guid;
                        faults.contradicted.push((guid, port, named));
                    }
                }
                again.push((node, port));
            }
            links.push(good);
        }
        self.refusals = refusals;
        for (node, port) in again {
            self[node].observed.read_ports.remove(port);
        }
        links
    }

    fn other_end(&self, device: &Device, port: PortNum, info: &PortInfo, sweep: u64) -> End {
        let peer = self.node_with(info.neighbor_node_guid, device, port);
        let Some(index) = peer.filter(|peer| self[*peer].health.seen == sweep) else {
            return End::Missing;
        };
        let other = &self[index];
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
        let same = before.filter(|node| self[*node].identity.guid == guid);
        same.or_else(|| self.find(guid))
    }

    /// The nodes that agreed links lead to, in the order of a search from the manager's own.
    fn reachable(&self, links: &Links) -> Vec<u32> {
        let mut found = vec![false; self.len()];
        let mut order = Vec::with_capacity(self.len());
        let mut queue = VecDeque::from([0_u32]);
        found[0] = true;
        while let Some(node) = queue.pop_front() {
            order.push(node);
            for (_, peer) in &links[node as usize] {
                let peer = peer.node.0;
                // Nodes behind an HFI are unreachable, except behind the manager's own.
                if !std::mem::replace(&mut found[peer as usize], true) {
                    queue.push_back(peer);
                }
            }
        }
        order
    }

    fn renumber(&mut self, order: &[u32], links: &Links) {
        let mut number = vec![None; self.len()];
        for (new, old) in order.iter().enumerate() {
            number[*old as usize] = Some(NodeId(new as u32));
        }
        self.reorder(order);
        for (device, from) in self.iter_mut().zip(order) {
            let peers = links[*from as usize].iter().filter_map(|(port, peer)| {
                let node = number[peer.node.0 as usize]?;
                Some((*port, PortRef { node, ..*peer }))
            });
            let peers: Vec<(PortNum, PortRef)> = peers.collect();
            set_peers(&mut device.observed, &peers);
        }
    }
}

/// The ports of a node that was found in a sweep, with links that are up.
fn cabled_ports(device: &Device, sweep: u64) -> impl Iterator<Item = (PortNum, &PortInfo)> {
    let node = device.observed.node.as_deref();
    let node = node.filter(|_| device.health.seen == sweep);
    let guid = device.identity.guid;
    let ports = node.into_iter().flat_map(|node| node.external_ports());
    ports
        .map(|(port, end)| (port, &end.info))
        .filter(move |(_, info)| is_up(info) && info.neighbor_node_guid != guid)
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
