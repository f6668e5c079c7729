//! DataPortCounters, attribute 0x0042, and ErrorPortCounters, attribute 0x0043.

use crate::id::PortNum;
use crate::layout::layout;
use crate::pm::select::PortMask;

/// Difference between the shift and a non-zero resolution of LocalLinkIntegrityErrors
/// (`RES_ADDER_LLI`).
pub const LOCAL_LINK_INTEGRITY_SHIFT: u32 = 8;
/// Difference between the shift and a non-zero resolution of LinkErrorRecovery (`RES_ADDER_LER`).
pub const LINK_ERROR_RECOVERY_SHIFT: u32 = 2;

/// By how many bits a resolution of 4 bits shifts its counter to the right in the error summary:
/// 0 not at all, any other value by itself and `more`.
pub fn resolution_shift(resolution: u8, more: u32) -> u32 {
    match resolution & 0xF {
        0 => 0,
        value => u32::from(value) + more,
    }
}

layout! {
    /// Requests the data counters of ports, and heads the answer (`STL_DATA_PORT_COUNTERS_REQ`).
    pub struct DataPortCountersHeader: 40, "STL_DATA_PORT_COUNTERS_REQ" {
        /// The ports.
        port_select_mask: PortMask = block @ 0, "PortSelectMask";
        /// Virtual lanes to count separately, one bit each.
        vl_select_mask: u32 = u32 @ 32, "VLSelectMask";
        /// Unit of this counter in the error summary, see [`resolution_shift`].
        local_link_integrity_resolution: u8 = u32 @ 36 [7:4], "res.s.LocalLinkIntegrityResolution";
        /// Unit of this counter in the error summary, see [`resolution_shift`].
        link_error_recovery_resolution: u8 = u32 @ 36 [3:0], "res.s.LinkErrorRecoveryResolution";
    }
}

layout! {
    /// Data counters of a port (`STL_DATA_PORT_COUNTERS_RSP.Port` before its VLs); one
    /// [`VlDataCounters`] for each chosen virtual lane follows.
    pub struct DataPortCounters: 136, "STL_DATA_PORT_COUNTERS_RSP.Port[0]" {
        /// The port.
        port_number: PortNum = u8 @ 0, "PortNumber";
        /// Quality of the link: 5 excellent to 1 bad, 0 link down.
        link_quality_indicator: u8 = u32 @ 4 [2:0], "lq.s.LinkQualityIndicator";
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
        /// Sum of all error counters of the port.
        port_error_counter_summary: u64 = u64 @ 128, "PortErrorCounterSummary";
    }
}

layout! {
    /// Data counters of a virtual lane (`STL_DATA_PORT_COUNTERS_RSP.Port.VLs`).
    pub struct VlDataCounters: 104, "STL_DATA_PORT_COUNTERS_RSP.Port[0].VLs[0]" {
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
    }
}

layout! {
    /// Requests the error counters of ports, and heads the answer (`STL_ERROR_PORT_COUNTERS_REQ`).
    pub struct ErrorPortCountersHeader: 40, "STL_ERROR_PORT_COUNTERS_REQ" {
        /// The ports.
        port_select_mask: PortMask = block @ 0, "PortSelectMask";
        /// Virtual lanes to count separately, one bit each.
        vl_select_mask: u32 = u32 @ 32, "VLSelectMask";
    }
}

layout! {
    /// Error counters of a port (`STL_ERROR_PORT_COUNTERS_RSP.Port` before its VLs); one
    /// [`VlErrorCounters`] for each chosen virtual lane follows.
    pub struct ErrorPortCounters: 96, "STL_ERROR_PORT_COUNTERS_RSP.Port[0]" {
        /// The port.
        port_number: PortNum = u8 @ 0, "PortNumber";
        /// Packets received and dropped for their P_Key or source LID.
        port_rcv_constraint_errors: u64 = u64 @ 8, "PortRcvConstraintErrors";
        /// Packets received that the switch could not forward.
        port_rcv_switch_relay_errors: u64 = u64 @ 16, "PortRcvSwitchRelayErrors";
        /// Packets not sent: the link was down, or they were too old or too large.
        port_xmit_discards: u64 = u64 @ 24, "PortXmitDiscards";
        /// Packets not sent for their P_Key.
        port_xmit_constraint_errors: u64 = u64 @ 32, "PortXmitConstraintErrors";
        /// Packets received that a switch before had marked as bad.
        port_rcv_remote_physical_errors: u64 = u64 @ 40, "PortRcvRemotePhysicalErrors";
        /// Transfers that had to be repeated.
        local_link_integrity_errors: u64 = u64 @ 48, "LocalLinkIntegrityErrors";
        /// Packets received with errors.
        port_rcv_errors: u64 = u64 @ 56, "PortRcvErrors";
        /// Times that the receive buffer overran.
        excessive_buffer_overruns: u64 = u64 @ 64, "ExcessiveBufferOverruns";
        /// Packets or flits that contradict the configuration.
        fm_config_errors: u64 = u64 @ 72, "FMConfigErrors";
        /// Times that the link recovered from an error.
        link_error_recovery: u32 = u32 @ 80, "LinkErrorRecovery";
        /// Times that the link went down.
        link_downed: u32 = u32 @ 84, "LinkDowned";
        /// Hardware errors that could not be corrected.
        uncorrectable_errors: u8 = u8 @ 88, "UncorrectableErrors";
    }
}

layout! {
    /// Error counters of a virtual lane (`STL_ERROR_PORT_COUNTERS_RSP.Port.VLs`).
    pub struct VlErrorCounters: 8, "STL_ERROR_PORT_COUNTERS_RSP.Port[0].VLs[0]" {
        /// Packets not sent: the link was down, or they were too old or too large.
        port_vl_xmit_discards: u64 = u64 @ 0, "PortVLXmitDiscards";
    }
}
