//! Records of paths.

use crate::enums::{Mtu, NodeType};
use crate::id::{Gid, Guid, PKey, PortNum, Sl};
use crate::layout::layout;

layout! {
    /// A path in InfiniBand's form (`IB_PATH_RECORD`), the only one that is served.
    ///
    /// A selector gives the comparison for its value in a query: 0 greater, 1 less, 2 equal,
    /// 3 the best available.
    pub struct PathRecord: 64, "IB_PATH_RECORD" {
        /// Service that the path is for.
        service_id: u64 = u64 @ 0, "ServiceID";
        /// Destination.
        dgid: Gid = block @ 8, "DGID";
        /// Source.
        sgid: Gid = block @ 24, "SGID";
        /// Destination LID, 16 bits.
        dlid: u16 = u16 @ 40, "DLID";
        /// Source LID, 16 bits.
        slid: u16 = u16 @ 42, "SLID";
        /// Raw packets.
        raw_traffic: bool = u32 @ 44 [31:31], "u1.s.RawTraffic";
        /// Flow label.
        flow_label: u32 = u32 @ 44 [27:8], "u1.s.FlowLabel";
        /// Hop limit.
        hop_limit: u8 = u32 @ 44 [7:0], "u1.s.HopLimit";
        /// Traffic class.
        t_class: u8 = u8 @ 48, "TClass";
        /// Whether the return path is the same.
        reversible: bool = u8 @ 49 [7:7], "Reversible";
        /// Most paths wanted.
        numb_path: u8 = u8 @ 49 [6:0], "NumbPath";
        /// Partition key.
        p_key: PKey = u16 @ 50, "P_Key";
        /// Kind of quality of service.
        qos_type: u8 = u16 @ 52 [15:14], "u2.s.QosType";
        /// Priority.
        qos_priority: u8 = u16 @ 52 [11:4], "u2.s.QosPriority";
        /// Service level, 4 bits.
        sl: Sl = u16 @ 52 [3:0], "u2.s.SL";
        /// Comparison for `mtu`.
        mtu_selector: u8 = u8 @ 54 [7:6], "MtuSelector";
        /// Largest packet.
        mtu: Mtu = u8 @ 54 [5:0], "Mtu";
        /// Comparison for `rate`.
        rate_selector: u8 = u8 @ 55 [7:6], "RateSelector";
        /// Rate (`IB_STATIC_RATE`).
        rate: u8 = u8 @ 55 [5:0], "Rate";
        /// Comparison for `pkt_life_time`.
        pkt_life_time_selector: u8 = u8 @ 56 [7:6], "PktLifeTimeSelector";
        /// Maximum packet lifetime: 4.096 µs × 2^value.
        pkt_life_time: u8 = u8 @ 56 [5:0], "PktLifeTime";
        /// 0 is best.
        preference: u8 = u8 @ 57, "Preference";
    }
}

layout! {
    /// Requests paths between many ports (`STL_MULTIPATH_RECORD_GID`); the GIDs follow, sources
    /// first.
    pub struct MultiPathRecord: 32, "STL_MULTIPATH_RECORD_GID" {
        /// Flow label.
        flow_label: u32 = u32 @ 0 [27:8], "FlowLabel";
        /// Hop limit.
        hop_limit: u8 = u32 @ 0 [7:0], "HopLimit";
        /// Traffic class.
        t_class: u8 = u8 @ 4, "TClass";
        /// Whether the return path must be the same.
        reversible: bool = u8 @ 5 [7:7], "Reversible";
        /// Most paths wanted.
        numb_path: u8 = u8 @ 5 [6:0], "NumbPath";
        /// Partition key.
        p_key: PKey = u16 @ 6, "P_Key";
        /// Kind of quality of service.
        qos_type: u8 = u16 @ 8 [15:14], "QoSType";
        /// Priority.
        qos_priority: u8 = u16 @ 8 [13:6], "QoSPriority";
        /// Service level.
        sl: Sl = u16 @ 8 [4:0], "SL";
        /// Comparison for `mtu`.
        mtu_selector: u8 = u8 @ 10 [7:6], "MtuSelector";
        /// Largest packet.
        mtu: Mtu = u8 @ 10 [5:0], "Mtu";
        /// Comparison for `rate`.
        rate_selector: u8 = u8 @ 11 [7:6], "RateSelector";
        /// Rate (`IB_STATIC_RATE`).
        rate: u8 = u8 @ 11 [5:0], "Rate";
        /// Comparison for `pkt_life_time`.
        pkt_life_time_selector: u8 = u8 @ 12 [7:6], "PktLifeTimeSelector";
        /// Maximum packet lifetime: 4.096 µs × 2^value.
        pkt_life_time: u8 = u8 @ 12 [5:0], "PktLifeTime";
        /// Required independence of the paths.
        independence_selector: u8 = u8 @ 13 [7:6], "IndependenceSelector";
        /// Scope of the sources.
        sgid_scope: u8 = u8 @ 13 [5:3], "SGIDScope";
        /// Scope of the destinations.
        dgid_scope: u8 = u8 @ 13 [2:0], "DGIDScope";
        /// Sources.
        sgid_count: u8 = u8 @ 14, "SGIDCount";
        /// Destinations.
        dgid_count: u8 = u8 @ 15, "DGIDCount";
        /// Service that the paths are for.
        service_id: u64 = u64 @ 16, "ServiceID";
        /// The paths take packets of the 8B format.
        l2_8b: bool = u8 @ 24 [7:7], "L2_8B";
        /// The paths take packets of the 10B format.
        l2_10b: bool = u8 @ 24 [6:6], "L2_10B";
        /// The paths take packets of the 9B format.
        l2_9b: bool = u8 @ 24 [5:5], "L2_9B";
        /// The paths take packets of the 16B format.
        l2_16b: bool = u8 @ 24 [4:4], "L2_16B";
    }
}

layout! {
    /// A hop of a path (`STL_TRACE_RECORD`).
    pub struct TraceRecord: 40, "STL_TRACE_RECORD" {
        /// Generation of the identifiers below.
        id_generation: u16 = u16 @ 0, "IDGeneration";
        /// HFI or switch.
        node_type: NodeType = u8 @ 3, "NodeType";
        /// Port that the path comes in by.
        entry_port: PortNum = u8 @ 4, "EntryPort";
        /// Port that it goes out by.
        exit_port: PortNum = u8 @ 5, "ExitPort";
        /// The node.
        node_id: Guid = u64 @ 8, "NodeID";
        /// Its system.
        chassis_id: Guid = u64 @ 16, "ChassisID";
        /// Port GUID of the entry.
        entry_port_id: Guid = u64 @ 24, "EntryPortID";
        /// Port GUID of the exit.
        exit_port_id: Guid = u64 @ 32, "ExitPortID";
    }
}
