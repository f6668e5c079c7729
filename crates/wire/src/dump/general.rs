//! The content of general services: performance management, subnet administration and performance
//! administration.

use std::fmt::{Display, Write};

use crate::class_port_info::{ClassPortInfo, InformInfo};
use crate::dump::{hex, push_indented};
use crate::header::{MadHeader, class, method};
use crate::layout::Layout;
use crate::pm::{
    ClearPortStatus, DataPortCounters, DataPortCountersHeader, Entries, ErrorInfoHeader,
    ErrorPortCounters, ErrorPortCountersHeader, PortErrorInfo, PortMask, PortStatus, PortStatusReq,
    VlDataCounters, VlErrorCounters, VlStatus, attribute as pm,
};
use crate::registry::Entry;
use crate::rmpp::{DATA_AT, RMPP_AT, RmppHeader, kind};
use crate::sa::{SaHeader, attribute as sa};
use crate::sm::Notice;
use crate::{pa, sa as records};

/// Adds the content of a datagram of performance management.
pub(super) fn write_performance(header: &MadHeader, mad: &[u8], out: &mut String) {
    let payload = mad.get(MadHeader::LEN..).unwrap_or_default();
    let response = header.method & method::RESPONSE != 0;
    match header.attribute_id {
        pm::CLASS_PORT_INFO => write_one::<ClassPortInfo>(payload, out),
        pm::PORT_STATUS if response => {
            if let Some(status) = write_some::<PortStatus>(payload, out) {
                write_lanes::<VlStatus>(payload, PortStatus::LEN, status.vl_select_mask, out);
            }
        }
        pm::PORT_STATUS => write_one::<PortStatusReq>(payload, out),
        pm::CLEAR_PORT_STATUS => write_one::<ClearPortStatus>(payload, out),
        pm::DATA_PORT_COUNTERS => {
            if let Some(head) = write_some::<DataPortCountersHeader>(payload, out) {
                let (ports, vls) = (head.port_select_mask, head.vl_select_mask);
                write_ports::<DataPortCounters, VlDataCounters>(response, payload, ports, vls, out);
            }
        }
        pm::ERROR_PORT_COUNTERS => {
            if let Some(head) = write_some::<ErrorPortCountersHeader>(payload, out) {
                let (ports, vls) = (head.port_select_mask, head.vl_select_mask);
                write_ports::<ErrorPortCounters, VlErrorCounters>(
                    response, payload, ports, vls, out,
                );
            }
        }
        pm::ERROR_INFO => {
            if let Some(head) = write_some::<ErrorInfoHeader>(payload, out) {
                let ports = head.port_select_mask;
                write_ports::<PortErrorInfo, VlErrorCounters>(response, payload, ports, 0, out);
            }
        }
        _ => hex::write(payload, out),
    }
}

/// Adds a structure and gives it back, or adds why it cannot be read.
fn write_some<T: Layout + Display>(payload: &[u8], out: &mut String) -> Option<T> {
    match T::decode(payload) {
        Ok(value) => {
            let _ = write!(out, "{value}");
            Some(value)
        }
        Err(error) => {
            let _ = writeln!(out, "  cannot be read: {error}");
            hex::write(payload, out);
            None
        }
    }
}

fn write_one<T: Layout + Display>(payload: &[u8], out: &mut String) {
    let _: Option<T> = write_some(payload, out);
}

fn write_lanes<V: Layout + Display>(payload: &[u8], at: usize, vl_mask: u32, out: &mut String) {
    let parts = payload.get(at..).unwrap_or_default().chunks_exact(V::LEN);
    for (vl, part) in crate::pm::vls(vl_mask).zip(parts) {
        if let Ok(value) = V::decode(part) {
            let _ = writeln!(out, "VL {vl}:");
            push_indented(&value.to_string(), 2, out);
        }
    }
}

/// Adds the entries of ports that follow a header of 40 bytes in an answer.
fn write_ports<P: Layout + Display, V: Layout + Display>(
    response: bool,
    payload: &[u8],
    ports: PortMask,
    vl_mask: u32,
    out: &mut String,
) {
    if !response {
        return;
    }
    let entries = payload
        .get(DataPortCountersHeader::LEN..)
        .unwrap_or_default();
    for entry in Entries::<P, V>::new(entries, ports.len(), vl_mask) {
        match entry {
            Ok(entry) => {
                let _ = write!(out, "{}", entry.port);
                for (vl, part) in entry.vls() {
                    let _ = writeln!(out, "VL {vl}:");
                    push_indented(&part.to_string(), 2, out);
                }
            }
            Err(error) => {
                let _ = writeln!(out, "  cannot be read: {error}");
            }
        }
    }
}

