//! Virtual fabrics.

use crate::id::{Guid, Lid, PortNum};
use crate::layout::layout;
use crate::pa::image::ImageId;
use crate::pa::stats::{CategoryStats, UtilStats};
use crate::text::Text;

layout! {
    /// A virtual fabric, query 0xAD (`STL_PA_VF_LIST`).
    pub struct VfList: 64, "STL_PA_VF_LIST" {
        /// Its name.
        vf_name: Text<64> = block @ 0, "vfName";
    }
}

layout! {
    /// A virtual fabric of an image, query 0xB8 (`STL_PA_VF_LIST2`).
    pub struct VfList2: 80, "STL_PA_VF_LIST2" {
        /// Its name.
        vf_name: Text<64> = block @ 0, "vfName";
        /// Image.
        image_id: ImageId = block @ 64, "imageId";
    }
}

layout! {
    /// Statistics of a virtual fabric, query 0xAE (`STL_PA_VF_INFO_DATA`).
    pub struct VfInfo: 346, "STL_PA_VF_INFO_DATA" {
        /// Its name.
        vf_name: Text<64> = block @ 0, "vfName";
        /// Image.
        image_id: ImageId = block @ 72, "imageId";
        /// Its ports.
        num_ports: u32 = u32 @ 88, "numPorts";
        /// Utilization.
        internal_util_stats: UtilStats = block @ 92, "internalUtilStats";
        /// Categories.
        internal_category_stats: CategoryStats = block @ 180, "internalCategoryStats";
        /// Highest rate (`IB_STATIC_RATE`).
        max_internal_rate: u8 = u8 @ 340, "maxInternalRate";
        /// Lowest rate.
        min_internal_rate: u8 = u8 @ 341, "minInternalRate";
        /// Fastest link, MB/s.
        max_internal_mbps: u32 = u32 @ 342, "maxInternalMBps";
    }
}

layout! {
    /// Requests the ports of a virtual fabric, query 0xAF (`STL_PA_VF_CFG_REQ`).
    pub struct VfConfigReq: 88, "STL_PA_VF_CFG_REQ" {
        /// Its name.
        vf_name: Text<64> = block @ 0, "vfName";
        /// Image.
        image_id: ImageId = block @ 72, "imageId";
    }
}

layout! {
    /// A port of a virtual fabric (`STL_PA_VF_CFG_RSP`).
    pub struct VfConfigRsp: 96, "STL_PA_VF_CFG_RSP" {
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
