//! Records of tables that subnet management writes.

use crate::enums::PortType;
use crate::id::{Lid, PortNum};
use crate::layout::layout;
use crate::sm::{
    BufferControlTable, CongestionInfo, HfiCongestionControlTable, HfiCongestionSetting, LinearFdb,
    MulticastFdb, PartitionTable, PortGroupFdb, PortGroupTable, ScScMap, ScSlMap, ScVlMap, SlScMap,
    SwitchCongestionSetting, SwitchPortCongestionSetting, VlArbTable,
};

layout! {
    /// A block of a partition table (`STL_P_KEY_TABLE_RECORD`).
    pub struct PKeyTableRecord: 72, "STL_P_KEY_TABLE_RECORD" {
        /// LID of the node.
        lid: Lid = u32 @ 0, "RID.LID";
        /// The block.
        block_num: u16 = u16 @ 4, "RID.Blocknum";
        /// The port.
        port_num: PortNum = u8 @ 6, "RID.PortNum";
        /// The keys.
        p_key_tbl_data: PartitionTable = block @ 8, "PKeyTblData";
    }
}

layout! {
    /// A map from service channel to service channel (`STL_SC_MAPPING_TABLE_RECORD`).
    pub struct ScScRecord: 40, "STL_SC_MAPPING_TABLE_RECORD" {
        /// LID of the switch.
        lid: Lid = u32 @ 0, "RID.LID";
        /// Ingress port.
        input_port: PortNum = u8 @ 4, "RID.InputPort";
        /// Egress port.
        output_port: PortNum = u8 @ 5, "RID.OutputPort";
        /// The secondary map.
        secondary: bool = u8 @ 6 [7:7], "RID_Secondary";
        /// The map.
        map: ScScMap = block @ 8, "Map";
    }
}

layout! {
    /// A map from service level to service channel (`STL_SL2SC_MAPPING_TABLE_RECORD`).
    pub struct SlScRecord: 40, "STL_SL2SC_MAPPING_TABLE_RECORD" {
        /// LID of the port.
        lid: Lid = u32 @ 0, "RID.LID";
        /// The map.
        slsc_map: SlScMap = block @ 8, "SLSCMap";
    }
}

layout! {
    /// A map from service channel to service level (`STL_SC2SL_MAPPING_TABLE_RECORD`).
    pub struct ScSlRecord: 40, "STL_SC2SL_MAPPING_TABLE_RECORD" {
        /// LID of the port.
        lid: Lid = u32 @ 0, "RID.LID";
        /// The map.
        scsl_map: ScSlMap = block @ 8, "SCSLMap";
    }
}

layout! {
    /// A map from service channel to VL (`STL_SC2VL_R_MAPPING_TABLE_RECORD`), the same for all
    /// three kinds.
    pub struct ScVlRecord: 40, "STL_SC2VL_R_MAPPING_TABLE_RECORD" {
        /// LID of the node.
        lid: Lid = u32 @ 0, "RID.LID";
        /// The port.
        port: PortNum = u8 @ 4, "RID.Port";
        /// The map.
        scvl_map: ScVlMap = block @ 8, "SCVLMap";
    }
}

layout! {
    /// A section of a VL arbitration table (`STL_VLARBTABLE_RECORD`).
    pub struct VlArbRecord: 264, "STL_VLARBTABLE_RECORD" {
        /// LID of the node.
        lid: Lid = u32 @ 0, "RID.LID";
        /// The port.
        output_port_num: PortNum = u8 @ 4, "RID.OutputPortNum";
        /// The section.
        block_num: u8 = u8 @ 5, "RID.BlockNum";
        /// Its elements.
        vl_arb_table: VlArbTable = block @ 8, "VLArbTable";
    }
}

layout! {
    /// A block of a linear forwarding table (`STL_LINEAR_FORWARDING_TABLE_RECORD`).
    pub struct LinearFdbRecord: 72, "STL_LINEAR_FORWARDING_TABLE_RECORD" {
        /// LID of the switch.
        lid: Lid = u32 @ 0, "RID.LID";
        /// The block.
        block_num: u32 = u32 @ 4 [17:0], "RID.BlockNum";
        /// Its ports.
        linear_fdb_data: LinearFdb = block @ 8, "LinearFdbData";
    }
}

layout! {
    /// A block of a multicast forwarding table (`STL_MULTICAST_FORWARDING_TABLE_RECORD`).
    pub struct MulticastFdbRecord: 72, "STL_MULTICAST_FORWARDING_TABLE_RECORD" {
        /// LID of the switch.
        lid: Lid = u32 @ 0, "RID.LID";
        /// Group of 64 ports.
        position: u8 = u32 @ 4 [31:30], "RID.u1.s.Position";
        /// The block.
        block_num: u32 = u32 @ 4 [20:0], "RID.u1.s.BlockNum";
        /// Its masks.
        mft_table: MulticastFdb = block @ 8, "MftTable";
    }
}