/// Adds the content of a datagram of subnet administration or performance administration.
pub(super) fn write_administration(header: &MadHeader, mad: &[u8], out: &mut String) {
    let rmpp: Option<RmppHeader> = write_some(mad.get(RMPP_AT..).unwrap_or_default(), out);
    let at = RMPP_AT + RmppHeader::LEN;
    let sa: Option<SaHeader> = write_some(mad.get(at..).unwrap_or_default(), out);
    let (Some(rmpp), Some(sa)) = (rmpp, sa) else {
        return;
    };
    let data = mad.get(DATA_AT..).unwrap_or_default();
    let continued = rmpp.rmpp_type == kind::DATA && !rmpp.first;
    match record(header, data.len()) {
        Some(entry) if !continued => write_records(&entry, &sa, data, out),
        _ => hex::write(data, out),
    }
}

/// Adds the complete records, then the rest of the last one.
fn write_records(entry: &Entry, sa: &SaHeader, data: &[u8], out: &mut String) {
    let stride = match 8 * usize::from(sa.attribute_offset) {
        0 => data.len().max(entry.len),
        stride => stride.max(entry.len),
    };
    let mut rest = data;
    while rest.len() >= entry.len {
        match (entry.print)(rest) {
            Ok(text) => out.push_str(&text),
            Err(_) => break,
        }
        rest = rest.get(stride..).unwrap_or_default();
    }
    hex::write(rest, out);
}

/// The structure that carries an attribute, of `len` bytes of data at most.
fn record(header: &MadHeader, len: usize) -> Option<Entry> {
    match header.mgmt_class {
        class::SUBN_ADM => subnet_record(header.attribute_id),
        _ => performance_record(header, len),
    }
}

fn subnet_record(attribute: u16) -> Option<Entry> {
    Some(match attribute {
        sa::CLASS_PORT_INFO => Entry::of::<ClassPortInfo>(),
        sa::NOTICE => Entry::of::<Notice>(),
        sa::INFORM_INFO => Entry::of::<InformInfo>(),
        sa::NODE_RECORD => Entry::of::<records::NodeRecord>(),
        sa::PORT_INFO_RECORD => Entry::of::<records::PortInfoRecord>(),
        sa::SC_TO_SC_RECORD => Entry::of::<records::ScScRecord>(),
        sa::SWITCH_INFO_RECORD => Entry::of::<records::SwitchInfoRecord>(),
        sa::LINEAR_FDB_RECORD => Entry::of::<records::LinearFdbRecord>(),
        sa::MULTICAST_FDB_RECORD => Entry::of::<records::MulticastFdbRecord>(),
        sa::SM_INFO_RECORD => Entry::of::<records::SmInfoRecord>(),
        sa::LINK_RECORD => Entry::of::<records::LinkRecord>(),
        sa::SERVICE_RECORD => Entry::of::<records::ServiceRecord>(),
        sa::P_KEY_TABLE_RECORD => Entry::of::<records::PKeyTableRecord>(),
        sa::PATH_RECORD => Entry::of::<records::PathRecord>(),
        sa::VL_ARBITRATION_RECORD => Entry::of::<records::VlArbRecord>(),
        sa::MC_MEMBER_RECORD => Entry::of::<records::McMemberRecord>(),
        sa::TRACE_RECORD => Entry::of::<records::TraceRecord>(),
        sa::MULTI_PATH_RECORD => Entry::of::<records::MultiPathRecord>(),
        sa::SL_TO_SC_RECORD => Entry::of::<records::SlScRecord>(),
        sa::SC_TO_SL_RECORD => Entry::of::<records::ScSlRecord>(),
        sa::SC_TO_VLNT_RECORD | sa::SC_TO_VLT_RECORD | sa::SC_TO_VLR_RECORD => {
            Entry::of::<records::ScVlRecord>()
        }
        sa::PORT_GROUP_FDB_RECORD => Entry::of::<records::PortGroupFdbRecord>(),
        sa::CABLE_INFO_RECORD => Entry::of::<records::CableInfoRecord>(),
        sa::VF_INFO_RECORD => Entry::of::<records::VfInfoRecord>(),
        sa::PORT_GROUP_TABLE_RECORD => Entry::of::<records::PortGroupTableRecord>(),
        sa::BUFFER_CONTROL_RECORD => Entry::of::<records::BufferControlRecord>(),
        sa::FABRIC_INFO_RECORD => Entry::of::<records::FabricInfoRecord>(),
        sa::QUARANTINED_NODE_RECORD => Entry::of::<records::QuarantinedNodeRecord>(),
        sa::CONGESTION_INFO_RECORD => Entry::of::<records::CongestionInfoRecord>(),
        sa::SWITCH_CONGESTION_RECORD => Entry::of::<records::SwitchCongestionRecord>(),
        sa::SWITCH_PORT_CONGESTION_RECORD => Entry::of::<records::SwitchPortCongestionRecord>(),
        sa::HFI_CONGESTION_RECORD => Entry::of::<records::HfiCongestionRecord>(),
        sa::HFI_CONGESTION_CONTROL_RECORD => Entry::of::<records::HfiCongestionControlRecord>(),
        sa::DEVICE_GROUP_MEMBER_RECORD => Entry::of::<records::DeviceGroupMemberRecord>(),
        sa::DEVICE_GROUP_NAME_RECORD => Entry::of::<records::DeviceGroupNameRecord>(),
        sa::DEVICE_TREE_MEMBER_RECORD => Entry::of::<records::DeviceTreeMemberRecord>(),
        sa::SWITCH_COST_RECORD => Entry::of::<records::SwitchCostRecord>(),
        sa::INFORM_INFO_RECORD => Entry::of::<records::InformInfoRecord>(),
        _ => return None,
    })
}

