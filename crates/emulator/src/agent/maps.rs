//! Tables of ports: partitions, service levels and channels, lanes, arbitration, buffers.

use weft_dataplane::{Network, PortIndex, PortTable};
use weft_fabric::PortNum;
use weft_fabric::enums::PortState;
use weft_wire::Layout;
use weft_wire::bits::load;
use weft_wire::sm::{
    AttributeId, BufferControlTable, PKeyModifier, PortModifier, Repeated, ScScModifier,
    ScVlModifier, Shape, VlArbModifier, VlArbSection, VlBufferLimits, shape,
};

use super::{Failure, Ports, Request};

/// Bytes of a block of partition keys.
const P_KEY_BLOCK: usize = 64;
/// Bytes of a map from service level or channel.
const MAP: usize = 32;
/// The lane of management.
const LANE_15: usize = 15;
/// Levels, channels and lanes have 5 bits.
const FIVE_BITS: u8 = 0x1F;

/// A table that each port has once.
struct PerPort {
    table: PortTable,
    shape: Shape,
}

impl PerPort {
    /// Writes the blocks of `data` to the ports' tables if the request is a Set, and answers
    /// with the tables' content.
    fn access(&self, network: &mut Network, request: &Request, ports: Ports, data: &mut [u8]) {
        for (at, place) in ports.blocks(request.device(network)) {
            let start = place * self.shape.stride;
            let end = (start + self.shape.len).min(data.len());
            let block = data.get_mut(start..end).unwrap_or_default();
            if request.set {
                network.write_table(at, self.table, 0, block);
            }
            copy(block, network.port(at).table(self.table));
        }
    }
}

fn copy(to: &mut [u8], from: &[u8]) {
    let len = to.len().min(from.len());
    to[..len].copy_from_slice(&from[..len]);
    to[len..].fill(0);
}

fn keep_five_bits(bytes: &mut [u8]) {
    bytes.iter_mut().for_each(|byte| *byte &= FIVE_BITS);
}

pub(super) fn p_keys(
    network: &mut Network,
    request: &Request,
    data: &mut [u8],
) -> Result<(), Failure> {
    let modifier = PKeyModifier::from_bits(request.modifier);
    let ports = request.ports(network, modifier.port, 1, false)?;
    let at = request.device(network).port(ports.first);
    let at = at.ok_or(Failure::Invalid)?;
    let offset = usize::from(modifier.block) * P_KEY_BLOCK;
    let end = offset + usize::from(modifier.count) * P_KEY_BLOCK;
    if end > network.port(at).table(PortTable::PKeys).len() {
        return Err(Failure::Invalid);
    }
    if request.set {
        // Entries beyond the capacity are not there.
        let cap = usize::from(network.port(at).p_key_cap()) * 2;
        let len = cap.saturating_sub(offset).min(data.len());
        network.write_table(at, PortTable::PKeys, offset, &data[..len]);
    }
    let table = network.port(at).table(PortTable::PKeys);
    copy(data, table.get(offset..end).unwrap_or_default());
    Ok(())
}

/// SLtoSC and SCtoSL of an end port.
pub(super) fn service_level(
    network: &mut Network,
    request: &Request,
    attribute: AttributeId,
    data: &mut [u8],
) -> Result<(), Failure> {
    request.plain()?;
    let table = match attribute {
        AttributeId::SL_TO_SC => PortTable::SlToSc,
        _ => PortTable::ScToSl,
    };
    let at = network.end_port(request.ingress);
    if request.set {
        keep_five_bits(data);
        network.write_table(at, table, 0, data);
    }
    copy(data, network.port(at).table(table));
    Ok(())
}

