//! The one-bit-each registers of a port.

use crate::layout::{layout, register};

layout! {
    /// Capabilities of a port's node (`STL_CAPABILITY_MASK`).
    pub struct CapabilityMask: 4, "STL_CAPABILITY_MASK" {
        /// Sends traps when the mask changes.
        is_capability_mask_notice_supported: bool = u32 @ 0 [22:22], "s.IsCapabilityMaskNoticeSupported";
        /// Has a vendor class.
        is_vendor_class_supported: bool = u32 @ 0 [20:20], "s.IsVendorClassSupported";
        /// Has device management.
        is_device_management_supported: bool = u32 @ 0 [19:19], "s.IsDeviceManagementSupported";
        /// Has communication management.
        is_connection_management_supported: bool = u32 @ 0 [16:16], "s.IsConnectionManagementSupported";
        /// Can migrate paths.
        is_automatic_migration_supported: bool = u32 @ 0 [5:5], "s.IsAutomaticMigrationSupported";
        /// A subnet manager runs here.
        is_sm: bool = u32 @ 0 [1:1], "s.IsSM";
    }
}
register!(CapabilityMask, u32);

layout! {
    /// Capabilities of a port (`STL_CAPABILITY_MASK3`).
    pub struct CapabilityMask3: 2, "STL_CAPABILITY_MASK3" {
        /// HFI: the highest LID can be configured.
        is_max_lid_supported: bool = u16 @ 0 [12:12], "s.IsMAXLIDSupported";
        /// VL arbitration: 0 by tables, 2 automatic.
        vl_scheduling_config: u8 = u16 @ 0 [9:8], "s.VLSchedulingConfig";
        /// Packets can be captured.
        is_snoop_supported: bool = u16 @ 0 [7:7], "s.IsSnoopSupported";
        /// SCtoVLt can change while the link is up.
        is_async_sc2vl_supported: bool = u16 @ 0 [6:6], "s.IsAsyncSC2VLSupported";
        /// The ranges of multicast and collective LIDs can be configured.
        is_addr_range_config_supported: bool = u16 @ 0 [5:5], "s.IsAddrRangeConfigSupported";
        /// Packets can be passed through.
        is_pass_through_supported: bool = u16 @ 0 [4:4], "s.IsPassThroughSupported";
        /// VLs can share buffer space.
        is_shared_space_supported: bool = u16 @ 0 [3:3], "s.IsSharedSpaceSupported";
        /// Groups of VLs can share buffer space.
        is_shared_group_space_supported: bool = u16 @ 0 [2:2], "s.IsSharedGroupSpaceSupported";
        /// Knows VL markers.
        is_vl_marker_supported: bool = u16 @ 0 [1:1], "s.IsVLMarkerSupported";
        /// Has a table SC to VLr.
        is_vlr_supported: bool = u16 @ 0 [0:0], "s.IsVLrSupported";
    }
}
register!(CapabilityMask3, u16);

layout! {
    /// Errors that take a link down where their bit is set (`STL_PORT_INFO.PortErrorAction`).
    pub struct PortErrorAction: 4, "STL_PORT_INFO.PortErrorAction" {
        /// A buffer overran.
        excessive_buffer_overrun: bool = u32 @ 0 [31:31], "s.ExcessiveBufferOverrun";
        /// More multicast copies than allowed.
        fm_config_error_exceed_multicast_limit: bool = u32 @ 0 [23:23], "s.FmConfigErrorExceedMulticastLimit";
        /// Unknown control flit.
        fm_config_error_bad_control_flit: bool = u32 @ 0 [22:22], "s.FmConfigErrorBadControlFlit";
        /// Preemption that is not enabled.
        fm_config_error_bad_preempt: bool = u32 @ 0 [21:21], "s.FmConfigErrorBadPreempt";
        /// VL marker that is not enabled.
        fm_config_error_unsupported_vl_marker: bool = u32 @ 0 [20:20], "s.FmConfigErrorUnsupportedVLMarker";
        /// Credit acknowledgement in a wrong unit.
        fm_config_error_bad_crdt_ack: bool = u32 @ 0 [19:19], "s.FmConfigErrorBadCrdtAck";
        /// Control flits too close.
        fm_config_error_bad_ctrl_dist: bool = u32 @ 0 [18:18], "s.FmConfigErrorBadCtrlDist";
        /// Tail flits too close.
        fm_config_error_bad_tail_dist: bool = u32 @ 0 [17:17], "s.FmConfigErrorBadTailDist";
        /// Head flits too close.
        fm_config_error_bad_head_dist: bool = u32 @ 0 [16:16], "s.FmConfigErrorBadHeadDist";
        /// Unknown VL in a VL marker.
        port_rcv_error_bad_vl_marker: bool = u32 @ 0 [13:13], "s.PortRcvErrorBadVLMarker";
        /// VL15 preempted.
        port_rcv_error_preempt_vl15: bool = u32 @ 0 [12:12], "s.PortRcvErrorPreemptVL15";
        /// Preemption error.
        port_rcv_error_preempt_error: bool = u32 @ 0 [11:11], "s.PortRcvErrorPreemptError";
        /// Body or tail flit without a head.
        port_rcv_error_bad_mid_tail: bool = u32 @ 0 [9:9], "s.PortRcvErrorBadMidTail";
        /// Service channel that is not in use.
        port_rcv_error_bad_sc: bool = u32 @ 0 [7:7], "s.PortRcvErrorBadSC";
        /// Packet format that is not enabled.
        port_rcv_error_bad_l2: bool = u32 @ 0 [6:6], "s.PortRcvErrorBadL2";
        /// Destination LID out of range.
        port_rcv_error_bad_dlid: bool = u32 @ 0 [5:5], "s.PortRcvErrorBadDLID";
        /// Source LID out of range.
        port_rcv_error_bad_slid: bool = u32 @ 0 [4:4], "s.PortRcvErrorBadSLID";
        /// Packet too short.
        port_rcv_error_pkt_len_too_short: bool = u32 @ 0 [3:3], "s.PortRcvErrorPktLenTooShort";
        /// Packet too long.
        port_rcv_error_pkt_len_too_long: bool = u32 @ 0 [2:2], "s.PortRcvErrorPktLenTooLong";
        /// Length differs from the header's.
        port_rcv_error_bad_pkt_len: bool = u32 @ 0 [1:1], "s.PortRcvErrorBadPktLen";
    }
}
register!(PortErrorAction, u32);