/// The structure of a query of performance administration; the method selects between request and
/// response if they differ.
fn performance_record(header: &MadHeader, len: usize) -> Option<Entry> {
    let response = header.method & method::RESPONSE != 0;
    let either = |request: Entry, answer: Entry| if response { answer } else { request };
    let entry = match header.attribute_id {
        pa::attribute::CLASS_PORT_INFO => Entry::of::<ClassPortInfo>(),
        pa::attribute::GROUP_LIST => Entry::of::<pa::GroupList>(),
        pa::attribute::GROUP_INFO => Entry::of::<pa::GroupInfo>(),
        pa::attribute::GROUP_CONFIG => either(
            Entry::of::<pa::GroupConfigReq>(),
            Entry::of::<pa::GroupConfigRsp>(),
        ),
        pa::attribute::PORT_COUNTERS => Entry::of::<pa::PortCounters>(),
        pa::attribute::CLEAR_PORT_COUNTERS => Entry::of::<pa::ClearPortCounters>(),
        pa::attribute::CLEAR_ALL_PORT_COUNTERS => Entry::of::<pa::ClearAllPortCounters>(),
        pa::attribute::PM_CONFIG => Entry::of::<pa::PmConfig>(),
        pa::attribute::FREEZE_IMAGE | pa::attribute::RELEASE_IMAGE | pa::attribute::RENEW_IMAGE => {
            Entry::of::<pa::ImageId>()
        }
        pa::attribute::FOCUS_PORTS => either(
            Entry::of::<pa::FocusPortsReq>(),
            Entry::of::<pa::FocusPort>(),
        ),
        pa::attribute::IMAGE_INFO => Entry::of::<pa::ImageInfo>(),
        pa::attribute::MOVE_FREEZE => Entry::of::<pa::MoveFreeze>(),
        pa::attribute::VF_LIST => Entry::of::<pa::VfList>(),
        pa::attribute::VF_INFO => Entry::of::<pa::VfInfo>(),
        pa::attribute::VF_CONFIG => either(
            Entry::of::<pa::VfConfigReq>(),
            Entry::of::<pa::VfConfigRsp>(),
        ),
        pa::attribute::VF_PORT_COUNTERS => Entry::of::<pa::VfPortCounters>(),
        pa::attribute::CLEAR_VF_PORT_COUNTERS => Entry::of::<pa::ClearVfPortCounters>(),
        pa::attribute::VF_FOCUS_PORTS => either(
            Entry::of::<pa::VfFocusPortsReq>(),
            Entry::of::<pa::VfFocusPort>(),
        ),
        pa::attribute::FOCUS_MULTI => either(
            Entry::of::<pa::FocusMultiReq>(),
            Entry::of::<pa::FocusMultiPort>(),
        ),
        pa::attribute::GROUP_NODE_INFO => either(
            Entry::of::<pa::GroupNodeInfoReq>(),
            Entry::of::<pa::GroupNodeInfoRsp>(),
        ),
        pa::attribute::GROUP_LINK_INFO => either(
            Entry::of::<pa::GroupLinkInfoReq>(),
            Entry::of::<pa::GroupLinkInfoRsp>(),
        ),
        pa::attribute::GROUP_LIST2 => Entry::of::<pa::GroupList2>(),
        pa::attribute::VF_LIST2 => Entry::of::<pa::VfList2>(),
        _ => return None,
    };
    (entry.len <= len).then_some(entry)
}
