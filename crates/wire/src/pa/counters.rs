//! Counters of ports as the performance manager collected them.

use crate::id::{Lid, PortNum};
use crate::layout::layout;
use crate::pa::image::ImageId;
use crate::pm::{CounterSelectMask, VlCounterSelectMask};
use crate::text::Text;

layout! {
    /// Counters of a port, query 0xA3 (`STL_PORT_COUNTERS_DATA`).
    pub struct PortCounters: 248, "STL_PORT_COUNTERS_DATA" {
        /// LID of the node.
        node_lid: Lid = u32 @ 0, "nodeLid";
        /// The port.
        port_number: PortNum = u8 @ 4, "portNumber";
        /// 1 since the image before, 2 cleared unexpectedly, 8 the user's own, 16 clear failed.
        flags: u32 = u32 @ 8, "flags";
        /// Image.
        image_id: ImageId = block @ 24, "imageId";
        /// Data sent, in flits of 8 bytes.
        port_xmit_data: u64 = u64 @ 40, "portXmitData";
        /// Data received, in flits of 8 bytes.
        port_rcv_data: u64 = u64 @ 48, "portRcvData";
        /// Packets sent.
        port_xmit_pkts: u64 = u64 @ 56, "portXmitPkts";
        /// Packets received.
        port_rcv_pkts: u64 = u64 @ 64, "portRcvPkts";
        /// Multicast packets sent.
        port_multicast_xmit_pkts: u64 = u64 @ 72, "portMulticastXmitPkts";
        /// Multicast packets received.
        port_multicast_rcv_pkts: u64 = u64 @ 80, "portMulticastRcvPkts";
        /// Transfers that had to be repeated.
        local_link_integrity_errors: u64 = u64 @ 88, "localLinkIntegrityErrors";
        /// Packets or flits that contradict the configuration.
        fm_config_errors: u64 = u64 @ 96, "fmConfigErrors";
        /// Packets received with errors.
        port_rcv_errors: u64 = u64 @ 104, "portRcvErrors";
        /// Times that the receive buffer overran.
        excessive_buffer_overruns: u64 = u64 @ 112, "excessiveBufferOverruns";
        /// Packets received and dropped for their P_Key or source LID.
        port_rcv_constraint_errors: u64 = u64 @ 120, "portRcvConstraintErrors";
        /// Packets received that the switch could not forward.
        port_rcv_switch_relay_errors: u64 = u64 @ 128, "portRcvSwitchRelayErrors";
        /// Packets not sent: the link was down, or they were too old or too large.
        port_xmit_discards: u64 = u64 @ 136, "portXmitDiscards";
        /// Packets not sent for their P_Key.
        port_xmit_constraint_errors: u64 = u64 @ 144, "portXmitConstraintErrors";
        /// Packets received that a switch before had marked as bad.
        port_rcv_remote_physical_errors: u64 = u64 @ 152, "portRcvRemotePhysicalErrors";
        /// Packets dropped because they waited too long at the head of a queue.
        sw_port_congestion: u64 = u64 @ 160, "swPortCongestion";
        /// Time in which data waited and could not be sent, in flit times (in cycles on switches).
        port_xmit_wait: u64 = u64 @ 168, "portXmitWait";
        /// Packets received with the forward congestion mark.
        port_rcv_fecn: u64 = u64 @ 176, "portRcvFECN";
        /// Packets received with the backward congestion mark.
        port_rcv_becn: u64 = u64 @ 184, "portRcvBECN";
        /// Time in congestion, in flit times.
        port_xmit_time_cong: u64 = u64 @ 192, "portXmitTimeCong";
        /// Idle flits sent inside packets of a lower priority.
        port_xmit_wasted_bw: u64 = u64 @ 200, "portXmitWastedBW";
        /// Idle flits sent because the rest of a packet was late.
        port_xmit_wait_data: u64 = u64 @ 208, "portXmitWaitData";
        /// Idle flits received inside packets.
        port_rcv_bubble: u64 = u64 @ 216, "portRcvBubble";
        /// Packets that the port marked with the forward congestion mark.
        port_mark_fecn: u64 = u64 @ 224, "portMarkFECN";
        /// Times that the link recovered from an error.
        link_error_recovery: u32 = u32 @ 232, "linkErrorRecovery";
        /// Times that the link went down.
        link_downed: u32 = u32 @ 236, "linkDowned";
        /// Hardware errors that could not be corrected.
        uncorrectable_errors: u8 = u8 @ 240, "uncorrectableErrors";
        /// Lanes of the link that are down.
        num_lanes_down: u8 = u8 @ 241 [7:4], "lq.s.numLanesDown";
        /// Quality of the link: 5 excellent to 1 bad, 0 link down.
        link_quality_indicator: u8 = u8 @ 241 [2:0], "lq.s.linkQualityIndicator";
    }
}

