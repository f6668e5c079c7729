//! Congestion control, attributes 0x008B to 0x0091.

use crate::id::{Lid, Sc, Sl};
use crate::layout::layout;

layout! {
    /// Congestion control capabilities of a node (`STL_CONGESTION_INFO`).
    pub struct CongestionInfo: 4, "STL_CONGESTION_INFO" {
        /// Bit 0: a switch can handle credit starvation.
        congestion_info: u16 = u16 @ 0, "CongestionInfo";
        /// Blocks of an HFI's congestion control table, 64 entries each.
        control_table_cap: u8 = u8 @ 2, "ControlTableCap";
        /// Entries of the log, at most 96.
        congestion_log_length: u8 = u8 @ 3, "CongestionLogLength";
    }
}

layout! {
    /// One event of a switch (`STL_SWITCH_CONGESTION_LOG_EVENT`).
    pub struct SwitchCongestionLogEvent: 16, "STL_SWITCH_CONGESTION_LOG_EVENT" {
        /// Source of the marked packet.
        slid: Lid = u32 @ 0, "SLID";
        /// Destination of the marked packet.
        dlid: Lid = u32 @ 4, "DLID";
        /// Its service channel.
        sc: Sc = u8 @ 8 [7:3], "SC";
        /// When, in units of 1.024 µs.
        time_stamp: u32 = u32 @ 12, "TimeStamp";
    }
}

layout! {
    /// Events of a switch (`STL_SWITCH_CONGESTION_LOG`).
    pub struct SwitchCongestionLog: 1576, "STL_SWITCH_CONGESTION_LOG" {
        /// 1.
        log_type: u8 = u8 @ 0, "LogType";
        /// Flags.
        congestion_flags: u8 = u8 @ 1, "CongestionFlags";
        /// Events so far.
        log_events_counter: u16 = u16 @ 2, "LogEventsCounter";
        /// Now, in units of 1.024 µs.
        current_time_stamp: u32 = u32 @ 4, "CurrentTimeStamp";
        /// Ports with events, one bit each; byte 31 has ports 0 to 7.
        port_map: [u8; 32] = block @ 8, "PortMap";
        /// The latest events.
        congestion_entry_list: [SwitchCongestionLogEvent; 96] = block @ 40, "CongestionEntryList";
    }
}

layout! {
    /// Packet marking by a switch (`STL_SWITCH_CONGESTION_SETTING`).
    pub struct SwitchCongestionSetting: 76, "STL_SWITCH_CONGESTION_SETTING" {
        /// Mask of valid fields: 1 victim mask, 2 credit mask, 4 threshold and packet size,
        /// 8 credit starvation, 16 marking rate.
        control_map: u32 = u32 @ 0, "Control_Map";
        /// Ports that mark although they are no root of congestion; byte 31 has ports 0 to 7.
        victim_mask: [u8; 32] = block @ 4, "Victim_Mask";
        /// Ports that handle credit starvation; byte 31 has ports 0 to 7.
        credit_mask: [u8; 32] = block @ 36, "Credit_Mask";
        /// From 0 never to 15 most eager.
        threshold: u8 = u8 @ 68 [7:4], "Threshold";
        /// Least size of a marked packet, in units of 64 bytes.
        packet_size: u8 = u8 @ 69, "Packet_Size";
        /// Credit starvation: from 0 never to 15 most eager.
        cs_threshold: u8 = u8 @ 70 [7:4], "CS_Threshold";
        /// Credit starvation: how long credits are held back.
        cs_return_delay: u16 = u16 @ 72, "CS_ReturnDelay";
        /// Packets between two marked ones.
        marking_rate: u16 = u16 @ 74, "Marking_Rate";
    }
}

layout! {
    /// Packet marking by one port of a switch (`STL_SWITCH_PORT_CONGESTION_SETTING_ELEMENT`).
    pub struct SwitchPortCongestionSetting: 4, "STL_SWITCH_PORT_CONGESTION_SETTING_ELEMENT" {
        /// It overrides the switch's setting.
        valid: bool = u8 @ 0 [7:7], "Valid";
        /// 0 congestion, 1 credit starvation.
        control_type: u8 = u8 @ 0 [6:6], "Control_Type";
        /// From 0 never to 15 most eager.
        threshold: u8 = u8 @ 0 [3:0], "Threshold";
        /// Least size of a marked packet, in credits.
        packet_size: u8 = u8 @ 1, "Packet_Size";
        /// Packets between two marked ones.
        marking_rate: u16 = u16 @ 2, "Marking_Rate";
    }
}

