//! SwitchInfo, attribute 0x0012: capacities and settings of a switch.

use crate::layout::layout;

layout! {
    /// Capacities and settings of a switch (`STL_SWITCH_INFO`).
    pub struct SwitchInfo: 84, "STL_SWITCH_INFO" {
        /// Entries of the linear forwarding table.
        linear_fdb_cap: u32 = u32 @ 0, "LinearFDBCap";
        /// Entries of the port group forwarding table.
        port_group_fdb_cap: u32 = u32 @ 4, "PortGroupFDBCap";
        /// Entries of the multicast forwarding table.
        multicast_fdb_cap: u32 = u32 @ 8, "MulticastFDBCap";
        /// Highest LID that is forwarded.
        linear_fdb_top: u32 = u32 @ 12, "LinearFDBTop";
        /// Highest multicast LID that is forwarded.
        multicast_fdb_top: u32 = u32 @ 16, "MulticastFDBTop";
        /// Entries for collectives.
        collective_cap: u32 = u32 @ 20, "CollectiveCap";
        /// Highest collective LID that is forwarded.
        collective_top: u32 = u32 @ 24, "CollectiveTop";
        /// IPv6 address.
        ip_addr_ipv6: [u8; 16] = block @ 32, "IPAddrIPV6.addr";
        /// IPv4 address.
        ip_addr_ipv4: [u8; 4] = block @ 48, "IPAddrIPV4.addr";
        /// Packet lifetime in the switch: 4.096 µs × 2^value, unlimited from 20 on.
        life_time_value: u8 = u8 @ 67 [7:3], "u1.s.LifeTimeValue";
        /// A port changed its state; written as one to clear it.
        port_state_change: bool = u8 @ 67 [2:2], "u1.s.PortStateChange";
        /// Entries of the partition table of an external port.
        partition_enforcement_cap: u16 = u16 @ 70, "PartitionEnforcementCap";
        /// Port groups.
        port_group_cap: u8 = u8 @ 72, "PortGroupCap";
        /// Number of port groups in use, from the start of the port group table.
        port_group_top: u8 = u8 @ 73, "PortGroupTop";
        /// Routing modes that the switch can do.
        routing_mode_supported: u8 = u8 @ 74, "RoutingMode.Supported";
        /// Routing mode in use: 1 linear; 0 in a Set is no change.
        routing_mode_enabled: u8 = u8 @ 75, "RoutingMode.Enabled";
        /// Port 0 is a full end port.
        enhanced_port0: bool = u8 @ 76 [3:3], "u2.s.EnhancedPort0";
        /// High bits that mark a collective LID.
        collective_mask: u8 = u8 @ 77 [5:3], "MultiCollectMask.CollectiveMask";
        /// High bits that mark a multicast LID, 4 by default.
        multicast_mask: u8 = u8 @ 77 [2:0], "MultiCollectMask.MulticastMask";
        /// Adaptive routing is on.
        ar_enable: bool = u16 @ 78 [15:15], "AdaptiveRouting.s.Enable";
        /// Adaptive routing is suspended while tables change.
        ar_pause: bool = u16 @ 78 [14:14], "AdaptiveRouting.s.Pause";
        /// 0 random, 1 greedy, 2 random among the least loaded.
        ar_algorithm: u8 = u16 @ 78 [13:11], "AdaptiveRouting.s.Algorithm";
        /// Least time between two adjustments: 64 ms × 2^value.
        ar_frequency: u8 = u16 @ 78 [10:8], "AdaptiveRouting.s.Frequency";
        /// Only lost routes are adjusted.
        ar_lost_routes_only: bool = u16 @ 78 [7:7], "AdaptiveRouting.s.LostRoutesOnly";
        /// Congestion from which routes are adjusted, 1 least sensitive to 7, 0 the firmware's choice.
        ar_threshold: u8 = u16 @ 78 [6:4], "AdaptiveRouting.s.Threshold";
        /// SCtoSC can be set for many port pairs at once.
        is_extended_scsc_supported: bool = u16 @ 80 [3:3], "CapabilityMask.s.IsExtendedSCSCSupported";
        /// The ranges of multicast and collective LIDs can be configured.
        is_addr_range_config_supported: bool = u16 @ 80 [2:2], "CapabilityMask.s.IsAddrRangeConfigSupported";
        /// Can route adaptively.
        is_adaptive_routing_supported: bool = u16 @ 80 [0:0], "CapabilityMask.s.IsAdaptiveRoutingSupported";
        /// Capabilities for collectives; no bit is defined yet.
        capability_mask_collectives: u16 = u16 @ 82, "CapabilityMaskCollectives.AsReg16";
    }
}
