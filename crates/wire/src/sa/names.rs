//! Names of attributes, for people.

use super::attribute;

/// The name of an attribute, none where subnet administration has no such attribute.
pub fn attribute_name(attribute: u16) -> Option<&'static str> {
    let found = NAMES.iter().find(|(id, _)| *id == attribute);
    found.map(|(_, name)| *name)
}

const NAMES: [(u16, &str); 41] = [
    (attribute::CLASS_PORT_INFO, "ClassPortInfo"),
    (attribute::NOTICE, "Notice"),
    (attribute::INFORM_INFO, "InformInfo"),
    (attribute::NODE_RECORD, "NodeRecord"),
    (attribute::PORT_INFO_RECORD, "PortInfoRecord"),
    (attribute::SC_TO_SC_RECORD, "SCtoSCRecord"),
    (attribute::SWITCH_INFO_RECORD, "SwitchInfoRecord"),
    (attribute::LINEAR_FDB_RECORD, "LinearFDBRecord"),
    (attribute::MULTICAST_FDB_RECORD, "MulticastFDBRecord"),
    (attribute::SM_INFO_RECORD, "SMInfoRecord"),
    (attribute::LINK_RECORD, "LinkRecord"),
    (attribute::SERVICE_RECORD, "ServiceRecord"),
    (attribute::P_KEY_TABLE_RECORD, "PKeyTableRecord"),
    (attribute::PATH_RECORD, "PathRecord"),
    (attribute::VL_ARBITRATION_RECORD, "VLArbitrationRecord"),
    (attribute::MC_MEMBER_RECORD, "MCMemberRecord"),
    (attribute::TRACE_RECORD, "TraceRecord"),
    (attribute::MULTI_PATH_RECORD, "MultiPathRecord"),
    (attribute::SL_TO_SC_RECORD, "SLtoSCRecord"),
    (attribute::SC_TO_SL_RECORD, "SCtoSLRecord"),
    (attribute::SC_TO_VLNT_RECORD, "SCtoVLntRecord"),
    (attribute::SC_TO_VLT_RECORD, "SCtoVLtRecord"),
    (attribute::SC_TO_VLR_RECORD, "SCtoVLrRecord"),
    (attribute::PORT_GROUP_FDB_RECORD, "PortGroupFDBRecord"),
    (attribute::CABLE_INFO_RECORD, "CableInfoRecord"),
    (attribute::VF_INFO_RECORD, "VFInfoRecord"),
    (attribute::PORT_STATE_INFO_RECORD, "PortStateInfoRecord"),
    (attribute::PORT_GROUP_TABLE_RECORD, "PortGroupTableRecord"),
    (attribute::BUFFER_CONTROL_RECORD, "BufferControlRecord"),
    (attribute::FABRIC_INFO_RECORD, "FabricInfoRecord"),
    (attribute::QUARANTINED_NODE_RECORD, "QuarantinedNodeRecord"),
    (attribute::CONGESTION_INFO_RECORD, "CongestionInfoRecord"),
    (
        attribute::SWITCH_CONGESTION_RECORD,
        "SwitchCongestionRecord",
    ),
    (
        attribute::SWITCH_PORT_CONGESTION_RECORD,
        "SwitchPortCongestionRecord",
    ),
    (attribute::HFI_CONGESTION_RECORD, "HfiCongestionRecord"),
    (
        attribute::HFI_CONGESTION_CONTROL_RECORD,
        "HfiCongestionControlRecord",
    ),
    (
        attribute::DEVICE_GROUP_MEMBER_RECORD,
        "DeviceGroupMemberRecord",
    ),
    (attribute::DEVICE_GROUP_NAME_RECORD, "DeviceGroupNameRecord"),
    (
        attribute::DEVICE_TREE_MEMBER_RECORD,
        "DeviceTreeMemberRecord",
    ),
    (attribute::SWITCH_COST_RECORD, "SwitchCostRecord"),
    (attribute::INFORM_INFO_RECORD, "InformInfoRecord"),
];
