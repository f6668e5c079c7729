//! I2 of multicast by the registers of a fabric: whether packets of a row come to a switch twice.

use std::collections::BTreeSet;

use weft_dataplane::{Network, PortIndex};
use weft_fabric::enums::PortState;
use weft_fabric::{Guid, Lid, NodeId, PortNum};

use super::{Breach, Invariant};
use crate::view::{multicast_row, multicast_rows};

/// First multicast LID; row 0 of the tables is for it.
const FIRST: u32 = 0xF000_0000;

/// The rows that a switch uses and has ports in.
pub(super) fn rows(network: &Network, node: NodeId) -> Vec<u32> {
    let switch = network.switch(node).into_iter();
    let rows = switch.flat_map(|switch| {
        let rows = multicast_rows(switch);
        rows.filter(|row| !multicast_row(switch, *row).is_empty())
    });
    rows.collect()
}

/// A switch to which a packet of some host comes twice.
pub(super) fn comes_twice(network: &Network, row: u32) -> Option<NodeId> {
    let hosts = network.devices().filter(|(_, device)| !device.is_switch());
    let first = hosts.filter_map(|(_, device)| across(network, device.first_port_index()));
    // Packets of all hosts of a switch go the same ways.
    let mut begun: BTreeSet<NodeId> = BTreeSet::new();
    let mut starts = first.filter(|at| begun.insert(network.node_of(*at)));
    starts.find_map(|start| flood(network, row, start))
}

pub(super) fn breach(row: u32, at: Guid) -> Breach {
    let lid = Lid(FIRST + row);
    let what = format!("multicast LID {lid} comes to {at} twice");
    Breach::new(Invariant::LoopFree, what)
}

/// Follows a packet that comes in by a port, to a switch that gets it twice.
fn flood(network: &Network, row: u32, start: PortIndex) -> Option<NodeId> {
    let mut visited: BTreeSet<NodeId> = BTreeSet::new();
    let mut under_way = vec![start];
    while let Some(ingress) = under_way.pop() {
        let node = network.node_of(ingress);
        let Some(switch) = network.switch(node) else {
            continue;
        };
        if !visited.insert(node) {
            return Some(node);
        }
        if !multicast_rows(switch).contains(&row) {
            continue;
        }
        let ports = multicast_row(switch, row).into_iter().map(PortNum);
        let device = network.device_at(node);
        let others =
            ports.filter(|port| *port != PortNum(0) && *port != network.number_of(ingress));
        let out = others.filter_map(|port| across(network, device.port(port)?));
        under_way.extend(out);
    }
    None
}

/// The other end of a link that carries data.
fn across(network: &Network, out: PortIndex) -> Option<PortIndex> {
    let up = |at: &PortIndex| network.state(*at) != PortState::DOWN;
    let peer = network.peer(out).filter(up)?;
    (network.state(out) == PortState::ACTIVE).then_some(peer)
}
