//! Subnet management attributes.

pub mod attribute;
pub mod buffer_control;
pub mod cable_info;
pub mod capability;
pub mod congestion;
pub mod forwarding;
pub mod led_info;
pub mod maps;
pub mod node_description;
pub mod node_info;
pub mod partition;
pub mod port_info;
pub mod port_state_info;
pub mod sm_info;
pub mod switch_info;
pub mod vl_arbitration;

pub use attribute::AttributeId;
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
pub use node_description::NodeDescription;
pub use node_info::NodeInfo;
pub use partition::PartitionTable;
pub use port_info::{PortInfo, VlMtus, XmitQ, XmitQs};
pub use port_state_info::PortStateInfo;
pub use sm_info::{SmInfo, SmInfoControl};
pub use switch_info::SwitchInfo;
pub use vl_arbitration::{VlArbElement, VlArbMatrix, VlArbSection, VlArbTable};
