//! Identifiers of the subnet management attributes.

use std::fmt;

use serde::{Deserialize, Serialize};
use weft_state::State;

/// Attribute that a subnet management datagram reads or writes (`STL_MCLASS_ATTRIB_ID_*`).
#[derive(
    Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, State,
)]
#[serde(transparent)]
pub struct AttributeId(pub u16);

macro_rules! attributes {
    ($( $(#[$meta:meta])* $name:ident = $value:literal, $text:literal; )*) => {
        impl AttributeId {
            $( $(#[$meta])* pub const $name: Self = Self($value); )*

            /// Every attribute that has a name, in order of its number.
            pub const ALL: &'static [Self] = &[$( Self::$name ),*];

            /// The attribute's name, or nothing where the number has none.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $( $value => Some($text), )*
                    _ => None,
                }
            }
        }
    };
}

attributes! {
    /// A trap's content.
    NOTICE = 0x0002, "Notice";
    /// Name of the node.
    NODE_DESCRIPTION = 0x0010, "NodeDescription";
    /// Identity of the node.
    NODE_INFO = 0x0011, "NodeInfo";
    /// Capacities and settings of a switch.
    SWITCH_INFO = 0x0012, "SwitchInfo";
    /// Capabilities, state and settings of a port.
    PORT_INFO = 0x0015, "PortInfo";
    /// A port's partition keys.
    P_KEY_TABLE = 0x0016, "P_KeyTable";
    /// Service level to service channel.
    SL_TO_SC = 0x0017, "SLtoSCMap";
    /// VL arbitration.
    VL_ARBITRATION = 0x0018, "VLArbitration";
    /// Unicast forwarding.
    LINEAR_FDB = 0x0019, "LinearFDB";
    /// Multicast forwarding.
    MULTICAST_FDB = 0x001B, "MulticastFDB";
    /// State of a subnet manager.
    SM_INFO = 0x0020, "SMInfo";
    /// Beacon.
    LED_INFO = 0x0031, "LedInfo";
    /// A cable's memory.
    CABLE_INFO = 0x0032, "CableInfo";
    /// Several attributes in one datagram.
    AGGREGATE = 0x0080, "Aggregate";
    /// Service channel in to service channel out.
    SC_TO_SC = 0x0081, "SCtoSCMap";
    /// Service channel to service level.
    SC_TO_SL = 0x0082, "SCtoSLMap";
    /// Service channel to the VL that receives it.
    SC_TO_VLR = 0x0083, "SCtoVLrMap";
    /// Service channel to the VL that sends it.
    SC_TO_VLT = 0x0084, "SCtoVLtMap";
    /// Service channel to the VL on which the neighbour returns credits.
    SC_TO_VLNT = 0x0085, "SCtoVLntMap";
    /// States of many ports.
    PORT_STATE_INFO = 0x0087, "PortStateInfo";
    /// Adaptive routing: port group of each LID.
    PORT_GROUP_FDB = 0x0088, "PortGroupFDB";
    /// Adaptive routing: ports of each group.
    PORT_GROUP_TABLE = 0x0089, "PortGroupTable";
    /// Share of the neighbour's buffer for each VL.
    BUFFER_CONTROL_TABLE = 0x008A, "BufferControlTable";
    /// Congestion control capabilities of the node.
    CONGESTION_INFO = 0x008B, "CongestionInfo";
    /// Congestion events of a switch.
    SWITCH_CONGESTION_LOG = 0x008C, "SwitchCongestionLog";
    /// Congestion control of a switch.
    SWITCH_CONGESTION_SETTING = 0x008D, "SwitchCongestionSetting";
    /// Congestion control of a switch's ports.
    SWITCH_PORT_CONGESTION_SETTING = 0x008E, "SwitchPortCongestionSetting";
    /// Congestion events of an HFI.
    HFI_CONGESTION_LOG = 0x008F, "HfiCongestionLog";
    /// Congestion control of an HFI.
    HFI_CONGESTION_SETTING = 0x0090, "HfiCongestionSetting";
    /// Injection delays of an HFI.
    HFI_CONGESTION_CONTROL_TABLE = 0x0091, "HfiCongestionControlTable";
    /// Service channel maps of many port pairs at once.
    SC_TO_SC_MULTISET = 0x0094, "SCtoSCMultiSet";
}

impl fmt::Display for AttributeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{:#06x}", self.0),
        }
    }
}

impl fmt::Debug for AttributeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({:#06x})", self.0),
            None => write!(f, "{:#06x}", self.0),
        }
    }
}
