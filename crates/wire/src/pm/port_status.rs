//! PortStatus, attribute 0x0040, and ClearPortStatus, attribute 0x0041.

use crate::id::PortNum;
use crate::layout::layout;
use crate::pm::select::{CounterSelectMask, PortMask};

layout! {
    /// Requests all counters of a port (`STL_PORT_STATUS_REQ`).
    pub struct PortStatusReq: 8, "STL_PORT_STATUS_REQ" {
        /// The port.
        port_number: PortNum = u8 @ 0, "PortNumber";
        /// Virtual lanes to count separately, one bit each.
        vl_select_mask: u32 = u32 @ 4, "VLSelectMask";
    }
}

layout! {
    /// All counters of a port (`STL_PORT_STATUS_RSP` before its VLs); one [`VlStatus`] for each
    /// chosen virtual lane follows.
    pub struct PortStatus: 216, "STL_PORT_STATUS_RSP" {
        /// The port.
        port_number: PortNum = u8 @ 0, "PortNumber";
        /// Virtual lanes that follow.
        vl_select_mask: u32 = u32 @ 4, "VLSelectMask";
        /// Data sent, in flits of 8 bytes.
        port_xmit_data: u64 = u64 @ 8, "PortXmitData";
        /// Data received, in flits of 8 bytes.
        port_rcv_data: u64 = u64 @ 16, "PortRcvData";
        /// Packets sent.
        port_xmit_pkts: u64 = u64 @ 24, "PortXmitPkts";
        /// Packets received.
        port_rcv_pkts: u64 = u64 @ 32, "PortRcvPkts";
        /// Multicast packets sent.
        port_multicast_xmit_pkts: u64 = u64 @ 40, "PortMulticastXmitPkts";
        /// Multicast packets received.
        port_multicast_rcv_pkts: u64 = u64 @ 48, "PortMulticastRcvPkts";
        /// Time in which data waited and could not be sent, in flit times (in cycles on switches).
        port_xmit_wait: u64 = u64 @ 56, "PortXmitWait";
        /// Packets dropped because they waited too long at the head of a queue.
        sw_port_congestion: u64 = u64 @ 64, "SwPortCongestion";
        /// Packets received with the forward congestion mark.
        port_rcv_fecn: u64 = u64 @ 72, "PortRcvFECN";
        /// Packets received with the backward congestion mark.
        port_rcv_becn: u64 = u64 @ 80, "PortRcvBECN";
        /// Time in congestion, in flit times.
        port_xmit_time_cong: u64 = u64 @ 88, "PortXmitTimeCong";
        /// Idle flits sent inside packets of a lower priority.
        port_xmit_wasted_bw: u64 = u64 @ 96, "PortXmitWastedBW";
        /// Idle flits sent because the rest of a packet was late.
        port_xmit_wait_data: u64 = u64 @ 104, "PortXmitWaitData";
        /// Idle flits received inside packets.
        port_rcv_bubble: u64 = u64 @ 112, "PortRcvBubble";
        /// Packets that the port marked with the forward congestion mark.
        port_mark_fecn: u64 = u64 @ 120, "PortMarkFECN";
        /// Packets received and dropped for their P_Key or source LID.
        port_rcv_constraint_errors: u64 = u64 @ 128, "PortRcvConstraintErrors";
        /// Packets received that the switch could not forward.
        port_rcv_switch_relay_errors: u64 = u64 @ 136, "PortRcvSwitchRelayErrors";
        /// Packets not sent: the link was down, or they were too old or too large.
        port_xmit_discards: u64 = u64 @ 144, "PortXmitDiscards";
        /// Packets not sent for their P_Key.
        port_xmit_constraint_errors: u64 = u64 @ 152, "PortXmitConstraintErrors";
        /// Packets received that a switch before had marked as bad.
        port_rcv_remote_physical_errors: u64 = u64 @ 160, "PortRcvRemotePhysicalErrors";
        /// Transfers that had to be repeated.
        local_link_integrity_errors: u64 = u64 @ 168, "LocalLinkIntegrityErrors";
        /// Packets received with errors.
        port_rcv_errors: u64 = u64 @ 176, "PortRcvErrors";
        /// Times that the receive buffer overran.
        excessive_buffer_overruns: u64 = u64 @ 184, "ExcessiveBufferOverruns";
        /// Packets or flits that contradict the configuration.
        fm_config_errors: u64 = u64 @ 192, "FMConfigErrors";
        /// Times that the link recovered from an error.
        link_error_recovery: u32 = u32 @ 200, "LinkErrorRecovery";
        /// Times that the link went down.
        link_downed: u32 = u32 @ 204, "LinkDowned";
        /// Hardware errors that could not be corrected.
        uncorrectable_errors: u8 = u8 @ 208, "UncorrectableErrors";
        /// Quality of the link: 5 excellent to 1 bad, 0 link down.
        link_quality_indicator: u8 = u8 @ 209 [2:0], "lq.s.LinkQualityIndicator";
        /// Lanes that the link has lost.
        num_lanes_down: u8 = u8 @ 209 [7:4], "lq.s.NumLanesDown";
    }
}

