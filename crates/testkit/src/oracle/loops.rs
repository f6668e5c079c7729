//! I2 right after a Set: whether the new forwarding of a device makes a LID, or a multicast packet,
//! loop.
//!
//! A loop that a write closes leads through the switch that was written to, so that only the LIDs of
//! the written blocks have to be followed, and only from there.

use std::collections::BTreeSet;
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

/// Circles that exist: each is reported once, for the Set that closed it.
#[derive(Debug, Default)]
pub struct Circles {
    unicast: BTreeSet<(Lid, NodeId)>,
    multicast: Vec<Breach>,
}

impl Circles {
    /// Takes the circles of a fabric whose cables have been changed for those that exist: no Set has closed them.
    pub fn recabled(&mut self, network: &Network) {
        let switches = network.topology().switches();
        let ways =
            held(network, ALL).flat_map(|lid| switches.iter().map(move |start| (lid, *start)));
        self.unicast = ways
            .filter(|(lid, start)| comes_back(network, *start, *lid))
            .collect();
        self.multicast = multicast::check_loops(&view::read(network));
    }

    /// I2 after a Set: it makes no LID go round that it concerns and that anybody holds, and no multicast
    /// packet.
    pub fn closed_by(&mut self, network: &Network, done: SetDone) -> Vec<Breach> {
        match done.attribute {
            AttributeId::LINEAR_FDB | AttributeId::PORT_GROUP_FDB => {
                self.unicast_from(network, done.node, lids(done.modifier))
            }
            AttributeId::SWITCH_INFO => {
                let mut breaches = self.unicast_from(network, done.node, ALL);
                breaches.extend(self.multicast(network));
                breaches
            }
            AttributeId::PORT_GROUP_TABLE => self.unicast_from(network, done.node, ALL),
            // A switch that gives up a LID passes on what goes there.
            AttributeId::PORT_INFO => {
                let mut breaches = self.unicast_from(network, done.node, ALL);
                breaches.extend(self.unicast_to(network, done.node));
                breaches
            }
            AttributeId::MULTICAST_FDB => self.multicast(network),
            _ => Vec::new(),
        }
    }

    /// Circles through a switch, of the LIDs in `range`.
    fn unicast_from(&mut self, network: &Network, start: NodeId, range: Range<u32>) -> Vec<Breach> {
        self.unicast(network, held(network, range).map(|lid| (lid, start)))
    }

    /// Circles of the LIDs that a node holds now, from wherever they start: a port has got its LID.
    fn unicast_to(&mut self, network: &Network, node: NodeId) -> Vec<Breach> {
        let info = network
            .port(network.device_at(node).first_port_index())
            .info();
        let own = info.lid.0..info.lid.0.saturating_add(info.lmc.lids());
        let switches = network.topology().switches();
        let ways =
            held(network, own).flat_map(|lid| switches.iter().map(move |start| (lid, *start)));
        self.unicast(network, ways)
    }

    fn unicast(
        &mut self,
        network: &Network,
        ways: impl Iterator<Item = (Lid, NodeId)>,
    ) -> Vec<Breach> {
        let comes_back = |(lid, start): &(Lid, NodeId)| comes_back(network, *start, *lid);
        let is_held = |lid: Lid| held(network, lid.0..lid.0 + 1).next().is_some();
        self.unicast.retain(|way| is_held(way.0) && comes_back(way));
        let closed = ways.filter(|way| !self.unicast.contains(way) && comes_back(way));
        let closed: Vec<(Lid, NodeId)> = closed.collect();
        for (lid, _) in &closed {
            let switches = network.topology().switches().iter();
            let all = switches.map(|start| (*lid, *start)).filter(comes_back);
            self.unicast.extend(all);
        }
        let breaches = closed.into_iter();
        breaches
            .map(|(lid, start)| breach(network, start, lid))
            .collect()
    }

    fn multicast(&mut self, network: &Network) -> Vec<Breach> {
        let found = multicast::check_loops(&view::read(network));
        let before = std::mem::replace(&mut self.multicast, found);
        let closed = self.multicast.iter();
        closed
            .filter(|breach| !before.contains(breach))
            .cloned()
            .collect()
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
