//! PortInfo, attribute 0x0015: capabilities, state and settings of a port.

use std::fmt;

use weft_state::State;

use crate::enums::{
    LinkDownReason, LinkInitReason, LinkSpeed, LinkWidth, Mtu, OfflineDisabledReason, PhysState,
    PortState, PortType,
};
use crate::id::{Guid, Lid, Lmc, PortNum, Sl, Vl};
use crate::layout::{Block, FieldLayout, Layout, layout};
use crate::print::Print;
use crate::sm::capability::{CapabilityMask, CapabilityMask3, PortErrorAction};

layout! {
    /// Head-of-line lifetime of packets in a VL's queue.
    pub struct XmitQ: 1, "STL_PORT_INFO.XmitQ[0]" {
        /// Packets dropped in a row before the VL is stalled.
        vl_stall_count: u8 = u8 @ 0 [7:5], "VLStallCount";
        /// Head-of-queue lifetime: 4.096 µs × 2^value, from 20 for ever.
        hoq_life: u8 = u8 @ 0 [4:0], "HOQLife";
    }
}

/// One [`XmitQ`] for each VL.
pub type XmitQs = [XmitQ; 32];

layout! {
    /// The neighbour's MTU on two VLs (`STL_VL_TO_MTU`).
    pub struct MtuPair: 1, "STL_VL_TO_MTU" {
        /// On the VL with the even number.
        vl0_to_mtu: Mtu = u8 @ 0 [7:4], "s.VL0_to_MTU";
        /// On the one after it.
        vl1_to_mtu: Mtu = u8 @ 0 [3:0], "s.VL1_to_MTU";
    }
}

/// The neighbour's MTU on each VL, two VLs a byte, the even one in the high half.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, State)]
pub struct VlMtus(pub [u8; 16]);

impl VlMtus {
    /// One MTU for all VLs.
    pub fn uniform(mtu: Mtu) -> Self {
        Self([mtu.0 << 4 | mtu.0 & 0xF; 16])
    }

    /// The MTU on `vl`, none beyond VL31.
    #[inline]
    pub fn get(&self, vl: Vl) -> Mtu {
        let shift = if vl.0.is_multiple_of(2) { 4 } else { 0 };
        let byte = self.0.get(usize::from(vl.0 / 2)).copied();
        Mtu(byte.unwrap_or_default() >> shift & 0xF)
    }

    /// Sets the MTU on `vl`; nothing happens beyond VL31.
    #[inline]
    pub fn set(&mut self, vl: Vl, mtu: Mtu) {
        let shift = if vl.0.is_multiple_of(2) { 4 } else { 0 };
        if let Some(byte) = self.0.get_mut(usize::from(vl.0 / 2)) {
            *byte = *byte & !(0xF << shift) | (mtu.0 & 0xF) << shift;
        }
    }
}

impl Block for VlMtus {
    const LEN: usize = 16;
    const COUNT: usize = 16;
    const PARTS: &'static [FieldLayout] = MtuPair::FIELDS;
    #[inline]
    fn load(bytes: &[u8]) -> Self {
        Self(<[u8; 16]>::load(bytes))
    }
    #[inline]
    fn store(&self, bytes: &mut [u8]) {
        self.0.store(bytes);
    }
}

impl Print for VlMtus {
    /// On one line, runs of equal MTUs together.
    fn print(&self, f: &mut fmt::Formatter<'_>, indent: usize, name: &str) -> fmt::Result {
        let mtus: [Mtu; 32] = std::array::from_fn(|vl| self.get(Vl(vl as u8)));
        mtus.print(f, indent, name)
    }
}

