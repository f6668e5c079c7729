//! Subnet management attributes.

pub mod aggregate;
pub mod attribute;
pub mod blocks;
pub mod buffer_control;
pub mod cable_info;
pub mod capability;
pub mod congestion;
pub mod forwarding;
pub mod led_info;
pub mod maps;
pub mod modifier;
pub mod node_description;
pub mod node_info;
pub mod notice;
pub mod partition;
pub mod port_info;
pub mod port_state_info;
pub mod sm_info;
pub mod switch_info;
pub mod trap;
pub mod vl_arbitration;

pub use attribute::AttributeId;
pub use blocks::{Repeated, Shape, decode_blocks, encode_blocks, shape};
pub use buffer_control::{BufferControlTable, VlBufferLimits};
pub use cable_info::CableInfo;
pub use capability::{CapabilityMask, CapabilityMask3, PortErrorAction};
pub use congestion::{
    CctBlock, CctEntry, CongestionInfo, HfiCongestionControlTable, HfiCongestionLog,
    HfiCongestionLogEvent, HfiCongestionSetting, HfiCongestionSettingEntry, SwitchCongestionLog,
    SwitchCongestionLogEvent, SwitchCongestionSetting, SwitchPortCongestionSetting,
};
pub use forwarding::{LinearFdb, MulticastFdb, PortGroupFdb, PortGroupTable};
pub use led_info::LedInfo;
pub use maps::{ScEntry, ScScMap, ScScMultiSet, ScSlMap, ScVlMap, SlEntry, SlScMap, VlEntry};
pub use modifier::{
    AggregateModifier, BlockModifier, CableInfoModifier, CctModifier, CountModifier, Modifier,
    MulticastModifier, PKeyModifier, PortGroupModifier, PortModifier, ScScModifier, ScVlModifier,
    VlArbModifier,
};
pub use node_description::NodeDescription;
pub use node_info::NodeInfo;
pub use notice::Notice;
pub use partition::PartitionTable;
pub use port_info::{MtuPair, PortInfo, VlMtus, XmitQ, XmitQs};
pub use port_state_info::PortStateInfo;
pub use sm_info::{SmInfo, SmInfoControl};
pub use switch_info::SwitchInfo;
pub use trap::{
    Trap, TrapBadKey, TrapBadMKey, TrapChangeCapability, TrapGid, TrapLink, TrapLinkWidth,
    TrapPortChangeState, TrapSwitchBadPKey, TrapSysGuidChange,
};
pub use vl_arbitration::{VlArbElement, VlArbMatrix, VlArbSection, VlArbTable};