/// SCtoVLr, SCtoVLt and SCtoVLnt.
pub(super) fn lanes(
    network: &mut Network,
    request: &Request,
    attribute: AttributeId,
    data: &mut [u8],
) -> Result<(), Failure> {
    let modifier = ScVlModifier::from_bits(request.modifier);
    let ports = request.ports(network, modifier.port, modifier.count, modifier.all_ports)?;
    let table = match attribute {
        AttributeId::SC_TO_VLR => PortTable::ScToVlr,
        AttributeId::SC_TO_VLT => PortTable::ScToVlt,
        _ => PortTable::ScToVlnt,
    };
    if request.set {
        let mut changed = ports.blocks(request.device(network));
        if changed.any(|(at, _)| !may_change(network, at, table, modifier.asynchronous)) {
            return Err(Failure::Invalid);
        }
        keep_five_bits(data);
    }
    let shape = Shape {
        len: MAP,
        stride: MAP,
    };
    PerPort { table, shape }.access(network, request, ports, data);
    Ok(())
}

/// The maps of the sending side change only while no data flows, unless the port supports asynchronous
/// changes and the request asks for one.
fn may_change(network: &Network, at: PortIndex, table: PortTable, asynchronous: bool) -> bool {
    let capable = network.port(at).info().capability_mask3;
    let flows = network.state(at) >= PortState::ARMED && network.number_of(at) != PortNum(0);
    match table {
        PortTable::ScToVlt if asynchronous => capable.is_async_sc2vl_supported,
        PortTable::ScToVlt | PortTable::ScToVlnt => !flows,
        _ => true,
    }
}

pub(super) fn arbitration(
    network: &mut Network,
    request: &Request,
    data: &mut [u8],
) -> Result<(), Failure> {
    let modifier = VlArbModifier::from_bits(request.modifier);
    let ports = request.ports(network, modifier.port, modifier.count, modifier.all_ports)?;
    let table = match modifier.section {
        section if section == VlArbSection::Low as u8 => PortTable::VlArbLow,
        section if section == VlArbSection::High as u8 => PortTable::VlArbHigh,
        section if section == VlArbSection::Preempt as u8 => PortTable::VlArbPreempt,
        section if section == VlArbSection::Matrix as u8 => PortTable::VlArbMatrix,
        _ => return Err(Failure::Invalid),
    };
    if request.set && table != PortTable::VlArbMatrix {
        data.iter_mut().step_by(2).for_each(|vl| *vl &= FIVE_BITS);
    }
    let shape = Shape {
        len: 256,
        stride: 256,
    };
    PerPort { table, shape }.access(network, request, ports, data);
    Ok(())
}

pub(super) fn buffer_control(
    network: &mut Network,
    request: &Request,
    data: &mut [u8],
) -> Result<(), Failure> {
    let modifier = PortModifier::from_bits(request.modifier);
    let ports = request.ports(network, modifier.port, modifier.count, modifier.all_ports)?;
    let shape = shape(AttributeId::BUFFER_CONTROL_TABLE).ok_or(Failure::Unsupported)?;
    if request.set {
        for place in 0..ports.count() {
            let reserved = data.iter_mut().skip(place * BufferControlTable::STRIDE);
            reserved.take(2).for_each(|byte| *byte = 0);
        }
    }
    if request.set && !ports_hold(network, request, ports, shape, data) {
        return Err(Failure::Invalid);
    }
    let table = PortTable::BufferControl;
    PerPort { table, shape }.access(network, request, ports, data);
    Ok(())
}

/// Whether the neighbour of each port has the buffer that the block for it assigns.
fn ports_hold(
    network: &Network,
    request: &Request,
    ports: Ports,
    shape: Shape,
    data: &[u8],
) -> bool {
    let mut blocks = ports.blocks(request.device(network));
    blocks.all(|(at, place)| {
        let start = place * shape.stride;
        let end = (start + shape.len).min(data.len());
        let block = data.get(start..end).unwrap_or_default();
        let table = BufferControlTable::decode(block);
        table.is_ok_and(|table| fits(network, at, &table))
    })
}