layout! {
    /// One event of an HFI (`STL_HFI_CONGESTION_LOG_EVENT`).
    pub struct HfiCongestionLogEvent: 16, "STL_HFI_CONGESTION_LOG_EVENT" {
        /// Local queue pair, big-endian; 0 when the whole port is meant.
        local_qp: [u8; 3] = block @ 0, "Local_QP_CN_Entry.AsReg8s";
        /// Remote queue pair, big-endian; 0 for datagrams.
        remote_qp: [u8; 3] = block @ 3, "Remote_QP_Number_CN_Entry.AsReg8s";
        /// Service level.
        sl: Sl = u8 @ 6 [7:3], "SL_CN_Entry";
        /// Transport: 0 RC, 1 UC, 2 RD, 3 UD.
        service_type: u8 = u8 @ 6 [2:0], "Service_Type_CN_Entry";
        /// Remote LID.
        remote_lid: Lid = u32 @ 8, "Remote_LID_CN_Entry";
        /// When, in units of 1.024 µs.
        time_stamp: u32 = u32 @ 12, "TimeStamp_CN_Entry";
    }
}

layout! {
    /// Events of an HFI (`STL_HFI_CONGESTION_LOG`).
    pub struct HfiCongestionLog: 1548, "STL_HFI_CONGESTION_LOG" {
        /// 2.
        log_type: u8 = u8 @ 0, "LogType";
        /// Flags.
        congestion_flags: u8 = u8 @ 1, "CongestionFlags";
        /// Number of times that the threshold was reached.
        threshold_event_counter: u16 = u16 @ 2, "ThresholdEventCounter";
        /// Now, in units of 1.024 µs.
        current_time_stamp: u32 = u32 @ 4, "CurrentTimeStamp";
        /// Service levels that reached it, one bit each.
        threshold_congestion_event_map: [u8; 4] = block @ 8, "ThresholdCongestionEventMap";
        /// The latest events.
        congestion_entry_list: [HfiCongestionLogEvent; 96] = block @ 12, "CongestionEntryList";
    }
}

layout! {
    /// Reaction of an HFI to marks on one service level (`STL_HFI_CONGESTION_SETTING_ENTRY`).
    pub struct HfiCongestionSettingEntry: 6, "STL_HFI_CONGESTION_SETTING_ENTRY" {
        /// Steps down the table at each mark.
        ccti_increase: u8 = u8 @ 0, "CCTI_Increase";
        /// Time between steps back, in units of 1.024 µs.
        ccti_timer: u16 = u16 @ 2, "CCTI_Timer";
        /// Table index at which an event is logged.
        trigger_threshold: u8 = u8 @ 4, "TriggerThreshold";
        /// Least table index.
        ccti_min: u8 = u8 @ 5, "CCTI_Min";
    }
}

layout! {
    /// Reaction of an HFI to marks (`STL_HFI_CONGESTION_SETTING`).
    pub struct HfiCongestionSetting: 198, "STL_HFI_CONGESTION_SETTING" {
        /// Service levels that react, one bit each.
        control_map: u32 = u32 @ 0, "Control_Map";
        /// Bit 0: per service level instead of per queue pair.
        port_control: u16 = u16 @ 4, "Port_Control";
        /// One entry for each service level.
        hfi_congestion_entry_list: [HfiCongestionSettingEntry; 32] = block @ 6, "HFICongestionEntryList";
    }
}

layout! {
    /// One injection delay (`STL_HFI_CONGESTION_CONTROL_TABLE_ENTRY`): packet time × multiplier /
    /// 2^shift.
    pub struct CctEntry: 2, "STL_HFI_CONGESTION_CONTROL_TABLE_ENTRY" {
        /// Shift.
        cct_shift: u8 = u16 @ 0 [15:14], "s.CCT_Shift";
        /// Multiplier.
        cct_multiplier: u16 = u16 @ 0 [13:0], "s.CCT_Multiplier";
    }
}

layout! {
    /// 64 injection delays (`STL_HFI_CONGESTION_CONTROL_TABLE_BLOCK`). In a datagram, blocks follow
    /// a u16 with the highest valid index (`CCTI_Limit`).
    pub struct CctBlock: 128, "STL_HFI_CONGESTION_CONTROL_TABLE_BLOCK" {
        /// The delays.
        cct_entry_list: [CctEntry; 64] = block @ 0, "CCT_Entry_List";
    }
}

layout! {
    /// A congestion control table with its first block (`STL_HFI_CONGESTION_CONTROL_TABLE`).
    pub struct HfiCongestionControlTable: 130, "STL_HFI_CONGESTION_CONTROL_TABLE" {
        /// Highest valid index.
        ccti_limit: u16 = u16 @ 0, "CCTI_Limit";
        /// The first block; more follow at 130, 258, …
        cct_block_list: CctBlock = block @ 2, "CCT_Block_List";
    }
}