layout! {
    /// All counters of a virtual lane (`STL_PORT_STATUS_RSP.VLs`).
    pub struct VlStatus: 112, "STL_PORT_STATUS_RSP.VLs[0]" {
        /// Data sent, in flits of 8 bytes.
        port_vl_xmit_data: u64 = u64 @ 0, "PortVLXmitData";
        /// Data received, in flits of 8 bytes.
        port_vl_rcv_data: u64 = u64 @ 8, "PortVLRcvData";
        /// Packets sent.
        port_vl_xmit_pkts: u64 = u64 @ 16, "PortVLXmitPkts";
        /// Packets received.
        port_vl_rcv_pkts: u64 = u64 @ 24, "PortVLRcvPkts";
        /// Time in which data waited and could not be sent, in flit times (in cycles on switches).
        port_vl_xmit_wait: u64 = u64 @ 32, "PortVLXmitWait";
        /// Packets dropped because they waited too long at the head of a queue.
        sw_port_vl_congestion: u64 = u64 @ 40, "SwPortVLCongestion";
        /// Packets received with the forward congestion mark.
        port_vl_rcv_fecn: u64 = u64 @ 48, "PortVLRcvFECN";
        /// Packets received with the backward congestion mark.
        port_vl_rcv_becn: u64 = u64 @ 56, "PortVLRcvBECN";
        /// Time in congestion, in flit times.
        port_vl_xmit_time_cong: u64 = u64 @ 64, "PortVLXmitTimeCong";
        /// Idle flits sent inside packets of a lower priority.
        port_vl_xmit_wasted_bw: u64 = u64 @ 72, "PortVLXmitWastedBW";
        /// Idle flits sent because the rest of a packet was late.
        port_vl_xmit_wait_data: u64 = u64 @ 80, "PortVLXmitWaitData";
        /// Idle flits received inside packets.
        port_vl_rcv_bubble: u64 = u64 @ 88, "PortVLRcvBubble";
        /// Packets that the port marked with the forward congestion mark.
        port_vl_mark_fecn: u64 = u64 @ 96, "PortVLMarkFECN";
        /// Packets not sent: the link was down, or they were too old or too large.
        port_vl_xmit_discards: u64 = u64 @ 104, "PortVLXmitDiscards";
    }
}

layout! {
    /// Clears counters of ports (`STL_CLEAR_PORT_STATUS`). The answer echoes it.
    pub struct ClearPortStatus: 36, "STL_CLEAR_PORT_STATUS" {
        /// The ports.
        port_select_mask: PortMask = block @ 0, "PortSelectMask";
        /// The counters.
        counter_select_mask: CounterSelectMask = block @ 32, "CounterSelectMask";
    }
}
