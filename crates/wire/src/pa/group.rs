//! Groups of ports.

use crate::enums::{LinkSpeed, LinkWidth, Mtu, NodeType};
use crate::id::{Guid, Lid, PortNum};
use crate::layout::layout;
use crate::pa::image::ImageId;
use crate::pa::stats::{CategoryStats, UtilStats};
use crate::pm::PortMask;
use crate::text::Text;

layout! {
    /// A group, query 0xA0 (`STL_PA_GROUP_LIST`).
    pub struct GroupList: 64, "STL_PA_GROUP_LIST" {
        /// Its name.
        group_name: Text<64> = block @ 0, "groupName";
    }
}

layout! {
    /// A group of an image, query 0xB7 (`STL_PA_GROUP_LIST2`).
    pub struct GroupList2: 80, "STL_PA_GROUP_LIST2" {
        /// Its name.
        group_name: Text<64> = block @ 0, "groupName";
        /// Image.
        image_id: ImageId = block @ 64, "imageId";
    }
}

layout! {
    /// Statistics of a group, query 0xA1 (`STL_PA_PM_GROUP_INFO_DATA`).
    pub struct GroupInfo: 684, "STL_PA_PM_GROUP_INFO_DATA" {
        /// Its name.
        group_name: Text<64> = block @ 0, "groupName";
        /// Image.
        image_id: ImageId = block @ 64, "imageId";
        /// Ports whose neighbour is in the group.
        num_internal_ports: u32 = u32 @ 80, "numInternalPorts";
        /// Ports whose neighbour is not.
        num_external_ports: u32 = u32 @ 84, "numExternalPorts";
        /// Utilization inside.
        internal_util_stats: UtilStats = block @ 88, "internalUtilStats";
        /// Utilization out of the group.
        send_util_stats: UtilStats = block @ 176, "sendUtilStats";
        /// Utilization into the group.
        recv_util_stats: UtilStats = block @ 264, "recvUtilStats";
        /// Categories inside.
        internal_category_stats: CategoryStats = block @ 352, "internalCategoryStats";
        /// Categories at the border.
        external_category_stats: CategoryStats = block @ 512, "externalCategoryStats";
        /// Highest rate inside (`IB_STATIC_RATE`).
        max_internal_rate: u8 = u8 @ 672, "maxInternalRate";
        /// Lowest rate inside.
        min_internal_rate: u8 = u8 @ 673, "minInternalRate";
        /// Highest rate at the border.
        max_external_rate: u8 = u8 @ 674, "maxExternalRate";
        /// Lowest rate at the border.
        min_external_rate: u8 = u8 @ 675, "minExternalRate";
        /// Fastest link inside, MB/s.
        max_internal_mbps: u32 = u32 @ 676, "maxInternalMBps";
        /// Fastest link at the border, MB/s.
        max_external_mbps: u32 = u32 @ 680, "maxExternalMBps";
    }
}

layout! {
    /// Requests the ports of a group, query 0xA2 (`STL_PA_PM_GROUP_CFG_REQ`).
    pub struct GroupConfigReq: 80, "STL_PA_PM_GROUP_CFG_REQ" {
        /// Its name.
        group_name: Text<64> = block @ 0, "groupName";
        /// Image.
        image_id: ImageId = block @ 64, "imageId";
    }
}

layout! {
    /// A port of a group (`STL_PA_PM_GROUP_CFG_RSP`).
    pub struct GroupConfigRsp: 96, "STL_PA_PM_GROUP_CFG_RSP" {
        /// Image.
        image_id: ImageId = block @ 0, "imageId";
        /// The node.
        node_guid: Guid = u64 @ 16, "nodeGUID";
        /// NodeDescription of the node.
        node_desc: Text<64> = block @ 24, "nodeDesc";
        /// Its LID.
        node_lid: Lid = u32 @ 88, "nodeLid";
        /// The port.
        port_number: PortNum = u8 @ 92, "portNumber";
    }
}

layout! {
    /// Requests the nodes of a group, query 0xB5 (`STL_PA_GROUP_NODEINFO_REQ`).
    pub struct GroupNodeInfoReq: 160, "STL_PA_GROUP_NODEINFO_REQ" {
        /// Its name.
        group_name: Text<64> = block @ 0, "groupName";
        /// Image.
        image_id: ImageId = block @ 64, "imageId";
        /// Only this node; 0 for all.
        node_guid: Guid = u64 @ 80, "nodeGUID";
        /// Only nodes of this description; empty for all.
        node_desc: Text<64> = block @ 88, "nodeDesc";
        /// Only this LID; 0 for all.
        node_lid: Lid = u32 @ 152, "nodeLID";
    }
}

layout! {
    /// A node of a group (`STL_PA_GROUP_NODEINFO_RSP`).
    pub struct GroupNodeInfoRsp: 128, "STL_PA_GROUP_NODEINFO_RSP" {
        /// Image.
        image_id: ImageId = block @ 0, "imageId";
        /// The node.
        node_guid: Guid = u64 @ 16, "nodeGUID";
        /// NodeDescription of the node.
        node_desc: Text<64> = block @ 24, "nodeDesc";
        /// Its LID.
        node_lid: Lid = u32 @ 88, "nodeLID";
        /// HFI or switch.
        node_type: NodeType = u8 @ 92, "nodeType";
        /// Its ports in the group.
        port_select_mask: PortMask = block @ 96, "portSelectMask";
    }
}

layout! {
    /// Requests the links of a group, query 0xB6 (`STL_PA_GROUP_LINKINFO_REQ`).
    pub struct GroupLinkInfoReq: 88, "STL_PA_GROUP_LINKINFO_REQ" {
        /// Image.
        image_id: ImageId = block @ 0, "imageId";
        /// Its name.
        group_name: Text<64> = block @ 16, "groupName";
        /// Only links of this LID; 0 for all.
        lid: Lid = u32 @ 80, "lid";
        /// Only of this port; 255 for all.
        port: PortNum = u8 @ 84, "port";
    }
}

layout! {
    /// A link of a group (`STL_PA_GROUP_LINKINFO_RSP`).
    pub struct GroupLinkInfoRsp: 32, "STL_PA_GROUP_LINKINFO_RSP" {
        /// Image.
        image_id: ImageId = block @ 0, "imageId";
        /// LID of the one node.
        from_lid: Lid = u32 @ 16, "fromLID";
        /// LID of the other.
        to_lid: Lid = u32 @ 20, "toLID";
        /// Port of the one.
        from_port: PortNum = u8 @ 24, "fromPort";
        /// Port of the other.
        to_port: PortNum = u8 @ 25, "toPort";
        /// Largest packet.
        mtu: Mtu = u8 @ 26 [7:4], "mtu";
        /// Speed.
        active_speed: LinkSpeed = u8 @ 26 [3:0], "activeSpeed";
        /// Width in use to send.
        tx_link_width_downgrade_active: LinkWidth = u8 @ 27 [7:4], "txLinkWidthDowngradeActive";
        /// Width in use to receive.
        rx_link_width_downgrade_active: LinkWidth = u8 @ 27 [3:0], "rxLinkWidthDowngradeActive";
        /// State of the one port's counters: see [`crate::pa::FocusPort`].
        local_status: u8 = u8 @ 28 [7:4], "localStatus";
        /// State of the other's.
        neighbor_status: u8 = u8 @ 28 [3:0], "neighborStatus";
    }
}
