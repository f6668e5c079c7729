//! The service channels and lanes of a node's registers.

use weft_dataplane::{Network, PortTable, SwitchRegisters};
use weft_fabric::{NodeId, PortNum, Sl};

/// Service levels, and service channels, there are.
pub const CHANNELS: u8 = 32;
/// The lane that carries no data.
pub const LANE_15: u8 = 15;

/// A map from service levels or channels.
pub type Map = [u8; CHANNELS as usize];

/// SLtoSC, SCtoVLt and SCtoSC of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channels {
    /// Service channel by service level, at the node's end port.
    pub sl_to_sc: Map,
    /// Sending lane by service channel, by port number.
    pub sc_to_vl: Vec<Map>,
    /// Service channel behind a switch by the one before it.
    pub sc_to_sc: Crossings,
}

/// SCtoSC of a switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Crossings {
    /// For all pairs of ports, and for nodes that are no switch.
    Uniform(Map),
    /// By ingress port, then egress port, both from 1.
    Each(Vec<Vec<Map>>),
}

impl Channels {
    /// For a port on which all channels use one lane.
    pub fn single_lane(ports: usize) -> Self {
        let identity: Map = std::array::from_fn(|index| index as u8);
        Self {
            sl_to_sc: identity,
            sc_to_vl: vec![[0; CHANNELS as usize]; ports],
            sc_to_sc: Crossings::Uniform(identity),
        }
    }

    /// The channel on which a host sends a service level.
    pub fn of_level(&self, level: Sl) -> u8 {
        self.sl_to_sc[usize::from(level.0 % CHANNELS)]
    }

    /// The channel of a packet that goes from one port of a switch to another.
    pub fn across(&self, ingress: u8, egress: u8, channel: u8) -> u8 {
        let map = match &self.sc_to_sc {
            Crossings::Uniform(map) => Some(map),
            Crossings::Each(rows) => {
                let row = rows.get(usize::from(ingress).wrapping_sub(1));
                row.and_then(|row| row.get(usize::from(egress).wrapping_sub(1)))
            }
        };
        map.map_or(channel, |map| map[usize::from(channel % CHANNELS)])
    }

    /// The lane of a channel at the port that sends it; none where that carries no data.
    pub fn lane(&self, egress: u8, channel: u8) -> Option<u8> {
        let lanes = self.sc_to_vl.get(usize::from(egress))?;
        Some(lanes[usize::from(channel % CHANNELS)]).filter(|lane| *lane != LANE_15)
    }
}

/// Reads a node's maps.
pub(super) fn read(network: &Network, id: NodeId) -> Channels {
    let device = network.device_at(id);
    let ports = usize::from(device.last_port().0) + 1;
    let mut channels = Channels::single_lane(ports);
    for (PortNum(number), at) in device.ports() {
        let registers = network.port(at);
        copy(
            &mut channels.sc_to_vl[usize::from(number)],
            registers.table(PortTable::ScToVlt),
        );
        if number == u8::from(!device.is_switch()) {
            copy(&mut channels.sl_to_sc, registers.table(PortTable::SlToSc));
        }
    }
    if let Some(switch) = network.switch(id) {
        channels.sc_to_sc = crossings(switch, device.last_port().0);
    }
    channels
}

fn crossings(switch: &SwitchRegisters, ports: u8) -> Crossings {
    let map = |bytes: &[u8]| {
        let mut map = [0; CHANNELS as usize];
        copy(&mut map, bytes);
        map
    };
    if let Some(bytes) = switch.uniform_channel_map() {
        return Crossings::Uniform(map(bytes));
    }
    let row = |ingress| {
        let pairs = (1..=ports).map(move |egress| (PortNum(ingress), PortNum(egress)));
        let maps = pairs.map(|(ingress, egress)| map(switch.channel_map(ingress, egress, ports)));
        maps.collect()
    };
    Crossings::Each((1..=ports).map(row).collect())
}

fn copy(to: &mut Map, from: &[u8]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = from & (CHANNELS - 1);
    }
}
