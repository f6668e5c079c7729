//! Records in InfiniBand's form, for clients in kernels: LIDs of 16 bits, and what OPA's form added is
//! not there.

use crate::enums::Mtu;
use crate::id::{Gid, PKey, Sl};
use crate::layout::layout;
use crate::text::Text;

layout! {
    /// A service (`IB_SERVICE_RECORD`).
    pub struct IbServiceRecord: 176, "IB_SERVICE_RECORD" {
        /// Which service.
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
        /// How `mtu` is meant.
        mtu_selector: u8 = u8 @ 38 [7:6], "MtuSelector";
        /// Largest packet.
        mtu: Mtu = u8 @ 38 [5:0], "Mtu";
        /// Traffic class.
        t_class: u8 = u8 @ 39, "TClass";
        /// Partition key of the group.
        p_key: PKey = u16 @ 40, "P_Key";
        /// How `rate` is meant.
        rate_selector: u8 = u8 @ 42 [7:6], "RateSelector";
        /// Rate (`IB_STATIC_RATE`).
        rate: u8 = u8 @ 42 [5:0], "Rate";
        /// How `pkt_life_time` is meant.
        pkt_life_time_selector: u8 = u8 @ 43 [7:6], "PktLifeTimeSelector";
        /// Longest time on the way: 4.096 µs × 2^value.
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
    /// What a report to a subscriber of InfiniBand's form says (`IB_NOTICE`).
    pub struct IbNotice: 80, "IB_NOTICE" {
        /// The trap's number is one of the format, not of a vendor.
        is_generic: bool = u32 @ 0 [31:31], "u.Generic.u.s.IsGeneric";
        /// How grave.
        notice_type: u8 = u32 @ 0 [30:24], "u.Generic.u.s.Type";
        /// What reports.
        producer_type: u32 = u32 @ 0 [23:0], "u.Generic.u.s.ProducerType";
        /// Which trap.
        trap_number: u16 = u16 @ 4, "u.Generic.TrapNumber";
        /// Who reports.
        issuer_lid: u16 = u16 @ 6, "IssuerLID";
        /// What happened: of traps 64 to 67 the GID is at byte 6.
        data: [u8; 54] = block @ 10, "Data";
        /// Who reports.
        issuer_gid: Gid = block @ 64, "IssuerGID";
    }
}
