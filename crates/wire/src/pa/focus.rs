//! The ports that stand out most.

use crate::enums::Mtu;
use crate::id::{Guid, Lid, PortNum};
use crate::layout::layout;
use crate::pa::image::ImageId;
use crate::text::Text;

/// Criteria for choosing and sorting ports (`STL_PA_SELECT_*`).
pub mod select {
    /// Ports cleared by others.
    pub const UNEXPECTED_CLEAR: u32 = 0x0001_0101;
    /// Ports that did not answer.
    pub const NO_RESPONSE: u32 = 0x0001_0102;
    /// Ports that were not read.
    pub const SKIPPED: u32 = 0x0001_0103;
    /// Highest utilization.
    pub const UTIL_HIGH: u32 = 0x0002_0001;
    /// Highest packet rate.
    pub const UTIL_PKTS_HIGH: u32 = 0x0002_0082;
    /// Highest utilization of a virtual fabric.
    pub const VF_UTIL_HIGH: u32 = 0x0002_0083;
    /// Highest packet rate of a virtual fabric.
    pub const VF_UTIL_PKTS_HIGH: u32 = 0x0002_0084;
    /// Lowest utilization.
    pub const UTIL_LOW: u32 = 0x0002_0101;
    /// Lowest utilization of a virtual fabric.
    pub const VF_UTIL_LOW: u32 = 0x0002_0103;
    /// Integrity.
    pub const INTEGRITY: u32 = 0x0003_0001;
    /// Congestion.
    pub const CONGESTION: u32 = 0x0003_0002;
    /// Congestion of management traffic.
    pub const SMA_CONGESTION: u32 = 0x0003_0003;
    /// Bubbles.
    pub const BUBBLE: u32 = 0x0003_0004;
    /// Security.
    pub const SECURITY: u32 = 0x0003_0005;
    /// Routing.
    pub const ROUTING: u32 = 0x0003_0006;
    /// Congestion of a virtual fabric.
    pub const VF_CONGESTION: u32 = 0x0003_0007;
    /// Bubbles of a virtual fabric.
    pub const VF_BUBBLE: u32 = 0x0003_0008;
}

layout! {
    /// Requests the conspicuous ports of a group, query 0xAA (`STL_FOCUS_PORTS_REQ`).
    pub struct FocusPortsReq: 92, "STL_FOCUS_PORTS_REQ" {
        /// The group.
        group_name: Text<64> = block @ 0, "groupName";
        /// Image.
        image_id: ImageId = block @ 64, "imageId";
        /// Criterion: see [`select`].
        select: u32 = u32 @ 80, "select";
        /// Rank of the first port.
        start: u32 = u32 @ 84, "start";
        /// Ports wanted.
        range: u32 = u32 @ 88, "range";
    }
}

layout! {
    /// Requests the conspicuous ports of a virtual fabric, query 0xB2
    /// (`STL_PA_VF_FOCUS_PORTS_REQ`).
    pub struct VfFocusPortsReq: 100, "STL_PA_VF_FOCUS_PORTS_REQ" {
        /// The virtual fabric.
        vf_name: Text<64> = block @ 0, "vfName";
        /// Image.
        image_id: ImageId = block @ 72, "imageId";
        /// Criterion: see [`select`].
        select: u32 = u32 @ 88, "select";
        /// Rank of the first port.
        start: u32 = u32 @ 92, "start";
        /// Ports wanted.
        range: u32 = u32 @ 96, "range";
    }
}

layout! {
    /// One condition (`STL_FOCUS_PORT_TUPLE`).
    pub struct FocusTuple: 16, "STL_FOCUS_PORT_TUPLE" {
        /// Criterion: see [`select`].
        select: u32 = u32 @ 0, "select";
        /// 1 greater, 2 less, 3 greater or equal, 4 less or equal.
        comparator: u8 = u8 @ 4, "comparator";
        /// Than what.
        argument: u64 = u64 @ 8, "argument";
    }
}

layout! {
    /// Requests the ports of a group that meet conditions, query 0xB4
    /// (`STL_FOCUS_PORTS_MULTISELECT_REQ`).
    pub struct FocusMultiReq: 224, "STL_FOCUS_PORTS_MULTISELECT_REQ" {
        /// The group.
        group_name: Text<64> = block @ 0, "groupName";
        /// Image.
        image_id: ImageId = block @ 64, "imageId";
        /// Rank of the first port.
        start: u32 = u32 @ 80, "start";
        /// Ports wanted.
        range: u32 = u32 @ 84, "range";
        /// The conditions.
        tuple: [FocusTuple; 8] = block @ 88, "tuple";
        /// 1 all of them, 2 any of them.
        logical_operator: u8 = u8 @ 216, "logical_operator";
    }
}