layout! {
    /// A block of a port group table (`STL_PORT_GROUP_TABLE_RECORD`).
    pub struct PortGroupTableRecord: 72, "STL_PORT_GROUP_TABLE_RECORD" {
        /// LID of the switch.
        lid: Lid = u32 @ 0, "RID.LID";
        /// Group of 64 ports.
        position: u8 = u16 @ 4 [15:14], "RID.Position";
        /// The block.
        block_num: u8 = u16 @ 4 [4:0], "RID.BlockNum";
        /// Its masks.
        group_block: PortGroupTable = block @ 8, "GroupBlock";
    }
}

layout! {
    /// A block of a port group forwarding table (`STL_PORT_GROUP_FORWARDING_TABLE_RECORD`).
    pub struct PortGroupFdbRecord: 72, "STL_PORT_GROUP_FORWARDING_TABLE_RECORD" {
        /// LID of the switch.
        lid: Lid = u32 @ 0, "RID.LID";
        /// The block.
        block_num: u32 = u32 @ 4 [17:0], "RID.u1.s.BlockNum";
        /// Its groups.
        pg_fdb_data: PortGroupFdb = block @ 8, "PGFdbData";
    }
}

layout! {
    /// A buffer control table (`STL_BUFFER_CONTROL_TABLE_RECORD`).
    pub struct BufferControlRecord: 140, "STL_BUFFER_CONTROL_TABLE_RECORD" {
        /// LID of the node.
        lid: Lid = u32 @ 0, "RID.LID";
        /// The port.
        port: PortNum = u8 @ 4, "RID.Port";
        /// Its limits.
        buffer_control_table: BufferControlTable = block @ 8, "BufferControlTable";
    }
}

layout! {
    /// Part of a cable's memory (`STL_CABLE_INFO_RECORD`).
    pub struct CableInfoRecord: 72, "STL_CABLE_INFO_RECORD" {
        /// LID of the node.
        lid: Lid = u32 @ 0, "LID";
        /// The port.
        port: PortNum = u8 @ 4, "Port";
        /// Bytes less one.
        length: u8 = u8 @ 5 [7:1], "Length";
        /// First byte.
        address: u16 = u16 @ 6 [15:4], "u1.s.Address";
        /// Attachment of the port; in answers.
        port_type: PortType = u16 @ 6 [3:0], "u1.s.PortType";
        /// The bytes.
        data: [u8; 64] = block @ 8, "Data";
    }
}

layout! {
    /// Congestion control capabilities of a node (`STL_CONGESTION_INFO_RECORD`).
    pub struct CongestionInfoRecord: 12, "STL_CONGESTION_INFO_RECORD" {
        /// LID of the node.
        lid: Lid = u32 @ 0, "LID";
        /// Capabilities.
        congestion_info: CongestionInfo = block @ 8, "CongestionInfo";
    }
}

layout! {
    /// Congestion control of a switch (`STL_SWITCH_CONGESTION_SETTING_RECORD`).
    pub struct SwitchCongestionRecord: 84, "STL_SWITCH_CONGESTION_SETTING_RECORD" {
        /// LID of the switch.
        lid: Lid = u32 @ 0, "LID";
        /// Its setting.
        switch_congestion_setting: SwitchCongestionSetting = block @ 8, "SwitchCongestionSetting";
    }
}

layout! {
    /// Congestion control of a switch's port (`STL_SWITCH_PORT_CONGESTION_SETTING_RECORD`).
    pub struct SwitchPortCongestionRecord: 12, "STL_SWITCH_PORT_CONGESTION_SETTING_RECORD" {
        /// LID of the switch.
        lid: Lid = u32 @ 0, "RID.LID";
        /// The port.
        port: PortNum = u8 @ 4, "RID.Port";
        /// Its setting.
        switch_port_congestion_setting: SwitchPortCongestionSetting = block @ 8, "SwitchPortCongestionSetting";
    }
}

layout! {
    /// Congestion control of an HFI (`STL_HFI_CONGESTION_SETTING_RECORD`).
    pub struct HfiCongestionRecord: 206, "STL_HFI_CONGESTION_SETTING_RECORD" {
        /// LID of the HFI.
        lid: Lid = u32 @ 0, "LID";
        /// Its setting.
        hfi_congestion_setting: HfiCongestionSetting = block @ 8, "HFICongestionSetting";
    }
}

layout! {
    /// A block of an HFI's congestion control table
    /// (`STL_HFI_CONGESTION_CONTROL_TABLE_RECORD`).
    pub struct HfiCongestionControlRecord: 138, "STL_HFI_CONGESTION_CONTROL_TABLE_RECORD" {
        /// LID of the HFI.
        lid: Lid = u32 @ 0, "RID.LID";
        /// The block.
        block_num: u16 = u16 @ 4, "RID.BlockNum";
        /// Its delays.
        hfi_congestion_control_table: HfiCongestionControlTable = block @ 8, "HFICongestionControlTable";
    }
}
