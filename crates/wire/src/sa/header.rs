//! The header of subnet administration, and its attributes and status codes.

use crate::layout::layout;

layout! {
    /// Fields after the RMPP header in a datagram of subnet administration (`SA_HDR`).
    pub struct SaHeader: 20, "SA_HDR" {
        /// Key of the subnet manager; 0 from clients.
        sm_key: u64 = u64 @ 0, "SmKey";
        /// Bytes from record to record in units of 8; 0 when there is none.
        attribute_offset: u16 = u16 @ 8, "AttributeOffset";
        /// Fields of the record that a query matches, by record.
        component_mask: u64 = u64 @ 12, "ComponentMask";
    }
}

/// Attributes (`STL_SA_ATTR_*`).
pub mod attribute {
    /// Capabilities of the administration.
    pub const CLASS_PORT_INFO: u16 = 0x0001;
    /// A notice, reported.
    pub const NOTICE: u16 = 0x0002;
    /// A subscription.
    pub const INFORM_INFO: u16 = 0x0003;
    /// A node.
    pub const NODE_RECORD: u16 = 0x0011;
    /// A port.
    pub const PORT_INFO_RECORD: u16 = 0x0012;
    /// A map from service channel to service channel.
    pub const SC_TO_SC_RECORD: u16 = 0x0013;
    /// A switch.
    pub const SWITCH_INFO_RECORD: u16 = 0x0014;
    /// A block of a linear forwarding table.
    pub const LINEAR_FDB_RECORD: u16 = 0x0015;
    /// A block of a multicast forwarding table.
    pub const MULTICAST_FDB_RECORD: u16 = 0x0017;
    /// A subnet manager.
    pub const SM_INFO_RECORD: u16 = 0x0018;
    /// A link.
    pub const LINK_RECORD: u16 = 0x0020;
    /// A service.
    pub const SERVICE_RECORD: u16 = 0x0031;
    /// A block of a partition table.
    pub const P_KEY_TABLE_RECORD: u16 = 0x0033;
    /// A path, in InfiniBand's form.
    pub const PATH_RECORD: u16 = 0x0035;
    /// A section of a VL arbitration table.
    pub const VL_ARBITRATION_RECORD: u16 = 0x0036;
    /// A member of a multicast group.
    pub const MC_MEMBER_RECORD: u16 = 0x0038;
    /// A hop of a path.
    pub const TRACE_RECORD: u16 = 0x0039;
    /// Paths between many ports.
    pub const MULTI_PATH_RECORD: u16 = 0x003A;
    /// A map from service level to service channel.
    pub const SL_TO_SC_RECORD: u16 = 0x0080;
    /// A map from service channel to service level.
    pub const SC_TO_SL_RECORD: u16 = 0x0081;
    /// A map from service channel to VL: on which credits return.
    pub const SC_TO_VLNT_RECORD: u16 = 0x0082;
    /// A map from service channel to VL: to send.
    pub const SC_TO_VLT_RECORD: u16 = 0x0083;
    /// A map from service channel to VL: to receive.
    pub const SC_TO_VLR_RECORD: u16 = 0x0084;
    /// A block of a port group forwarding table.
    pub const PORT_GROUP_FDB_RECORD: u16 = 0x0085;
    /// Part of a cable's memory.
    pub const CABLE_INFO_RECORD: u16 = 0x0088;
    /// A virtual fabric.
    pub const VF_INFO_RECORD: u16 = 0x0089;
    /// State of a port.
    pub const PORT_STATE_INFO_RECORD: u16 = 0x008A;
    /// A block of a port group table.
    pub const PORT_GROUP_TABLE_RECORD: u16 = 0x008B;
    /// A buffer control table.
    pub const BUFFER_CONTROL_RECORD: u16 = 0x008C;
    /// The fabric in numbers.
    pub const FABRIC_INFO_RECORD: u16 = 0x008D;
    /// A node in quarantine.
    pub const QUARANTINED_NODE_RECORD: u16 = 0x0090;
    /// Congestion control capabilities of a node.
    pub const CONGESTION_INFO_RECORD: u16 = 0x0091;
    /// Congestion control of a switch.
    pub const SWITCH_CONGESTION_RECORD: u16 = 0x0092;
    /// Congestion control of a switch's port.
    pub const SWITCH_PORT_CONGESTION_RECORD: u16 = 0x0093;
    /// Congestion control of an HFI.
    pub const HFI_CONGESTION_RECORD: u16 = 0x0094;
    /// A block of an HFI's congestion control table.
    pub const HFI_CONGESTION_CONTROL_RECORD: u16 = 0x0095;
    /// A port that belongs to a device group.
    pub const DEVICE_GROUP_MEMBER_RECORD: u16 = 0x009B;
    /// A device group.
    pub const DEVICE_GROUP_NAME_RECORD: u16 = 0x009C;
    /// A node with the state of its ports.
    pub const DEVICE_TREE_MEMBER_RECORD: u16 = 0x009D;
    /// Costs from a switch to others.
    pub const SWITCH_COST_RECORD: u16 = 0x00A3;
    /// A subscription that is held.
    pub const INFORM_INFO_RECORD: u16 = 0x00F3;
}

/// Status codes of the class (`MAD_STATUS_SA_*`).
pub mod status {
    /// No resources, or not yet.
    pub const NO_RESOURCES: u16 = 0x0100;
    /// The request makes no sense.
    pub const REQ_INVALID: u16 = 0x0200;
    /// Nothing matches.
    pub const NO_RECORDS: u16 = 0x0300;
    /// More than one record matches a Get.
    pub const TOO_MANY_RECORDS: u16 = 0x0400;
    /// No such GID.
    pub const REQ_INVALID_GID: u16 = 0x0500;
    /// The request is incomplete.
    pub const REQ_INSUFFICIENT_COMPONENTS: u16 = 0x0600;
}

/// Capabilities of the administration (`STL_SA_CAPABILITY_*`) in its ClassPortInfo.
pub mod capability {
    /// `cap_mask`: `cap_mask2` has a meaning.
    pub const CAP_MASK2: u16 = 0x0004;
    /// `cap_mask`: multicast groups.
    pub const MULTICAST: u16 = 0x0200;
    /// `cap_mask`: paths between many ports.
    pub const MULTI_PATH: u16 = 0x0400;
    /// `cap_mask`: ports can be queried by capability.
    pub const PORT_INFO_CAP_MASK_MATCH: u16 = 0x2000;
    /// `cap_mask`: performance administration.
    pub const PA_SERVICES: u16 = 0x8000;
    /// `cap_mask2`: quality of service.
    pub const QOS: u32 = 0x000_0002;
    /// `cap_mask2`: the multicast table's top.
    pub const MFT_TOP: u32 = 0x000_0008;
    /// `cap_mask2`: whole port information.
    pub const FULL_PORT_INFO: u32 = 0x000_0040;
    /// `cap_mask2`: extended speeds.
    pub const EXT_SPEED: u32 = 0x000_0080;
    /// `cap_mask2`: members that only send, and keep their group.
    pub const SEND_ONLY_FULL_MEMBER: u32 = 0x000_1000;
    /// `cap_mask2`: device groups and trees.
    pub const DEVICE_GROUPS: u32 = 0x100_0000;
    /// `cap_mask2`: switch costs.
    pub const SWITCH_COST: u32 = 0x200_0000;
}