/// Whether a port's table assigns no more than its neighbour has, in units of the neighbour: dedicated
/// and shared space together (opa-fm, `sm_buffer_control_tables`: `OverallBufferSpace` is
/// divided), to no lane more of the shared part than exists, and nothing to lanes that the port lacks
/// (`hfi1`, `chip.c`, `set_buffer_control`). Without a link there is nothing to compare with.
fn fits(network: &Network, at: PortIndex, table: &BufferControlTable) -> bool {
    let own = network.port(at).info();
    let lanes = || table.vl.iter().enumerate();
    let has = |lane: usize| lane < usize::from(own.vl_cap) || lane == LANE_15;
    let nothing = |limits: &VlBufferLimits| *limits == VlBufferLimits::default();
    let shared = table.tx_overall_shared_limit;
    let dedicated = lanes().map(|(_, limits)| u32::from(limits.tx_dedicated_limit));
    let given = dedicated.sum::<u32>() + u32::from(shared);
    let linked = network.state(at) != PortState::DOWN;
    let space = network.peer(at).filter(|_| linked).map(|peer| {
        let info = network.port(peer).info();
        u32::from(info.overall_buffer_space)
    });
    lanes().all(|(lane, limits)| has(lane) || nothing(limits))
        && lanes().all(|(_, limits)| limits.tx_shared_limit <= shared)
        && space.is_none_or(|space| space == 0 || given <= space)
}

/// SCtoSC from one ingress port to `count` egress ports.
pub(super) fn channels(
    network: &mut Network,
    request: &Request,
    data: &mut [u8],
) -> Result<(), Failure> {
    request.switch_only(network)?;
    let modifier = ScScModifier::from_bits(request.modifier);
    let external = request.device(network).last_port();
    let known = |port: PortNum| port >= PortNum(1) && port <= external;
    let more = modifier.count.saturating_sub(1);
    // Blocks are for one egress port after the other, or for one ingress port after the other where
    // each is for all egress ports.
    let (ingress_more, egress_more) = if modifier.all_egress {
        (more, 0)
    } else {
        (0, more)
    };
    let last = |first: PortNum, more: u8| first.0.checked_add(more).map(PortNum);
    let within = |first, more| known(first) && last(first, more).is_some_and(known);
    let named = (modifier.all_ingress || within(modifier.ingress, ingress_more))
        && (modifier.all_egress || within(modifier.egress, egress_more));
    let all = modifier.all_ingress || modifier.all_egress;
    let one_for_all = modifier.all_ingress && modifier.all_egress;
    if !named || all && !request.set || one_for_all && more > 0 {
        return Err(Failure::Invalid);
    }
    for (place, block) in data.chunks_mut(MAP).enumerate() {
        let place = place as u8;
        let ingress = PortNum(modifier.ingress.0.saturating_add(place.min(ingress_more)));
        let egress = PortNum(modifier.egress.0.saturating_add(place.min(egress_more)));
        if request.set {
            keep_five_bits(block);
            let map: [u8; MAP] = block[..].try_into().map_err(|_| Failure::Invalid)?;
            network.write_channel_map(request.node, &map, |from, to| {
                (modifier.all_ingress || from == ingress) && (modifier.all_egress || to == egress)
            })?;
        } else if let Some(switch) = network.switch(request.node) {
            copy(block, switch.channel_map(ingress, egress, external.0));
        }
    }
    Ok(())
}

/// SCtoSC of many pairs of ports at once: masks of ingress and egress ports, then the map.
pub(super) fn channels_multiset(
    network: &mut Network,
    request: &Request,
    data: &mut [u8],
) -> Result<(), Failure> {
    let switch = network.switch(request.node);
    let capable = switch.is_some_and(|switch| switch.info().is_extended_scsc_supported);
    if !capable || !request.set {
        return Err(Failure::Unsupported);
    }
    for block in data.chunks_mut(3 * MAP) {
        let (masks, map) = block.split_at_mut(2 * MAP);
        keep_five_bits(map);
        let map: [u8; MAP] = map[..].try_into().map_err(|_| Failure::Invalid)?;
        network.write_channel_map(request.node, &map, |ingress, egress| {
            in_mask(masks, 0, ingress) && in_mask(masks, MAP, egress)
        })?;
    }
    Ok(())
}

/// Whether a port is in the mask at `offset`: four words, ports 0 to 63 in the last one.
fn in_mask(bytes: &[u8], offset: usize, port: PortNum) -> bool {
    let word = load(bytes, offset + 8 * (3 - usize::from(port.0 / 64)), 8);
    word >> (port.0 % 64) & 1 == 1
}
