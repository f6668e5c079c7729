//! Numbers that both sides have.

use weft_wire::sm::AttributeId;
use weft_wire::{pa, sa};

/// Our attribute numbers and the headers' names for them.
pub(crate) const NUMBERS: &[(u16, &str)] = &[
    (AttributeId::NOTICE.0, "STL_MCLASS_ATTRIB_ID_NOTICE"),
    (
        AttributeId::NODE_DESCRIPTION.0,
        "STL_MCLASS_ATTRIB_ID_NODE_DESCRIPTION",
    ),
    (AttributeId::NODE_INFO.0, "STL_MCLASS_ATTRIB_ID_NODE_INFO"),
    (
        AttributeId::SWITCH_INFO.0,
        "STL_MCLASS_ATTRIB_ID_SWITCH_INFO",
    ),
    (AttributeId::PORT_INFO.0, "STL_MCLASS_ATTRIB_ID_PORT_INFO"),
    (
        AttributeId::P_KEY_TABLE.0,
        "STL_MCLASS_ATTRIB_ID_PART_TABLE",
    ),
    (
        AttributeId::SL_TO_SC.0,
        "STL_MCLASS_ATTRIB_ID_SL_SC_MAPPING_TABLE",
    ),
    (
        AttributeId::VL_ARBITRATION.0,
        "STL_MCLASS_ATTRIB_ID_VL_ARBITRATION",
    ),
    (
        AttributeId::LINEAR_FDB.0,
        "STL_MCLASS_ATTRIB_ID_LINEAR_FWD_TABLE",
    ),
    (
        AttributeId::MULTICAST_FDB.0,
        "STL_MCLASS_ATTRIB_ID_MCAST_FWD_TABLE",
    ),
    (AttributeId::SM_INFO.0, "STL_MCLASS_ATTRIB_ID_SM_INFO"),
    (AttributeId::LED_INFO.0, "STL_MCLASS_ATTRIB_ID_LED_INFO"),
    (AttributeId::CABLE_INFO.0, "STL_MCLASS_ATTRIB_ID_CABLE_INFO"),
    (AttributeId::AGGREGATE.0, "STL_MCLASS_ATTRIB_ID_AGGREGATE"),
    (
        AttributeId::SC_TO_SC.0,
        "STL_MCLASS_ATTRIB_ID_SC_SC_MAPPING_TABLE",
    ),
    (
        AttributeId::SC_TO_SL.0,
        "STL_MCLASS_ATTRIB_ID_SC_SL_MAPPING_TABLE",
    ),
    (
        AttributeId::SC_TO_VLR.0,
        "STL_MCLASS_ATTRIB_ID_SC_VLR_MAPPING_TABLE",
    ),
    (
        AttributeId::SC_TO_VLT.0,
        "STL_MCLASS_ATTRIB_ID_SC_VLT_MAPPING_TABLE",
    ),
    (
        AttributeId::SC_TO_VLNT.0,
        "STL_MCLASS_ATTRIB_ID_SC_VLNT_MAPPING_TABLE",
    ),
    (
        AttributeId::PORT_STATE_INFO.0,
        "STL_MCLASS_ATTRIB_ID_PORT_STATE_INFO",
    ),
    (
        AttributeId::PORT_GROUP_FDB.0,
        "STL_MCLASS_ATTRIB_ID_PORT_GROUP_FWD_TABLE",
    ),
    (
        AttributeId::PORT_GROUP_TABLE.0,
        "STL_MCLASS_ATTRIB_ID_PORT_GROUP_TABLE",
    ),
    (
        AttributeId::BUFFER_CONTROL_TABLE.0,
        "STL_MCLASS_ATTRIB_ID_BUFFER_CONTROL_TABLE",
    ),
    (
        AttributeId::CONGESTION_INFO.0,
        "STL_MCLASS_ATTRIB_ID_CONGESTION_INFO",
    ),
    (
        AttributeId::SWITCH_CONGESTION_LOG.0,
        "STL_MCLASS_ATTRIB_ID_SWITCH_CONGESTION_LOG",
    ),
    (
        AttributeId::SWITCH_CONGESTION_SETTING.0,
        "STL_MCLASS_ATTRIB_ID_SWITCH_CONGESTION_SETTING",
    ),
    (
        AttributeId::SWITCH_PORT_CONGESTION_SETTING.0,
        "STL_MCLASS_ATTRIB_ID_SWITCH_PORT_CONGESTION_SETTING",
    ),
    (
        AttributeId::HFI_CONGESTION_LOG.0,
        "STL_MCLASS_ATTRIB_ID_HFI_CONGESTION_LOG",
    ),
    (
        AttributeId::HFI_CONGESTION_SETTING.0,
        "STL_MCLASS_ATTRIB_ID_HFI_CONGESTION_SETTING",
    ),
    (
        AttributeId::HFI_CONGESTION_CONTROL_TABLE.0,
        "STL_MCLASS_ATTRIB_ID_HFI_CONGESTION_CONTROL_TABLE",
    ),
    (
        AttributeId::SC_TO_SC_MULTISET.0,
        "STL_MCLASS_ATTRIB_ID_SC_SC_MULTI_SET",
    ),
    (sa::attribute::NODE_RECORD, "STL_SA_ATTR_NODE_RECORD"),
    (
        sa::attribute::PORT_INFO_RECORD,
        "STL_SA_ATTR_PORTINFO_RECORD",
    ),
    (
        sa::attribute::SC_TO_SC_RECORD,
        "STL_SA_ATTR_SC_MAPTBL_RECORD",
    ),
    (
        sa::attribute::SWITCH_INFO_RECORD,
        "STL_SA_ATTR_SWITCHINFO_RECORD",
    ),
    (
        sa::attribute::LINEAR_FDB_RECORD,
        "STL_SA_ATTR_LINEAR_FWDTBL_RECORD",
    ),
    (
        sa::attribute::MULTICAST_FDB_RECORD,
        "STL_SA_ATTR_MCAST_FWDTBL_RECORD",
    ),
    (sa::attribute::SM_INFO_RECORD, "STL_SA_ATTR_SMINFO_RECORD"),
    (sa::attribute::LINK_RECORD, "STL_SA_ATTR_LINK_RECORD"),
    (sa::attribute::SERVICE_RECORD, "STL_SA_ATTR_SERVICE_RECORD"),
    (
        sa::attribute::P_KEY_TABLE_RECORD,
        "STL_SA_ATTR_P_KEY_TABLE_RECORD",
    ),
    (sa::attribute::PATH_RECORD, "STL_SA_ATTR_PATH_RECORD"),
    (
        sa::attribute::VL_ARBITRATION_RECORD,
        "STL_SA_ATTR_VLARBTABLE_RECORD",
    ),
    (
        sa::attribute::MC_MEMBER_RECORD,
        "STL_SA_ATTR_MCMEMBER_RECORD",
    ),
    (sa::attribute::TRACE_RECORD, "STL_SA_ATTR_TRACE_RECORD"),
    (
        sa::attribute::MULTI_PATH_RECORD,
        "STL_SA_ATTR_MULTIPATH_GID_RECORD",
    ),
    (
        sa::attribute::SL_TO_SC_RECORD,
        "STL_SA_ATTR_SL2SC_MAPTBL_RECORD",
    ),
    (
        sa::attribute::SC_TO_SL_RECORD,
        "STL_SA_ATTR_SC2SL_MAPTBL_RECORD",
    ),
    (
        sa::attribute::SC_TO_VLNT_RECORD,
        "STL_SA_ATTR_SC2VL_NT_MAPTBL_RECORD",
    ),
    (
        sa::attribute::SC_TO_VLT_RECORD,
        "STL_SA_ATTR_SC2VL_T_MAPTBL_RECORD",
    ),
    (
        sa::attribute::SC_TO_VLR_RECORD,
        "STL_SA_ATTR_SC2VL_R_MAPTBL_RECORD",
    ),
    (
        sa::attribute::PORT_GROUP_FDB_RECORD,
        "STL_SA_ATTR_PGROUP_FWDTBL_RECORD",
    ),
    (
        sa::attribute::CABLE_INFO_RECORD,
        "STL_SA_ATTR_CABLE_INFO_RECORD",
    ),
    (sa::attribute::VF_INFO_RECORD, "STL_SA_ATTR_VF_INFO_RECORD"),
    (
        sa::attribute::PORT_STATE_INFO_RECORD,
        "STL_SA_ATTR_PORT_STATE_INFO_RECORD",
    ),
    (
        sa::attribute::PORT_GROUP_TABLE_RECORD,
        "STL_SA_ATTR_PORTGROUP_TABLE_RECORD",
    ),
    (
        sa::attribute::BUFFER_CONTROL_RECORD,
        "STL_SA_ATTR_BUFF_CTRL_TAB_RECORD",
    ),
    (
        sa::attribute::FABRIC_INFO_RECORD,
        "STL_SA_ATTR_FABRICINFO_RECORD",
    ),
    (
        sa::attribute::QUARANTINED_NODE_RECORD,
        "STL_SA_ATTR_QUARANTINED_NODE_RECORD",
    ),
    (
        sa::attribute::CONGESTION_INFO_RECORD,
        "STL_SA_ATTR_CONGESTION_INFO_RECORD",
    ),
    (
        sa::attribute::SWITCH_CONGESTION_RECORD,
        "STL_SA_ATTR_SWITCH_CONG_RECORD",
    ),
    (
        sa::attribute::SWITCH_PORT_CONGESTION_RECORD,
        "STL_SA_ATTR_SWITCH_PORT_CONG_RECORD",
    ),
    (
        sa::attribute::HFI_CONGESTION_RECORD,
        "STL_SA_ATTR_HFI_CONG_RECORD",
    ),
    (
        sa::attribute::HFI_CONGESTION_CONTROL_RECORD,
        "STL_SA_ATTR_HFI_CONG_CTRL_RECORD",
    ),
    (
        sa::attribute::DEVICE_GROUP_MEMBER_RECORD,
        "STL_SA_ATTR_DG_MEMBER_RECORD",
    ),
    (
        sa::attribute::DEVICE_GROUP_NAME_RECORD,
        "STL_SA_ATTR_DG_NAME_RECORD",
    ),
    (
        sa::attribute::DEVICE_TREE_MEMBER_RECORD,
        "STL_SA_ATTR_DT_MEMBER_RECORD",
    ),
    (
        sa::attribute::SWITCH_COST_RECORD,
        "STL_SA_ATTR_SWITCH_COST_RECORD",
    ),
    (
        sa::attribute::INFORM_INFO_RECORD,
        "STL_SA_ATTR_INFORM_INFO_RECORD",
    ),
    (sa::status::NO_RECORDS, "MAD_STATUS_SA_NO_RECORDS"),
    (
        sa::status::TOO_MANY_RECORDS,
        "MAD_STATUS_SA_TOO_MANY_RECORDS",
    ),
    (sa::status::REQ_INVALID, "MAD_STATUS_SA_REQ_INVALID"),
    (sa::status::REQ_INVALID_GID, "MAD_STATUS_SA_REQ_INVALID_GID"),
    (pa::attribute::GROUP_LIST, "STL_PA_ATTRID_GET_GRP_LIST"),
    (pa::attribute::GROUP_INFO, "STL_PA_ATTRID_GET_GRP_INFO"),
    (pa::attribute::GROUP_CONFIG, "STL_PA_ATTRID_GET_GRP_CFG"),
    (pa::attribute::PORT_COUNTERS, "STL_PA_ATTRID_GET_PORT_CTRS"),
    (
        pa::attribute::CLEAR_PORT_COUNTERS,
        "STL_PA_ATTRID_CLR_PORT_CTRS",
    ),
    (
        pa::attribute::CLEAR_ALL_PORT_COUNTERS,
        "STL_PA_ATTRID_CLR_ALL_PORT_CTRS",
    ),
    (pa::attribute::PM_CONFIG, "STL_PA_ATTRID_GET_PM_CONFIG"),
    (pa::attribute::FREEZE_IMAGE, "STL_PA_ATTRID_FREEZE_IMAGE"),
    (pa::attribute::RELEASE_IMAGE, "STL_PA_ATTRID_RELEASE_IMAGE"),
    (pa::attribute::RENEW_IMAGE, "STL_PA_ATTRID_RENEW_IMAGE"),
    (pa::attribute::FOCUS_PORTS, "STL_PA_ATTRID_GET_FOCUS_PORTS"),
    (pa::attribute::IMAGE_INFO, "STL_PA_ATTRID_GET_IMAGE_INFO"),
    (
        pa::attribute::MOVE_FREEZE,
        "STL_PA_ATTRID_MOVE_FREEZE_FRAME",
    ),
    (pa::attribute::VF_LIST, "STL_PA_ATTRID_GET_VF_LIST"),
    (pa::attribute::VF_INFO, "STL_PA_ATTRID_GET_VF_INFO"),
    (pa::attribute::VF_CONFIG, "STL_PA_ATTRID_GET_VF_CONFIG"),
    (
        pa::attribute::VF_PORT_COUNTERS,
        "STL_PA_ATTRID_GET_VF_PORT_CTRS",
    ),
    (
        pa::attribute::CLEAR_VF_PORT_COUNTERS,
        "STL_PA_ATTRID_CLR_VF_PORT_CTRS",
    ),
    (
        pa::attribute::VF_FOCUS_PORTS,
        "STL_PA_ATTRID_GET_VF_FOCUS_PORTS",
    ),
    (
        pa::attribute::FOCUS_MULTI,
        "STL_PA_ATTRID_GET_FOCUS_PORTS_MULTISELECT",
    ),
    (
        pa::attribute::GROUP_NODE_INFO,
        "STL_PA_ATTRID_GET_GRP_NODE_INFO",
    ),
    (
        pa::attribute::GROUP_LINK_INFO,
        "STL_PA_ATTRID_GET_GRP_LINK_INFO",
    ),
    (pa::attribute::GROUP_LIST2, "STL_PA_ATTRID_GET_GRP_LIST2"),
    (pa::attribute::VF_LIST2, "STL_PA_ATTRID_GET_VF_LIST2"),
    (pa::status::NO_GROUP, "STL_MAD_STATUS_STL_PA_NO_GROUP"),
    (pa::status::NO_IMAGE, "STL_MAD_STATUS_STL_PA_NO_IMAGE"),
];