layout! {
    /// A conspicuous port of a group (`STL_FOCUS_PORTS_RSP`).
    ///
    /// A status is 0 ok, 1 not read, 2 no answer, 3 unknown neighbour, 4 cleared by others.
    pub struct FocusPort: 192, "STL_FOCUS_PORTS_RSP" {
        /// Image.
        image_id: ImageId = block @ 0, "imageId";
        /// LID of the node.
        node_lid: Lid = u32 @ 16, "nodeLid";
        /// The port.
        port_number: PortNum = u8 @ 20, "portNumber";
        /// Its rate (`IB_STATIC_RATE`).
        rate: u8 = u8 @ 21, "rate";
        /// Largest packet.
        max_vl_mtu: Mtu = u8 @ 22, "maxVlMtu";
        /// State of its counters.
        local_status: u8 = u8 @ 23 [7:4], "localStatus";
        /// State of the neighbour's counters.
        neighbor_status: u8 = u8 @ 23 [3:0], "neighborStatus";
        /// Value of the sort criterion.
        value: u64 = u64 @ 24, "value";
        /// The node.
        node_guid: Guid = u64 @ 32, "nodeGUID";
        /// NodeDescription of the node.
        node_desc: Text<64> = block @ 40, "nodeDesc";
        /// LID of the neighbour.
        neighbor_lid: Lid = u32 @ 104, "neighborLid";
        /// Its port.
        neighbor_port_number: PortNum = u8 @ 108, "neighborPortNumber";
        /// The neighbour's value.
        neighbor_value: u64 = u64 @ 112, "neighborValue";
        /// The neighbour.
        neighbor_guid: Guid = u64 @ 120, "neighborGuid";
        /// NodeDescription of the neighbour.
        neighbor_node_desc: Text<64> = block @ 128, "neighborNodeDesc";
    }
}

layout! {
    /// A conspicuous port of a virtual fabric (`STL_PA_VF_FOCUS_PORTS_RSP`).
    ///
    /// A status is 0 ok, 1 not read, 2 no answer, 3 unknown neighbour, 4 cleared by others.
    pub struct VfFocusPort: 192, "STL_PA_VF_FOCUS_PORTS_RSP" {
        /// Image.
        image_id: ImageId = block @ 0, "imageId";
        /// LID of the node.
        node_lid: Lid = u32 @ 16, "nodeLid";
        /// The port.
        port_number: PortNum = u8 @ 20, "portNumber";
        /// Its rate (`IB_STATIC_RATE`).
        rate: u8 = u8 @ 21, "rate";
        /// Largest packet.
        max_vl_mtu: Mtu = u8 @ 22, "maxVlMtu";
        /// State of its counters.
        local_status: u8 = u8 @ 23 [7:4], "localStatus";
        /// State of the neighbour's counters.
        neighbor_status: u8 = u8 @ 23 [3:0], "neighborStatus";
        /// Value of the sort criterion.
        value: u64 = u64 @ 24, "value";
        /// The node.
        node_guid: Guid = u64 @ 32, "nodeGUID";
        /// NodeDescription of the node.
        node_desc: Text<64> = block @ 40, "nodeDesc";
        /// LID of the neighbour.
        neighbor_lid: Lid = u32 @ 104, "neighborLid";
        /// Its port.
        neighbor_port_number: PortNum = u8 @ 108, "neighborPortNumber";
        /// The neighbour's value.
        neighbor_value: u64 = u64 @ 112, "neighborValue";
        /// The neighbour.
        neighbor_guid: Guid = u64 @ 120, "neighborGuid";
        /// NodeDescription of the neighbour.
        neighbor_node_desc: Text<64> = block @ 128, "neighborNodeDesc";
    }
}

layout! {
    /// A port that meets conditions (`STL_FOCUS_PORTS_MULTISELECT_RSP`).
    ///
    /// A status is 0 ok, 1 not read, 2 no answer, 3 unknown neighbour, 4 cleared by others.
    pub struct FocusMultiPort: 304, "STL_FOCUS_PORTS_MULTISELECT_RSP" {
        /// Image.
        image_id: ImageId = block @ 0, "imageId";
        /// LID of the node.
        node_lid: Lid = u32 @ 16, "nodeLid";
        /// The port.
        port_number: PortNum = u8 @ 20, "portNumber";
        /// Its rate (`IB_STATIC_RATE`).
        rate: u8 = u8 @ 21, "rate";
        /// Largest packet.
        max_vl_mtu: Mtu = u8 @ 22, "maxVlMtu";
        /// State of its counters.
        local_status: u8 = u8 @ 23 [7:4], "localStatus";
        /// State of the neighbour's counters.
        neighbor_status: u8 = u8 @ 23 [3:0], "neighborStatus";
        /// Values of the criteria.
        value: [u64; 8] = block @ 24, "value";
        /// The node.
        node_guid: Guid = u64 @ 88, "nodeGUID";
        /// NodeDescription of the node.
        node_desc: Text<64> = block @ 96, "nodeDesc";
        /// LID of the neighbour.
        neighbor_lid: Lid = u32 @ 160, "neighborLid";
        /// Its port.
        neighbor_port_number: PortNum = u8 @ 164, "neighborPortNumber";
        /// The neighbour's value.
        neighbor_value: [u64; 8] = block @ 168, "neighborValue";
        /// The neighbour.
        neighbor_guid: Guid = u64 @ 232, "neighborGuid";
        /// NodeDescription of the neighbour.
        neighbor_node_desc: Text<64> = block @ 240, "neighborNodeDesc";
    }
}
