//! Fields for the bits of a component mask, by record (`STL_*_COMP_*`).

use weft_wire::sa::{
    BufferControlRecord, CableInfoRecord, CongestionInfoRecord, DeviceGroupMemberRecord,
    DeviceGroupNameRecord, DeviceTreeMemberRecord, FabricInfoRecord, HfiCongestionControlRecord,
    HfiCongestionRecord, IbInformInfoRecord, IbMcMemberRecord, IbNodeRecord, IbPortInfoRecord,
    IbServiceRecord, InformInfoRecord, LinearFdbRecord, LinkRecord, McMemberRecord,
    MulticastFdbRecord, NodeRecord, PKeyTableRecord, PortGroupFdbRecord, PortGroupTableRecord,
    PortInfoRecord, QuarantinedNodeRecord, ScScRecord, ScSlRecord, ScVlRecord, ServiceRecord,
    SlScRecord, SmInfoRecord, SwitchCongestionRecord, SwitchCostRecord, SwitchInfoRecord,
    SwitchPortCongestionRecord, TraceRecord, VfInfoRecord, VlArbRecord,
};

use crate::sa::query::Record;

macro_rules! components {
    ($($record:ident { $($bit:literal => $field:literal),* $(,)? })*) => {
        $(impl Record for $record {
            const COMPONENTS: &'static [(u32, &'static str)] = &[$(($bit, $field)),*];
        })*

        #[cfg(test)]
        #[test]
        fn every_component_is_a_field() {
            $(assert!(crate::sa::query::names_are_fields::<$record>(), stringify!($record));)*
        }
    };
}

