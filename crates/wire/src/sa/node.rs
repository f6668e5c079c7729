//! Records of nodes, ports, switches, links and subnet managers.

use crate::enums::LinkDownReason;
use crate::id::{Guid, Lid, PortNum};
use crate::layout::layout;
use crate::sm::{NodeDescription, NodeInfo, PortInfo, SmInfo, SwitchInfo};

layout! {
    /// A node (`STL_NODE_RECORD`).
    pub struct NodeRecord: 116, "STL_NODE_RECORD" {
        /// LID of the port that answers.
        lid: Lid = u32 @ 0, "RID.LID";
        /// NodeInfo of the node.
        node_info: NodeInfo = block @ 8, "NodeInfo";
        /// NodeDescription of the node.
        node_desc: NodeDescription = block @ 52, "NodeDesc";
    }
}

layout! {
    /// Why and when a link went down (`STL_LINKDOWN_REASON`).
    pub struct LinkDownEvent: 16, "STL_LINKDOWN_REASON" {
        /// Reason reported by the neighbour.
        neighbor_link_down_reason: LinkDownReason = u8 @ 6, "NeighborLinkDownReason";
        /// Reason reported by the port.
        link_down_reason: LinkDownReason = u8 @ 7, "LinkDownReason";
        /// Microseconds since 1970; 0 for an empty entry.
        timestamp: u64 = u64 @ 8, "Timestamp";
    }
}

layout! {
    /// A port (`STL_PORTINFO_RECORD`).
    pub struct PortInfoRecord: 378, "STL_PORTINFO_RECORD" {
        /// LID of the node's port that answers.
        end_port_lid: Lid = u32 @ 0, "RID.EndPortLID";
        /// The port.
        port_num: PortNum = u8 @ 4, "RID.PortNum";
        /// State and settings.
        port_info: PortInfo = block @ 8, "PortInfo";
        /// The last times that its link went down.
        link_down_reasons: [LinkDownEvent; 8] = block @ 250, "LinkDownReasons";
    }
}

layout! {
    /// A switch (`STL_SWITCHINFO_RECORD`).
    pub struct SwitchInfoRecord: 92, "STL_SWITCHINFO_RECORD" {
        /// Its LID.
        lid: Lid = u32 @ 0, "RID.LID";
        /// Capacities and settings.
        switch_info_data: SwitchInfo = block @ 8, "SwitchInfoData";
    }
}

layout! {
    /// A subnet manager (`STL_SMINFO_RECORD`).
    pub struct SmInfoRecord: 34, "STL_SMINFO_RECORD" {
        /// Its LID.
        lid: Lid = u32 @ 0, "RID.LID";
        /// Its state.
        sm_info: SmInfo = block @ 8, "SMInfo";
    }
}

layout! {
    /// One direction of a link (`STL_LINK_RECORD`).
    pub struct LinkRecord: 12, "STL_LINK_RECORD" {
        /// LID of the one node.
        from_lid: Lid = u32 @ 0, "RID.FromLID";
        /// Its port.
        from_port: PortNum = u8 @ 4, "RID.FromPort";
        /// Port of the other node.
        to_port: PortNum = u8 @ 5, "ToPort";
        /// LID of the other node.
        to_lid: Lid = u32 @ 8, "ToLID";
    }
}

layout! {
    /// Expected identity of a quarantined node (`STL_EXPECTED_NODE_INFO`).
    pub struct ExpectedNodeInfo: 80, "STL_EXPECTED_NODE_INFO" {
        /// Description.
        node_desc: NodeDescription = block @ 0, "nodeDesc";
        /// Node GUID.
        node_guid: Guid = u64 @ 64, "nodeGUID";
        /// Port GUID.
        port_guid: Guid = u64 @ 72, "portGUID";
    }
}

layout! {
    /// A node in quarantine (`STL_QUARANTINED_NODE_RECORD`).
    pub struct QuarantinedNodeRecord: 216, "STL_QUARANTINED_NODE_RECORD" {
        /// LID of the trusted node that it hangs on.
        trusted_lid: Lid = u32 @ 0, "trustedLid";
        /// The trusted node's port.
        trusted_port_num: PortNum = u8 @ 4, "trustedPortNum";
        /// The trusted node.
        trusted_node_guid: Guid = u64 @ 8, "trustedNodeGUID";
        /// The node's GUID as reported by the trusted neighbour's hardware.
        trusted_neighbor_node_guid: Guid = u64 @ 16, "trustedNeighborNodeGUID";
        /// NodeDescription that it claims.
        node_desc: NodeDescription = block @ 24, "NodeDesc";
        /// NodeInfo that it claims.
        node_info: NodeInfo = block @ 88, "NodeInfo";
        /// Why, one bit each (`STL_QUARANTINE_REASON_*`).
        quarantine_reasons: u32 = u32 @ 132, "quarantineReasons";
        /// Expected identity.
        expected_node_info: ExpectedNodeInfo = block @ 136, "expectedNodeInfo";
    }
}
