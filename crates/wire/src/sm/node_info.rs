//! NodeInfo, attribute 0x0011: the identity of a node.

use crate::enums::NodeType;
use crate::id::{Guid, PortNum};
use crate::layout::layout;

layout! {
    /// Identity of a node (`STL_NODE_INFO`). Get only.
    pub struct NodeInfo: 44, "STL_NODE_INFO" {
        /// 0x80.
        base_version: u8 = u8 @ 0, "BaseVersion";
        /// 0x80.
        class_version: u8 = u8 @ 1, "ClassVersion";
        /// HFI or switch.
        node_type: NodeType = u8 @ 2, "NodeType";
        /// External ports.
        num_ports: u8 = u8 @ 3, "NumPorts";
        /// Equal for all nodes of one chassis or card.
        system_image_guid: Guid = u64 @ 8, "SystemImageGUID";
        /// The node's own.
        node_guid: Guid = u64 @ 16, "NodeGUID";
        /// GUID of the answering port; a switch has one for all ports.
        port_guid: Guid = u64 @ 24, "PortGUID";
        /// Entries in its P_Key table.
        partition_cap: u16 = u16 @ 32, "PartitionCap";
        /// Chosen by the manufacturer.
        device_id: u16 = u16 @ 34, "DeviceID";
        /// Chosen by the manufacturer.
        revision: u32 = u32 @ 36, "Revision";
        /// The port that the request came in by.
        local_port_num: PortNum = u32 @ 40 [31:24], "u1.s.LocalPortNum";
        /// IEEE OUI of the manufacturer.
        vendor_id: u32 = u32 @ 40 [23:0], "u1.s.VendorID";
    }
}
