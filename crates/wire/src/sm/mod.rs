//! Subnet management attributes.

pub mod attribute;
pub mod capability;
pub mod node_description;
pub mod node_info;
pub mod port_info;
pub mod port_state_info;
pub mod switch_info;

pub use attribute::AttributeId;
pub use capability::{CapabilityMask, CapabilityMask3, PortErrorAction};
pub use node_description::NodeDescription;
pub use node_info::NodeInfo;
pub use port_info::{PortInfo, VlMtus, XmitQ, XmitQs};
pub use port_state_info::PortStateInfo;
pub use switch_info::SwitchInfo;
