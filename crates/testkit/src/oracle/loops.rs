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
use weft_wire::sm::{AttributeId, BlockModifier, PortModifier};

use super::{Breach, Invariant, floods};
use crate::view::egress_choices;

/// LIDs of a block of a forwarding table.
const BLOCK: u32 = 64;
const ALL: Range<u32> = 0..u32::MAX;

/// Circles that exist: each is reported once, for the Set that closed it.
#[derive(Debug, Default)]
pub struct Circles {
    unicast: BTreeSet<(Lid, NodeId)>,
    /// Rows of multicast.
    multicast: BTreeSet<u32>,
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
        let rows = switches
            .iter()
            .flat_map(|switch| floods::rows(network, *switch));
        let rows: BTreeSet<u32> = rows.collect();
        let round = rows
            .into_iter()
            .filter(|row| floods::comes_twice(network, *row).is_some());
        self.multicast = round.collect();
    }

    /// I2 after a Set: it makes no LID go round that it concerns and that anybody holds, and no multicast
    /// packet.
    pub fn closed_by(&mut self, network: &Network, done: SetDone) -> Vec<Breach> {
        match done.attribute {
            AttributeId::LINEAR_FDB | AttributeId::PORT_GROUP_FDB => {
                self.unicast_from(network, done.node, lids(done.modifier), None)
            }
            AttributeId::SWITCH_INFO => {
                let mut breaches = self.unicast_from(network, done.node, ALL, None);
                breaches.extend(self.multicast(network, done.node));
                breaches
            }
            AttributeId::PORT_GROUP_TABLE => self.unicast_from(network, done.node, ALL, None),
            AttributeId::PORT_INFO => self.port(network, done),
            AttributeId::MULTICAST_FDB => self.multicast(network, done.node),
            _ => Vec::new(),
        }
    }

    /// A switch that gives up a LID passes on what goes there; one that takes one no longer does. A link may have come
    /// up behind another port.
    fn port(&mut self, network: &Network, done: SetDone) -> Vec<Breach> {
        let named = PortModifier::from_bits(done.modifier);
        let own = !network.device_at(done.node).is_switch() || named.port == PortNum(0);
        let only = (!own && !named.all_ports && named.count <= 1).then_some(named.port);
        let mut breaches = self.unicast_from(network, done.node, ALL, only);
        if own || named.all_ports {
            breaches.extend(self.unicast_to(network, done.node));
        }
        breaches
    }

    /// Circles through a switch, of the LIDs in `range`, those that its table sends to `only` this port where there is
    /// one.
    fn unicast_from(
        &mut self,
        network: &Network,
        start: NodeId,
        range: Range<u32>,
        only: Option<PortNum>,
    ) -> Vec<Breach> {
        let Some(switch) = network.switch(start) else {
            return self.unicast(network, std::iter::empty());
        };
        let entries = switch.linear().len() as u32;
        let top = switch.info().linear_fdb_top.saturating_add(1).min(entries);
        let is_wanted = |lid: &u32| {
            let adaptive = switch.info().ar_enable;
            only.is_none_or(|port| adaptive || switch.linear()[*lid as usize] == port.0)
        };
        let lids = (range.start..range.end.min(top)).filter(is_wanted);
        self.unicast(network, lids.map(|lid| (Lid(lid), start)))
    }

    /// Circles of the LIDs that a node holds now, from wherever they start: a port has got its LID.
    fn unicast_to(&mut self, network: &Network, node: NodeId) -> Vec<Breach> {
        let info = network
            .port(network.device_at(node).first_port_index())
            .info();
        let own = match info.lid {
            Lid(0) => 0..0,
            Lid(lid) => lid..lid.saturating_add(info.lmc.lids()),
        };
        let switches = network.topology().switches();
        let ways = own.flat_map(|lid| switches.iter().map(move |start| (Lid(lid), *start)));
        self.unicast(network, ways)
    }

    fn unicast(
        &mut self,
        network: &Network,
        ways: impl Iterator<Item = (Lid, NodeId)>,
    ) -> Vec<Breach> {
        let comes_back = |(lid, start): &(Lid, NodeId)| comes_back(network, *start, *lid);
        // Looked for last: few go round.
        let is_held = |lid: Lid| held(network, lid.0..lid.0 + 1).next().is_some();
        self.unicast.retain(|way| is_held(way.0) && comes_back(way));
        let closed = ways.filter(|way| comes_back(way) && !self.unicast.contains(way));
        let closed: Vec<(Lid, NodeId)> = closed.filter(|way| is_held(way.0)).collect();
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

    /// Rows of multicast that a switch sends on and that come to a switch twice.
    fn multicast(&mut self, network: &Network, node: NodeId) -> Vec<Breach> {
        let comes_twice = |row: &u32| floods::comes_twice(network, *row);
        self.multicast.retain(|row| comes_twice(row).is_some());
        let rows = floods::rows(network, node).into_iter();
        let fresh: Vec<u32> = rows.filter(|row| !self.multicast.contains(row)).collect();
        let mut breaches = Vec::new();
        for row in fresh {
            let Some(at) = comes_twice(&row) else {
                continue;
            };
            self.multicast.insert(row);
            breaches.push(floods::breach(row, network.device_at(at).info.node_guid));
        }
        breaches
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
    let mut at = start;
    for _ in network.topology().switches() {
        let Some(out) = egress(network, at, lid) else {
            return false;
        };
        if network
            .switch(at)
            .is_some_and(|switch| switch.info().ar_enable)
        {
            return comes_back_by_choice(network, start, lid);
        }
        let Some(next) = behind(network, at, out) else {
            return false;
        };
        if next == start {
            return true;
        }
        at = next;
    }
    false
}

/// The same where switches have a choice.
fn comes_back_by_choice(network: &Network, start: NodeId, lid: Lid) -> bool {
    let mut seen: BTreeSet<NodeId> = BTreeSet::new();
    let mut stack = next(network, start, lid);
    while let Some(node) = stack.pop() {
        if node == start {
            return true;
        }
        if seen.insert(node) {
            stack.extend(next(network, node, lid));
        }
    }
    false
}

/// The port that a switch's table has for a LID; none at its owner, and where it is dropped.
fn egress(network: &Network, node: NodeId, lid: Lid) -> Option<PortNum> {
    let device = network.device_at(node);
    let switch = network.switch(node).filter(|_| device.is_powered())?;
    let own = network.is_own_lid(device.first_port_index(), lid);
    switch.egress(lid).filter(|_| !own)
}

/// The node behind a port whose link is up.
fn behind(network: &Network, node: NodeId, port: PortNum) -> Option<NodeId> {
    let up = |at: &PortIndex| network.state(*at) != PortState::DOWN;
    let external = Some(port).filter(|port| *port != PortNum(0))?;
    let out = network.device_at(node).port(external).filter(up)?;
    Some(network.node_of(network.peer(out).filter(up)?))
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
    ports
        .filter_map(|port| behind(network, node, port))
        .collect()
}