layout! {
    /// Capabilities, state and settings of a port (`STL_PORT_INFO`). In a datagram with several,
    /// each starts 248 bytes after the one before.
    pub struct PortInfo: 242, "STL_PORT_INFO" {
        /// End ports: the base LID. A switch's external port: the neighbour's, to check source LIDs.
        lid: Lid = u32 @ 0, "LID";
        /// One bit a VL: set where flow control is off.
        flow_control_mask: u32 = u32 @ 4, "FlowControlMask";
        /// Entries of the preempting VL arbitration table.
        vl_preempt_cap: u8 = u8 @ 8, "VL.PreemptCap";
        /// Data VLs that the port supports.
        vl_cap: u8 = u8 @ 9 [4:0], "VL.s2.Cap";
        /// Limit of high-priority traffic.
        vl_high_limit: u16 = u16 @ 10, "VL.HighLimit";
        /// Limit of preempting traffic.
        vl_preempting_limit: u16 = u16 @ 12, "VL.PreemptingLimit";
        /// Entries of the high VL arbitration table.
        vl_arbitration_high_cap: u8 = u8 @ 14, "VL.ArbitrationHighCap";
        /// Entries of the low VL arbitration table.
        vl_arbitration_low_cap: u8 = u8 @ 15, "VL.ArbitrationLowCap";
        /// Beacon is on.
        led_enabled: bool = u32 @ 16 [22:22], "PortStates.s.LEDEnabled";
        /// Set by the subnet manager's S flag, cleared when the link bounces.
        is_sm_configuration_started: bool = u32 @ 16 [21:21], "PortStates.s.IsSMConfigurationStarted";
        /// The neighbour is armed or active.
        neighbor_normal: bool = u32 @ 16 [20:20], "PortStates.s.NeighborNormal";
        /// Why the port is off although it should be on.
        offline_disabled_reason: OfflineDisabledReason = u32 @ 16 [19:16], "PortStates.s.OfflineDisabledReason";
        /// Physical state.
        phys_state: PhysState = u32 @ 16 [7:4], "PortStates.s.PortPhysicalState";
        /// Logical state.
        port_state: PortState = u32 @ 16 [3:0], "PortStates.s.PortState";
        /// Attachment of the port.
        port_type: PortType = u8 @ 20 [3:0], "PortPhysConfig.s.PortType";
        /// High bits that mark a collective LID.
        collective_mask: u8 = u8 @ 21 [5:3], "MultiCollectMask.CollectiveMask";
        /// High bits that mark a multicast LID, 4 by default.
        multicast_mask: u8 = u8 @ 21 [2:0], "MultiCollectMask.MulticastMask";
        /// Rights of a datagram without the right M_Key: 0 read; 1 read, without the key; 2 and 3
        /// none.
        m_key_protect_bits: u8 = u8 @ 22 [7:6], "s1.M_KeyProtectBits";
        /// The port answers to 2^LMC LIDs.
        lmc: Lmc = u8 @ 22 [3:0], "s1.LMC";
        /// Service level to the master subnet manager.
        master_sm_sl: Sl = u8 @ 23 [4:0], "s2.MasterSMSL";
        /// Why the subnet manager left the port in Init.
        link_init_reason: LinkInitReason = u8 @ 24 [7:4], "s3.LinkInitReason";
        /// Check the P_Key of packets that come in.
        partition_enforcement_inbound: bool = u8 @ 24 [3:3], "s3.PartitionEnforcementInbound";
        /// Check the P_Key of packets that go out.
        partition_enforcement_outbound: bool = u8 @ 24 [2:2], "s3.PartitionEnforcementOutbound";
        /// Data VLs in use.
        operational_vl: u8 = u8 @ 25 [4:0], "s4.OperationalVL";
        /// Partition key of packets in the 8B format.
        p_key_8b: u16 = u16 @ 26, "P_Keys.P_Key_8B";
        /// Partition key of packets in the 10B format.
        p_key_10b: u16 = u16 @ 28, "P_Keys.P_Key_10B";
        /// Datagrams with a wrong M_Key.
        violations_m_key: u16 = u16 @ 30, "Violations.M_Key";
        /// Packets with a wrong P_Key.
        violations_p_key: u16 = u16 @ 32, "Violations.P_Key";
        /// Packets with a wrong Q_Key.
        violations_q_key: u16 = u16 @ 34, "Violations.Q_Key";
        /// Queue pair for traps.
        sm_trap_qp: u32 = u32 @ 36 [23:0], "SM_TrapQP.s.QueuePair";
        /// Queue pair of the subnet administration.
        sa_qp: u32 = u32 @ 40 [23:0], "SA_QP.s.QueuePair";
        /// The port at the other end.
        neighbor_port_num: PortNum = u8 @ 44, "NeighborPortNum";
        /// Why the link went down last.
        link_down_reason: LinkDownReason = u8 @ 45, "LinkDownReason";
        /// Reason reported by the neighbour.
        neighbor_link_down_reason: LinkDownReason = u8 @ 46, "NeighborLinkDownReason";
        /// Clients shall register again with the subnet administration.
        client_reregister: bool = u8 @ 47 [7:7], "Subnet.ClientReregister";
        /// Keeps multicast packets with a wrong P_Key from causing traps.
        multicast_p_key_trap_suppression_enabled: u8 = u8 @ 47 [6:5], "Subnet.MulticastPKeyTrapSuppressionEnabled";
        /// Least time between two traps: 4.096 µs × 2^value.
        subnet_timeout: u8 = u8 @ 47 [4:0], "Subnet.Timeout";
        /// Speeds that the port can do.
        link_speed_supported: LinkSpeed = u16 @ 48, "LinkSpeed.Supported";
        /// Speeds that it may use.
        link_speed_enabled: LinkSpeed = u16 @ 50, "LinkSpeed.Enabled";
        /// Speed in use.
        link_speed_active: LinkSpeed = u16 @ 52, "LinkSpeed.Active";
        /// Widths that the port can do.
        link_width_supported: LinkWidth = u16 @ 54, "LinkWidth.Supported";
        /// Widths that it may use.
        link_width_enabled: LinkWidth = u16 @ 56, "LinkWidth.Enabled";
        /// Width that the link was trained to.
        link_width_active: LinkWidth = u16 @ 58, "LinkWidth.Active";
        /// Widths that it can fall back to while the link stays up.
        link_width_downgrade_supported: LinkWidth = u16 @ 60, "LinkWidthDowngrade.Supported";
        /// Widths that it may fall back to.
        link_width_downgrade_enabled: LinkWidth = u16 @ 62, "LinkWidthDowngrade.Enabled";
        /// Width in use to send.
        link_width_downgrade_tx_active: LinkWidth = u16 @ 64, "LinkWidthDowngrade.TxActive";
        /// Width in use to receive.
        link_width_downgrade_rx_active: LinkWidth = u16 @ 66, "LinkWidthDowngrade.RxActive";
        /// Protocols that the port can do: 4 is Omni-Path.
        port_link_mode_supported: u8 = u16 @ 68 [14:10], "PortLinkMode.s.Supported";
        /// Protocols that it may use.
        port_link_mode_enabled: u8 = u16 @ 68 [9:5], "PortLinkMode.s.Enabled";
        /// Protocol in use.
        port_link_mode_active: u8 = u16 @ 68 [4:0], "PortLinkMode.s.Active";
        /// Link CRCs that the port can do: 1 14 bit, 2 16 bit, 4 48 bit, 8 12 to 16 bit a lane.
        port_ltp_crc_mode_supported: u8 = u16 @ 70 [11:8], "PortLTPCRCMode.s.Supported";
        /// Link CRCs that it may use.
        port_ltp_crc_mode_enabled: u8 = u16 @ 70 [7:4], "PortLTPCRCMode.s.Enabled";
        /// Link CRC in use.
        port_ltp_crc_mode_active: u8 = u16 @ 70 [3:0], "PortLTPCRCMode.s.Active";
        /// Activates itself when its neighbour does.
        is_active_optimize_enabled: bool = u16 @ 72 [6:6], "PortMode.s.IsActiveOptimizeEnabled";
        /// Passes packets through.
        is_pass_through_enabled: bool = u16 @ 72 [5:5], "PortMode.s.IsPassThroughEnabled";
        /// Sends VL markers.
        is_vl_marker_enabled: bool = u16 @ 72 [4:4], "PortMode.s.IsVLMarkerEnabled";
        /// Accepts 16B traps.
        is_16b_trap_query_enabled: bool = u16 @ 72 [1:1], "PortMode.s.Is16BTrapQueryEnabled";
        /// Packet formats that the port can do: 1 8B, 2 9B, 4 10B, 8 16B.
        port_packet_formats_supported: u16 = u16 @ 74, "PortPacketFormats.Supported";
        /// Packet formats that it may use.
        port_packet_formats_enabled: u16 = u16 @ 76, "PortPacketFormats.Enabled";
        /// Interleaving distances that the port can do.
        interleave_distance_supported: u8 = u16 @ 78 [13:12], "FlitControl.Interleave.s.DistanceSupported";
        /// Interleaving distance in use.
        interleave_distance_enabled: u8 = u16 @ 78 [11:10], "FlitControl.Interleave.s.DistanceEnabled";
        /// Deepest nesting that it sends.
        interleave_max_nest_level_tx_enabled: u8 = u16 @ 78 [9:5], "FlitControl.Interleave.s.MaxNestLevelTxEnabled";
        /// Deepest nesting that it receives.
        interleave_max_nest_level_rx_supported: u8 = u16 @ 78 [4:0], "FlitControl.Interleave.s.MaxNestLevelRxSupported";
        /// Least bytes before a preemption, in 8 byte units.
        preemption_min_initial: u16 = u16 @ 80, "FlitControl.Preemption.MinInitial";
        /// Least bytes after a preemption, in 8 byte units.
        preemption_min_tail: u16 = u16 @ 82, "FlitControl.Preemption.MinTail";
        /// Minimum size of a packet that may be preempted: 512 bytes × (1 + value), 0 to 15.
        preemption_large_pkt_limit: u8 = u8 @ 84, "FlitControl.Preemption.LargePktLimit";
        /// Maximum size of a packet that may preempt: 32 bytes × (1 + value).
        preemption_small_pkt_limit: u8 = u8 @ 85, "FlitControl.Preemption.SmallPktLimit";
        /// Largest value of the small packet limit.
        preemption_max_small_pkt_limit: u8 = u8 @ 86, "FlitControl.Preemption.MaxSmallPktLimit";
        /// Total size of all packets that may preempt one: 256 bytes × value, 255 for no limit.
        preemption_limit: u8 = u8 @ 87, "FlitControl.Preemption.PreemptionLimit";
        /// HFI: highest LID that it can address.
        max_lid: Lid = u32 @ 88, "MaxLID";
        /// Errors that take the link down.
        port_error_action: PortErrorAction = block @ 92, "PortErrorAction";
        /// Port that packets are passed through to.
        pass_through_egress_port: PortNum = u8 @ 96, "PassThroughControl.EgressPort";
        /// Pass-through of directed routes.
        pass_through_dr_control: bool = u8 @ 97 [0:0], "PassThroughControl.DRControl";
        /// Seconds that the M_Key holds, 0 for ever.
        m_key_lease_period: u16 = u16 @ 98, "M_KeyLeasePeriod";
        /// VL15 buffer in allocation units.
        vl15_init: u16 = u32 @ 100 [22:11], "BufferUnits.s.VL15Init";
        /// Pace of VL15 credits: 32 × 2^value flit times.
        vl15_credit_rate: u8 = u32 @ 100 [10:6], "BufferUnits.s.VL15CreditRate";
        /// Credits are returned in units of 2^value allocation units.
        credit_ack: u8 = u32 @ 100 [5:3], "BufferUnits.s.CreditAck";
        /// Allocation unit of the receive buffer: 8 × 2^value bytes.
        buffer_alloc: u8 = u32 @ 100 [2:0], "BufferUnits.s.BufferAlloc";
        /// Next port of a bundle.
        bundle_next_port: PortNum = u8 @ 106, "BundleNextPort";
        /// Lane of a bundle.
        bundle_lane: u8 = u8 @ 107, "BundleLane";
        /// LID of the master subnet manager.
        master_sm_lid: Lid = u32 @ 108, "MasterSMLID";
        /// The key that protects the port's settings.
        m_key: u64 = u64 @ 112, "M_Key";
        /// Upper half of the port's GID.
        subnet_prefix: u64 = u64 @ 120, "SubnetPrefix";
        /// Largest packet to the neighbour on each VL.
        neighbor_mtu: VlMtus = block @ 128, "NeighborMTU";
        /// Lifetimes at the heads of the VLs' queues.
        xmit_q: XmitQs = block @ 144, "XmitQ";
        /// IPv6 address.
        ip_addr_ipv6: [u8; 16] = block @ 176, "IPAddrIPV6.addr";
        /// IPv4 address.
        ip_addr_ipv4: [u8; 4] = block @ 192, "IPAddrIPV4.addr";
        /// The node at the other end, as the hardware learnt it.
        neighbor_node_guid: Guid = u64 @ 208, "NeighborNodeGUID";
        /// Capabilities of the port's node.
        capability_mask: CapabilityMask = block @ 216, "CapabilityMask";
        /// Capabilities of the port.
        capability_mask3: CapabilityMask3 = block @ 222, "CapabilityMask3";
        /// Receive buffer in allocation units.
        overall_buffer_space: u16 = u16 @ 228, "OverallBufferSpace";
        /// High byte of the replay buffer's depth, in link transfer packets.
        buffer_depth_h: u8 = u8 @ 230, "ReplayDepthH.BufferDepthH";
        /// High byte of the wire's depth, in link transfer packets.
        wire_depth_h: u8 = u8 @ 231, "ReplayDepthH.WireDepthH";
        /// Diagnosis that all vendors share.
        universal_diag_code: u8 = u16 @ 232 [15:12], "DiagCode.s.UniversalDiagCode";
        /// Diagnosis of this vendor.
        vendor_diag_code: u16 = u16 @ 232 [11:1], "DiagCode.s.VendorDiagCode";
        /// More diagnosis is there.
        diag_chain: bool = u16 @ 232 [0:0], "DiagCode.s.Chain";
        /// Low byte of the replay buffer's depth, in link transfer packets.
        buffer_depth: u8 = u8 @ 234, "ReplayDepth.BufferDepth";
        /// Low byte of the wire's depth, in link transfer packets.
        wire_depth: u8 = u8 @ 235, "ReplayDepth.WireDepth";
        /// The neighbour may send management packets.
        mgmt_allowed: bool = u8 @ 236 [3:3], "PortNeighborMode.MgmtAllowed";
        /// The neighbour's firmware authentication is bypassed.
        neighbor_fw_authen_bypass: bool = u8 @ 236 [2:2], "PortNeighborMode.NeighborFWAuthenBypass";
        /// The neighbour as the hardware learnt it: 0 HFI, 1 switch.
        neighbor_node_type: u8 = u8 @ 236 [1:0], "PortNeighborMode.NeighborNodeType";
        /// Largest packet that the port can do.
        mtu_cap: Mtu = u8 @ 237 [3:0], "MTU.Cap";
        /// Time to answer a datagram: 4.096 µs × 2^value.
        resp_time_value: u8 = u8 @ 238 [4:0], "Resp.TimeValue";
        /// The port that the request came in by.
        local_port_num: PortNum = u8 @ 239, "LocalPortNum";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_vls_share_a_byte() {
        let mut mtus = VlMtus::uniform(Mtu::B2048);
        mtus.set(Vl(1), Mtu::B10240);
        mtus.set(Vl(30), Mtu::B8192);
        mtus.set(Vl(32), Mtu::B256);
        assert_eq!((mtus.0[0], mtus.0[15]), (0x47, 0x64));
        for (vl, mtu) in [
            (0, Mtu::B2048),
            (1, Mtu::B10240),
            (30, Mtu::B8192),
            (32, Mtu::NONE),
        ] {
            assert_eq!(mtus.get(Vl(vl)), mtu, "VL{vl}");
        }
    }

    #[test]
    fn the_error_action_of_the_vendors_default_is_bad_distances_and_markers() {
        let action = PortErrorAction::from_bits(0x0017_2000);
        assert!(action.fm_config_error_bad_head_dist && action.port_rcv_error_bad_vl_marker);
        assert!(action.fm_config_error_unsupported_vl_marker);
        assert!(!action.fm_config_error_bad_crdt_ack);
        assert_eq!(action.bits(), 0x0017_2000);
    }
}