components! {
    NodeRecord {
        0 => "lid", 2 => "node_info.base_version", 3 => "node_info.class_version",
        4 => "node_info.node_type", 5 => "node_info.num_ports",
        7 => "node_info.system_image_guid", 8 => "node_info.node_guid",
        9 => "node_info.port_guid", 10 => "node_info.partition_cap",
        11 => "node_info.device_id", 12 => "node_info.revision",
        13 => "node_info.local_port_num", 14 => "node_info.vendor_id", 15 => "node_desc",
    }
    PortInfoRecord { 0 => "end_port_lid", 1 => "port_num", 3 => "port_info.capability_mask" }
    SwitchInfoRecord {
        0 => "lid", 2 => "switch_info_data.linear_fdb_cap", 4 => "switch_info_data.multicast_fdb_cap",
        5 => "switch_info_data.linear_fdb_top", 7 => "switch_info_data.multicast_fdb_top",
        20 => "switch_info_data.port_group_cap", 21 => "switch_info_data.port_group_top",
        28 => "switch_info_data.enhanced_port0",
    }
    LinkRecord { 0 => "from_lid", 1 => "from_port", 2 => "to_port", 4 => "to_lid" }
    SmInfoRecord {
        0 => "lid", 2 => "sm_info.port_guid", 3 => "sm_info.sm_key", 4 => "sm_info.act_count",
        5 => "sm_info.elapsed_time", 6 => "sm_info.priority", 7 => "sm_info.elevated_priority",
        8 => "sm_info.initial_priority", 9 => "sm_info.sm_state_current",
    }
    LinearFdbRecord { 0 => "lid", 2 => "block_num" }
    MulticastFdbRecord { 0 => "lid", 1 => "position", 3 => "block_num" }
    PortGroupTableRecord { 0 => "lid", 1 => "position", 2 => "block_num" }
    PortGroupFdbRecord { 0 => "lid", 1 => "block_num" }
    PKeyTableRecord { 0 => "lid", 1 => "block_num", 2 => "port_num" }
    ScScRecord { 0 => "lid", 1 => "input_port", 2 => "output_port" }
    SlScRecord { 0 => "lid" }
    ScSlRecord { 0 => "lid" }
    ScVlRecord { 0 => "lid", 1 => "port" }
    VlArbRecord { 0 => "lid", 1 => "output_port_num", 2 => "block_num" }
    BufferControlRecord { 0 => "lid", 1 => "port" }
    CableInfoRecord { 0 => "lid", 1 => "port" }
    CongestionInfoRecord { 0 => "lid" }
    SwitchCongestionRecord { 0 => "lid" }
    SwitchPortCongestionRecord { 0 => "lid", 1 => "port" }
    HfiCongestionRecord { 0 => "lid" }
    HfiCongestionControlRecord { 0 => "lid", 1 => "block_num" }
    FabricInfoRecord {}
    QuarantinedNodeRecord {}
    VfInfoRecord { 0 => "vf_index", 3 => "vf_name" }
    DeviceGroupNameRecord { 0 => "device_group_name" }
    DeviceGroupMemberRecord {
        0 => "lid", 1 => "port", 3 => "device_group_name", 4 => "guid", 5 => "node_description",
    }
    DeviceTreeMemberRecord {
        0 => "lid", 1 => "num_ports", 2 => "node_type", 4 => "port_mask_act",
        5 => "port_mask_port_link_mode", 6 => "guid", 7 => "system_image_guid",
        8 => "node_description",
    }
    SwitchCostRecord { 0 => "slid" }
    TraceRecord {}
    McMemberRecord {
        0 => "mgid", 1 => "port_gid", 2 => "q_key", 6 => "t_class", 7 => "p_key", 12 => "sl",
        14 => "hop_limit", 15 => "scope", 18 => "proxy_join", 19 => "mlid",
    }
    IbMcMemberRecord {
        0 => "mgid", 1 => "port_gid", 2 => "q_key", 3 => "mlid", 6 => "t_class", 7 => "p_key",
        12 => "sl", 13 => "flow_label", 14 => "hop_limit", 15 => "scope", 17 => "proxy_join",
    }
    IbNodeRecord {
        0 => "lid", 2 => "base_version", 3 => "class_version", 4 => "node_type",
        5 => "num_ports", 6 => "system_image_guid", 7 => "node_guid", 8 => "port_guid",
        9 => "partition_cap", 10 => "device_id", 11 => "revision", 12 => "local_port_num",
        13 => "vendor_id", 14 => "node_desc",
    }
    IbPortInfoRecord {
        0 => "end_port_lid", 1 => "port_num", 4 => "subnet_prefix", 5 => "lid",
        7 => "capability_mask", 10 => "local_port_num", 15 => "port_state",
        16 => "phys_state", 20 => "lmc", 23 => "neighbor_mtu",
    }
    IbServiceRecord {
        0 => "service_id", 1 => "service_gid", 2 => "service_p_key", 4 => "service_lease",
        5 => "service_key", 6 => "service_name",
    }
    ServiceRecord {
        0 => "service_id", 1 => "service_lid", 2 => "service_p_key", 4 => "service_gid",
        5 => "service_lease", 7 => "service_key", 8 => "service_name",
    }
    IbInformInfoRecord {
        0 => "subscriber_gid", 1 => "enumeration", 3 => "inform_info_data.gid",
        4 => "inform_info_data.lid_range_begin", 5 => "inform_info_data.lid_range_end",
        7 => "inform_info_data.is_generic", 8 => "inform_info_data.subscribe",
        9 => "inform_info_data.inform_type", 10 => "inform_info_data.trap_number",
        11 => "inform_info_data.qp_number", 13 => "inform_info_data.resp_time_value",
        15 => "inform_info_data.producer_type",
    }
    InformInfoRecord {
        0 => "subscriber_lid", 1 => "enumeration", 3 => "inform_info_data.gid",
        4 => "inform_info_data.lid_range_begin", 5 => "inform_info_data.lid_range_end",
        6 => "inform_info_data.is_generic", 7 => "inform_info_data.subscribe",
        8 => "inform_info_data.inform_type", 10 => "inform_info_data.trap_number",
        11 => "inform_info_data.qp_number", 13 => "inform_info_data.resp_time_value",
        15 => "inform_info_data.producer_type",
    }
}
