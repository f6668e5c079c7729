//! I2 right after a Set: whether the new forwarding of a device makes a LID, or a multicast packet,
//! loop.
//!
//! A loop that a write closes leads through the switch that was written to, so that only the LIDs of
//! the written blocks have to be followed, and only from there.

use std::ops::Range;

use weft_dataplane::{Network, PortIndex};
use weft_emulator::observe::SetDone;
use weft_fabric::enums::PortState;
use weft_fabric::{Lid, NodeId, PortNum};
use weft_wire::sm::{AttributeId, BlockModifier};

use super::{Breach, Invariant, multicast};
use crate::view::{self, egress_choices};

/// LIDs of a block of a forwarding table.
const BLOCK: u32 = 64;
const ALL: Range<u32> = 0..u32::MAX;

/// I2 after a Set: no LID that it concerns, and that anybody holds, goes round; nor does a multicast packet.
pub fn check_set(network: &Network, done: SetDone) -> Vec<Breach> {
    match done.attribute {
        AttributeId::LINEAR_FDB | AttributeId::PORT_GROUP_FDB => {
            check_from(network, done.node, lids(done.modifier))
        }
        AttributeId::SWITCH_INFO => {
            let mut breaches = check_from(network, done.node, ALL);
            breaches.extend(multicast::check_loops(&view::read(network)));
            breaches
        }
        AttributeId::PORT_GROUP_TABLE => check_from(network, done.node, ALL),
        AttributeId::PORT_INFO => check_held(network, done.node),
        AttributeId::MULTICAST_FDB => multicast::check_loops(&view::read(network)),
        _ => Vec::new(),
    }
}

/// The LIDs of the blocks that a modifier names.
fn lids(modifier: u32) -> Range<u32> {
    let blocks = BlockModifier::from_bits(modifier);
    if blocks.all_blocks {
        return ALL;
    }
    let first = blocks.block.saturating_mul(BLOCK);
    first..first.saturating_add(u32::from(blocks.count) * BLOCK)
}

/// Each LID of `range` that a node with power holds.
fn held(network: &Network, range: Range<u32>) -> impl Iterator<Item = Lid> {
    let powered = network.devices().filter(|(_, device)| device.is_powered());
    let holders = powered.map(|(_, device)| device.first_port_index());
    let ranges = holders.map(move |at| {
        let info = network.port(at).info();
        let lids = if info.lid.0 == 0 { 0 } else { info.lmc.lids() };
        info.lid.0.max(range.start)..info.lid.0.saturating_add(lids).min(range.end)
    });
    ranges.flatten().map(Lid)
}

fn check_from(network: &Network, start: NodeId, range: Range<u32>) -> Vec<Breach> {
    let round = held(network, range).filter(|lid| comes_back(network, start, *lid));
    round.map(|lid| breach(network, start, lid)).collect()
}

/// The LIDs that a node holds now, from wherever they start: a port has got its LID.
fn check_held(network: &Network, node: NodeId) -> Vec<Breach> {
    let info = network
        .port(network.device_at(node).first_port_index())
        .info();
    let own = info.lid.0..info.lid.0.saturating_add(info.lmc.lids());
    let switches = network.topology().switches();
    let pairs = held(network, own).flat_map(|lid| switches.iter().map(move |start| (*start, lid)));
    let round = pairs.filter(|(start, lid)| comes_back(network, *start, *lid));
    round
        .map(|(start, lid)| breach(network, start, lid))
        .collect()
}

fn breach(network: &Network, start: NodeId, lid: Lid) -> Breach {
    let guid = network.device_at(start).info.node_guid;
    Breach::new(
        Invariant::LoopFree,
        format!("LID {lid} comes back to {guid}"),
    )
}

/// Whether a packet for a LID that leaves a switch can come to it again, whatever ports adaptive switches
/// choose.
fn comes_back(network: &Network, start: NodeId, lid: Lid) -> bool {
    let mut seen: Vec<NodeId> = Vec::new();
    let mut stack = next(network, start, lid);
    while let Some(node) = stack.pop() {
        if node == start {
            return true;
        }
        if !seen.contains(&node) {
            seen.push(node);
            stack.extend(next(network, node, lid));
        }
    }
    false
}

/// The next nodes of a LID; none at its owner.
fn next(network: &Network, node: NodeId, lid: Lid) -> Vec<NodeId> {
    let device = network.device_at(node);
    let Some(switch) = network.switch(node).filter(|_| device.is_powered()) else {
        return Vec::new();
    };
    if network.is_own_lid(device.first_port_index(), lid) {
        return Vec::new();
    }
    let egress = switch.egress(lid).into_iter();
    let ports = egress.chain(egress_choices(switch, lid).into_iter().map(PortNum));
    let up = |at: &PortIndex| network.state(*at) != PortState::DOWN;
    let crossed = ports.filter(|port| *port != PortNum(0)).filter_map(|port| {
        let out = device.port(port).filter(up)?;
        network.peer(out).filter(up)
    });
    crossed.map(|peer| network.node_of(peer)).collect()
}
