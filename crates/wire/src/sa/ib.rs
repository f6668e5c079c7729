//! Records in InfiniBand's form, for clients in kernels: LIDs of 16 bits, and what OPA's form added is
//! not there.

use crate::enums::{Mtu, NodeType, PhysState, PortState};
use crate::id::{Gid, Guid, Lmc, PKey, PortNum, Sl};
use crate::layout::layout;
use crate::sm::NodeDescription;
use crate::text::Text;

layout! {
    /// A port of a node (`IB_NODE_RECORD`).
    pub struct IbNodeRecord: 108, "IB_NODE_RECORD" {
        /// LID of the port, 16 bits.
        lid: u16 = u32 @ 0 [31:16], "RID.s.LID";
        /// Version of the datagrams' base.
        base_version: u8 = u8 @ 4, "NodeInfoData.BaseVersion";
        /// Version of the class.
        class_version: u8 = u8 @ 5, "NodeInfoData.ClassVersion";
        /// HFI or switch.
        node_type: NodeType = u8 @ 6, "NodeInfoData.NodeType";
        /// Ports, port 0 not counted.
        num_ports: u8 = u8 @ 7, "NodeInfoData.NumPorts";
        /// The system that it is in.
        system_image_guid: Guid = u64 @ 8, "NodeInfoData.SystemImageGUID";
        /// The node.
        node_guid: Guid = u64 @ 16, "NodeInfoData.NodeGUID";
        /// The port.
        port_guid: Guid = u64 @ 24, "NodeInfoData.PortGUID";
        /// Partition keys that a port can hold.
        partition_cap: u16 = u16 @ 32, "NodeInfoData.PartitionCap";
        /// The vendor's number of the device.
        device_id: u16 = u16 @ 34, "NodeInfoData.DeviceID";
        /// The vendor's number of its revision.
        revision: u32 = u32 @ 36, "NodeInfoData.Revision";
        /// Number of the port.
        local_port_num: PortNum = u32 @ 40 [31:24], "NodeInfoData.u1.s.LocalPortNum";
        /// The vendor.
        vendor_id: u32 = u32 @ 40 [23:0], "NodeInfoData.u1.s.VendorID";
        /// NodeDescription of the node.
        node_desc: NodeDescription = block @ 44, "NodeDescData";
    }
}

layout! {
    /// A port, as far as others may know it (`IB_PORTINFO_RECORD`): the rest of the structure is 0.
    pub struct IbPortInfoRecord: 68, "IB_PORTINFO_RECORD" {
        /// LID of the node's port, 16 bits.
        end_port_lid: u16 = u32 @ 0 [31:16], "RID.s.EndPortLID";
        /// The port of a switch.
        port_num: PortNum = u32 @ 0 [15:8], "RID.s.PortNum";
        /// Prefix of its GIDs.
        subnet_prefix: u64 = u64 @ 12, "PortInfoData.SubnetPrefix";
        /// Its first LID, 16 bits.
        lid: u16 = u16 @ 20, "PortInfoData.LID";
        /// Capabilities, `IB_CAPABILITY_MASK`.
        capability_mask: u32 = u32 @ 24, "PortInfoData.CapabilityMask";
        /// Number of the port.
        local_port_num: PortNum = u8 @ 32, "PortInfoData.LocalPortNum";
        /// Whether it carries data.
        port_state: PortState = u8 @ 36 [3:0], "PortInfoData.Link.PortState";
        /// Whether the link is up.
        phys_state: PhysState = u8 @ 37 [7:4],
            "PortInfoData.Link.PortPhysicalState";
        /// LMC.
        lmc: Lmc = u8 @ 38 [2:0], "PortInfoData.s1.LMC";
        /// Largest packet towards the neighbour.
        neighbor_mtu: Mtu = u8 @ 40 [7:4], "PortInfoData.s2.NeighborMTU";
        /// Largest packet that it can.
        mtu_cap: Mtu = u8 @ 45 [3:0], "PortInfoData.MTU.Cap";
    }
}

layout! {
    /// A service (`IB_SERVICE_RECORD`).
    pub struct IbServiceRecord: 176, "IB_SERVICE_RECORD" {
        /// Identifier of the service.
        service_id: u64 = u64 @ 0, "RID.ServiceID";
        /// Its port.
        service_gid: Gid = block @ 8, "RID.ServiceGID";
        /// Partition in which it is offered.
        service_p_key: PKey = u16 @ 24, "RID.ServiceP_Key";
        /// Seconds that the record holds; 0xFFFFFFFF for ever.
        service_lease: u32 = u32 @ 28, "ServiceLease";
        /// Key that protects the record.
        service_key: [u8; 16] = block @ 32, "ServiceKey";
        /// Its name.
        service_name: Text<64> = block @ 48, "ServiceName";
        /// Data of the service.
        service_data8: [u8; 16] = block @ 112, "ServiceData8";
        /// Data of the service.
        service_data16: [u16; 8] = block @ 128, "ServiceData16";
        /// Data of the service.
        service_data32: [u32; 4] = block @ 144, "ServiceData32";
        /// Data of the service.
        service_data64: [u64; 2] = block @ 160, "ServiceData64";
    }
}

