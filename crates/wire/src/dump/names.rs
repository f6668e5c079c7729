//! Names of classes, methods, attributes and status codes.

use std::borrow::Cow;

use crate::header::{class, method, status};
use crate::sm::AttributeId;
use crate::{pa, pm, sa};

/// A class.
pub(super) fn class(class: u8) -> Cow<'static, str> {
    Cow::Borrowed(match class {
        class::SM_LID_ROUTED => "SMP",
        class::SM_DIRECTED_ROUTE => "SMP-DR",
        class::SUBN_ADM => "SA",
        class::PERF => "PM",
        class::FE => "FE",
        class::SM_DBSYNC => "DBSYNC",
        class::PA => "PA",
        other => return Cow::Owned(format!("class {other:#04x}")),
    })
}

/// A method.
pub(super) fn method(method: u8) -> Cow<'static, str> {
    let name = match method & !method::RESPONSE {
        method::GET => "Get",
        method::SET => "Set",
        method::SEND => "Send",
        method::TRAP => "Trap",
        method::REPORT => "Report",
        method::TRAP_REPRESS => "TrapRepress",
        method::GET_TABLE => "GetTable",
        method::GET_TRACE_TABLE => "GetTraceTable",
        method::GET_MULTI => "GetMulti",
        method::DELETE => "Delete",
        _ => return Cow::Owned(format!("method {method:#04x}")),
    };
    match method & method::RESPONSE {
        0 => Cow::Borrowed(name),
        _ => Cow::Owned(format!("{name}Resp")),
    }
}

/// An attribute of a class.
pub(super) fn attribute(class: u8, attribute: u16) -> Cow<'static, str> {
    let name = match class {
        class::SM_LID_ROUTED | class::SM_DIRECTED_ROUTE => AttributeId(attribute).name(),
        class::PERF => performance(attribute),
        class::SUBN_ADM => administration(attribute),
        class::PA => performance_administration(attribute),
        _ => None,
    };
    match name {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(format!("attribute {attribute:#06x}")),
    }
}

fn performance(attribute: u16) -> Option<&'static str> {
    Some(match attribute {
        pm::attribute::CLASS_PORT_INFO => "ClassPortInfo",
        pm::attribute::PORT_STATUS => "PortStatus",
        pm::attribute::CLEAR_PORT_STATUS => "ClearPortStatus",
        pm::attribute::DATA_PORT_COUNTERS => "DataPortCounters",
        pm::attribute::ERROR_PORT_COUNTERS => "ErrorPortCounters",
        pm::attribute::ERROR_INFO => "ErrorInfo",
        _ => return None,
    })
}

