//! The fabric as its devices have it: what the oracles look at.
//!
//! A view is read from the emulator's registers and shares nothing with the manager: no type of
//! its plans, none of its code.

use weft_dataplane::{Network, PortIndex};
use weft_fabric::enums::PortState;
use weft_fabric::{Guid, Lid, Lmc, NodeId, PortNum};

/// A port as its device has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortView {
    /// Its LID register.
    pub lid: Lid,
    /// Its LMC register.
    pub lmc: Lmc,
    /// Its logical state.
    pub state: PortState,
    /// Node and port at the other end, when the link is up.
    pub peer: Option<(usize, u8)>,
}

/// A powered node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeView {
    /// Its GUID.
    pub guid: Guid,
    /// Whether it forwards.
    pub switch: bool,
    /// Ports by number; an HFI's entry 0 is empty.
    pub ports: Vec<Option<PortView>>,
    /// Egress port by LID as the switch forwards: up to its LinearFDBTop; 0xFF drops.
    pub lft: Vec<u8>,
}

impl NodeView {
    /// The port that holds the node's own LID: 0 of a switch, 1 of an HFI.
    pub fn end_port(&self) -> Option<&PortView> {
        self.ports.get(usize::from(!self.switch))?.as_ref()
    }

    /// External ports with their numbers.
    pub fn external(&self) -> impl Iterator<Item = (u8, &PortView)> {
        let ports = self.ports.iter().enumerate().skip(1);
        ports.filter_map(|(number, port)| Some((number as u8, port.as_ref()?)))
    }
}

/// All powered nodes, in order of GUID.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FabricView {
    /// The nodes; peers name them by their place here.
    pub nodes: Vec<NodeView>,
}

impl FabricView {
    /// The place of a node.
    pub fn find(&self, guid: Guid) -> Option<usize> {
        self.nodes
            .binary_search_by_key(&guid, |node| node.guid)
            .ok()
    }

    /// Which nodes a walk over links from `start` comes to.
    pub fn connected(&self, start: usize) -> Vec<bool> {
        let mut seen = vec![false; self.nodes.len()];
        let mut stack = vec![start];
        while let Some(node) = stack.pop() {
            if std::mem::replace(&mut seen[node], true) {
                continue;
            }
            let forwards = self.nodes[node].switch || node == start;
            let peers = self.nodes[node]
                .external()
                .filter_map(|(_, port)| port.peer);
            stack.extend(peers.filter(|_| forwards).map(|(peer, _)| peer));
        }
        seen
    }
}

/// Reads the registers of all powered nodes.
pub fn read(network: &Network) -> FabricView {
    let mut order: Vec<(Guid, NodeId)> = network
        .devices()
        .filter(|(_, device)| device.is_powered())
        .map(|(id, device)| (device.info.node_guid, id))
        .collect();
    order.sort_unstable();
    let mut places = vec![usize::MAX; network.devices().len()];
    for (place, (_, id)) in order.iter().enumerate() {
        places[id.0 as usize] = place;
    }
    let nodes = order
        .iter()
        .map(|(guid, id)| read_node(network, &places, *guid, *id));
    FabricView {
        nodes: nodes.collect(),
    }
}

fn read_node(network: &Network, places: &[usize], guid: Guid, id: NodeId) -> NodeView {
    let device = network.device_at(id);
    let mut ports = vec![None; usize::from(device.last_port().0) + 1];
    for (PortNum(number), at) in device.ports() {
        ports[usize::from(number)] = Some(read_port(network, places, at));
    }
    let lft = network.switch(id).map_or(Vec::new(), |switch| {
        let top = switch.info().linear_fdb_top as usize;
        switch.linear().iter().take(top + 1).copied().collect()
    });
    NodeView {
        guid,
        switch: device.is_switch(),
        ports,
        lft,
    }
}

fn read_port(network: &Network, places: &[usize], at: PortIndex) -> PortView {
    let info = network.port(at).info();
    let link_up = |end| network.state(end) != PortState::DOWN;
    let joined = network
        .peer(at)
        .filter(|peer| link_up(at) && link_up(*peer));
    let peer = joined.map(|peer| {
        let place = places[network.node_of(peer).0 as usize];
        (place, network.number_of(peer).0)
    });
    PortView {
        lid: info.lid,
        lmc: info.lmc,
        state: network.state(at),
        peer: peer.filter(|(place, _)| *place != usize::MAX),
    }
}
