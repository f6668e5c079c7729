//! ClassPortInfo and InformInfo, which all classes of general services share.

use crate::id::{Gid, Lid, Sl};
use crate::layout::layout;

layout! {
    /// Capabilities of an agent or a manager of a class (`STL_CLASS_PORT_INFO`).
    pub struct ClassPortInfo: 80, "STL_CLASS_PORT_INFO" {
        /// 0x80.
        base_version: u8 = u8 @ 0, "BaseVersion";
        /// 0x80.
        class_version: u8 = u8 @ 1, "ClassVersion";
        /// Capabilities: bits 0 to 7 the same in all classes, the rest by class.
        cap_mask: u16 = u16 @ 2, "CapMask";
        /// More capabilities, by class.
        cap_mask2: u32 = u32 @ 4 [31:5], "u1.s.CapMask2";
        /// Longest time to an answer: 4.096 µs × 2^value.
        resp_time_value: u8 = u32 @ 4 [4:0], "u1.s.RespTimeValue";
        /// Destination for redirected requests; zero in Omni-Path.
        redirect_gid: Gid = block @ 8, "RedirectGID";
        /// Traffic class to there.
        redirect_t_class: u8 = u32 @ 24 [31:24], "u2.s.RedirectTClass";
        /// Flow label to there.
        redirect_flow_label: u32 = u32 @ 24 [19:0], "u2.s.RedirectFlowLabel";
        /// LID of there.
        redirect_lid: Lid = u32 @ 28, "RedirectLID";
        /// Service level to there.
        redirect_sl: Sl = u32 @ 32 [31:27], "u3.s.RedirectSL";
        /// Queue pair there.
        redirect_qp: u32 = u32 @ 32 [23:0], "u3.s.RedirectQP";
        /// Queue key there.
        redirect_q_key: u32 = u32 @ 36, "Redirect_Q_Key";
        /// Destination of traps.
        trap_gid: Gid = block @ 40, "TrapGID";
        /// Traffic class of traps.
        trap_t_class: u8 = u32 @ 56 [31:24], "u4.s.TrapTClass";
        /// Flow label of traps.
        trap_flow_label: u32 = u32 @ 56 [19:0], "u4.s.TrapFlowLabel";
        /// LID that traps go to.
        trap_lid: Lid = u32 @ 60, "TrapLID";
        /// Hop limit of traps.
        trap_hop_limit: u8 = u32 @ 64 [31:24], "u5.s.TrapHopLimit";
        /// Queue pair of traps.
        trap_qp: u32 = u32 @ 64 [23:0], "u5.s.TrapQP";
        /// Queue key of traps.
        trap_q_key: u32 = u32 @ 68, "Trap_Q_Key";
        /// Partition key of traps.
        trap_p_key: u16 = u16 @ 72, "Trap_P_Key";
        /// Partition key to where requests should go.
        redirect_p_key: u16 = u16 @ 74, "Redirect_P_Key";
        /// Service level of traps.
        trap_sl: Sl = u8 @ 76 [7:3], "u6.s.TrapSL";
    }
}

layout! {
    /// A subscription to notices (`STL_INFORM_INFO`).
    pub struct InformInfo: 40, "STL_INFORM_INFO" {
        /// Only about this port; 0 for the range of LIDs.
        gid: Gid = block @ 0, "GID";
        /// Only about LIDs from here; 0xFFFFFFFF for all.
        lid_range_begin: Lid = u32 @ 16, "LIDRangeBegin";
        /// Only about LIDs up to here.
        lid_range_end: Lid = u32 @ 20, "LIDRangeEnd";
        /// 1: generic notices, 0: of a vendor.
        is_generic: u8 = u8 @ 24, "IsGeneric";
        /// 1 to subscribe, 0 to end it.
        subscribe: u8 = u8 @ 25, "Subscribe";
        /// Only notices of this type; 0xFFFF for all.
        inform_type: u16 = u16 @ 26, "Type";
        /// Only this trap; 0xFFFF for all.
        trap_number: u16 = u16 @ 30, "u.Generic.TrapNumber";
        /// Queue pair that gets the reports.
        qp_number: u32 = u32 @ 32 [31:8], "u.Generic.u1.s.QPNumber";
        /// Longest time to the answer of a report: 4.096 µs × 2^value.
        resp_time_value: u8 = u32 @ 32 [4:0], "u.Generic.u1.s.RespTimeValue";
        /// Only of this producer; 0xFFFFFF for all.
        producer_type: u32 = u32 @ 36 [23:0], "u.Generic.u2.s.ProducerType";
    }
}
