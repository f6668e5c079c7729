//! Records of the fabric as a whole and of its configuration.

use crate::enums::{Mtu, NodeType};
use crate::id::{Gid, Guid, Lid, PKey, PortNum, Sl};
use crate::layout::layout;
use crate::pm::PortMask;
use crate::sm::NodeDescription;
use crate::text::Text;

layout! {
    /// The fabric in numbers (`STL_FABRICINFO_RECORD`). Internal links stay inside one system.
    pub struct FabricInfoRecord: 408, "STL_FABRICINFO_RECORD" {
        /// HFIs.
        num_hfis: u32 = u32 @ 0, "NumHFIs";
        /// Switches.
        num_switches: u32 = u32 @ 4, "NumSwitches";
        /// Links of HFIs, internal.
        num_internal_hfi_links: u32 = u32 @ 8, "NumInternalHFILinks";
        /// Links of HFIs, external.
        num_external_hfi_links: u32 = u32 @ 12, "NumExternalHFILinks";
        /// Links between switches, internal.
        num_internal_isls: u32 = u32 @ 16, "NumInternalISLs";
        /// Links between switches, external.
        num_external_isls: u32 = u32 @ 20, "NumExternalISLs";
        /// Links of HFIs below their best width or speed.
        num_degraded_hfi_links: u32 = u32 @ 24, "NumDegradedHFILinks";
        /// Links between switches below their best width or speed.
        num_degraded_isls: u32 = u32 @ 28, "NumDegradedISLs";
        /// Links of HFIs that are quarantined or left in Init.
        num_omitted_hfi_links: u32 = u32 @ 32, "NumOmittedHFILinks";
        /// Links between switches that are quarantined or left in Init.
        num_omitted_isls: u32 = u32 @ 36, "NumOmittedISLs";
    }
}

layout! {
    /// A virtual fabric (`STL_VFINFO_RECORD`).
    pub struct VfInfoRecord: 128, "STL_VFINFO_RECORD" {
        /// Its number.
        vf_index: u16 = u16 @ 0, "vfIndex";
        /// Its partition key.
        p_key: PKey = u16 @ 2, "pKey";
        /// Its name.
        vf_name: Text<64> = block @ 8, "vfName";
        /// In queries: one of its services.
        service_id: u64 = u64 @ 72, "ServiceID";
        /// In queries: one of its multicast groups.
        mgid: Gid = block @ 80, "MGID";
        /// In queries: 1 by partition key, 2 by service level.
        select_flags: u8 = u8 @ 96 [7:6], "s1.selectFlags";
        /// Its service level.
        sl_base: Sl = u8 @ 96 [4:0], "s1.slBase";
        /// `mtu` is set.
        mtu_specified: bool = u8 @ 97 [7:7], "s1.mtuSpecified";
        /// Largest packet.
        mtu: Mtu = u8 @ 97 [5:0], "s1.mtu";
        /// `rate` is set.
        rate_specified: bool = u8 @ 98 [7:7], "s1.rateSpecified";
        /// Highest rate (`IB_STATIC_RATE`).
        rate: u8 = u8 @ 98 [5:0], "s1.rate";
        /// `pkt_life_time_inc` is set.
        pkt_life_specified: bool = u8 @ 99 [7:7], "s1.pktLifeSpecified";
        /// Factor 2^value on the packet lifetime.
        pkt_life_time_inc: u8 = u8 @ 99 [2:0], "s1.pktLifeTimeInc";
        /// 1 security, 2 quality of service, 4 flow control off.
        option_flags: u8 = u8 @ 100, "optionFlags";
        /// Share of the bandwidth.
        bandwidth_percent: u8 = u8 @ 101, "bandwidthPercent";
        /// High priority.
        priority: bool = u8 @ 102 [0:0], "priority";
        /// Service levels that routing needs, 1.
        routing_sls: u8 = u8 @ 103, "routingSLs";
        /// Rank of preemption.
        preemption_rank: u8 = u8 @ 104 [6:0], "preemptionRank";
        /// Head-of-queue lifetime: 4.096 µs × 2^value.
        hoq_life: u8 = u8 @ 105 [4:0], "hoqLife";
        /// `sl_response` is set.
        sl_response_specified: bool = u8 @ 106 [7:7], "slResponseSpecified";
        /// Service level of responses.
        sl_response: Sl = u8 @ 106 [4:0], "slResponse";
        /// `sl_multicast` is set.
        sl_multicast_specified: bool = u8 @ 107 [7:7], "slMulticastSpecified";
        /// Service level of multicast.
        sl_multicast: Sl = u8 @ 107 [4:0], "slMulticast";
    }
}

layout! {
    /// A device group (`STL_DEVICE_GROUP_NAME_RECORD`).
    pub struct DeviceGroupNameRecord: 64, "STL_DEVICE_GROUP_NAME_RECORD" {
        /// Its name.
        device_group_name: Text<64> = block @ 0, "DeviceGroupName";
    }
}

layout! {
    /// A port that belongs to a device group (`STL_DEVICE_GROUP_MEMBER_RECORD`).
    pub struct DeviceGroupMemberRecord: 144, "STL_DEVICE_GROUP_MEMBER_RECORD" {
        /// LID of the port.
        lid: Lid = u32 @ 0, "LID";
        /// The port.
        port: PortNum = u8 @ 4, "Port";
        /// The group.
        device_group_name: Text<64> = block @ 8, "DeviceGroupName";
        /// The port's GUID.
        guid: Guid = u64 @ 72, "GUID";
        /// NodeDescription of its node.
        node_description: NodeDescription = block @ 80, "NodeDescription";
    }
}

layout! {
    /// A node with the state of its ports (`STL_DEVICE_TREE_MEMBER_RECORD`).
    pub struct DeviceTreeMemberRecord: 216, "STL_DEVICE_TREE_MEMBER_RECORD" {
        /// LID of the node.
        lid: Lid = u32 @ 0, "LID";
        /// External ports.
        num_ports: u8 = u8 @ 4, "NumPorts";
        /// HFI or switch.
        node_type: NodeType = u8 @ 5, "NodeType";
        /// Ports that are active.
        port_mask_act: PortMask = block @ 8, "portMaskAct";
        /// Ports whose link runs Omni-Path.
        port_mask_port_link_mode: PortMask = block @ 72, "portMaskPortLinkMode";
        /// The node's GUID.
        guid: Guid = u64 @ 104, "GUID";
        /// Its system.
        system_image_guid: Guid = u64 @ 112, "SystemImageGUID";
        /// NodeDescription of the node.
        node_description: NodeDescription = block @ 120, "NodeDescription";
    }
}

layout! {
    /// Cost from one switch to another (`STL_SWITCH_COST`).
    pub struct SwitchCost: 8, "STL_SWITCH_COST" {
        /// LID of the other.
        dlid: Lid = u32 @ 0, "DLID";
        /// Cost.
        value: u16 = u16 @ 4, "value";
    }
}

layout! {
    /// Costs from a switch to others (`STL_SWITCH_COST_RECORD`).
    pub struct SwitchCostRecord: 516, "STL_SWITCH_COST_RECORD" {
        /// LID of the switch.
        slid: Lid = u32 @ 0, "SLID";
        /// The others; the first LID 0 ends the list.
        cost: [SwitchCost; 64] = block @ 4, "Cost";
    }
}