fn administration(attribute: u16) -> Option<&'static str> {
    Some(match attribute {
        sa::attribute::CLASS_PORT_INFO => "ClassPortInfo",
        sa::attribute::NOTICE => "Notice",
        sa::attribute::INFORM_INFO => "InformInfo",
        sa::attribute::NODE_RECORD => "NodeRecord",
        sa::attribute::PORT_INFO_RECORD => "PortInfoRecord",
        sa::attribute::SC_TO_SC_RECORD => "SCtoSCRecord",
        sa::attribute::SWITCH_INFO_RECORD => "SwitchInfoRecord",
        sa::attribute::LINEAR_FDB_RECORD => "LinearFDBRecord",
        sa::attribute::MULTICAST_FDB_RECORD => "MulticastFDBRecord",
        sa::attribute::SM_INFO_RECORD => "SMInfoRecord",
        sa::attribute::LINK_RECORD => "LinkRecord",
        sa::attribute::SERVICE_RECORD => "ServiceRecord",
        sa::attribute::P_KEY_TABLE_RECORD => "P_KeyTableRecord",
        sa::attribute::PATH_RECORD => "PathRecord",
        sa::attribute::VL_ARBITRATION_RECORD => "VLArbitrationRecord",
        sa::attribute::MC_MEMBER_RECORD => "MCMemberRecord",
        sa::attribute::TRACE_RECORD => "TraceRecord",
        sa::attribute::MULTI_PATH_RECORD => "MultiPathRecord",
        sa::attribute::SL_TO_SC_RECORD => "SLtoSCRecord",
        sa::attribute::SC_TO_SL_RECORD => "SCtoSLRecord",
        sa::attribute::SC_TO_VLNT_RECORD => "SCtoVLntRecord",
        sa::attribute::SC_TO_VLT_RECORD => "SCtoVLtRecord",
        sa::attribute::SC_TO_VLR_RECORD => "SCtoVLrRecord",
        sa::attribute::PORT_GROUP_FDB_RECORD => "PortGroupFDBRecord",
        sa::attribute::CABLE_INFO_RECORD => "CableInfoRecord",
        sa::attribute::VF_INFO_RECORD => "VFInfoRecord",
        sa::attribute::PORT_GROUP_TABLE_RECORD => "PortGroupTableRecord",
        sa::attribute::BUFFER_CONTROL_RECORD => "BufferControlTableRecord",
        sa::attribute::FABRIC_INFO_RECORD => "FabricInfoRecord",
        sa::attribute::QUARANTINED_NODE_RECORD => "QuarantinedNodeRecord",
        sa::attribute::CONGESTION_INFO_RECORD => "CongestionInfoRecord",
        sa::attribute::SWITCH_CONGESTION_RECORD => "SwitchCongestionRecord",
        sa::attribute::SWITCH_PORT_CONGESTION_RECORD => "SwitchPortCongestionRecord",
        sa::attribute::HFI_CONGESTION_RECORD => "HfiCongestionRecord",
        sa::attribute::HFI_CONGESTION_CONTROL_RECORD => "HfiCongestionControlRecord",
        sa::attribute::DEVICE_GROUP_MEMBER_RECORD => "DeviceGroupMemberRecord",
        sa::attribute::DEVICE_GROUP_NAME_RECORD => "DeviceGroupNameRecord",
        sa::attribute::DEVICE_TREE_MEMBER_RECORD => "DeviceTreeMemberRecord",
        sa::attribute::SWITCH_COST_RECORD => "SwitchCostRecord",
        sa::attribute::INFORM_INFO_RECORD => "InformInfoRecord",
        _ => return None,
    })
}

fn performance_administration(attribute: u16) -> Option<&'static str> {
    Some(match attribute {
        pa::attribute::CLASS_PORT_INFO => "ClassPortInfo",
        pa::attribute::GROUP_LIST => "GroupList",
        pa::attribute::GROUP_INFO => "GroupInfo",
        pa::attribute::GROUP_CONFIG => "GroupConfig",
        pa::attribute::PORT_COUNTERS => "PortCounters",
        pa::attribute::CLEAR_PORT_COUNTERS => "ClearPortCounters",
        pa::attribute::CLEAR_ALL_PORT_COUNTERS => "ClearAllPortCounters",
        pa::attribute::PM_CONFIG => "PmConfig",
        pa::attribute::FREEZE_IMAGE => "FreezeImage",
        pa::attribute::RELEASE_IMAGE => "ReleaseImage",
        pa::attribute::RENEW_IMAGE => "RenewImage",
        pa::attribute::FOCUS_PORTS => "FocusPorts",
        pa::attribute::IMAGE_INFO => "ImageInfo",
        pa::attribute::MOVE_FREEZE => "MoveFreeze",
        pa::attribute::VF_LIST => "VFList",
        pa::attribute::VF_INFO => "VFInfo",
        pa::attribute::VF_CONFIG => "VFConfig",
        pa::attribute::VF_PORT_COUNTERS => "VFPortCounters",
        pa::attribute::CLEAR_VF_PORT_COUNTERS => "ClearVFPortCounters",
        pa::attribute::VF_FOCUS_PORTS => "VFFocusPorts",
        pa::attribute::FOCUS_MULTI => "FocusMultiSelect",
        pa::attribute::GROUP_NODE_INFO => "GroupNodeInfo",
        pa::attribute::GROUP_LINK_INFO => "GroupLinkInfo",
        pa::attribute::GROUP_LIST2 => "GroupList2",
        pa::attribute::VF_LIST2 => "VFList2",
        _ => return None,
    })
}

/// A status code; those of one class share a name.
pub(super) fn status(code: u16) -> &'static str {
    match code {
        status::OK => "ok",
        status::BUSY => "busy",
        status::REDIRECT => "redirect",
        status::UNSUPPORTED_CLASS_OR_VERSION => "unsupported class or version",
        status::UNSUPPORTED_METHOD => "unsupported method",
        status::UNSUPPORTED_METHOD_ATTRIB => "unsupported attribute",
        status::INVALID_ATTRIB => "invalid field",
        code if code >> 8 != 0 => "of the class",
        _ => "unknown",
    }
}
