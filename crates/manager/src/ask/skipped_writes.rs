//! Attributes that sweeps do not write (`<SkipAttributeWrite>`).

use serde::{Deserialize, Serialize};
use weft_state::State;
use weft_wire::sm::AttributeId;

/// Attributes that are not written though they differ: bits of `SM_SKIP_WRITE_…` in the vendor's
/// `fm_xml.h`. Those of attributes that no sweep writes (SMInfo, GUIDInfo, Notice) stand for nothing. A switch's
/// PortStateChange is cleared all the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct SkippedWrites(pub u32);

impl SkippedWrites {
    /// Whether an attribute is among them.
    pub(crate) fn cover(self, attribute: AttributeId) -> bool {
        self.0 & bit(attribute) != 0
    }
}

fn bit(attribute: AttributeId) -> u32 {
    match attribute {
        AttributeId::PORT_INFO => 0x1,
        AttributeId::SWITCH_INFO => 0x8,
        AttributeId::VL_ARBITRATION => 0x20,
        AttributeId::SL_TO_SC
        | AttributeId::SC_TO_SL
        | AttributeId::SC_TO_SC
        | AttributeId::SC_TO_VLR
        | AttributeId::SC_TO_VLT
        | AttributeId::SC_TO_VLNT => 0x40,
        AttributeId::LINEAR_FDB | AttributeId::MULTICAST_FDB => 0x80,
        AttributeId::PORT_GROUP_TABLE | AttributeId::PORT_GROUP_FDB => 0x100,
        AttributeId::P_KEY_TABLE => 0x200,
        AttributeId::SWITCH_CONGESTION_SETTING
        | AttributeId::SWITCH_PORT_CONGESTION_SETTING
        | AttributeId::HFI_CONGESTION_SETTING
        | AttributeId::HFI_CONGESTION_CONTROL_TABLE => 0x400,
        AttributeId::BUFFER_CONTROL_TABLE => 0x800,
        AttributeId::PORT_STATE_INFO => 0x2000,
        _ => 0,
    }
}