layout! {
    /// A member of a multicast group (`IB_MCMEMBER_RECORD`). For selectors see
    /// [`crate::sa::PathRecord`].
    pub struct IbMcMemberRecord: 52, "IB_MCMEMBER_RECORD" {
        /// The group.
        mgid: Gid = block @ 0, "RID.MGID";
        /// The member.
        port_gid: Gid = block @ 16, "RID.PortGID";
        /// Queue key of the group.
        q_key: u32 = u32 @ 32, "Q_Key";
        /// LID of the group, 16 bits: 0xC000 and above.
        mlid: u16 = u16 @ 36, "MLID";
        /// Comparison for `mtu`.
        mtu_selector: u8 = u8 @ 38 [7:6], "MtuSelector";
        /// Largest packet.
        mtu: Mtu = u8 @ 38 [5:0], "Mtu";
        /// Traffic class.
        t_class: u8 = u8 @ 39, "TClass";
        /// Partition key of the group.
        p_key: PKey = u16 @ 40, "P_Key";
        /// Comparison for `rate`.
        rate_selector: u8 = u8 @ 42 [7:6], "RateSelector";
        /// Rate (`IB_STATIC_RATE`).
        rate: u8 = u8 @ 42 [5:0], "Rate";
        /// Comparison for `pkt_life_time`.
        pkt_life_time_selector: u8 = u8 @ 43 [7:6], "PktLifeTimeSelector";
        /// Maximum packet lifetime: 4.096 µs × 2^value.
        pkt_life_time: u8 = u8 @ 43 [5:0], "PktLifeTime";
        /// Service level, 4 bits.
        sl: Sl = u32 @ 44 [31:28], "u1.s.SL";
        /// Flow label.
        flow_label: u32 = u32 @ 44 [27:8], "u1.s.FlowLabel";
        /// Hop limit.
        hop_limit: u8 = u32 @ 44 [7:0], "u1.s.HopLimit";
        /// Scope of the group: 2 link, 5 site.
        scope: u8 = u8 @ 48 [7:4], "Scope";
        /// Sends only, and keeps the group alive.
        join_send_only_full_member: bool = u8 @ 48 [3:3], "JoinSendOnlyFullMember";
        /// Sends only.
        join_send_only_non_member: bool = u8 @ 48 [2:2], "JoinSendOnlyMember";
        /// Sends and receives, does not keep the group alive.
        join_non_member: bool = u8 @ 48 [1:1], "JoinNonMember";
        /// Sends and receives.
        join_full_member: bool = u8 @ 48 [0:0], "JoinFullMember";
        /// Joined by another port for it.
        proxy_join: bool = u8 @ 49 [7:7], "ProxyJoin";
    }
}

layout! {
    /// A subscription to notices (`IB_INFORM_INFO`).
    pub struct IbInformInfo: 36, "IB_INFORM_INFO" {
        /// Only about this port; 0 for the range of LIDs.
        gid: Gid = block @ 0, "GID";
        /// Only about LIDs from here; 0xFFFF for all.
        lid_range_begin: u16 = u16 @ 16, "LIDRangeBegin";
        /// Only about LIDs up to here.
        lid_range_end: u16 = u16 @ 18, "LIDRangeEnd";
        /// 1: generic notices, 0: of a vendor.
        is_generic: u8 = u8 @ 22, "IsGeneric";
        /// 1 to subscribe, 0 to end it.
        subscribe: u8 = u8 @ 23, "Subscribe";
        /// Only notices of this type; 0xFFFF for all.
        inform_type: u16 = u16 @ 24, "Type";
        /// Only this trap; 0xFFFF for all.
        trap_number: u16 = u16 @ 26, "u.Generic.TrapNumber";
        /// Queue pair that gets the reports.
        qp_number: u32 = u32 @ 28 [31:8], "u.Generic.u2.s.QPNumber";
        /// Longest time to the answer of a report: 4.096 µs × 2^value.
        resp_time_value: u8 = u32 @ 28 [4:0], "u.Generic.u2.s.RespTimeValue";
        /// Only of this producer; 0xFFFFFF for all.
        producer_type: u32 = u32 @ 32 [23:0], "u.Generic.u.s.ProducerType";
    }
}

layout! {
    /// A subscription that is held, with a number of its own among its subscriber's
    /// (`IB_INFORM_INFO_RECORD`).
    pub struct IbInformInfoRecord: 60, "IB_INFORM_INFO_RECORD" {
        /// Whose.
        subscriber_gid: Gid = block @ 0, "RID.SubscriberGID";
        /// Index among its subscriptions.
        enumeration: u16 = u16 @ 16, "RID.Enum";
        /// The subscription.
        inform_info_data: IbInformInfo = block @ 24, "InformInfoData";
    }
}

layout! {
    /// A report to a subscriber in InfiniBand's form (`IB_NOTICE`).
    pub struct IbNotice: 80, "IB_NOTICE" {
        /// The trap's number is one of the format, not of a vendor.
        is_generic: bool = u32 @ 0 [31:31], "u.Generic.u.s.IsGeneric";
        /// Severity.
        notice_type: u8 = u32 @ 0 [30:24], "u.Generic.u.s.Type";
        /// Type of the reporting node.
        producer_type: u32 = u32 @ 0 [23:0], "u.Generic.u.s.ProducerType";
        /// Number of the trap.
        trap_number: u16 = u16 @ 4, "u.Generic.TrapNumber";
        /// LID of the reporter.
        issuer_lid: u16 = u16 @ 6, "IssuerLID";
        /// Details of the event: of traps 64 to 67 the GID is at byte 6.
        data: [u8; 54] = block @ 10, "Data";
        /// GID of the reporter.
        issuer_gid: Gid = block @ 64, "IssuerGID";
    }
}
