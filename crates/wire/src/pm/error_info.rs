//! ErrorInfo, attribute 0x0044: the packets that the last errors were about.

use crate::id::{Lid, PortNum, Sc};
use crate::layout::{layout, register};
use crate::pm::select::PortMask;

layout! {
    /// Selects parts of [`PortErrorInfo`] (`STL_ERROR_INFO_REQ.ErrorInfoSelectMask`).
    pub struct ErrorInfoSelectMask: 4, "STL_ERROR_INFO_REQ.ErrorInfoSelectMask" {
        /// Receive error.
        port_rcv_error_info: bool = u32 @ 0 [31:31], "s.PortRcvErrorInfo";
        /// Buffer overrun.
        excessive_buffer_overrun_info: bool = u32 @ 0 [30:30], "s.ExcessiveBufferOverrunInfo";
        /// Constraint error on transmission.
        port_xmit_constraint_error_info: bool = u32 @ 0 [29:29], "s.PortXmitConstraintErrorInfo";
        /// Constraint error on reception.
        port_rcv_constraint_error_info: bool = u32 @ 0 [28:28], "s.PortRcvConstraintErrorInfo";
        /// Switch relay error.
        port_rcv_switch_relay_error_info: bool = u32 @ 0 [27:27], "s.PortRcvSwitchRelayErrorInfo";
        /// Uncorrectable error.
        uncorrectable_error_info: bool = u32 @ 0 [26:26], "s.UncorrectableErrorInfo";
        /// Configuration error.
        fm_config_error_info: bool = u32 @ 0 [25:25], "s.FMConfigErrorInfo";
    }
}
register!(ErrorInfoSelectMask, u32);

layout! {
    /// Requests, or clears, error information of ports, and heads the answer
    /// (`STL_ERROR_INFO_REQ`).
    pub struct ErrorInfoHeader: 40, "STL_ERROR_INFO_REQ" {
        /// The ports.
        port_select_mask: PortMask = block @ 0, "PortSelectMask";
        /// Parts to read, or in a Set to clear.
        error_info_select_mask: ErrorInfoSelectMask = block @ 32, "ErrorInfoSelectMask";
    }
}

layout! {
    /// Error information of a port (`STL_ERROR_INFO_RSP.Port`). Each part is valid while its
    /// status bit is set.
    pub struct PortErrorInfo: 72, "STL_ERROR_INFO_RSP.Port[0]" {
        /// The port.
        port_number: PortNum = u8 @ 0, "PortNumber";
        /// Receive error: valid.
        rcv_error_status: bool = u8 @ 8 [7:7], "PortRcvErrorInfo.s.Status";
        /// Receive error: which.
        rcv_error_code: u8 = u8 @ 8 [3:0], "PortRcvErrorInfo.s.ErrorCode";
        /// Receive error: the flits, by code.
        rcv_error_flits: [u8; 17] = block @ 9, "PortRcvErrorInfo.ErrorInfo";
        /// Buffer overrun: valid.
        buffer_overrun_status: bool = u8 @ 32 [7:7], "ExcessiveBufferOverrunInfo.s.Status";
        /// Buffer overrun: service channel.
        buffer_overrun_sc: Sc = u8 @ 32 [6:2], "ExcessiveBufferOverrunInfo.s.SC";
        /// Constraint error out: valid.
        xmit_constraint_status: bool = u8 @ 40 [7:7], "PortXmitConstraintErrorInfo.s.Status";
        /// Constraint error out: partition key.
        xmit_constraint_p_key: u16 = u16 @ 42, "PortXmitConstraintErrorInfo.P_Key";
        /// Constraint error out: source.
        xmit_constraint_slid: Lid = u32 @ 44, "PortXmitConstraintErrorInfo.SLID";
        /// Constraint error in: valid.
        rcv_constraint_status: bool = u8 @ 48 [7:7], "PortRcvConstraintErrorInfo.s.Status";
        /// Constraint error in: which.
        rcv_constraint_code: u8 = u8 @ 48 [3:0], "PortRcvConstraintErrorInfo.s.ErrorCode";
        /// Constraint error in: partition key.
        rcv_constraint_p_key: u16 = u16 @ 50, "PortRcvConstraintErrorInfo.P_Key";
        /// Constraint error in: source.
        rcv_constraint_slid: Lid = u32 @ 52, "PortRcvConstraintErrorInfo.SLID";
        /// Switch relay error: valid.
        switch_relay_status: bool = u8 @ 56 [7:7], "PortRcvSwitchRelayErrorInfo.s.Status";
        /// Switch relay error: routing control of the packet.
        switch_relay_rc: u8 = u8 @ 56 [6:4], "PortRcvSwitchRelayErrorInfo.s.RC";
        /// Switch relay error: which.
        switch_relay_code: u8 = u8 @ 56 [3:0], "PortRcvSwitchRelayErrorInfo.s.ErrorCode";
        /// Switch relay error: source, 24 bits.
        switch_relay_slid: Lid = u32 @ 56 [23:0], "PortRcvSwitchRelayErrorInfo.SLID_23_16 and SLID_15_0";
        /// Switch relay error: service channel, or another value that depends on the code.
        switch_relay_sc: u8 = u32 @ 60 [31:24], "PortRcvSwitchRelayErrorInfo.ErrorInfo.SC";
        /// Switch relay error: destination, 24 bits.
        switch_relay_dlid: Lid = u32 @ 60 [23:0], "PortRcvSwitchRelayErrorInfo.ErrorInfo.DLID";
        /// Uncorrectable error: valid.
        uncorrectable_status: bool = u8 @ 64 [7:7], "UncorrectableErrorInfo.s.Status";
        /// Uncorrectable error: which.
        uncorrectable_code: u8 = u8 @ 64 [3:0], "UncorrectableErrorInfo.s.ErrorCode";
        /// Configuration error: valid.
        fm_config_status: bool = u8 @ 66 [7:7], "FMConfigErrorInfo.s.Status";
        /// Configuration error: which.
        fm_config_code: u8 = u8 @ 66 [3:0], "FMConfigErrorInfo.s.ErrorCode";
        /// Configuration error: distance, VL or the like, by code.
        fm_config_info: u8 = u8 @ 67, "FMConfigErrorInfo.ErrorInfo";
    }
}