layout! {
    /// Clears counters of a port, query 0xA4 (`STL_CLR_PORT_COUNTERS_DATA`).
    pub struct ClearPortCounters: 20, "STL_CLR_PORT_COUNTERS_DATA" {
        /// LID of the node.
        node_lid: Lid = u32 @ 0, "NodeLid";
        /// The port.
        port_number: PortNum = u8 @ 4, "PortNumber";
        /// The counters.
        counter_select_mask: CounterSelectMask = block @ 16, "CounterSelectMask";
    }
}

layout! {
    /// Clears counters of all ports, query 0xA5 (`STL_CLR_ALL_PORT_COUNTERS_DATA`).
    pub struct ClearAllPortCounters: 4, "STL_CLR_ALL_PORT_COUNTERS_DATA" {
        /// The counters.
        counter_select_mask: CounterSelectMask = block @ 0, "CounterSelectMask";
    }
}

layout! {
    /// Counters of a port in a virtual fabric, query 0xB0 (`STL_PA_VF_PORT_COUNTERS_DATA`).
    pub struct VfPortCounters: 224, "STL_PA_VF_PORT_COUNTERS_DATA" {
        /// LID of the node.
        node_lid: Lid = u32 @ 0, "nodeLid";
        /// The port.
        port_number: PortNum = u8 @ 4, "portNumber";
        /// Flags of [`PortCounters`], and 4: the VL is shared with other virtual fabrics.
        flags: u32 = u32 @ 8, "flags";
        /// Virtual fabric.
        vf_name: Text<64> = block @ 24, "vfName";
        /// Image.
        image_id: ImageId = block @ 96, "imageId";
        /// Data sent, in flits of 8 bytes.
        port_vf_xmit_data: u64 = u64 @ 112, "portVFXmitData";
        /// Data received, in flits of 8 bytes.
        port_vf_rcv_data: u64 = u64 @ 120, "portVFRcvData";
        /// Packets sent.
        port_vf_xmit_pkts: u64 = u64 @ 128, "portVFXmitPkts";
        /// Packets received.
        port_vf_rcv_pkts: u64 = u64 @ 136, "portVFRcvPkts";
        /// Packets not sent: the link was down, or they were too old or too large.
        port_vf_xmit_discards: u64 = u64 @ 144, "portVFXmitDiscards";
        /// Packets dropped because they waited too long at the head of a queue.
        sw_port_vf_congestion: u64 = u64 @ 152, "swPortVFCongestion";
        /// Time in which data waited and could not be sent, in flit times (in cycles on switches).
        port_vf_xmit_wait: u64 = u64 @ 160, "portVFXmitWait";
        /// Packets received with the forward congestion mark.
        port_vf_rcv_fecn: u64 = u64 @ 168, "portVFRcvFECN";
        /// Packets received with the backward congestion mark.
        port_vf_rcv_becn: u64 = u64 @ 176, "portVFRcvBECN";
        /// Time in congestion, in flit times.
        port_vf_xmit_time_cong: u64 = u64 @ 184, "portVFXmitTimeCong";
        /// Idle flits sent inside packets of a lower priority.
        port_vf_xmit_wasted_bw: u64 = u64 @ 192, "portVFXmitWastedBW";
        /// Idle flits sent because the rest of a packet was late.
        port_vf_xmit_wait_data: u64 = u64 @ 200, "portVFXmitWaitData";
        /// Idle flits received inside packets.
        port_vf_rcv_bubble: u64 = u64 @ 208, "portVFRcvBubble";
        /// Packets that the port marked with the forward congestion mark.
        port_vf_mark_fecn: u64 = u64 @ 216, "portVFMarkFECN";
    }
}

layout! {
    /// Clears counters of a port in a virtual fabric, query 0xB1
    /// (`STL_PA_CLEAR_VF_PORT_COUNTERS_DATA`).
    pub struct ClearVfPortCounters: 96, "STL_PA_CLEAR_VF_PORT_COUNTERS_DATA" {
        /// LID of the node.
        node_lid: Lid = u32 @ 0, "nodeLid";
        /// The port.
        port_number: PortNum = u8 @ 4, "portNumber";
        /// Virtual fabric.
        vf_name: Text<64> = block @ 16, "vfName";
        /// The counters.
        vf_counter_select_mask: VlCounterSelectMask = block @ 88, "vfCounterSelectMask";
    }
}
