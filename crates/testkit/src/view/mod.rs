//! The fabric according to its devices, for the oracles.
//!
//! A view is read from the emulator's registers and shares nothing with the manager: no type of
//! its plans, none of its code.

pub mod channels;
mod links;

use std::ops::Range;

use weft_dataplane::{Network, PortIndex, PortTable, SwitchRegisters};
use weft_fabric::enums::PortState;
use weft_fabric::{Guid, Lid, Lmc, NodeId, PortNum};

pub use channels::Channels;

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
    /// Whether it checks the P_Keys of received packets, and of sent ones.
    pub checks: (bool, bool),
    /// Whether the stock link policy lets its link carry data, when that is up.
    pub permitted: bool,
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
    /// Ports by LID that the switch may choose instead; empty while it does not route adaptively.
    pub adaptive: Vec<Vec<u8>>,
    /// Ports by multicast LID from 0xF0000000 on, as the switch forwards: up to its MulticastFDBTop.
    pub mft: Vec<Vec<u8>>,
    /// P_Keys by port number, each that is not zero.
    pub keys: Vec<Vec<u16>>,
    /// Service channels and lanes.
    pub channels: Channels,
}

impl NodeView {
    /// All ports through which a switch may send a LID.
    pub fn egress(&self, lid: Lid) -> impl Iterator<Item = u8> + '_ {
        let entry = self.lft.get(lid.0 as usize).filter(|port| **port != 0xFF);
        let chosen = self.adaptive.get(lid.0 as usize).into_iter().flatten();
        entry.into_iter().chain(chosen).copied()
    }

    /// The LIDs of the node.
    pub fn lids(&self) -> impl Iterator<Item = Lid> {
        let port = self.end_port().filter(|port| port.lid.0 != 0);
        let range = port.map_or(0..0, |port| port.lid.0..port.lid.0 + port.lmc.lids());
        range.map(Lid)
    }

    /// The port that holds the node's own LID: 0 of a switch, 1 of an HFI.
    pub fn end_port(&self) -> Option<&PortView> {
        self.ports.get(usize::from(!self.switch))?.as_ref()
    }

    /// One of its ports.
    pub fn port(&self, number: u8) -> Option<&PortView> {
        self.ports.get(usize::from(number))?.as_ref()
    }

    /// Whether a host's data gets into the fabric: not over a link that the link policy refuses and that
    /// was never armed.
    pub fn may_send(&self) -> bool {
        let port = self.end_port();
        port.is_some_and(|port| port.permitted || port.state >= PortState::ARMED)
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

    /// Nodes connected with `start` by links, as flags.
    pub fn connected(&self, start: usize) -> Vec<bool> {
        self.walk_over(start, |_| true)
    }

    /// Nodes that data can reach from `start`, as flags: a walk over links that may carry it.
    pub fn served(&self, start: usize) -> Vec<bool> {
        self.walk_over(start, |port| port.permitted)
    }

    fn walk_over(&self, start: usize, crosses: impl Fn(&PortView) -> bool) -> Vec<bool> {
        let mut seen = vec![false; self.nodes.len()];
        let mut stack = vec![start];
        while let Some(node) = stack.pop() {
            if std::mem::replace(&mut seen[node], true) {
                continue;
            }
            let forwards = self.nodes[node].switch || node == start;
            let peers = self.nodes[node]
                .external()
                .filter_map(|(_, port)| port.peer.filter(|_| crosses(port)));
            stack.extend(peers.filter(|_| forwards).map(|(peer, _)| peer));
        }
        seen
    }

    /// The nodes that `connected` holds.
    pub(crate) fn among(&self, connected: &[bool]) -> impl Iterator<Item = &NodeView> {
        let nodes = self.nodes.iter().zip(connected);
        nodes.filter_map(|(node, connected)| connected.then_some(node))
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
    let mut keys = vec![Vec::new(); ports.len()];
    for (PortNum(number), at) in device.ports() {
        ports[usize::from(number)] = Some(read_port(network, places, at));
        keys[usize::from(number)] = read_keys(network, at);
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
        adaptive: network.switch(id).map_or(Vec::new(), read_adaptive),
        mft: network.switch(id).map_or(Vec::new(), read_mft),
        keys,
        channels: channels::read(network, id),
    }
}

/// The group of each LID up to LinearFDBTop, where the switch may choose among its ports.
fn read_adaptive(switch: &SwitchRegisters) -> Vec<Vec<u8>> {
    let info = switch.info();
    if !info.ar_enable || info.ar_pause {
        return Vec::new();
    }
    let groups = (0..=u8::MAX).map(|group| read_group(switch, group));
    let groups: Vec<Vec<u8>> = groups.collect();
    let blocks = 0..=info.linear_fdb_top / 64;
    let entries = blocks.flat_map(|block| switch.port_group_fdb_block(block).unwrap_or([0xFF; 64]));
    let ports = entries.map(|group| groups[usize::from(group)].clone());
    ports.take(info.linear_fdb_top as usize + 1).collect()
}

/// Ports that a switch may choose for a LID instead of the one that its table has.
pub(crate) fn egress_choices(switch: &SwitchRegisters, lid: Lid) -> Vec<u8> {
    let info = switch.info();
    if !info.ar_enable || info.ar_pause || lid.0 > info.linear_fdb_top {
        return Vec::new();
    }
    let block = switch
        .port_group_fdb_block(lid.0 / 64)
        .unwrap_or([0xFF; 64]);
    read_group(switch, block[lid.0 as usize % 64])
}

/// The ports of a group: eight groups a block, in each slice bit n is port 64 × slice + n + 1.
fn read_group(switch: &SwitchRegisters, group: u8) -> Vec<u8> {
    let at = usize::from(group) % 8 * 8;
    let slices = (0..4u8).flat_map(|position| {
        let block = switch.port_group_block(position, group / 8);
        let block = block.unwrap_or([0; 64]);
        let bytes = block[at..at + 8].iter().rev().copied().enumerate();
        let bits: Vec<u8> = bytes
            .flat_map(|(byte, bits)| {
                let set = (0..8).filter(move |bit| bits >> bit & 1 == 1);
                set.map(move |bit| position * 64 + byte as u8 * 8 + bit)
            })
            .collect();
        bits.into_iter().filter_map(|bit| bit.checked_add(1))
    });
    slices.collect()
}

/// The contents of the rows that a switch uses.
fn read_mft(switch: &SwitchRegisters) -> Vec<Vec<u8>> {
    let rows = multicast_rows(switch);
    rows.map(|row| multicast_row(switch, row)).collect()
}

/// The rows that a switch uses. MulticastFDBTop is the LID of the last one, 0 for none.
pub(crate) fn multicast_rows(switch: &SwitchRegisters) -> Range<u32> {
    let top = switch.info().multicast_fdb_top;
    0..if top == 0 { 0 } else { (top & 0x3FFF) + 1 }
}

/// One row: in each slice of 64 ports, block n has 8 bytes for each of rows 8n to 8n + 7.
pub(crate) fn multicast_row(switch: &SwitchRegisters, row: u32) -> Vec<u8> {
    let at = row as usize % 8 * 8;
    let mut ports = Vec::new();
    for position in 0..4 {
        let block = switch.multicast_block(position, row / 8).unwrap_or([0; 64]);
        let bits = block[at..at + 8].iter().rev().enumerate();
        for (byte, bits) in bits {
            let set = (0..8).filter(|bit| bits >> bit & 1 == 1);
            ports.extend(set.map(|bit| position * 64 + byte as u8 * 8 + bit));
        }
    }
    ports
}

fn read_keys(network: &Network, at: PortIndex) -> Vec<u16> {
    let table = network.port(at).table(PortTable::PKeys).chunks_exact(2);
    let keys = table.map(|key| u16::from_be_bytes([key[0], key[1]]));
    keys.filter(|key| *key != 0).collect()
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
        permitted: joined.is_some_and(|far| links::are_permitted(info, network.port(far).info())),
        checks: (
            info.partition_enforcement_inbound,
            info.partition_enforcement_outbound,
        ),
    }
}
