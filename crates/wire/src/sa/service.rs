//! Records that clients write: multicast members, services, subscriptions.

use crate::class_port_info::InformInfo;
use crate::enums::Mtu;
use crate::id::{Gid, Lid, PKey, Sl};
use crate::layout::layout;
use crate::text::Text;

layout! {
    /// A member of a multicast group (`STL_MCMEMBER_RECORD`). For selectors see
    /// [`crate::sa::PathRecord`].
    pub struct McMemberRecord: 56, "STL_MCMEMBER_RECORD" {
        /// The group.
        mgid: Gid = block @ 0, "RID.MGID";
        /// The member.
        port_gid: Gid = block @ 16, "RID.PortGID";
        /// Queue key of the group.
        q_key: u32 = u32 @ 32, "Q_Key";
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
        /// Service level.
        sl: Sl = u32 @ 44 [31:27], "SL";
        /// Hop limit.
        hop_limit: u8 = u32 @ 44 [7:0], "HopLimit";
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
        /// LID of the group.
        mlid: Lid = u32 @ 52, "MLID";
    }
}

layout! {
    /// A service (`STL_SERVICE_RECORD`).
    pub struct ServiceRecord: 184, "STL_SERVICE_RECORD" {
        /// Identifier of the service.
        service_id: u64 = u64 @ 0, "RID.ServiceID";
        /// LID of its port.
        service_lid: Lid = u32 @ 8, "RID.ServiceLID";
        /// Partition in which it is offered.
        service_p_key: PKey = u16 @ 12, "RID.ServiceP_Key";
        /// Its port.
        service_gid: Gid = block @ 16, "RID.ServiceGID";
        /// Seconds that the record holds; 0xFFFFFFFF for ever.
        service_lease: u32 = u32 @ 32, "ServiceLease";
        /// Key that protects the record.
        service_key: [u8; 16] = block @ 40, "ServiceKey";
        /// Its name.
        service_name: Text<64> = block @ 56, "ServiceName";
        /// Data of the service.
        service_data8: [u8; 16] = block @ 120, "ServiceData8";
        /// Data of the service.
        service_data16: [u16; 8] = block @ 136, "ServiceData16";
        /// Data of the service.
        service_data32: [u32; 4] = block @ 152, "ServiceData32";
        /// Data of the service.
        service_data64: [u64; 2] = block @ 168, "ServiceData64";
    }
}

layout! {
    /// A subscription that is held (`STL_INFORM_INFO_RECORD`).
    pub struct InformInfoRecord: 48, "STL_INFORM_INFO_RECORD" {
        /// LID of the subscriber.
        subscriber_lid: Lid = u32 @ 0, "RID.SubscriberLID";
        /// Index among its subscriptions.
        enumeration: u16 = u16 @ 4, "RID.Enum";
        /// To what.
        inform_info_data: InformInfo = block @ 8, "InformInfoData";
    }
}
