//! The content of subnet management packets.

use std::fmt::Write;

use crate::dump::{hex, modifier, names, push_indented};
use crate::header::{MadHeader, class, method};
use crate::id::PortNum;
use crate::layout::Layout;
use crate::registry::Entry;
use crate::sm::modifier::Modifier;
use crate::sm::{
    AttributeId, BufferControlTable, CableInfo, CongestionInfo, HfiCongestionControlTable,
    HfiCongestionLog, HfiCongestionSetting, LedInfo, LinearFdb, MulticastFdb, NodeDescription,
    NodeInfo, Notice, PartitionTable, PortGroupFdb, PortGroupTable, PortInfo, PortStateInfo,
    ScScMap, ScScMultiSet, ScSlMap, ScVlMap, SlScMap, SmInfo, SwitchCongestionLog,
    SwitchCongestionSetting, SwitchInfo, SwitchPortCongestionSetting, VlArbMatrix, VlArbTable,
    aggregate, shape,
};
use crate::smp::SmpView;

/// The structure that carries an attribute.
pub(crate) fn structure(attribute: AttributeId, modifier: Modifier) -> Option<Entry> {
    Some(match attribute {
        AttributeId::NOTICE => Entry::of::<Notice>(),
        AttributeId::NODE_DESCRIPTION => Entry::of::<NodeDescription>(),
        AttributeId::NODE_INFO => Entry::of::<NodeInfo>(),
        AttributeId::SWITCH_INFO => Entry::of::<SwitchInfo>(),
        AttributeId::PORT_INFO => Entry::of::<PortInfo>(),
        AttributeId::P_KEY_TABLE => Entry::of::<PartitionTable>(),
        AttributeId::SL_TO_SC => Entry::of::<SlScMap>(),
        AttributeId::VL_ARBITRATION => match modifier {
            Modifier::VlArb(vl_arb) if vl_arb.section == 3 => Entry::of::<VlArbMatrix>(),
            _ => Entry::of::<VlArbTable>(),
        },
        AttributeId::LINEAR_FDB => Entry::of::<LinearFdb>(),
        AttributeId::MULTICAST_FDB => Entry::of::<MulticastFdb>(),
        AttributeId::SM_INFO => Entry::of::<SmInfo>(),
        AttributeId::LED_INFO => Entry::of::<LedInfo>(),
        AttributeId::CABLE_INFO => Entry::of::<CableInfo>(),
        AttributeId::SC_TO_SC => Entry::of::<ScScMap>(),
        AttributeId::SC_TO_SL => Entry::of::<ScSlMap>(),
        AttributeId::SC_TO_VLR | AttributeId::SC_TO_VLT | AttributeId::SC_TO_VLNT => {
            Entry::of::<ScVlMap>()
        }
        AttributeId::PORT_STATE_INFO => Entry::of::<PortStateInfo>(),
        AttributeId::PORT_GROUP_FDB => Entry::of::<PortGroupFdb>(),
        AttributeId::PORT_GROUP_TABLE => Entry::of::<PortGroupTable>(),
        AttributeId::BUFFER_CONTROL_TABLE => Entry::of::<BufferControlTable>(),
        AttributeId::CONGESTION_INFO => Entry::of::<CongestionInfo>(),
        AttributeId::SWITCH_CONGESTION_LOG => Entry::of::<SwitchCongestionLog>(),
        AttributeId::SWITCH_CONGESTION_SETTING => Entry::of::<SwitchCongestionSetting>(),
        AttributeId::SWITCH_PORT_CONGESTION_SETTING => Entry::of::<SwitchPortCongestionSetting>(),
        AttributeId::HFI_CONGESTION_LOG => Entry::of::<HfiCongestionLog>(),
        AttributeId::HFI_CONGESTION_SETTING => Entry::of::<HfiCongestionSetting>(),
        AttributeId::HFI_CONGESTION_CONTROL_TABLE => Entry::of::<HfiCongestionControlTable>(),
        AttributeId::SC_TO_SC_MULTISET => Entry::of::<ScScMultiSet>(),
        _ => return None,
    })
}

/// Number of blocks that a modifier covers; one if it has no count.
fn count(modifier: Modifier) -> usize {
    usize::from(match modifier {
        Modifier::Port(value) => value.count,
        Modifier::ScVl(value) => value.count,
        Modifier::PKey(value) => value.count,
        Modifier::VlArb(value) => value.count,
        Modifier::Block(value) => value.count,
        Modifier::Multicast(value) => value.count,
        Modifier::PortGroup(value) => value.count,
        Modifier::ScSc(value) => value.count,
        Modifier::Cct(value) => value.count,
        Modifier::Count(value) => value.count,
        Modifier::Plain(_) | Modifier::CableInfo(_) | Modifier::Aggregate(_) => 1,
    })
}

/// Adds what follows the common header.
pub(super) fn write(mad: &[u8], out: &mut String) {
    let smp = match SmpView::parse(mad) {
        Ok(smp) => smp,
        Err(error) => {
            let _ = writeln!(out, "  cannot be read: {error}");
            return hex::write(mad.get(MadHeader::LEN..).unwrap_or_default(), out);
        }
    };
    let _ = writeln!(out, "  m_key: {:#018x}", smp.m_key);
    if smp.header.mgmt_class == class::SM_DIRECTED_ROUTE {
        write_route(&smp, out);
    }
    let bits = smp.header.attribute_modifier;
    if smp.payload.is_empty() {
        return;
    }
    match smp.attribute() {
        AttributeId::AGGREGATE => write_aggregate(smp.payload, bits, out),
        attribute => write_attribute(attribute, bits, smp.payload, 0, out),
    }
    if smp.attribute() == AttributeId::NOTICE && smp.header.method != method::GET {
        write_trap(smp.payload, out);
    }
}

/// Adds the directed route: its LIDs and the ports of both paths.
fn write_route(smp: &SmpView<'_>, out: &mut String) {
    let Some(route) = &smp.directed else { return };
    let hops = usize::from(smp.header.hop_count);
    let path = |path: &[u8; 64]| {
        let ports = path.iter().skip(1).take(hops);
        let names: Vec<String> = ports.map(|port| PortNum(*port).to_string()).collect();
        names.join(" ")
    };
    let _ = writeln!(
        out,
        "  dr_slid: {}, dr_dlid: {}",
        route.dr_slid, route.dr_dlid
    );
    let _ = writeln!(out, "  initial_path: {}", path(&route.initial_path));
    let _ = writeln!(out, "  return_path: {}", path(&route.return_path));
}

fn write_aggregate(payload: &[u8], bits: u32, out: &mut String) {
    let count = usize::from(aggregate_count(bits));
    for (index, segment) in aggregate::segments(payload, count).enumerate() {
        match segment {
            Ok(segment) => {
                let attribute = names::attribute(class::SM_LID_ROUTED, segment.attribute.0);
                let place = modifier(segment.attribute, segment.modifier);
                let error = if segment.error { " error" } else { "" };
                let _ = writeln!(out, "segment {index}: {attribute} {place}{error}");
                write_attribute(segment.attribute, segment.modifier, segment.data, 2, out);
            }
            Err(error) => {
                let _ = writeln!(out, "segment {index} cannot be read: {error}");
            }
        }
    }
}

fn aggregate_count(bits: u32) -> u8 {
    match Modifier::decode(AttributeId::AGGREGATE, bits) {
        Modifier::Aggregate(modifier) => modifier.segments,
        _ => 0,
    }
}

/// Adds the blocks of an attribute.
fn write_attribute(
    attribute: AttributeId,
    bits: u32,
    data: &[u8],
    indent: usize,
    out: &mut String,
) {
    let modifier = Modifier::decode(attribute, bits);
    let Some(entry) = structure(attribute, modifier) else {
        return hex::write(data, out);
    };
    let stride = shape(attribute).map_or(entry.len, |shape| shape.stride);
    let blocks = match attribute {
        AttributeId::HFI_CONGESTION_CONTROL_TABLE => 1,
        _ => count(modifier),
    };
    for index in 0..blocks {
        let block = data.get(index * stride..).unwrap_or_default();
        match (entry.print)(block) {
            Ok(text) => push_indented(&text, indent, out),
            Err(error) => {
                let _ = writeln!(out, "{:indent$}block {index} cannot be read: {error}", "");
                return hex::write(block, out);
            }
        }
    }
}

fn write_trap(payload: &[u8], out: &mut String) {
    if let Some(trap) = Notice::decode(payload)
        .ok()
        .and_then(|notice| notice.trap())
    {
        let _ = writeln!(out, "  trap: {trap:?}");
    }
}
